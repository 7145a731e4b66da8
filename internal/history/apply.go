package history

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/coderrr/coderrr/internal/diff"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/workspace"
)

// MaxFile bounds the files that are kept and brought back, in bytes.
const MaxFile = 64 << 20

// maxDiff is the size up to which file.changed carries its diff (CONTRACT).
const maxDiff = 64 << 10

// Conflict is a file that is not as the session left it.
type Conflict struct {
	Path string
	Why  string // a clause for people
	// Hard conflicts cannot be forced: there is nothing to bring back.
	Hard bool
}

// ErrConflict is returned by Apply when files are not as the session left them.
type ErrConflict struct{ Conflicts []Conflict }

// Error names the files and the remedy.
func (e *ErrConflict) Error() string {
	var b strings.Builder
	b.WriteString("nothing was undone, because")
	hard := false
	for _, c := range e.Conflicts {
		fmt.Fprintf(&b, "\n  %s: %s", workspace.Quote(c.Path), c.Why)
		hard = hard || c.Hard
	}
	if hard {
		b.WriteString("\nUndo the other files one by one.")
	} else {
		b.WriteString("\nUndo other files by name, or force it: what the files hold now is then kept and can be brought back too.")
	}
	return b.String()
}

// Options of Apply. Root, Store and Log are required.
type Options struct {
	Root  *workspace.Root
	Store *Store
	// Log stores an event durably before the file is changed (event.Log.Commit).
	Log func(event.FileChanged) error
	// Force undoes files that are not as the session left them, too.
	Force bool
}

