package term

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	lined "github.com/coderrr/coderrr/internal/line"
)

var (
	// ErrInterrupt: Ctrl-C at a prompt.
	ErrInterrupt = errors.New("interrupted at the prompt")
	// ErrNoTerminal: there is no terminal to ask on.
	ErrNoTerminal = errors.New("no terminal to ask on")
)

// maxTyped bounds one typed line, in bytes.
const maxTyped = 64 << 10

// Console is the terminal that a person types on, apart from standard input,
// which may be a pipe. Lines are read as the terminal gives them; only Edit and
// Secret change its mode, and put it back however they end. Safe for concurrent
// use: a question has priority over what is typed in between.
type Console struct {
	tty  *os.File
	out  io.Writer
	dumb bool

	reading  chan struct{} // holds a token while nobody reads
	mu       sync.Mutex
	waiting  int                // questions that want to read
	preempt  context.CancelFunc // stops the listener's read
	buf      []byte             // read and not yet used
	pending  chan typed         // a read that goes on
	blocking bool               // reads of the file cannot be cut
	stray    func(string)       // gets lines that answer no question
	editor   *term.Terminal
	keys     *keys
	decoder  lined.Decoder
	ahead    []lined.Key // typed and not yet used
	escape   func()      // called when Esc is typed while Listen reads
}

// OpenConsole opens the controlling terminal. Prompts are written to out, which
// is a terminal too; a dumb one gets no line editing.
func OpenConsole(out io.Writer, dumb bool) (*Console, error) {
	tty, err := os.OpenFile(ttyName, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoTerminal, err)
	}
	return NewConsole(tty, out, dumb), nil
}

// NewConsole takes over tty.
func NewConsole(tty *os.File, out io.Writer, dumb bool) *Console {
	c := &Console{tty: tty, out: out, dumb: dumb, reading: make(chan struct{}, 1)}
	c.reading <- struct{}{}
	return c
}

// Close closes the terminal's file.
func (c *Console) Close() error { return c.tty.Close() }

// Out is where prompts are written.
func (c *Console) Out() io.Writer { return c.out }

// Width is the terminal's width in columns, 0 when it is not known.
func (c *Console) Width() int {
	width := 0
	c.control(func(fd int) { width, _, _ = term.GetSize(fd) }) // unknown is 0
	return width
}

// control runs fn with the descriptor, without making the file blocking.
func (c *Console) control(fn func(fd int)) {
	conn, err := c.tty.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) { fn(int(fd)) }) // a closed file has no descriptor
}

// Line asks for one line, as an answer to prompt. What was typed before the
// prompt is not an answer: it goes to the listener.
func (c *Console) Line(ctx context.Context, prompt string) (string, error) {
	if err := c.claim(ctx); err != nil {
		return "", err
	}
	defer c.release()
	c.drain()
	if _, err := io.WriteString(c.out, prompt); err != nil {
		return "", fmt.Errorf("write the prompt: %w", err)
	}
	return c.line(ctx)
}

// Listen hands each line that answers no question to fn, until the context ends
// or the terminal is gone.
func (c *Console) Listen(ctx context.Context, fn func(string)) {
	c.mu.Lock()
	c.stray = fn
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.stray = nil
		c.mu.Unlock()
	}()
	for ctx.Err() == nil {
		line, err := c.listenOnce(ctx)
		switch {
		case err == nil:
			fn(line)
		case errors.Is(err, errEscape):
			c.escape()
		case !errors.Is(err, context.Canceled):
			return // the terminal is gone, or its end was typed
		}
	}
}

