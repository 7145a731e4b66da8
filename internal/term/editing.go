package term

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	lined "github.com/coderrr/coderrr/internal/line"
)

// Editing says how a request is typed.
type Editing struct {
	Prompt   string
	History  lined.History // nil for none
	Complete lined.Completer
	// Outside lets the person go on in their editor; nil has none.
	Outside func(ctx context.Context, text string) (string, error)
}

// keyWait is how long the rest of a key may take: what follows Esc at once is one
// key with it.
const keyWait = 40 * time.Millisecond

// Edit reads a request with line editing and history. See EditLine.
func (c *Console) Edit(ctx context.Context, prompt string, history lined.History) (string, error) {
	return c.EditLine(ctx, Editing{Prompt: prompt, History: history})
}

// EditLine reads a request of one or more lines: Enter sends it; Alt-Enter, or a \
// at the end of a line, goes on in a new line, and so does a pasted line end.
// Ctrl-C is ErrInterrupt, Ctrl-D in an empty line io.EOF. A dumb terminal gives
// lines as it edits them itself.
func (c *Console) EditLine(ctx context.Context, o Editing) (string, error) {
	if c.dumb {
		return c.editDumb(ctx, o.Prompt)
	}
	e := &lined.Editor{History: o.History, Complete: o.Complete}
	for {
		event, err := c.editOnce(ctx, e, o.Prompt)
		if err != nil {
			return "", err
		}
		switch event {
		case lined.Submitted:
			return e.Text(), nil
		case lined.Interrupted:
			return "", ErrInterrupt
		case lined.Ended:
			return "", io.EOF
		case lined.WantsSuspend:
			suspend()
		case lined.WantsEditor:
			if o.Outside == nil {
				continue
			}
			text, err := o.Outside(ctx, e.Text())
			if err != nil {
				_, _ = io.WriteString(c.out, "The editor could not be used: "+OneLine(err.Error())+"\n")
				continue
			}
			e.SetText(text)
		}
	}
}

func (c *Console) editDumb(ctx context.Context, prompt string) (string, error) {
	if err := c.claim(ctx); err != nil {
		return "", err
	}
	defer c.release()
	if _, err := io.WriteString(c.out, prompt); err != nil {
		return "", fmt.Errorf("write the prompt: %w", err)
	}
	return c.joined(func(string) (string, bool, error) {
		line, err := c.line(ctx)
		return line, false, err
	})
}

// editOnce edits until something is to be done that raw mode is in the way of.
func (c *Console) editOnce(ctx context.Context, e *lined.Editor, prompt string) (event lined.Event, err error) {
	if err := c.claim(ctx); err != nil {
		return 0, err
	}
	defer c.release()
	var old *term.State
	c.control(func(fd int) { old, err = term.MakeRaw(fd) })
	if err != nil {
		return 0, fmt.Errorf("prepare the terminal: %w", err)
	}
	s := &screen{out: c.out}
	defer func() {
		s.write("\x1b[?2004l")
		c.control(func(fd int) {
			if e := term.Restore(fd, old); e != nil {
				err = errors.Join(err, fmt.Errorf("put the terminal back (run `stty sane`): %w", e))
			}
		})
	}()
	c.takeAhead(ctx)
	s.write("\x1b[?2004h") // tell pasted text apart
	resized, stop := watchSize()
	defer stop()
	draw := func() { s.draw(e.View(prompt, c.columns(), c.rows())) }
	for draw(); ; draw() {
		key, again, err := c.key(ctx, resized)
		switch {
		case err != nil:
			s.leave()
			return 0, err
		case again:
			s.forget()
			continue
		}
		switch event := e.Do(key); event {
		case lined.Edited:
		case lined.WantsRedraw:
			s.clear()
		default:
			draw()
			s.leave()
			return event, nil
		}
	}
}

// takeAhead takes what was typed before there was a prompt. The terminal turned
// Enter into a line feed then, which is a new line when it comes from now on.
func (c *Console) takeAhead(ctx context.Context) {
	wait, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	chunk := make([]byte, 4096)
	n, _ := c.read(wait, chunk) // an error comes again at the next read
	c.buf = bytes.ReplaceAll(append(c.buf, chunk[:n]...), []byte("\n"), []byte("\r"))
}

