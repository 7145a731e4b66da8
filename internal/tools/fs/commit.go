package fs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/history"
	"github.com/coderrr/coderrr/internal/tools"
	"github.com/coderrr/coderrr/internal/workspace"
)

// Committer carries out changes. The order is fixed (CONTRACT §Log durability):
// the old content is stored, the event is on disk, then the file is replaced. A
// change that fails after its event is taken back in the log.
type Committer struct {
	root  *workspace.Root
	seen  *workspace.Seen
	store *history.Store
}

var _ tools.Files = (*Committer)(nil)

// NewCommitter returns the one way to change files.
func NewCommitter(o Options) *Committer {
	return &Committer{root: o.Root, seen: o.Seen, store: o.History}
}

// Current implements tools.Files. The hash of a folder stands for all in it.
func (c *Committer) Current(ctx context.Context, p string) (string, error) {
	info, err := c.root.Lstat(ctx, p)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if info.Kind != workspace.KindDir {
		return c.root.Hash(ctx, p)
	}
	files, err := c.root.Below(ctx, p, maxFiles, maxBytes)
	if err != nil {
		return "", err
	}
	return folderHash(files), nil
}

// Commit implements tools.Files.
func (c *Committer) Commit(ctx context.Context, ch tools.Change, log func(event.FileChanged) error) error {
	if err := c.unchanged(ctx, ch); err != nil {
		return err
	}
	if err := c.keep(ch); err != nil {
		return err
	}
	events := eventsOf(ch, c.missing(ctx, ch))
	for i, e := range events {
		if err := log(e); err != nil {
			err = fmt.Errorf("the change to %s could not be logged, so it was not made: %w", ch.Path, err)
			return errors.Join(err, c.takeBack(ctx, events[:i], err, log))
		}
	}
	if err := c.carryOut(ctx, ch); err != nil {
		if back := c.takeBack(ctx, events, err, log); back != nil {
			err = errors.Join(err, back)
		}
		if errors.Is(err, workspace.ErrMoved) {
			return fmt.Errorf("%w: %w", tools.ErrMoved, err)
		}
		return err
	}
	c.remember(ch)
	return nil
}

// unchanged looks once more, so that a change that comes too late is not logged.
func (c *Committer) unchanged(ctx context.Context, ch tools.Change) error {
	source := ch.Path
	if ch.Op == tools.OpMove {
		source = ch.From
	}
	now, err := c.Current(ctx, source)
	if err != nil {
		return err
	}
	if now != ch.BeforeHash {
		return fmt.Errorf("%s: %w", source, tools.ErrMoved)
	}
	return nil
}

// keep stores what will be gone, or have another name.
func (c *Committer) keep(ch tools.Change) error {
	for _, f := range ch.Files {
		if _, err := c.store.Put(f.Data); err != nil {
			return err
		}
	}
	if ch.Before == nil {
		return nil
	}
	_, err := c.store.Put(ch.Before)
	return err
}

// missing are the folders that the change will make, outermost first.
func (c *Committer) missing(ctx context.Context, ch tools.Change) []string {
	if ch.Op != tools.OpCreate && ch.Op != tools.OpMove {
		return nil
	}
	var made []string
	for dir := path.Dir(ch.Path); dir != "."; dir = path.Dir(dir) {
		if _, err := c.root.Lstat(ctx, dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = append(made, dir)
	}
	slices.Reverse(made)
	return made
}

func (c *Committer) carryOut(ctx context.Context, ch tools.Change) error {
	switch {
	case ch.Op == tools.OpMove && ch.Folder:
		return c.root.Move(ctx, ch.From, ch.Path, "")
	case ch.Op == tools.OpMove:
		return c.root.Move(ctx, ch.From, ch.Path, ch.BeforeHash)
	case ch.Op == tools.OpDelete && ch.Folder:
		known := map[string]string{}
		for _, f := range ch.Files {
			known[f.Path] = f.Hash
		}
		return c.root.RemoveAll(ctx, ch.Path, known)
	case ch.Op == tools.OpDelete:
		return c.root.Remove(ctx, ch.Path, ch.BeforeHash)
	default:
		return c.root.Write(ctx, workspace.Write{Path: ch.Path, Data: ch.After, Mode: fs.FileMode(ch.Mode), Expect: ch.BeforeHash})
	}
}

func (c *Committer) takeBack(ctx context.Context, events []event.FileChanged, cause error, log func(event.FileChanged) error) error {
	var errs []error
	for _, e := range slices.Backward(events) {
		if e.Before == "" && e.After == "" {
			continue // an empty folder
		}
		errs = append(errs, history.TakeBack(ctx, c.root, e, cause, log))
	}
	return errors.Join(errs...)
}

// remember keeps the list of what the model has seen in step. It knows a file
// after its change only if it knew it before.
func (c *Committer) remember(ch tools.Change) {
	switch {
	case ch.Folder && ch.Op == tools.OpMove:
		for _, f := range ch.Files {
			c.renamed(f.Path, ch.Path+strings.TrimPrefix(f.Path, ch.From))
		}
	case ch.Folder:
		for _, f := range ch.Files {
			c.seen.Forget(f.Path)
		}
	case ch.Op == tools.OpMove:
		c.renamed(ch.From, ch.Path)
	case ch.Op == tools.OpDelete:
		c.seen.Forget(ch.Path)
	default:
		if hash, ok := c.seen.Hash(ch.Path); ch.Op == tools.OpCreate || ok && hash == ch.BeforeHash {
			c.seen.Note(ch.Path, ch.AfterHash)
		}
	}
}

func (c *Committer) renamed(from, to string) {
	if hash, ok := c.seen.Hash(from); ok {
		c.seen.Note(to, hash)
	}
	c.seen.Forget(from)
}

// eventsOf is one event per file: each can be shown and undone by itself.
func eventsOf(ch tools.Change, made []string) []event.FileChanged {
	if !ch.Folder {
		e := ch.Event()
		e.Made = made
		return []event.FileChanged{e}
	}
	whole := event.FileChanged{Path: ch.Path, From: ch.From, Op: string(ch.Op)}
	for _, f := range ch.Flags {
		whole.Flags = append(whole.Flags, string(f))
	}
	if len(ch.Files) == 0 {
		return []event.FileChanged{whole}
	}
	var events []event.FileChanged
	for _, f := range ch.Files {
		part := tools.Change{Op: ch.Op, Path: f.Path, BeforeHash: f.Hash, Before: f.Data, Mode: f.Mode, Flags: ch.Flags}
		if f.Link {
			part.Mode = linkBits
		}
		if ch.Op == tools.OpMove {
			part.From, part.Path = f.Path, ch.Path+strings.TrimPrefix(f.Path, ch.From)
			part.AfterHash, part.After = f.Hash, f.Data
		} else if !binary(f.Data) && !f.Link {
			part.Hunks = proposal(ch.Op, f.Path, f.Data, nil, nil).Hunks
		}
		e := part.Event()
		if ch.Op == tools.OpMove {
			e.Made = append(slices.Clone(made), between(ch.Path, part.Path)...)
		}
		events = append(events, e)
	}
	return events
}

// between are the folders from dir down to the one a file is in.
func between(dir, file string) []string {
	var out []string
	for d := path.Dir(file); d != dir && strings.HasPrefix(d, dir+"/"); d = path.Dir(d) {
		out = append(out, d)
	}
	out = append(out, dir)
	slices.Reverse(out)
	return out
}
