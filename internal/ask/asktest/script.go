// Package asktest is a person who was told beforehand what they will be asked.
package asktest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/coderrr/coderrr/internal/ask"
)

// Step is one question that must come, and what is answered. An empty field is
// not checked.
type Step struct {
	Kind   ask.Kind
	ID     string
	Prompt string
	// Look sees the whole question, for what a test wants to check or to do while
	// it is open.
	Look func(ask.Question)

	Choice string
	Text   string
	Hunks  []ask.HunkDecision
	// Err is returned in place of an answer.
	Err error
	// Wait keeps the question open until its context ends.
	Wait bool
}

// Script is an Asker that answers its steps in order. A question that differs from
// its step, or that no step foresees, fails the test and is answered by ErrNobody;
// so do steps that are left when the test ends. Safe for concurrent use.
type Script struct {
	t     testing.TB
	mu    sync.Mutex
	steps []Step
	asked []ask.Question
}

// New returns a Script for one test.
func New(t testing.TB, steps ...Step) *Script {
	s := &Script{t: t, steps: steps}
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, step := range s.steps {
			t.Errorf("never asked: %s", describe(step))
		}
	})
	return s
}

// Asked returns the questions that came, in order.
func (s *Script) Asked() []ask.Question {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]ask.Question(nil), s.asked...)
}

// Ask answers with the next step. The answer carries the question's hash and
// counts as given at the terminal.
func (s *Script) Ask(ctx context.Context, q ask.Question) (ask.Answer, error) {
	step, ok := s.next(q)
	if !ok {
		return ask.Answer{}, ask.ErrNobody
	}
	if step.Look != nil {
		step.Look(q)
	}
	if step.Wait {
		<-ctx.Done()
	}
	if err := ctx.Err(); err != nil {
		return ask.Answer{}, err
	}
	if step.Err != nil {
		return ask.Answer{}, step.Err
	}
	if !q.Has(step.Choice) {
		s.t.Errorf("%s offers no choice %q", q.ID, step.Choice)
		return ask.Answer{}, ask.ErrNobody
	}
	return ask.Answer{Choice: step.Choice, Text: step.Text, Hunks: step.Hunks, Hash: q.Hash, By: ask.ByTerminal}, nil
}

func (s *Script) next(q ask.Question) (Step, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, q)
	if len(s.steps) == 0 {
		s.t.Errorf("unexpected question %s (%s): %s", q.ID, q.Kind, q.Prompt)
		return Step{}, false
	}
	step := s.steps[0]
	s.steps = s.steps[1:]
	if step.Kind != "" && step.Kind != q.Kind || step.ID != "" && step.ID != q.ID || step.Prompt != "" && step.Prompt != q.Prompt {
		s.t.Errorf("asked %s (%s): %q, but %s", q.ID, q.Kind, q.Prompt, describe(step))
		return Step{}, false
	}
	return step, true
}

func describe(s Step) string {
	return fmt.Sprintf("expected a question of kind %q, id %q, prompt %q (answer %q)", s.Kind, s.ID, s.Prompt, s.Choice)
}
