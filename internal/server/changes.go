package server

import (
	"context"
	"errors"
	"fmt"

	"github.com/coderrr/coderrr/internal/diff"
	"github.com/coderrr/coderrr/internal/view"
	"github.com/coderrr/coderrr/web"
)

// maxContext bounds the lines of one look between two hunks.
const maxContext = 2000

// errLater is for what a page asks about a file that went on meanwhile: the patch
// with the new state is on its way.
var errLater = errors.New("the file has changed since it was shown; look at the new version")

// shown is a file that changed, or that waits to, as the page sees it.
type shown struct {
	page   web.Page
	file   view.File
	hunks  []diff.Hunk
	waits  bool
	before string // hash of what it held
}

// changes does what a page asks about the hunks of one file. The page names the
// file and the number of a hunk; what they hold comes from the log.
func (h *hub) changes(ctx context.Context, cmd command, out *ack) error {
	s, err := h.find(cmd)
	if err != nil {
		return err
	}
	if cmd.Type == "context" {
		return h.between(ctx, s, cmd, out)
	}
	if cmd.Whole {
		if s.hunks, err = h.everything(ctx, s); err != nil {
			return err
		}
	}
	if cmd.Type == "hunks" {
		out.HTML, out.Total = draw(web.Changes(s.page, &s.file, s.hunks, max(cmd.From, 0), cmd.Whole)), len(s.hunks)
		return nil
	}
	if cmd.N < 0 || cmd.N >= len(s.hunks) {
		return errLater
	}
	hunk := s.hunks[cmd.N]
	if cmd.Type == "lines" {
		if cmd.From < 0 || cmd.From > len(hunk.Lines) {
			return errLater
		}
		out.HTML, out.Total = draw(web.Lines(s.file.Path, hunk, cmd.From)), len(hunk.Lines)
		return nil
	}
	if s.waits {
		return errors.New("this change is not made yet: reject the hunk instead")
	}
	// With its only hunk a file is as it was: then a created one goes away, too.
	if len(s.hunks) == 1 && s.file.From == "" {
		return h.live.Undo(ctx, s.file.Path, "")
	}
	return h.live.UndoHunk(ctx, s.file.Path, s.file.After, hunk)
}

// find is the file or the open question that a command names. What a page says of a
// content that is not there any more finds nothing.
func (h *hub) find(cmd command) (shown, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if cmd.Question != "" {
		for _, q := range h.state.Questions {
			if q.ID == cmd.Question && q.Write != nil {
				w := q.Write
				source := w.Path
				if w.From != "" {
					source = w.From
				}
				return shown{page: h.page, file: view.File{Path: source, Before: w.Before, After: w.After}, hunks: w.Hunks, waits: true, before: w.Before}, nil
			}
		}
		return shown{}, errLater
	}
	f := h.state.File(cmd.Path)
	if f == nil || f.Undone || f.After != cmd.After {
		return shown{}, errLater
	}
	return shown{page: h.page, file: *f, hunks: f.Hunks, before: f.Before}, nil
}

// everything is every hunk of a file, from what it held and holds: the log keeps a diff
// of 64 KiB at most.
func (h *hub) everything(ctx context.Context, s shown) ([]diff.Hunk, error) {
	var sides [2][]byte
	for i, hash := range []string{s.file.Before, s.file.After} {
		if hash == "" {
			continue
		}
		var err error
		if sides[i], err = h.live.Content(ctx, s.file.Path, hash); err != nil {
			return nil, err
		}
	}
	return diff.Compute(sides[0], sides[1]), nil
}

// between is lines that did not change.
func (h *hub) between(ctx context.Context, s shown, cmd command, out *ack) error {
	if s.before == "" {
		return fmt.Errorf("%s was not there before", s.file.Path)
	}
	text, err := h.live.Content(ctx, s.file.Path, s.before)
	if err != nil {
		return err
	}
	to := cmd.To
	if to <= 0 || to > cmd.From+maxContext-1 {
		to = cmd.From + maxContext - 1
	}
	lines, total := diff.Lines(text, cmd.From, to)
	out.Total = total
	if len(lines) > 0 {
		out.HTML = draw(web.ContextLines(s.file.Path, lines, max(cmd.From, 1), cmd.Shift))
	}
	return nil
}
