package ask

import (
	"context"
	"fmt"
	"sync"
)

// Inbox is an Asker whose answers come from elsewhere: a browser, an editor,
// another process's front end. The first answer that fits wins. The zero Inbox
// is ready to use.
type Inbox struct {
	mu   sync.Mutex
	open map[string]*waiting
}

type waiting struct {
	question Question
	answer   chan Answer // capacity 1; sent at most once, under mu
}

// Ask waits for Answer to be called with the question's id.
func (in *Inbox) Ask(ctx context.Context, q Question) (Answer, error) {
	w := &waiting{question: q, answer: make(chan Answer, 1)}
	in.mu.Lock()
	if in.open == nil {
		in.open = map[string]*waiting{}
	}
	if _, taken := in.open[q.ID]; taken {
		in.mu.Unlock()
		return Answer{}, fmt.Errorf("ask %q: a question with this id is open", q.ID)
	}
	in.open[q.ID] = w
	in.mu.Unlock()
	select {
	case a := <-w.answer:
		return a, nil
	case <-ctx.Done():
		return in.give(ctx, q.ID, w)
	}
}

// Answer settles the question with this id. It returns ErrNotOpen when it is
// unknown or already decided, ErrChoice or ErrStale when the answer does not fit;
// in those cases the question stays as it was.
func (in *Inbox) Answer(id string, a Answer) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	w, ok := in.open[id]
	if !ok {
		return ErrNotOpen
	}
	if err := Check(w.question, a); err != nil {
		return err
	}
	delete(in.open, id)
	w.answer <- a
	return nil
}

// Open returns the questions that wait, in no particular order.
func (in *Inbox) Open() []Question {
	in.mu.Lock()
	defer in.mu.Unlock()
	qs := make([]Question, 0, len(in.open))
	for _, w := range in.open {
		qs = append(qs, w.question)
	}
	return qs
}

// give closes a question whose context ended. Whoever called Answer just before
// was told that the answer counts, so it does.
func (in *Inbox) give(ctx context.Context, id string, w *waiting) (Answer, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	select {
	case a := <-w.answer:
		return a, nil
	default:
		delete(in.open, id)
		return Answer{}, ctx.Err()
	}
}
