package llm

import (
	"errors"
	"iter"
)

// ErrNoEnd is returned by Collect when a stream ended without Done or an error:
// an adapter's fault, never a finished turn.
var ErrNoEnd = errors.New("the model's stream ended without a result")

// Collect drains a stream, handing each delta to each (which may be nil), and
// returns the result. A non-nil error from each stops the stream and is returned.
func Collect(seq iter.Seq2[Delta, error], each func(Delta) error) (Done, error) {
	for d, err := range seq {
		if err != nil {
			return Done{}, err
		}
		if each != nil {
			if err := each(d); err != nil {
				return Done{}, err
			}
		}
		if done, ok := d.(Done); ok {
			return done, nil
		}
	}
	return Done{}, ErrNoEnd
}
