package app

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/cli"
	"github.com/coderrr/coderrr/internal/diff"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/history"
	"github.com/coderrr/coderrr/internal/server"
)

// stored is the log of a session that does not run here: to be read, and, if it is
// one of ours, to be undone.
type stored struct {
	app *App
	id  string
	log *event.Log
	// size is the length of the file when log was read from it.
	size int64

	mu sync.Mutex
	n  int // events of the file that the log has
}

func (s *stored) ID() string                      { return s.id }
func (s *stored) Log() *event.Log                 { return s.log }
func (s *stored) Running() bool                   { return false }
func (s *stored) Answer(string, ask.Answer) error { return server.ErrReadOnly }

func (s *stored) Say(string) error { return server.ErrReadOnly }

func (s *stored) Compact() error { return server.ErrReadOnly }

func (s *stored) SetModel(context.Context, string) error { return server.ErrReadOnly }

func (s *stored) Unsay(string) error                                     { return server.ErrReadOnly }
func (s *stored) Stop()                                                  {}
func (s *stored) SetConfirmWrites(bool)                                  {}
func (s *stored) EditSpec(context.Context, string, string, string) error { return server.ErrReadOnly }

// Undo takes back what the session changed, as coderrr undo does: it survives a
// restart. A log that came with the folder is not trusted to undo anything.
func (s *stored) Undo(ctx context.Context, path, task string) error {
	return s.undo(ctx, func(ws *store) (cli.UndoReport, error) {
		return ws.Undo(ctx, cli.UndoOptions{Session: s.id, Path: path, Task: task})
	})
}

// UndoHunk takes back one group of lines, on the same terms.
func (s *stored) UndoHunk(ctx context.Context, path, after string, lines diff.Hunk) error {
	return s.undo(ctx, func(ws *store) (cli.UndoReport, error) {
		return ws.undoHunk(ctx, s.id, history.Hunk{Path: path, After: after, Lines: lines})
	})
}

func (s *stored) undo(ctx context.Context, do func(*store) (cli.UndoReport, error)) error {
	ws, err := s.app.openStore()
	if err != nil {
		return err
	}
	defer func() { _ = ws.Close() }()
	report, err := do(ws)
	if err == nil && len(report.Steps) == 0 {
		err = errors.New("there is nothing to undo")
	}
	readErr := s.catchUp(ctx, ws)
	if err != nil {
		return spoken(err)
	}
	return readErr
}

// followEvery is how often the log of another process is looked at.
const followEvery = 250 * time.Millisecond

// Follow implements server.Follower: while another process runs the session, the
// page sees what that adds to the log.
func (s *stored) Follow(ctx context.Context) {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	size := s.size
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// What cannot be read now may be there at the next look.
		_ = s.look(ctx, &size)
	}
}

// look reads the log again if it is not as long as it was.
func (s *stored) look(ctx context.Context, size *int64) error {
	ws, err := s.app.openStore()
	if err != nil {
		return err
	}
	defer func() { _ = ws.Close() }()
	f, err := ws.root.Sessions().Open(s.id + suffix)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Close()); err != nil || info.Size() == *size {
		return err
	}
	*size = info.Size()
	return s.catchUp(ctx, ws)
}

// catchUp takes into the log what the file has more.
func (s *stored) catchUp(ctx context.Context, ws *store) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	events, err := ws.Sessions().Events(ctx, s.id)
	for _, e := range events[min(s.n, len(events)):] {
		s.log.Append(e.Data)
	}
	s.n = max(s.n, len(events))
	return err
}

// Content is what a file held, for a log that is ours.
func (s *stored) Content(ctx context.Context, path, hash string) ([]byte, error) {
	ws, err := s.app.openStore()
	if err != nil {
		return nil, err
	}
	defer func() { _ = ws.Close() }()
	if !ws.approvals.Known(s.id) {
		return nil, server.ErrReadOnly
	}
	return history.Content(ctx, path, hash, ws.root, history.Open(s.app.env.Home, ws.root.Dir()))
}
