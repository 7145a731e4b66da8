package openai

import (
	"bytes"
	"errors"
	"slices"
	"sync"

	"github.com/coderrr/coderrr/internal/llm/wire"
)

// encoded keeps the JSON of the messages sent last. A conversation only grows, so a
// turn encodes what is new and copies the rest: its cost does not grow with it.
type encoded struct {
	mu   sync.Mutex
	last []message
	data [][]byte
}

// body is the JSON of out, which is the same whatever was kept.
func (e *encoded) body(out chatRequest) ([]byte, error) {
	list, size, err := e.messages(out.Messages)
	if err != nil {
		return nil, err
	}
	out.Messages = nil
	rest, err := wire.Marshal(out)
	if err != nil {
		return nil, err
	}
	// Inside a string its quotes would be escaped, and no list stands before it.
	before, after, ok := bytes.Cut(rest, []byte(`"messages":null`))
	if !ok {
		return nil, errors.New("the request has no place for messages")
	}
	body := make([]byte, 0, len(rest)+size+len(list)+2)
	body = append(append(body, before...), `"messages":[`...)
	for i, m := range list {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, m...)
	}
	return append(append(body, ']'), after...), nil
}

// messages gives the JSON of each, and the bytes of all. A short conversation beside
// the main one (a verifier's) does not push that one out.
func (e *encoded) messages(now []message) (list [][]byte, size int, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	list = make([][]byte, len(now))
	for i, m := range now {
		if i < len(e.last) && same(m, e.last[i]) {
			list[i] = e.data[i]
		} else if list[i], err = wire.Marshal(m); err != nil {
			return nil, 0, err
		}
		size += len(list[i])
	}
	if 2*len(now) >= len(e.last) {
		e.last, e.data = now, list
	}
	return list, size, nil
}

// same reports whether two messages have the same JSON. Lists of parts, which may
// hold pictures, are not looked into: false only costs time.
func same(a, b message) bool {
	x, isText := a.Content.(string)
	y, _ := b.Content.(string)
	if a.Content != nil && !isText || (a.Content == nil) != (b.Content == nil) || x != y {
		return false
	}
	if _, isText := b.Content.(string); b.Content != nil && !isText {
		return false
	}
	return a.Role == b.Role && a.ReasoningContent == b.ReasoningContent && a.Reasoning == b.Reasoning &&
		a.ToolCallID == b.ToolCallID && bytes.Equal(a.Details, b.Details) && slices.EqualFunc(a.ToolCalls, b.ToolCalls, sameCall)
}

func sameCall(a, b sentCall) bool {
	return a.ID == b.ID && a.Type == b.Type && a.Function == b.Function && bytes.Equal(a.Extra, b.Extra)
}
