package wire

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coderrr/coderrr/internal/inert"
)

// maxTail is how much of a server's stderr is kept, in bytes.
const maxTail = 8 << 10

// maxNoisyLines is how many lines that are not messages are kept to show.
const maxNoisyLines = 5

// stdio is a server as a child process: one JSON object a line on stdin and
// stdout (2025-11-25, basic/transports.mdx). The process has a group of its own
// and takes it along when it ends, however this process ends.
type stdio struct {
	c     *Client
	cmd   *exec.Cmd
	guard *guard
	queue chan []byte
	stdin io.WriteCloser

	mu    sync.Mutex
	tail  []byte // of stderr
	noise []string
	lines int64 // that were not messages

	gone chan struct{} // closed when the process has ended and its pipes are read
	err  error         // why, valid once gone is closed
}

func startStdio(c *Client) (*stdio, error) {
	o := c.o.Command
	if !filepath.IsAbs(o.Path) {
		return nil, fmt.Errorf("%s is not an absolute path", o.Path)
	}
	cmd := &exec.Cmd{Path: o.Path, Args: append([]string{o.Path}, o.Args...), Env: o.Env, Dir: o.Dir}
	isolate(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Path, err)
	}
	// Plain pipes, not cmd.StdoutPipe: a grandchild that holds them open must not
	// keep Wait from returning.
	out, outW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Path, err)
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", o.Path, err), out.Close(), outW.Close())
	}
	cmd.Stdout, cmd.Stderr = outW, errW
	err = cmd.Start()
	_, _ = outW.Close(), errW.Close()
	if err != nil {
		_, _ = out.Close(), errR.Close()
		return nil, fmt.Errorf("start %s: %w", o.Path, err)
	}
	t := &stdio{c: c, cmd: cmd, queue: make(chan []byte), stdin: stdin, gone: make(chan struct{})}
	t.guard = watch(cmd.Process.Pid)
	go t.run(out, errR)
	return t, nil
}

// run reads until the process has ended, then ends the connection.
func (t *stdio) run(out, errs *os.File) {
	var readers sync.WaitGroup
	var readErr error
	readers.Go(func() { readErr = t.read(out) })
	readers.Go(func() { t.listen(errs) })
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() { t.write(stop) })

	waitErr := t.cmd.Wait()
	// What it started goes with it. Then the pipes end, and what was still in them
	// has been read.
	killGroup(t.cmd.Process.Pid)
	t.guard.stop()
	done := make(chan struct{})
	go func() { readers.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(closeGrace): // someone outside the group holds them
	}
	_, _ = out.Close(), errs.Close()
	<-done
	close(stop)
	_ = t.stdin.Close()
	writer.Wait()
	t.err = ended(waitErr, readErr)
	close(t.gone)
	t.c.fail(t.err)
}

func ended(wait, read error) error {
	if read != nil && !errors.Is(read, os.ErrClosed) {
		return read
	}
	var exit *exec.ExitError
	if errors.As(wait, &exit) {
		return fmt.Errorf("%w: the server's process ended (%s)", ErrClosed, exit.ProcessState)
	}
	return fmt.Errorf("%w: the server's process ended", ErrClosed)
}

func (t *stdio) kind() string           { return "stdio" }
func (t *stdio) settled(string)         {}
func (t *stdio) opened(context.Context) {}

// post hands a line to the writer. A server that does not read blocks the writer,
// never the caller beyond its context.
func (t *stdio) post(ctx context.Context, m outgoing) error {
	select {
	case t.queue <- append(m.body, '\n'):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-t.gone:
		return t.err
	}
}

func (t *stdio) write(stop chan struct{}) {
	for {
		select {
		case line := <-t.queue:
			if _, err := t.stdin.Write(line); err != nil {
				// It closed its stdin or ended; its end is seen by Wait.
				select {
				case <-stop:
					return
				case <-time.After(closeGrace):
				}
			}
		case <-stop:
			return
		}
	}
}

// read takes one message a line. Anything else on stdout is counted, kept to show
// and otherwise ignored: logs on stdout are a common mistake and harm nobody.
func (t *stdio) read(out io.Reader) error {
	r := bufio.NewReaderSize(out, 64<<10)
	for {
		d, whole, err := readLine(r, t.c.limits())
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if strings.TrimSpace(string(d.data)) == "" && !d.tooBig {
			continue
		}
		if err := t.c.receive(d); err != nil {
			if !whole && len(d.data) > 0 && d.data[0] == '{' {
				return fmt.Errorf("%w: its last message was cut off after %d bytes", ErrClosed, int64(len(d.data))+d.cut)
			}
			t.noisy(string(d.data))
		}
	}
}

func (t *stdio) noisy(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines++
	t.noise = append(t.noise, short(line))
	if len(t.noise) > maxNoisyLines {
		t.noise = t.noise[1:]
	}
}

// listen keeps the end of stderr.
func (t *stdio) listen(errs io.Reader) {
	buf := make([]byte, 16<<10)
	for {
		n, err := errs.Read(buf)
		t.mu.Lock()
		t.tail = append(t.tail, buf[:n]...)
		if over := len(t.tail) - maxTail; over > 0 {
			t.tail = append(t.tail[:0], t.tail[over:]...)
		}
		t.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// close ends the process politely and then for certain: stdin is closed, after a
// while the group is asked to end, after another it is ended.
func (t *stdio) close(ctx context.Context) error {
	_ = t.stdin.Close()
	for _, end := range []func(int){terminateGroup, killGroup} {
		timer := time.NewTimer(closeGrace / 2)
		select {
		case <-t.gone:
			timer.Stop()
			return nil
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
		end(t.cmd.Process.Pid)
	}
	<-t.gone
	return nil
}

// Stderr is the end of what a child process wrote to stderr, made harmless; ""
// for other servers.
func (c *Client) Stderr() string {
	t, ok := c.t.(*stdio)
	if !ok {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	out, _ := inert.Visible(strings.ToValidUTF8(string(t.tail), "?"))
	return strings.TrimSpace(out)
}

// Noise says how many lines on stdout were not messages, and shows the last ones.
func (c *Client) Noise() (count int64, last []string) {
	t, ok := c.t.(*stdio)
	if !ok {
		return 0, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lines, append([]string(nil), t.noise...)
}

var telling = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)error|fatal|panic|cannot|not found|denied`) })

// lastWords picks the line of stderr that says most: the last that tells of an
// error, else the last.
func lastWords(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for _, l := range slices.Backward(lines) {
		if telling().MatchString(l) {
			return l
		}
	}
	return lines[len(lines)-1]
}
