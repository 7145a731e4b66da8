package app

import (
	"context"
	"fmt"

	"github.com/coderrr/coderrr/internal/agent"
	"github.com/coderrr/coderrr/internal/approval"
	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/workspace"
)

// prior is the conversation of the session that a new one continues. Only a log
// that this user's Coderrr wrote is given to a model.
func (a *App) prior(ctx context.Context, id string, root *workspace.Root, known *approval.Store) ([]llm.Message, error) {
	if id == "" || !known.Known(id) {
		return nil, nil
	}
	events, err := sessions{&store{app: a, root: root, approvals: known}}.Events(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read the conversation to go on with: %w", err)
	}
	messages, _ := agent.Rebuild(events, func(llm.ToolUse) string {
		return "This call was interrupted and its result is lost."
	})
	return messages, nil
}