// Check compares a plan with the files as they are.
func (u Undo) Check(ctx context.Context, root *workspace.Root, store *Store) ([]Conflict, error) {
	var out []Conflict
	leaves := map[string]bool{} // folders that are gone when their turn comes
	for _, s := range u.Steps {
		for _, dir := range s.Made {
			leaves[dir] = true
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if c, bad := s.check(ctx, root, store, leaves[s.Path]); bad {
			out = append(out, c)
		}
	}
	return out, nil
}

func (s Step) check(ctx context.Context, root *workspace.Root, store *Store, leaves bool) (Conflict, bool) {
	c := Conflict{Path: s.Path}
	now, err := root.Hash(ctx, s.Path)
	if errors.Is(err, workspace.ErrIsFolder) && leaves {
		err = nil
	}
	if err != nil {
		c.Why, c.Hard = "it cannot be read: "+err.Error(), true
		return c, true
	}
	if now == s.Target {
		return c, false // done already, by hand or before a crash
	}
	if s.From != "" {
		return s.checkMove(ctx, root, now)
	}
	switch {
	case s.Lost != "":
		c.Why, c.Hard = s.Lost, true
	case s.Target != "" && !store.Has(s.Target):
		c.Why, c.Hard = "its old content is no longer kept", true
	case s.Conflict != "":
		c.Why = s.Conflict
	case now != s.Expect && now == "":
		c.Why = "it was deleted since"
	case now != s.Expect && s.Expect == "":
		c.Why = "a file of that name was made since"
	case now != s.Expect:
		c.Why = "it was changed since"
	default:
		return c, false
	}
	return c, true
}

// checkMove: a move back is never forced over what is there; the two files can be
// undone by hand.
func (s Step) checkMove(ctx context.Context, root *workspace.Root, now string) (Conflict, bool) {
	c := Conflict{Path: s.Path, Hard: true}
	at, err := root.Hash(ctx, s.From)
	switch {
	case err != nil:
		c.Why = workspace.Quote(s.From) + ", where it was moved to, cannot be read: " + err.Error()
	case now != "":
		c.Why = "a file of that name was made since"
	case at == "":
		c.Why = workspace.Quote(s.From) + ", where it was moved to, is gone"
	case at != s.Expect:
		c.Path, c.Why, c.Hard = s.From, "it was changed since it was moved", false
	default:
		return c, false
	}
	return c, true
}

// Apply takes the changes back: all of them or, on an *ErrConflict, none. Each
// file is stored as it is, then logged, then replaced. It returns the paths that
// have their old content (or are gone) again.
func (u Undo) Apply(ctx context.Context, o Options) (done []string, err error) {
	conflicts, err := u.Check(ctx, o.Root, o.Store)
	if err != nil {
		return nil, err
	}
	var stop []Conflict
	for _, c := range conflicts {
		if c.Hard || !o.Force {
			stop = append(stop, c)
		}
	}
	if len(stop) > 0 {
		return nil, &ErrConflict{Conflicts: stop}
	}
	for _, s := range u.Steps {
		changed, err := s.apply(ctx, o)
		if err != nil {
			return done, fmt.Errorf("undo %s: %w", s.Path, err)
		}
		if changed {
			done = append(done, s.Path)
		}
		s.removeMade(ctx, o.Root)
	}
	return done, nil
}

func (s Step) apply(ctx context.Context, o Options) (bool, error) {
	e, target, err := s.event(ctx, o)
	if err != nil || e.Before == s.Target && s.From == "" {
		return false, err
	}
	if s.From != "" && e.Before == "" {
		return false, nil // moved back already
	}
	if err := o.Log(e); err != nil {
		return false, err
	}
	switch {
	case s.From != "":
		err = o.Root.Move(ctx, s.From, s.Path, e.Before)
	case s.Target == "":
		err = o.Root.Remove(ctx, s.Path, e.Before)
	default:
		mode := fs.FileMode(s.Mode)
		if e.Before == "" && mode == 0 {
			mode = 0o644
		}
		err = o.Root.Write(ctx, workspace.Write{Path: s.Path, Data: target, Mode: mode, Expect: e.Before})
	}
	if err != nil {
		return false, errors.Join(err, TakeBack(ctx, o.Root, e, err, o.Log))
	}
	return true, nil
}

// event reads and stores what the file holds now, and says what will become of it.
func (s Step) event(ctx context.Context, o Options) (e event.FileChanged, target []byte, err error) {
	source := s.Path
	if s.From != "" {
		source = s.From
	}
	now, err := o.Root.Read(ctx, source, MaxFile)
	exists := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return e, nil, err
	}
	e = event.FileChanged{Path: s.Path, From: s.From, Op: opOf(now.Hash, s.Target), Before: now.Hash, After: s.Target, Call: Call}
	if exists {
		if _, err := o.Store.Put(now.Data); err != nil {
			return e, nil, err
		}
	}
	if s.From != "" {
		e.Op, e.After = "move", now.Hash // what was changed since goes along
		return e, nil, nil
	}
	if s.Target != "" {
		if target, err = o.Store.Get(s.Target); err != nil {
			return e, nil, err
		}
	}
	if s.Mode != 0 && s.Mode != 0o644 {
		e.Mode = fmt.Sprintf("%04o", s.Mode)
	}
	e.Diff, e.DiffTruncated, e.Added, e.Removed = diffOf(s.Path, now.Data, target, exists, s.Target != "")
	return e, target, nil
}

func opOf(before, after string) string {
	switch {
	case before == "":
		return "create"
	case after == "":
		return "delete"
	default:
		return "edit"
	}
}

func diffOf(path string, before, after []byte, wasThere, willBe bool) (text string, cut bool, added, removed int) {
	oldName, newName := "a/"+path, "b/"+path
	if !wasThere {
		oldName = "/dev/null"
	}
	if !willBe {
		newName = "/dev/null"
	}
	hunks := diff.Compute(before, after)
	added, removed = diff.Stats(hunks)
	text, cut = diff.Unified(oldName, newName, hunks, maxDiff)
	return text, cut, added, removed
}

// removeMade takes away the folders that the undone changes made, where nothing
// is left in them.
func (s Step) removeMade(ctx context.Context, root *workspace.Root) {
	for _, dir := range s.Made {
		if left, err := root.List(ctx, dir); err != nil || len(left) > 0 {
			return
		}
		if root.RemoveAll(ctx, dir, map[string]string{}) != nil {
			return // someone uses it now
		}
	}
}
