package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/web"
)

// command is what a page can ask for. Fields that a command does not use, and
// fields that are not here, are ignored: a page cannot say what it may do.
type command struct {
	Type string `json:"type"`
	ID   string `json:"id"` // comes back in the ack
	// Session must be the one the page shows: a decision never reaches another.
	Session string `json:"session"`

	Request  string             `json:"request"`  // start
	Confirm  bool               `json:"confirm"`  // start
	Text     string             `json:"text"`     // say, unsay, answer, model, files, rename
	Question string             `json:"question"` // answer
	Choice   string             `json:"choice"`   // answer
	Hash     string             `json:"hash"`     // answer
	Hunks    []ask.HunkDecision `json:"hunks"`    // answer
	Document string             `json:"document"` // edit
	Content  string             `json:"content"`  // edit
	Base     string             `json:"base"`     // edit
	On       bool               `json:"on"`       // confirm_writes
	Path     string             `json:"path"`     // undo; "" is everything; undo_hunk, lines, hunks, context
	Task     string             `json:"task"`     // undo; "" is any
	After    string             `json:"after"`    // undo_hunk, lines, hunks: hash of what is shown
	Whole    bool               `json:"whole"`    // undo_hunk, lines, hunks: of the contents, not of the log's diffs
	N        int                `json:"n"`        // undo_hunk, lines: number of the hunk
	From     int                `json:"from"`     // lines, hunks, context: the first
	To       int                `json:"to"`       // context: the last line, 0 is the end
	Shift    int                `json:"shift"`    // context: how far the new numbers are from the old
	Data     []byte             `json:"data"`     // picture, in base64
	Target   string             `json:"target"`   // open, resume, remove, rename; "" is the start page
}

func (c command) known() bool {
	switch c.Type {
	case "start", "say", "unsay", "compact", "model", "answer", "stop", "edit", "confirm_writes", "undo", "open", "resume", "remove", "files", "models", "picture",
		"undo_hunk", "lines", "hunks", "context", "rename":
		return true
	default:
		return false
	}
}

// slowTimeout bounds a command that reads or writes files.
const slowTimeout = 60 * time.Second

// maxRequest bounds what a person types.
const maxRequest = 256 << 10

// errBusy is for a page that sends commands faster than they can be done.
var errBusy = errors.New("the last commands are still being done")

// handle does what is quick at once, and puts the rest behind what is slow.
func (c *conn) handle(ctx context.Context, cmd command) {
	switch cmd.Type {
	case "start", "open", "edit", "undo", "model", "resume", "remove", "files", "models", "picture", "undo_hunk", "lines", "hunks", "context", "rename":
		select {
		case c.slow <- cmd:
		default:
			c.reply(cmd, nil, errBusy)
		}
		return
	}
	live, h, err := c.target(cmd)
	if err == nil {
		err = c.quick(live, h, cmd)
	}
	c.reply(cmd, nil, err)
	_ = ctx
}

func (c *conn) quick(live Live, h *hub, cmd command) error {
	switch cmd.Type {
	case "answer":
		return live.Answer(cmd.Question, ask.Answer{
			Choice: cmd.Choice, Text: cmd.Text, Hash: cmd.Hash, Hunks: cmd.Hunks, By: ask.ByBrowser,
		})
	case "say":
		if strings.TrimSpace(cmd.Text) == "" {
			return errors.New("there is nothing to say")
		}
		return live.Say(cmd.Text)
	case "unsay":
		return live.Unsay(cmd.Text)
	case "compact":
		return live.Compact()
	case "stop":
		h.setStopping()
		live.Stop()
		return nil
	default: // confirm_writes
		if live != nil {
			live.SetConfirmWrites(cmd.On) // the log says so to every page
			return nil
		}
		c.s.choose(cmd.On)
		h.setConfirm(cmd.On)
		return nil
	}
}

// target is the session a command is for: the one that is shown, and named.
func (c *conn) target(cmd command) (Live, *hub, error) {
	h := c.current()
	if cmd.Session != h.session {
		return nil, nil, errors.New("this page shows another session now; nothing was done")
	}
	if h.live == nil {
		if cmd.Type == "confirm_writes" {
			return nil, h, nil
		}
		return nil, nil, errors.New("no session is open here")
	}
	return h.live, h, nil
}

// work does the slow commands of one page, one after the other.
func (c *conn) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case cmd := <-c.slow:
			out := &ack{}
			bounded, done := context.WithTimeout(ctx, slowTimeout)
			err := c.slowly(bounded, cmd, out)
			done()
			c.reply(cmd, out, err)
		}
	}
}

