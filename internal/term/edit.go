package term

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/term"
)

// keys is what the reader of secrets reads and writes through: it ends with the
// context and notices Ctrl-C, which the reader reports as an end of file.
type keys struct {
	out       io.Writer
	read      func([]byte) (int, error) // set for each call of the editor
	interrupt bool
}

// Read implements io.Reader.
func (k *keys) Read(p []byte) (int, error) {
	n, err := k.read(p)
	for _, b := range p[:n] {
		switch b {
		case 3: // Ctrl-C
			k.interrupt = true
		case 4: // Ctrl-D
			k.interrupt = false
		}
	}
	return n, err
}

// Write implements io.Writer.
func (k *keys) Write(p []byte) (int, error) { return k.out.Write(p) }

// joined reads lines until one does not go on.
func (c *Console) joined(next func(more string) (line string, goesOn bool, err error)) (string, error) {
	var text []string
	more := ""
	for {
		line, goesOn, err := next(more)
		if err != nil {
			return "", err
		}
		cut, slash := strings.CutSuffix(line, `\`)
		if text = append(text, cut); !goesOn && !slash {
			return strings.Join(text, "\n"), nil
		}
		more = ". "
	}
}

// Secret reads a line without showing it.
func (c *Console) Secret(ctx context.Context, prompt string) (string, error) {
	if err := c.claim(ctx); err != nil {
		return "", err
	}
	defer c.release()
	return c.raw(ctx, func(t *term.Terminal) (string, error) { return t.ReadPassword(prompt) })
}

// raw runs fn with the terminal in raw mode and puts the old mode back however fn
// ends, by a panic too.
func (c *Console) raw(ctx context.Context, fn func(*term.Terminal) (string, error)) (line string, err error) {
	var old *term.State
	c.control(func(fd int) { old, err = term.MakeRaw(fd) })
	if err != nil {
		return "", fmt.Errorf("prepare the terminal: %w", err)
	}
	defer c.control(func(fd int) {
		if e := term.Restore(fd, old); e != nil {
			err = errors.Join(err, fmt.Errorf("put the terminal back (run `stty sane`): %w", e))
		}
	})
	if c.editor == nil {
		c.keys = &keys{out: c.out}
		c.editor = term.NewTerminal(c.keys, "")
	}
	c.keys.interrupt = false
	c.keys.read = func(p []byte) (int, error) {
		if n := copy(p, c.buf); n > 0 {
			c.buf = c.buf[n:]
			return n, nil
		}
		return c.read(ctx, p)
	}
	if width, height := c.size(); width > 0 {
		if err := c.editor.SetSize(width, max(height, 1)); err != nil {
			return "", fmt.Errorf("prepare the terminal: %w", err)
		}
	}
	line, err = fn(c.editor)
	if errors.Is(err, io.EOF) && ctx.Err() == nil {
		// The editor leaves the cursor in the line, and the line in its memory.
		c.editor = nil
		if _, wErr := io.WriteString(c.out, "\r\n"); wErr != nil {
			return "", fmt.Errorf("write to the terminal: %w", wErr)
		}
		if c.keys.interrupt {
			return "", ErrInterrupt
		}
	}
	if ctx.Err() != nil {
		c.editor = nil
		return "", ctx.Err()
	}
	return line, err
}

func (c *Console) size() (width, height int) {
	c.control(func(fd int) { width, height, _ = term.GetSize(fd) }) // unknown is 0
	return width, height
}
