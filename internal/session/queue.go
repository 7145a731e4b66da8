package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coderrr/coderrr/internal/event"
)

// ErrOver: the session has ended, so nobody reads a message any more.
var ErrOver = errors.New("the session has ended and reads nothing more: go on with coderrr --continue")

// Say queues text for the model's next turn. While a plan waits for approval it
// sends the plan back with the text as comment. After the end it is ErrOver.
func (s *Session) Say(text string) error {
	s.mu.Lock()
	over := s.phase == event.Finished
	if !over {
		s.queue = append(s.queue, text)
		// Under the lock: what was typed is on the log before the end is.
		s.o.Log.Append(event.ContextChanged{What: "queue", Name: "message", Detail: text})
	}
	s.mu.Unlock()
	if over {
		return ErrOver
	}
	s.wake()
	return nil
}

// maxUnread bounds how much of each message is repeated at the end, in runes.
const maxUnread = 500

// unread says at the end what the person wrote and the model was never told. It
// stays in the log's queue, so that a resume tells it.
func (s *Session) unread() {
	s.mu.Lock()
	left := slices.Clone(s.queue)
	s.mu.Unlock()
	if len(left) == 0 {
		return
	}
	lines := make([]string, len(left))
	for i, text := range left {
		if runes := []rune(text); len(runes) > maxUnread {
			text = string(runes[:maxUnread]) + "…"
		}
		lines[i] = text
	}
	s.o.Log.Append(event.Notice{Level: "warning", Kind: "queue", Text: fmt.Sprintf(
		"The session ended before the model read what you wrote; coderrr --continue tells it:\n%s", strings.Join(lines, "\n"))})
}

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
