package ask_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/coderrr/coderrr/internal/ask"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func plan() ask.Question {
	return ask.Question{
		ID: "plan-1", Kind: ask.Plan, Prompt: "Start?", Hash: "abc",
		Choices: []ask.Choice{{ID: ask.Approve, Label: "Approve and start"}, {ID: ask.Comment, Label: "Send comments"}},
	}
}

// TestW20Check: an answer counts only for exactly what was shown.
func TestW20Check(t *testing.T) {
	for _, tc := range []struct {
		name string
		q    ask.Question
		a    ask.Answer
		want error
	}{
		{"right hash", plan(), ask.Answer{Choice: ask.Approve, Hash: "abc"}, nil},
		{"wrong hash", plan(), ask.Answer{Choice: ask.Approve, Hash: "abd"}, ask.ErrStale},
		{"no hash", plan(), ask.Answer{Choice: ask.Approve}, ask.ErrStale},
		{"not offered", plan(), ask.Answer{Choice: ask.AcceptAll, Hash: "abc"}, ask.ErrChoice},
		{"empty choice", plan(), ask.Answer{Hash: "abc"}, ask.ErrChoice},
		{"a question without a hash", ask.Question{Choices: []ask.Choice{{ID: "a"}}}, ask.Answer{Choice: "a", Hash: "whatever"}, nil},
		{"a question without choices", ask.Question{}, ask.Answer{Choice: ""}, ask.ErrChoice},
	} {
		t.Run(tc.name, func(t *testing.T) { require.Equal(t, tc.want, ask.Check(tc.q, tc.a)) })
	}
}

func TestPolicy(t *testing.T) {
	yes := ask.Policy{Choices: map[ask.Kind]string{ask.Plan: ask.Approve}, By: ask.ByFlag}
	a, err := yes.Ask(t.Context(), plan())
	require.NoError(t, err)
	require.Equal(t, ask.Answer{Choice: ask.Approve, Hash: "abc", By: ask.ByFlag}, a)

	a, err = ask.Policy{Choices: map[ask.Kind]string{ask.Plan: ask.Approve}}.Ask(t.Context(), plan())
	require.NoError(t, err)
	require.Equal(t, ask.ByPolicy, a.By)

	_, err = ask.Policy{}.Ask(t.Context(), plan())
	require.ErrorIs(t, err, ask.ErrNobody, "the zero Policy answers nothing")
	q := plan()
	q.Kind = ask.Write
	_, err = yes.Ask(t.Context(), q)
	require.ErrorIs(t, err, ask.ErrNobody, "a plan answer is not a write answer")
	q = plan()
	q.Choices = q.Choices[1:]
	_, err = yes.Ask(t.Context(), q)
	require.ErrorIs(t, err, ask.ErrNobody, "only what is offered")
	_, err = yes.Ask(cancelled(t), plan())
	require.ErrorIs(t, err, context.Canceled)
}

func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var in ask.Inbox
		require.ErrorIs(t, in.Answer("plan-1", ask.Answer{}), ask.ErrNotOpen)
		got := make(chan ask.Answer, 1)
		go func() {
			a, err := in.Ask(t.Context(), plan())
			if err == nil {
				got <- a
			}
		}()
		synctest.Wait()
		require.Equal(t, []ask.Question{plan()}, in.Open())
		_, err := in.Ask(t.Context(), plan())
		require.ErrorContains(t, err, "a question with this id is open")

		require.ErrorIs(t, in.Answer("plan-1", ask.Answer{Choice: ask.Approve, Hash: "old"}), ask.ErrStale)
		require.ErrorIs(t, in.Answer("plan-1", ask.Answer{Choice: "other", Hash: "abc"}), ask.ErrChoice)
		require.Len(t, in.Open(), 1, "an answer that does not fit leaves the question open")
		right := ask.Answer{Choice: ask.Approve, Hash: "abc", By: ask.ByBrowser}
		require.NoError(t, in.Answer("plan-1", right))
		require.ErrorIs(t, in.Answer("plan-1", right), ask.ErrNotOpen, "first wins")
		require.Equal(t, right, <-got)
		require.Empty(t, in.Open())
	})
}

func TestInboxCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var in ask.Inbox
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := in.Ask(ctx, plan())
			done <- err
		}()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		require.Empty(t, in.Open())
		require.ErrorIs(t, in.Answer("plan-1", ask.Answer{Choice: ask.Approve, Hash: "abc"}), ask.ErrNotOpen)
	})
}

// TestInboxAnswerCounts: whoever was told that the answer counts was told the
// truth, even when the question is cancelled in the same moment.
func TestInboxAnswerCounts(t *testing.T) {
	for range 500 {
		var in ask.Inbox
		ctx, cancel := context.WithCancel(t.Context())
		settled := make(chan error, 1)
		go func() {
			var err error = ask.ErrNotOpen
			for errors.Is(err, ask.ErrNotOpen) && ctx.Err() == nil {
				err = in.Answer("plan-1", ask.Answer{Choice: ask.Approve, Hash: "abc"})
			}
			cancel()
			settled <- err
		}()
		_, err := in.Ask(ctx, plan())
		require.Equal(t, <-settled == nil, err == nil)
	}
}

func TestInboxFirstOfMany(t *testing.T) {
	var in ask.Inbox
	var won atomic.Int32
	asked := make(chan ask.Answer, 1)
	go func() {
		a, _ := in.Ask(t.Context(), plan())
		asked <- a
	}()
	for len(in.Open()) == 0 {
	}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if in.Answer("plan-1", ask.Answer{Choice: ask.Approve, Hash: "abc"}) == nil {
				won.Add(1)
			}
		})
	}
	wg.Wait()
	require.Equal(t, ask.Approve, (<-asked).Choice)
	require.EqualValues(t, 1, won.Load())
}

type asker func(context.Context) (ask.Answer, error)

func (f asker) Ask(ctx context.Context, _ ask.Question) (ask.Answer, error) { return f(ctx) }

func TestRace(t *testing.T) {
	broken := errors.New("the terminal is gone")
	nobody := asker(func(context.Context) (ask.Answer, error) { return ask.Answer{}, ask.ErrNobody })
	fails := asker(func(context.Context) (ask.Answer, error) { return ask.Answer{}, broken })
	yes := asker(func(context.Context) (ask.Answer, error) { return ask.Answer{Choice: ask.Approve}, nil })
	never := asker(func(ctx context.Context) (ask.Answer, error) {
		<-ctx.Done()
		return ask.Answer{}, ctx.Err()
	})
	for _, tc := range []struct {
		name string
		race ask.Race
		want error
	}{
		{"nobody runs", nil, ask.ErrNobody},
		{"all say nobody", ask.Race{nobody, nobody}, ask.ErrNobody},
		{"one answers, one never would", ask.Race{never, yes}, nil},
		{"one answers, one has nobody", ask.Race{nobody, yes}, nil},
		{"one answers, one is broken", ask.Race{fails, yes}, nil},
		{"one is broken, one has nobody", ask.Race{nobody, fails}, broken},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, err := tc.race.Ask(t.Context(), plan())
			require.ErrorIs(t, err, tc.want)
			if tc.want == nil {
				require.Equal(t, ask.Approve, a.Choice)
			}
		})
	}
	_, err := ask.Race{never, nobody}.Ask(cancelled(t), plan())
	require.ErrorIs(t, err, context.Canceled)
}
