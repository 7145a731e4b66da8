package llm

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// RetryPolicy says how often and how patiently a call is repeated. Zero fields are
// the defaults.
type RetryPolicy struct {
	// Attempts is the number of tries in all; default 4.
	Attempts int
	// Base is the longest first wait; it doubles with each further one. Default 1 s.
	Base time.Duration
	// MaxBackoff bounds a wait of our own choice. Default 30 s.
	MaxBackoff time.Duration
	// MaxWait is the longest wait a provider may ask for; beyond it the error is
	// returned, so that a person can decide. Default 60 s.
	MaxWait time.Duration
	// Oversize is the size of a prompt, in tokens, above which a rate limit that
	// comes twice is taken for a prompt that can never pass. Default 200,000.
	Oversize int64
	// Jitter returns a number in [0, 1); nil means the runtime's randomness.
	Jitter func() float64
}

func (p RetryPolicy) filled() RetryPolicy {
	if p.Attempts <= 0 {
		p.Attempts = 4
	}
	if p.Base <= 0 {
		p.Base = time.Second
	}
	if p.MaxBackoff <= 0 {
		p.MaxBackoff = 30 * time.Second
	}
	if p.MaxWait <= 0 {
		p.MaxWait = time.Minute
	}
	if p.Oversize <= 0 {
		p.Oversize = 200_000
	}
	if p.Jitter == nil {
		p.Jitter = rand.Float64
	}
	return p
}

// WithRetry returns p with failures that can pass repeated. Each repetition is
// announced by a Retry delta: what was streamed before it is discarded, which is
// safe because no call is executed before Done. The result also is a Lister; if p
// is none, its Models fails.
func WithRetry(p Provider, policy RetryPolicy) Provider {
	return &retrier{Provider: p, policy: policy.filled()}
}

type retrier struct {
	Provider
	policy RetryPolicy
}

// Unwrap is the provider that does the work.
func (r *retrier) Unwrap() Provider { return r.Provider }

// Models asks the provider below, without repeating.
func (r *retrier) Models(ctx context.Context) ([]ModelInfo, error) {
	l, ok := r.Provider.(Lister)
	if !ok {
		return nil, errors.New(r.Name() + " cannot list its models")
	}
	return l.Models(ctx)
}

// Stream runs the call until it succeeds or must not be repeated.
func (r *retrier) Stream(ctx context.Context, req Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		var past history
		for attempt := 1; ; attempt++ {
			failed, over := r.once(ctx, req, yield)
			if over {
				return
			}
			wait, reason, err := r.decide(ctx, req, failed, attempt, &past)
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(Retry{Wait: wait.Milliseconds(), Attempt: attempt + 1, Reason: reason}, nil) {
				return
			}
			if err := sleep(ctx, wait); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// once forwards one attempt. over is set when there is nothing to repeat.
func (r *retrier) once(ctx context.Context, req Request, yield func(Delta, error) bool) (failed error, over bool) {
	for d, err := range r.Provider.Stream(ctx, req) {
		if err != nil {
			return err, false
		}
		if !yield(d, nil) {
			return nil, true
		}
		if _, ok := d.(Done); ok {
			return nil, true
		}
	}
	return ErrNoEnd, false
}

// history counts the failures of one call by what limits their repetition.
type history struct{ limited, badCalls int }

// decide returns the wait before the next attempt, or the error to give up with.
func (r *retrier) decide(ctx context.Context, req Request, failed error, attempt int, past *history) (time.Duration, string, error) {
	var e *Error
	if ctx.Err() != nil || !errors.As(failed, &e) || !e.Temporary() {
		return 0, "", failed
	}
	switch e.Kind {
	case KindRateLimit:
		past.limited++
		if past.limited >= 2 && r.oversize(req, e) {
			never := *e
			never.Kind = KindContextLength
			never.Message = "the prompt is larger than what the rate limit lets through at once: " + e.Message
			return 0, "", &never
		}
	case KindBadToolCall:
		if past.badCalls++; past.badCalls > 1 {
			return 0, "", failed
		}
	}
	if attempt >= r.policy.Attempts {
		return 0, "", failed
	}
	if e.RetryAfter > r.policy.MaxWait {
		late := *e
		late.NoRetry = true
		late.Message = strings.TrimSuffix(e.Message, ".") + "; the provider asks to wait " + e.RetryAfter.Round(time.Second).String()
		return 0, "", &late
	}
	return r.wait(e, attempt), reasonOf(e), nil
}

// wait is what the provider asked for, or full jitter below a doubling bound.
func (r *retrier) wait(e *Error, attempt int) time.Duration {
	const least = 100 * time.Millisecond
	if e.RetryAfter > 0 {
		return max(e.RetryAfter, least)
	}
	bound := min(r.policy.Base<<(attempt-1), r.policy.MaxBackoff)
	if bound <= 0 {
		bound = r.policy.MaxBackoff
	}
	return max(time.Duration(r.policy.Jitter()*float64(bound)), least)
}

// limitNumber finds the size of a per-minute budget in a provider's message.
var limitNumber = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)limit(?: of)?:? ?([\d,]+)|([\d,]+) (?:input )?tokens per minute`)
})

// oversize reports whether the prompt itself is beyond the budget.
func (r *retrier) oversize(req Request, e *Error) bool {
	size := EstimateTokens(req)
	if m := limitNumber().FindStringSubmatch(e.Message); m != nil {
		limit, err := strconv.ParseInt(strings.ReplaceAll(m[1]+m[2], ",", ""), 10, 64)
		if err == nil && limit >= 1000 { // a smaller number counts requests
			return size > limit
		}
	}
	return size > r.policy.Oversize
}

// reasonOf is the reason in a few plain words: "retrying in 8 s (overloaded)".
func reasonOf(e *Error) string {
	switch e.Kind {
	case KindRateLimit:
		return "rate limited"
	case KindOverloaded:
		return "overloaded"
	case KindNetwork:
		return "no connection"
	case KindTruncated:
		return "the answer broke off"
	case KindTimeout:
		return "no answer in time"
	case KindBadToolCall:
		return "unreadable tool call"
	default:
		return "server error"
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
