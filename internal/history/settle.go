package history

import (
	"context"
	"errors"
	"strings"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/workspace"
)

// TakeBack keeps the log truthful when a change was logged and could then not be
// made, or only for some of its files: it looks at the file and, where it does
// not hold what e says, logs what it does hold. The event reads like any other
// file.changed, so that who folds the log needs to know nothing of failures.
func TakeBack(ctx context.Context, root *workspace.Root, e event.FileChanged, cause error, log func(event.FileChanged) error) error {
	ctx = context.WithoutCancel(ctx) // a stopped session's log is truthful too
	now, err := root.Hash(ctx, e.Path)
	if err != nil {
		now = "" // not a file any more, or not readable: not what e says either
		if e.From == "" {
			now = e.Before
		}
	}
	if now == e.After {
		return nil
	}
	return log(inverse(e, now, firstLine(cause)))
}

// inverse is the event that says that e did not happen and path holds now.
func inverse(e event.FileChanged, now, why string) event.FileChanged {
	back := event.FileChanged{
		Path: e.Path, Op: opOf(e.After, now), Before: e.After, After: now,
		Added: e.Removed, Removed: e.Added, Mode: e.Mode, Call: e.Call, Task: e.Task, Failed: why,
	}
	if e.From != "" {
		back.Op, back.Path, back.From, back.After = "move", e.From, e.Path, e.Before
	}
	return back
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// errInterrupted is the cause of what Reconcile logs.
var errInterrupted = errors.New("interrupted before the file was replaced")

// Reconcile is for going on after a crash: between the event of a change and the
// change itself a process can die. It looks at the files of the calls that never
// finished and logs what they hold, as TakeBack does.
func Reconcile(ctx context.Context, root *workspace.Root, events []event.Event, log func(event.FileChanged) error) error {
	done := map[string]bool{}
	for _, e := range events {
		if f, ok := e.Data.(event.ToolFinished); ok {
			done[f.ID] = true
		}
	}
	last := map[string]event.FileChanged{}
	var order []string
	for _, e := range events {
		c, ok := e.Data.(event.FileChanged)
		if !ok {
			continue
		}
		for _, path := range []string{c.From, c.Path} {
			if _, known := last[path]; !known && path != "" {
				order = append(order, path)
			}
			last[path] = c
		}
	}
	for _, path := range order {
		c := last[path]
		if c.Path != path || c.Failed != "" || c.Call != Call && (c.Call == "" || done[c.Call]) {
			continue
		}
		// A file that holds neither is someone else's doing, and no crash.
		if now, err := root.Hash(ctx, path); err != nil || now != beforeOf(c) {
			continue
		}
		if err := TakeBack(ctx, root, c, errInterrupted, log); err != nil {
			return err
		}
	}
	return nil
}

// beforeOf is what the path of an event held before it.
func beforeOf(c event.FileChanged) string {
	if c.From != "" {
		return ""
	}
	return c.Before
}
