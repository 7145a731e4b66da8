package session

import (
	"context"
	"fmt"

	"github.com/coderrr/coderrr/internal/agent"
	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/event"
)

// logged puts every question and its end on the log, so that all who watch see
// the same. The end is on disk before the answer has an effect.
type logged struct {
	asker  ask.Asker
	log    *event.Log
	budget *agent.Budget
}

// Ask implements ask.Asker.
func (l *logged) Ask(ctx context.Context, q ask.Question) (ask.Answer, error) {
	l.log.Append(event.AskOpened{
		ID: q.ID, Kind: q.Kind, Prompt: q.Prompt, Choices: q.Choices, Default: q.Default,
		Hash: q.Hash, About: q.About, Detail: q.Detail,
	})
	done := l.budget.Wait()
	a, err := l.asker.Ask(ctx, q)
	done()
	if err == nil {
		err = ask.Check(q, a)
	}
	if err != nil {
		by := ask.ByPolicy
		if ctx.Err() != nil {
			by = ask.ByCancelled
		}
		l.log.Append(event.AskClosed{ID: q.ID, By: by})
		return ask.Answer{}, err
	}
	closed := event.AskClosed{ID: q.ID, Choice: a.Choice, Text: a.Text, Hunks: a.Hunks, By: a.By}
	if err := l.log.Commit(closed); err != nil {
		l.log.Append(event.AskClosed{ID: q.ID, By: ask.ByCancelled}) // nobody waits for it
		return ask.Answer{}, fmt.Errorf("store the answer: %w", err)
	}
	return a, nil
}
