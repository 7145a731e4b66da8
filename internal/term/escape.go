package term

import (
	"bytes"
	"context"
	"errors"
	"strings"

	lined "github.com/coderrr/coderrr/internal/line"
)

// errEscape: Esc alone was typed in place of a line.
var errEscape = errors.New("esc was typed")

// ctrlZ is what the key sends.
const ctrlZ = 0x1a

// OnEscape lets Esc call fn while Listen reads. It is not for a dumb terminal, and
// must be called before Listen.
func (c *Console) OnEscape(fn func()) {
	if !c.dumb {
		c.escape = fn
	}
}

// heard is a line for the listener, or errEscape.
func (c *Console) heard(ctx context.Context) (string, error) {
	if c.escape == nil {
		return c.line(ctx)
	}
	var back func(int)
	ok := false
	c.control(func(fd int) { back, ok = escEnds(fd) })
	if !ok {
		return c.line(ctx)
	}
	defer c.control(back)
	for {
		if n := len(c.buf); n > 0 && c.buf[n-1] == ctrlZ {
			c.buf = c.buf[:n-1]
			c.control(back)
			suspend()
			c.control(func(fd int) { escEnds(fd) })
			continue
		}
		if n := len(c.buf); n > 0 && c.buf[n-1] == 0x1b && bytes.IndexByte(c.buf, '\n') < 0 {
			if c.sequence(ctx) {
				c.buf = nil
				return "", errEscape
			}
			continue
		}
		if bytes.IndexByte(c.buf, '\n') >= 0 || len(c.buf) > maxTyped {
			return c.line(ctx)
		}
		chunk := make([]byte, 4096)
		n, err := c.read(ctx, chunk)
		c.buf = append(c.buf, chunk[:n]...)
		if err != nil {
			return "", err
		}
	}
}

// sequence looks at what follows an Esc at the end of what was read. It reports
// whether nothing does; the keys that an arrow and others send are left out.
func (c *Console) sequence(ctx context.Context) (alone bool) {
	var back func(int)
	c.control(func(fd int) { back, _ = unbuffer(fd) })
	wait, cancel := context.WithTimeout(ctx, keyWait)
	defer cancel()
	chunk := make([]byte, 4096)
	n, _ := c.read(wait, chunk) // an error comes again at the next read
	c.control(back)
	if n == 0 {
		return ctx.Err() == nil
	}
	var d lined.Decoder
	var text strings.Builder
	for _, k := range append(d.Feed(append([]byte{0x1b}, chunk[:n]...)), d.Flush()...) {
		switch k.Name {
		case lined.Rune:
			text.WriteRune(k.Rune)
		case lined.Enter, lined.NewLine:
			text.WriteByte('\n')
		case lined.Paste:
			text.WriteString(k.Text)
		}
	}
	c.buf = append(c.buf[:len(c.buf)-1], text.String()...)
	return false
}
