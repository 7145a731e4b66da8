package ask

import (
	"context"
	"errors"
)

// Policy answers without a person: the choice named for a question's kind, or
// nobody. It is how a headless run fails closed: the zero Policy answers nothing.
type Policy struct {
	// Choices maps a kind to the choice given for it.
	Choices map[Kind]string
	// By is recorded as the decider; empty means ByPolicy.
	By By
}

// Ask answers at once.
func (p Policy) Ask(ctx context.Context, q Question) (Answer, error) {
	if err := ctx.Err(); err != nil {
		return Answer{}, err
	}
	choice, ok := p.Choices[q.Kind]
	if !ok || !q.Has(choice) {
		return Answer{}, ErrNobody
	}
	by := p.By
	if by == "" {
		by = ByPolicy
	}
	return Answer{Choice: choice, Hash: q.Hash, By: by}, nil
}

// Race asks several askers at once; the first answer wins and the others are
// cancelled. Without any answer the error is the context's, or the first that is
// not ErrNobody; ErrNobody is returned only when all of them say so.
type Race []Asker

// Ask returns the first answer. It waits for the askers it cancelled, so that
// none of them is left holding a terminal.
func (r Race) Ask(parent context.Context, q Question) (Answer, error) {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	type reply struct {
		answer Answer
		err    error
	}
	replies := make(chan reply, len(r))
	for _, a := range r {
		go func() {
			answer, err := a.Ask(ctx, q)
			replies <- reply{answer, err}
		}()
	}
	best := reply{err: ErrNobody}
	for range r {
		got := <-replies
		switch {
		case best.err == nil:
		case got.err == nil:
			best = got
			cancel()
		case errors.Is(best.err, ErrNobody):
			best.err = got.err
		}
	}
	if best.err != nil && parent.Err() != nil {
		return Answer{}, parent.Err()
	}
	return best.answer, best.err
}