func (c *conn) slowly(ctx context.Context, cmd command, out *ack) error {
	switch cmd.Type {
	case "start":
		return c.start(ctx, cmd, out)
	case "open":
		h, err := c.s.pick(ctx, &cmd.Target)
		if err != nil {
			return err
		}
		c.move(h)
		out.Session = cmd.Target
		return nil
	case "resume":
		return c.resume(ctx, cmd, out)
	case "remove":
		return c.remove(ctx, cmd)
	case "rename":
		return c.rename(ctx, cmd)
	case "files":
		list, err := c.s.backend.Files(ctx, cmd.Text)
		out.Files = list
		return err
	case "picture":
		name, err := c.s.backend.Picture(ctx, cmd.Data)
		out.Files = []string{name}
		return err
	case "models":
		list, err := c.s.backend.Models(ctx)
		out.Models = list
		return err
	}
	live, h, err := c.target(cmd)
	if err != nil {
		return err
	}
	switch cmd.Type {
	case "undo_hunk", "lines", "hunks", "context":
		return h.changes(ctx, cmd, out)
	case "undo":
		return live.Undo(ctx, cmd.Path, cmd.Task)
	case "model":
		return live.SetModel(ctx, cmd.Text)
	}
	if err := live.EditSpec(ctx, cmd.Document, cmd.Content, cmd.Base); err != nil {
		return err
	}
	out.SHA256 = web.HashText(cmd.Content)
	return nil
}

func (c *conn) start(ctx context.Context, cmd command, out *ack) error {
	request := strings.TrimSpace(cmd.Request)
	switch {
	case request == "":
		return errors.New("say what should change first")
	case len(request) > maxRequest:
		return fmt.Errorf("the request is too long: %d bytes, at most %d", len(request), maxRequest)
	}
	live, err := c.s.backend.Start(ctx, request, StartOptions{ConfirmWrites: cmd.Confirm})
	if err != nil {
		return err
	}
	c.s.adopt(ctx, live)
	id := live.ID()
	h, err := c.s.pick(ctx, &id)
	if err != nil {
		return err
	}
	c.move(h)
	out.Session = id
	c.s.Changed()
	return nil
}

// remove deletes a stored session; the pages that show it go to the start page.
func (c *conn) remove(ctx context.Context, cmd command) error {
	if err := c.s.backend.Remove(ctx, cmd.Target); err != nil {
		return err
	}
	for _, page := range c.s.watching(cmd.Target) {
		start := ""
		h, err := c.s.pick(ctx, &start)
		if err != nil {
			return err
		}
		page.move(h)
	}
	c.s.Changed()
	return nil
}

// maxTitle bounds the title of a session, in bytes.
const maxTitle = 200

// rename gives a session another title in every list.
func (c *conn) rename(ctx context.Context, cmd command) error {
	title := strings.Join(strings.Fields(cmd.Text), " ")
	if len(title) > maxTitle {
		return fmt.Errorf("the title is too long: %d bytes, at most %d", len(title), maxTitle)
	}
	if err := c.s.backend.Rename(ctx, cmd.Target, title); err != nil {
		return err
	}
	c.s.Changed()
	return nil
}

// resume goes on with a session, on every page that shows it.
func (c *conn) resume(ctx context.Context, cmd command, out *ack) error {
	live, err := c.s.backend.Resume(ctx, cmd.Target, StartOptions{ConfirmWrites: cmd.Confirm})
	if err != nil {
		return err
	}
	pages := c.s.watching(cmd.Target)
	c.s.forget(cmd.Target)
	c.s.adopt(ctx, live)
	for _, page := range pages {
		h, err := c.s.pick(ctx, &cmd.Target)
		if err != nil {
			return err
		}
		page.move(h)
	}
	out.Session = cmd.Target
	c.s.Changed()
	return nil
}

// move shows another session on this page.
func (c *conn) move(h *hub) {
	c.s.leave(c)
	h.join(c, "", 0)
}

// reply answers a command. An ack is small; a page that does not read is closed by
// the writer's timeout long before they add up.
func (c *conn) reply(cmd command, out *ack, err error) {
	if out == nil {
		out = &ack{}
	}
	out.Type, out.ID, out.OK = "ack", cmd.ID, err == nil
	if err != nil {
		out.Code, out.Why = explain(err)
	}
	c.push(encode(out))
}

// explain puts an error in a person's words.
func explain(err error) (code, why string) {
	switch {
	case errors.Is(err, ask.ErrNotOpen):
		return "closed", "This was decided already, here or elsewhere. Nothing was sent twice."
	case errors.Is(err, ask.ErrStale):
		return "stale", "What is asked has changed since you saw it. Look at it again, then decide."
	case errors.Is(err, ask.ErrChoice):
		return "choice", "That is not one of the choices."
	case errors.Is(err, ErrStale):
		return "stale", "The file has changed on disk since this page showed it. Your text is still here: copy it, then look at the new version."
	case errors.Is(err, ErrDelivered):
		return "delivered", "It is too late: the model has this message already."
	case errors.Is(err, ErrReadOnly):
		return "read_only", "This session can only be read here: it has ended, or another process runs it."
	case errors.Is(err, ErrNoSession):
		return "no_session", "There is no session with this id any more."
	case errors.Is(err, errBusy):
		return "busy", "The last commands are still being done. Try again in a moment."
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout", "It took too long and was given up."
	default:
		text := err.Error()
		if text != "" {
			text = strings.ToUpper(text[:1]) + text[1:]
		}
		if !strings.HasSuffix(text, ".") {
			text += "."
		}
		return "failed", text
	}
}
