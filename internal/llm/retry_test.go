package llm_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/llm"
)

// flaky fails with errs in turn, after a piece of text, then succeeds.
type flaky struct {
	errs  []error
	calls int
}

func (f *flaky) Name() string { return "flaky" }

func (f *flaky) Stream(context.Context, llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		n := f.calls
		f.calls++
		if !yield(llm.TextDelta{Text: "piece"}, nil) {
			return
		}
		if n < len(f.errs) {
			yield(nil, f.errs[n])
			return
		}
		yield(llm.Done{Stop: llm.StopEndTurn}, nil)
	}
}

func kind(k llm.Kind, change ...func(*llm.Error)) error {
	e := &llm.Error{Provider: "flaky", Kind: k, Message: "m"}
	for _, c := range change {
		c(e)
	}
	return e
}

func after(d time.Duration) func(*llm.Error) { return func(e *llm.Error) { e.RetryAfter = d } }

// R10: which failures are repeated, when, and how often.
func TestR10Retry(t *testing.T) {
	half := func() float64 { return 0.5 }
	over, limited := kind(llm.KindOverloaded), kind(llm.KindRateLimit)
	big := llm.Request{System: strings.Repeat("word ", 400_000)}
	perMinute := func(e *llm.Error) { e.Message = "limit of 30,000 input tokens per minute" }
	tests := []struct {
		name  string
		errs  []error
		req   llm.Request
		waits []time.Duration
		fails llm.Kind
	}{
		{name: "fine"},
		{name: "overloaded thrice", errs: []error{over, over, over}, waits: []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second}},
		{name: "no more than four", errs: []error{over, over, over, over}, waits: []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second}, fails: llm.KindOverloaded},
		{name: "wait as asked", errs: []error{kind(llm.KindRateLimit, after(17*time.Second))}, waits: []time.Duration{17 * time.Second}},
		{name: "asked too long", errs: []error{kind(llm.KindRateLimit, after(2*time.Minute))}, fails: llm.KindRateLimit},
		{name: "auth never", errs: []error{kind(llm.KindAuth)}, fails: llm.KindAuth},
		{name: "context never", errs: []error{kind(llm.KindContextLength)}, fails: llm.KindContextLength},
		{name: "quota never", errs: []error{kind(llm.KindQuota)}, fails: llm.KindQuota},
		{name: "told not to", errs: []error{kind(llm.KindServer, func(e *llm.Error) { e.NoRetry = true })}, fails: llm.KindServer},
		{name: "truncated, timeout, network", errs: []error{kind(llm.KindTruncated), kind(llm.KindTimeout), kind(llm.KindNetwork)}, waits: []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second}},
		{name: "bad call once", errs: []error{kind(llm.KindBadToolCall), kind(llm.KindBadToolCall)}, waits: []time.Duration{500 * time.Millisecond}, fails: llm.KindBadToolCall},
		{name: "too large twice", errs: []error{limited, limited}, req: big, waits: []time.Duration{500 * time.Millisecond}, fails: llm.KindContextLength},
		{name: "small prompt keeps trying", errs: []error{limited, limited}, waits: []time.Duration{500 * time.Millisecond, time.Second}},
		{name: "limit named", errs: []error{kind(llm.KindRateLimit, perMinute), kind(llm.KindRateLimit, perMinute)}, req: llm.Request{System: strings.Repeat("word ", 30_000)}, waits: []time.Duration{500 * time.Millisecond}, fails: llm.KindContextLength},
		{name: "limit named, prompt below", errs: []error{kind(llm.KindRateLimit, perMinute), kind(llm.KindRateLimit, perMinute)}, req: llm.Request{System: strings.Repeat("word ", 3_000)}, waits: []time.Duration{500 * time.Millisecond, time.Second}},
		{name: "not ours", errs: []error{errors.New("odd")}, fails: "odd"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := &flaky{errs: tt.errs}
				p := llm.WithRetry(inner, llm.RetryPolicy{Jitter: half})
				var waits []time.Duration
				start, total := time.Now(), time.Duration(0)
				_, err := llm.Collect(p.Stream(t.Context(), tt.req), func(d llm.Delta) error {
					if r, ok := d.(llm.Retry); ok {
						waits = append(waits, time.Duration(r.Wait)*time.Millisecond)
						total += waits[len(waits)-1]
						require.Equal(t, len(waits)+1, r.Attempt)
						require.NotEmpty(t, r.Reason)
					}
					return nil
				})
				require.Equal(t, tt.waits, waits)
				require.Equal(t, total, time.Since(start))
				require.Equal(t, len(waits)+1, inner.calls)
				var e *llm.Error
				switch {
				case tt.fails == "":
					require.NoError(t, err)
				case errors.As(err, &e):
					require.Equal(t, tt.fails, e.Kind)
				default:
					require.EqualError(t, err, string(tt.fails))
				}
			})
		})
	}
}

// Cancelling during a wait returns at once.
func TestR10RetryCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		p := llm.WithRetry(&flaky{errs: []error{kind(llm.KindRateLimit, after(50*time.Second))}}, llm.RetryPolicy{})
		time.AfterFunc(time.Second, cancel)
		_, err := llm.Collect(p.Stream(ctx, llm.Request{}), nil)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, time.Second, time.Since(start))
	})
}

// A consumer that leaves is not called again.
func TestRetryBreak(t *testing.T) {
	inner := &flaky{errs: []error{kind(llm.KindServer)}}
	for _, err := range llm.WithRetry(inner, llm.RetryPolicy{}).Stream(t.Context(), llm.Request{}) {
		require.NoError(t, err)
		break
	}
	require.Equal(t, 1, inner.calls)
	_, err := llm.WithRetry(inner, llm.RetryPolicy{}).(llm.Lister).Models(t.Context())
	require.ErrorContains(t, err, "cannot list")
}