func (c *Console) listenOnce(ctx context.Context) (string, error) {
	select {
	case <-c.reading:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	defer func() { c.reading <- struct{}{} }()
	c.mu.Lock()
	if c.waiting > 0 {
		c.mu.Unlock()
		return "", context.Canceled // a question is about to read
	}
	read, cancel := context.WithCancel(ctx)
	c.preempt = cancel
	c.mu.Unlock()
	defer cancel()
	return c.heard(read)
}

// claim takes the terminal away from the listener.
func (c *Console) claim(ctx context.Context) error {
	c.mu.Lock()
	c.waiting++
	if c.preempt != nil {
		c.preempt()
	}
	c.mu.Unlock()
	select {
	case <-c.reading:
		return nil
	case <-ctx.Done():
		c.mu.Lock()
		c.waiting--
		c.mu.Unlock()
		return ctx.Err()
	}
}

func (c *Console) release() {
	c.mu.Lock()
	c.waiting--
	c.mu.Unlock()
	c.reading <- struct{}{}
}

// Suspend runs fn while nobody reads from the terminal: for an editor. It gets a
// file of its own, because a child's files block and ours must not.
func (c *Console) Suspend(ctx context.Context, fn func(tty *os.File) error) (err error) {
	if err := c.claim(ctx); err != nil {
		return err
	}
	defer c.release()
	tty, err := os.OpenFile(c.tty.Name(), os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoTerminal, err)
	}
	defer func() { err = errors.Join(err, tty.Close()) }()
	return fn(tty)
}

// line reads up to a line feed.
func (c *Console) line(ctx context.Context) (string, error) {
	for {
		if i := bytes.IndexByte(c.buf, '\n'); i >= 0 {
			line := string(c.buf[:i])
			c.buf = c.buf[i+1:]
			return lined.Decode(strings.TrimSuffix(line, "\r")), nil
		}
		if len(c.buf) > maxTyped {
			c.buf = nil
			return "", fmt.Errorf("a line longer than %d bytes", maxTyped)
		}
		chunk := make([]byte, 4096)
		n, err := c.read(ctx, chunk)
		c.buf = append(c.buf, chunk[:n]...)
		if err != nil {
			return "", err
		}
	}
}

// drain hands what was typed already to the listener.
func (c *Console) drain() {
	c.mu.Lock()
	stray := c.stray
	c.mu.Unlock()
	for {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		line, err := c.line(ctx)
		cancel()
		if err != nil {
			c.buf = nil
			return
		}
		if stray != nil {
			stray(line)
		}
	}
}

// read is one read that ends with the context. Where the terminal's file knows no
// deadlines, the read below goes on and the next caller gets what it brings.
func (c *Console) read(ctx context.Context, p []byte) (int, error) {
	for {
		n, err := c.readOnce(ctx, p)
		if ctx.Err() != nil || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		} // else it was cut for a caller who had given up waiting
	}
}

func (c *Console) readOnce(ctx context.Context, p []byte) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if c.pending == nil {
		c.pending = make(chan typed, 1)
		go func(to chan typed) {
			chunk := make([]byte, len(p))
			n, err := c.tty.Read(chunk)
			to <- typed{chunk[:n], err}
		}(c.pending)
	}
	select {
	case t := <-c.pending:
		return c.take(p, t)
	case <-ctx.Done():
	}
	t, ended := c.cut()
	if !ended {
		return 0, ctx.Err()
	}
	if len(t.data) == 0 {
		c.pending = nil
		return 0, ctx.Err()
	}
	return c.take(p, t)
}

// cutWait is how long a read that was cut may take to return.
const cutWait = 50 * time.Millisecond

// cut ends the read that goes on, where the file allows it. Some do not say that
// they cannot: it is tried once.
func (c *Console) cut() (t typed, ended bool) {
	if c.blocking || c.tty.SetReadDeadline(time.Unix(1, 0)) != nil {
		return typed{}, false
	}
	timer := time.NewTimer(cutWait)
	defer timer.Stop()
	select {
	case t, ended = <-c.pending:
	case <-timer.C:
		c.blocking = true
	}
	if err := c.tty.SetReadDeadline(time.Time{}); err != nil && ended && t.err == nil {
		t.err = fmt.Errorf("read from the terminal: %w", err)
	}
	return t, ended
}

// typed is what one read brought.
type typed struct {
	data []byte
	err  error
}

// take hands over what was read; what does not fit waits for the next read.
func (c *Console) take(p []byte, t typed) (int, error) {
	c.pending = nil
	n := copy(p, t.data)
	if rest := t.data[n:]; len(rest) > 0 {
		c.pending = make(chan typed, 1)
		c.pending <- typed{rest, t.err}
		return n, nil
	}
	return n, t.err
}
