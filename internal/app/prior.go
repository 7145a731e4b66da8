package app

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/coderrr/coderrr/internal/agent"
	"github.com/coderrr/coderrr/internal/approval"
	"github.com/coderrr/coderrr/internal/cli"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/workspace"
)

// prior is the conversation that a new session goes on with: that of the session
// it continues, and of all that one goes on with.
func (a *App) prior(ctx context.Context, id string, root *workspace.Root, known *approval.Store) ([]llm.Message, error) {
	events, err := a.before(ctx, id, root, known)
	if err != nil || len(events) == 0 {
		return nil, err
	}
	messages, _ := agent.Rebuild(events, func(llm.ToolUse) string {
		return "This call was interrupted and its result is lost."
	})
	return messages, nil
}

// before are the logs of a session and of those it goes on with, oldest first. Only
// logs that this user's Coderrr wrote are given to a model; where one is gone, the
// conversation begins after it.
func (a *App) before(ctx context.Context, id string, root *workspace.Root, known *approval.Store) ([]event.Event, error) {
	var logs [][]event.Event
	for seen := map[string]bool{}; id != "" && known.Known(id) && !seen[id]; {
		seen[id] = true
		events, err := sessions{&store{app: a, root: root, approvals: known}}.Events(ctx, id)
		if errors.Is(err, cli.ErrNoSession) && len(logs) > 0 {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the conversation to go on with: %w", err)
		}
		logs = append(logs, events)
		id = continued(events)
	}
	slices.Reverse(logs)
	return slices.Concat(logs...), nil
}

// continued is the session that the one of a log goes on with, "" for none.
func continued(events []event.Event) string {
	for _, e := range events {
		if d, ok := e.Data.(event.SessionStarted); ok {
			return d.Continues
		}
	}
	return ""
}