// key reads one key. again is true when the terminal has another size instead.
func (c *Console) key(ctx context.Context, resized <-chan os.Signal) (key lined.Key, again bool, err error) {
	for {
		if len(c.ahead) == 0 && len(c.buf) > 0 {
			c.ahead, c.buf = c.decoder.Feed(c.buf), nil
		}
		if len(c.ahead) > 0 {
			key, c.ahead = c.ahead[0], c.ahead[1:]
			return key, false, nil
		}
		data, again, err := c.keyBytes(ctx, resized)
		switch {
		case ctx.Err() != nil:
			return lined.Key{}, false, ctx.Err()
		case again:
			return lined.Key{}, true, nil
		case errors.Is(err, context.DeadlineExceeded):
			c.ahead = c.decoder.Flush()
		case err != nil:
			return lined.Key{}, false, err
		default:
			c.ahead = c.decoder.Feed(data)
		}
	}
}

// keyBytes is one read, which a new size of the terminal ends, and the moment in
// which the rest of a key has to follow.
func (c *Console) keyBytes(ctx context.Context, resized <-chan os.Signal) (data []byte, again bool, err error) {
	limit := time.Duration(1<<63 - 1) // no limit
	if c.decoder.Waits() {
		limit = keyWait
	}
	read, cancel := context.WithTimeout(ctx, limit)
	changed, watched := false, make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-resized:
			changed = true
			cancel()
		case <-read.Done():
		}
	}()
	chunk := make([]byte, 4096)
	n, err := c.read(read, chunk)
	expired := read.Err()
	cancel()
	<-watched
	if n == 0 && changed {
		return nil, true, nil
	}
	if n == 0 && errors.Is(expired, context.DeadlineExceeded) {
		err = expired
	}
	return chunk[:n], false, err
}

func (c *Console) columns() int {
	width, _ := c.size()
	if width <= 0 {
		width = defaultWidth
	}
	return width
}

func (c *Console) rows() int {
	_, height := c.size()
	if height <= 0 {
		height = 24
	}
	return height
}

// screen shows an editor's view and moves only within it.
type screen struct {
	out   io.Writer
	shown lined.View
	drawn bool
}

// write ignores an error: a terminal that cannot be written to cannot be read from
// either, which is where it is noticed.
func (s *screen) write(text string) { _, _ = io.WriteString(s.out, text) }

func (s *screen) draw(v lined.View) {
	if rest, ok := s.added(v); ok {
		s.write(rest)
		s.shown = v
		return
	}
	var b strings.Builder
	s.top(&b)
	b.WriteString(strings.Join(v.Rows, "\r\n"))
	if up := len(v.Rows) - 1 - v.Row; up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", up)
	}
	b.WriteString("\r")
	if v.Col > 0 {
		fmt.Fprintf(&b, "\x1b[%dC", v.Col)
	}
	s.write(b.String())
	s.shown, s.drawn = v, true
}

// added is what a view has more than the one before, when that is all: then only
// that is written, which is what most keys lead to.
func (s *screen) added(v lined.View) (string, bool) {
	n := len(v.Rows)
	if !s.drawn || n != len(s.shown.Rows) || v.Row != n-1 || s.shown.Row != n-1 {
		return "", false
	}
	for i := range n - 1 {
		if v.Rows[i] != s.shown.Rows[i] {
			return "", false
		}
	}
	before := s.shown.Rows[n-1]
	if s.shown.Col != columns(before) || v.Col != columns(v.Rows[n-1]) {
		return "", false
	}
	return strings.CutPrefix(v.Rows[n-1], before)
}

// top goes to the first row and clears from there.
func (s *screen) top(b *strings.Builder) {
	if !s.drawn {
		return
	}
	if s.shown.Row > 0 {
		fmt.Fprintf(b, "\x1b[%dA", s.shown.Row)
	}
	b.WriteString("\r\x1b[J")
}

// forget draws from here on: rows have moved when the terminal got another width.
func (s *screen) forget() {
	s.write("\r\x1b[J")
	s.shown, s.drawn = lined.View{}, false
}

// clear empties the screen (Ctrl-L).
func (s *screen) clear() {
	s.write("\x1b[H\x1b[2J")
	s.shown, s.drawn = lined.View{}, false
}

// leave goes below the last row.
func (s *screen) leave() {
	if down := len(s.shown.Rows) - 1 - s.shown.Row; down > 0 {
		s.write(fmt.Sprintf("\x1b[%dB", down))
	}
	s.write("\r\n")
	s.shown, s.drawn = lined.View{}, false
}
