package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/history"
)

// ErrBusy: the session is writing; undo waits for its end or a question.
var ErrBusy = errors.New("the session is working: stop it, or wait for its end, before you undo")

// Undo takes back what the session changed at a path (a file, or what is below a
// folder) and for a task, everywhere and for all for "". Git is not touched. It
// refuses where a file changed since.
func (s *Session) Undo(ctx context.Context, path, task string) error {
	return s.takeBack(ctx, cmp.Or(path, task), func(events []event.Event) (history.Undo, error) {
		return history.Plan(events, history.Filter{Path: path, Task: task}), nil
	})
}

// UndoHunk takes back one group of lines of a file, and nothing else of it.
func (s *Session) UndoHunk(ctx context.Context, h history.Hunk) error {
	return s.takeBack(ctx, h.Path, func(events []event.Event) (history.Undo, error) {
		return history.PlanHunk(ctx, events, h, s.o.Root, s.o.History)
	})
}

// Content is what a file that the session changed held when its hash was hash.
func (s *Session) Content(ctx context.Context, path, hash string) ([]byte, error) {
	return history.Content(ctx, path, hash, s.o.Root, s.o.History)
}

func (s *Session) takeBack(ctx context.Context, name string, plan func([]event.Event) (history.Undo, error)) error {
	s.undoing.Lock()
	defer s.undoing.Unlock()
	switch s.Phase() {
	case event.Planning, event.Execute:
		return ErrBusy
	}
	undo, err := plan(s.o.Log.Events(0))
	if err != nil {
		return fmt.Errorf("undo: %w", err)
	}
	if len(undo.Steps) == 0 {
		return errors.New("there is nothing to undo")
	}
	done, err := undo.Apply(ctx, history.Options{Root: s.o.Root, Store: s.o.History, Log: s.commit})
	if len(done) > 0 {
		s.o.Log.Append(event.ContextChanged{What: "undo", Name: name, Detail: strings.Join(done, "\n")})
	}
	if err != nil {
		return fmt.Errorf("undo: %w", err)
	}
	return nil
}

// commit stores a change of a file that is not a tool's, and follows it.
func (s *Session) commit(e event.FileChanged) error {
	if err := s.o.Log.Commit(e); err != nil {
		return err
	}
	s.follow(e)
	return nil
}

// follow keeps the hashes of changed files as the log has them.
func (s *Session) follow(e event.FileChanged) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.From != "" {
		s.changed[e.From] = ""
	}
	s.changed[e.Path] = e.After
}
