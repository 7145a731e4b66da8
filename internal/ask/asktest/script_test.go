package asktest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/ask/asktest"
)

// recorder is a testing.TB that keeps failures to itself.
type recorder struct {
	testing.TB
	failures []string
	cleanup  []func()
}

func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}
func (r *recorder) Cleanup(f func()) { r.cleanup = append(r.cleanup, f) }

func question() ask.Question {
	return ask.Question{ID: "q1", Kind: ask.Plan, Prompt: "Start?", Hash: "h", Choices: []ask.Choice{{ID: ask.Approve}}}
}

func TestScriptAnswers(t *testing.T) {
	var seen ask.Question
	s := asktest.New(t,
		asktest.Step{Kind: ask.Plan, ID: "q1", Prompt: "Start?", Choice: ask.Approve, Text: "go", Look: func(q ask.Question) { seen = q }},
		asktest.Step{Err: ask.ErrNobody},
		asktest.Step{Wait: true})
	a, err := s.Ask(t.Context(), question())
	require.NoError(t, err)
	require.Equal(t, ask.Answer{Choice: ask.Approve, Text: "go", Hash: "h", By: ask.ByTerminal}, a)
	require.Equal(t, question(), seen)
	_, err = s.Ask(t.Context(), question())
	require.ErrorIs(t, err, ask.ErrNobody)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Ask(ctx, question())
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, s.Asked(), 3)
}

func TestScriptFailsOnUnexpectedAndUnused(t *testing.T) {
	for name, steps := range map[string][]asktest.Step{
		"none foreseen": nil,
		"other kind":    {{Kind: ask.Write, Choice: ask.Approve}},
		"other id":      {{ID: "q2", Choice: ask.Approve}},
		"other prompt":  {{Prompt: "Really?", Choice: ask.Approve}},
		"not offered":   {{Choice: ask.Discard}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{TB: t}
			_, err := asktest.New(r, steps...).Ask(t.Context(), question())
			require.True(t, errors.Is(err, ask.ErrNobody))
			require.Len(t, r.failures, 1)
		})
	}
	r := &recorder{TB: t}
	asktest.New(r, asktest.Step{Kind: ask.Write})
	for _, f := range r.cleanup {
		f()
	}
	require.Len(t, r.failures, 1)
	require.Contains(t, r.failures[0], "never asked")
}
