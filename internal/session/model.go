package session

import (
	"context"

	"github.com/coderrr/coderrr/internal/agent"
	"github.com/coderrr/coderrr/internal/event"
)

// Model is who answers the next turn.
func (s *Session) Model() agent.Model {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answers
}

// SetModel lets another model answer from the next turn on. The conversation stays:
// adapters leave out what only its maker can read.
func (s *Session) SetModel(ctx context.Context, m agent.Model) {
	m, warning := learned(ctx, m)
	s.mu.Lock()
	old := s.answers
	s.answers = m
	s.mu.Unlock()
	s.o.Log.Append(event.ContextChanged{What: "model", Name: m.Name, Detail: "at " + m.Provider.Name() + ", instead of " + nameOf(old)})
	s.warn(warning)
}

// learn asks the provider what is not known of the first model.
func (s *Session) learn(ctx context.Context) {
	m, warning := learned(ctx, s.Model())
	s.mu.Lock()
	s.answers = m
	s.mu.Unlock()
	s.warn(warning)
}

func learned(ctx context.Context, m agent.Model) (agent.Model, string) {
	if m.Learn == nil {
		return m, ""
	}
	warning := ""
	m.Info, warning = m.Learn(ctx)
	m.Learn = nil
	return m, warning
}

func (s *Session) warn(text string) {
	if text != "" {
		s.o.Log.Append(event.Notice{Level: "warning", Kind: "model", Text: text})
	}
}

func nameOf(m agent.Model) string { return m.Provider.Name() + "/" + m.Name }

// Compact shortens the conversation before the next turn.
func (s *Session) Compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shorten = true
}

// wished takes the wish for a shorter conversation.
func (s *Session) wished() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	wish := s.shorten
	s.shorten = false
	return wish
}

// memory tells a model that lost the beginning of the conversation what is kept
// outside it.
func (s *Session) memory() string {
	if id := s.current(); id != "" {
		return "The plan is spec " + id + ": read_spec gives its documents, with the status of every task. Files may have changed since they were read."
	}
	return "Files may have changed since they were read."
}
