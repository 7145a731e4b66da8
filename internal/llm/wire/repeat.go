package wire

import (
	"context"
	"errors"

	"github.com/coderrr/coderrr/internal/llm"
)

// maxRepairs bounds the attempts of one call, each with one thing less.
const maxRepairs = 5

// Repeat runs once, and again after each refusal for which repair finds something
// to leave out; repair says in a few words what it was, "" for nothing. Each
// repetition is announced by a Retry without a wait. It returns nil when the answer
// was handed over or the consumer left, else the error to yield.
func Repeat(ctx context.Context, yield func(llm.Delta, error) bool, once func(Emit) error, repair func(*llm.Error) string) error {
	gone := false
	emit := func(d llm.Delta) bool {
		gone = gone || !yield(d, nil)
		return !gone
	}
	for attempt := 2; ; attempt++ {
		err := once(emit)
		if err == nil || gone {
			return nil
		}
		var e *llm.Error
		if !errors.As(err, &e) || ctx.Err() != nil || attempt > maxRepairs {
			return err
		}
		why := repair(e)
		if why == "" {
			return err
		}
		if !emit(llm.Retry{Attempt: attempt, Reason: why}) {
			return nil
		}
	}
}
