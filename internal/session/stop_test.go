package session_test

import (
	"context"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/ask/asktest"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/llmtest"
	"github.com/coderrr/coderrr/internal/policy"
	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/session"
	"github.com/coderrr/coderrr/internal/tools"
)

// hung stands for whatever answers to nothing but the end of its context.
type hung struct {
	box
	once  sync.Once
	began chan struct{}
}

func newHung() *hung { return &hung{began: make(chan struct{})} }

func (h *hung) wait(ctx context.Context) error {
	h.once.Do(func() { close(h.began) })
	<-ctx.Done()
	return ctx.Err()
}

func (h *hung) Name() string { return "hung" }

func (h *hung) Models(context.Context) ([]llm.ModelInfo, error) { return nil, nil }

func (h *hung) Stream(ctx context.Context, _ llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) { yield(nil, h.wait(ctx)) }
}

func (h *hung) Run(ctx context.Context, _ sandbox.Command) (sandbox.Result, error) {
	return sandbox.Result{}, h.wait(ctx)
}

func (h *hung) Verify(ctx context.Context, _ tools.Change) (verdict, reason string) {
	return "skipped", h.wait(ctx).Error()
}

func (h *hung) Ask(ctx context.Context, q ask.Question) (ask.Answer, error) {
	return ask.Answer{}, h.wait(ctx)
}

// half plays a script and hangs after it.
type half struct {
	*llmtest.Script
	end *hung
}

func (h half) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	if h.Left() == 0 {
		return h.end.Stream(ctx, req)
	}
	return h.Script.Stream(ctx, req)
}

// TestR20StopInEveryPhase: whatever hangs, a stop ends the session within a second,
// as cancelled, with the conversation and the files whole.
func TestR20StopInEveryPhase(t *testing.T) {
	t.Parallel()
	waits := asktest.Step{Kind: ask.Plan, Choice: ask.Approve}
	cases := map[string]func(t *testing.T, h *hung) (llm.Provider, ask.Asker, setup){
		"while the model's limits are asked for": func(t *testing.T, h *hung) (llm.Provider, ask.Asker, setup) {
			return script(nil), asktest.New(t), setup{learn: func(ctx context.Context) (llm.ModelInfo, string) {
				return llm.ModelInfo{}, h.wait(ctx).Error()
			}}
		},
		"while servers start": func(t *testing.T, h *hung) (llm.Provider, ask.Asker, setup) {
			return script(nil), asktest.New(t), setup{begin: h.wait}
		},
		"while the model plans": func(t *testing.T, h *hung) (llm.Provider, ask.Asker, setup) {
			return h, asktest.New(t), setup{}
		},
		"while planning looks into the sandbox": func(t *testing.T, h *hung) (llm.Provider, ask.Asker, setup) {
			return script([]llmtest.Turn{prove()}), asktest.New(t), setup{box: h}
		},
		"while the plan waits": func(t *testing.T, h *hung) (llm.Provider, ask.Asker, setup) {
			return script(planTurns()), h, setup{}
		},
		"while the model works": func(t *testing.T, h *hung) (llm.Provider, ask.Asker, setup) {
			return half{script(planTurns(), []llmtest.Turn{start()}), h}, asktest.New(t, waits), setup{}
		},
		"while the verifier thinks": func(t *testing.T, h *hung) (llm.Provider, ask.Asker, setup) {
			return script(planTurns(), []llmtest.Turn{start(), edit()}), asktest.New(t, waits), setup{verify: h}
		},
		"while a test runs": func(t *testing.T, h *hung) (llm.Provider, ask.Asker, setup) {
			return script(planTurns(), []llmtest.Turn{start(), prove()}), asktest.New(t, waits), setup{box: h}
		},
		"while a write is asked for": func(t *testing.T, h *hung) (llm.Provider, ask.Asker, setup) {
			asker := asked{asktest.New(t, waits), h}
			return script(planTurns(), []llmtest.Turn{start(), edit()}), asker, setup{rules: policy.Rules{ConfirmWrites: true}}
		},
	}
	for name, make := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHung()
			model, asker, o := make(t, h)
			r := newRig(t, newPlace(t), model, asker, o)
			ended := go1(func() event.SessionFinished { return r.Run(t.Context(), session.Request{Text: "go"}) })
			<-h.began
			since := time.Now()
			r.Stop()
			fin := <-ended
			require.Less(t, time.Since(since), time.Second)
			require.Equal(t, "cancelled", fin.Status, fin.Summary)
			require.Equal(t, 130, fin.ExitCode)
			require.Equal(t, "one\ntwo\n", r.read(t, "a.txt"))
			require.Equal(t, len(find[event.ToolStarted](r.log)), len(find[event.ToolFinished](r.log)))
			require.Equal(t, len(find[event.AskOpened](r.log)), len(find[event.AskClosed](r.log)))
		})
	}
}

func go1[T any](f func() T) <-chan T {
	out := make(chan T, 1)
	go func() { out <- f() }()
	return out
}

// asked answers plans and hangs at the rest.
type asked struct {
	plans ask.Asker
	rest  *hung
}

func (a asked) Ask(ctx context.Context, q ask.Question) (ask.Answer, error) {
	if q.Kind == ask.Plan {
		return a.plans.Ask(ctx, q)
	}
	return a.rest.Ask(ctx, q)
}
