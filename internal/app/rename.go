package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/coderrr/coderrr/internal/cli"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/lock"
	"github.com/coderrr/coderrr/internal/server"
)

// Rename implements server.Backend. The title is an event of the session's log, so
// that every list has it.
func (b *backend) Rename(ctx context.Context, id, title string) error {
	named := event.ContextChanged{What: "title", Name: title}
	b.mu.Lock()
	l, ok := b.live[id]
	b.mu.Unlock()
	if ok {
		return l.undo(func() error {
			l.Log().Append(named)
			return l.Log().Err()
		})
	}
	ws, err := b.app.openStore()
	if err != nil {
		return err
	}
	defer func() { _ = ws.Close() }()
	return spoken(ws.rename(ctx, id, named))
}

func (s *store) rename(ctx context.Context, id string, named event.ContextChanged) error {
	if !s.approvals.Known(id) {
		return fmt.Errorf("%w: its log came with the folder", server.ErrReadOnly)
	}
	held, err := lock.Workspace(s.app.env.Home, s.root.Dir(), id)
	if err != nil {
		return busy(err)
	}
	events, err := sessions{s}.Events(ctx, id)
	if errors.Is(err, cli.ErrNoSession) {
		err = fmt.Errorf("%w: %s", server.ErrNoSession, id)
	}
	if err == nil {
		err = s.logged(id, events, func(log *event.Log) error {
			log.Append(named)
			return log.Err()
		})
	}
	return errors.Join(err, held.Close())
}
