package session

import (
	"slices"

	"github.com/coderrr/coderrr/internal/event"
)

// Unsay takes a message back that was not delivered yet, and reports whether it
// was still there.
func (s *Session) Unsay(text string) bool {
	s.mu.Lock()
	at := slices.Index(s.queue, text)
	if at >= 0 {
		s.queue = slices.Delete(s.queue, at, at+1)
	}
	s.mu.Unlock()
	if at >= 0 {
		s.o.Log.Append(event.ContextChanged{What: "queue", Name: "removed", Detail: text})
	}
	return at >= 0
}
