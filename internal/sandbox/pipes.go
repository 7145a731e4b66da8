package sandbox

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// drainDelay is how long output is still read after a command and all it
// started have ended: what is in a pipe by then is read at once, so only a
// process that escaped could make this wait.
const drainDelay = 500 * time.Millisecond

// Pipes carry a command's two streams into a Capture. The command gets Stdout
// and Stderr, the write ends.
type Pipes struct {
	Stdout, Stderr *os.File
	read           []*os.File
	done           chan struct{}
}

// NewPipes makes the pipes and starts reading them. The caller calls Drain when
// the command has ended, and Close in any case.
func NewPipes(c *Capture) (*Pipes, error) {
	p := &Pipes{done: make(chan struct{})}
	var wg sync.WaitGroup
	for _, stream := range []string{"stdout", "stderr"} {
		r, w, err := os.Pipe()
		if err != nil {
			p.Close()
			return nil, fmt.Errorf("making the command's output pipes: %w", err)
		}
		if stream == "stdout" {
			p.Stdout = w
		} else {
			p.Stderr = w
		}
		p.read = append(p.read, r)
		to := c.Writer(stream)
		wg.Go(func() {
			// Reading ends with the last writer or with Close: neither is an error.
			_, _ = io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{r}, make([]byte, 32<<10))
		})
	}
	go func() {
		wg.Wait()
		close(p.done)
	}()
	return p, nil
}

// Drain closes the write ends and waits for what is left to be read, but not
// for a process that still holds them.
func (p *Pipes) Drain() {
	p.closeAll(p.Stdout, p.Stderr)
	timer := time.NewTimer(drainDelay)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		p.closeAll(p.read...)
		<-p.done
	}
}

// Close ends the reading and frees the descriptors. It may be called twice.
func (p *Pipes) Close() {
	p.closeAll(p.Stdout, p.Stderr)
	p.closeAll(p.read...)
}

func (p *Pipes) closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close() // closing twice is harmless and nothing is buffered
		}
	}
}
