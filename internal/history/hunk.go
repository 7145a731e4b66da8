package history

import (
	"context"
	"errors"
	"fmt"

	"github.com/coderrr/coderrr/internal/diff"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/workspace"
)

// Hunk is one group of changed lines of a file, as a person saw it.
type Hunk struct {
	Path string
	// After is the hash of the content that was on the screen.
	After string
	Lines diff.Hunk
}

// ErrMoved: the file is not what was shown when the hunk was chosen.
var ErrMoved = errors.New("it was changed since it was shown, so nothing was undone; look at it again")

// PlanHunk finds what takes one hunk back: the file keeps everything else. It is
// applied like any other plan. The content it comes back to is stored by this, for
// nobody has had it before.
func PlanHunk(ctx context.Context, events []event.Event, h Hunk, root *workspace.Root, store *Store) (Undo, error) {
	_, paths := effective(events)
	turns := paths.turns[h.Path]
	if len(turns) == 0 || h.After == "" || turns[len(turns)-1].after != h.After {
		return Undo{}, fmt.Errorf("%s: %w", workspace.Quote(h.Path), ErrMoved)
	}
	now, err := root.Read(ctx, h.Path, MaxFile)
	if err != nil {
		return Undo{}, fmt.Errorf("read %s: %w", workspace.Quote(h.Path), err)
	}
	back, ok := diff.Revert(now.Data, h.Lines)
	if now.Hash != h.After || !ok {
		return Undo{}, fmt.Errorf("%s: %w", workspace.Quote(h.Path), ErrMoved)
	}
	target, err := store.Put(back)
	if err != nil {
		return Undo{}, err
	}
	return Undo{Steps: []Step{{Path: h.Path, Expect: h.After, Target: target}}}, nil
}

// Content returns what a file held when its hash was hash: from the file itself if it
// still does, or else from the store.
func Content(ctx context.Context, path, hash string, root *workspace.Root, store *Store) ([]byte, error) {
	if now, err := root.Read(ctx, path, MaxFile); err == nil && now.Hash == hash {
		return now.Data, nil
	}
	data, err := store.Get(hash)
	if err != nil {
		return nil, fmt.Errorf("%s: what it held is no longer kept: %w", workspace.Quote(path), err)
	}
	return data, nil
}
