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
// folder) and for a task, everywhere and for all for "". Git is not touched. It refuses where a file
// changed since.
func (s *Session) Undo(ctx context.Context, path, task string) error {
	s.undoing.Lock()
	defer s.undoing.Unlock()
	switch s.Phase() {
	case event.Planning, event.Execute:
		return ErrBusy
	}
	undo := history.Plan(s.o.Log.Events(0), history.Filter{Path: path, Task: task})
	if len(undo.Steps) == 0 {
		return errors.New("there is nothing to undo")
	}
	done, err := undo.Apply(ctx, history.Options{Root: s.o.Root, Store: s.o.History, Log: s.commit})
	if len(done) > 0 {
		s.o.Log.Append(event.ContextChanged{What: "undo", Name: cmp.Or(path, task), Detail: strings.Join(done, "\n")})
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
