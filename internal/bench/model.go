package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// step is one answer of the scripted model: a call of a tool, or text alone.
type step struct {
	tool  string
	input any
	text  string // "": forty words
	flush bool   // each word by itself
}

// gap is the time from the end of an answer to the next request.
type gap struct {
	tool string
	took time.Duration
}

// model is a server of the OpenAI chat form that answers at once, step by step. The
// last step is repeated.
type model struct {
	srv   *httptest.Server
	steps []step

	mu    sync.Mutex
	n     int
	first time.Time // when the first request came
	ended time.Time // of the last answer
	last  string    // its tool
	gaps  []gap
	bytes int64 // of the largest request
}

func newModel(steps []step) *model {
	m := &model{steps: steps}
	m.srv = httptest.NewServer(http.HandlerFunc(m.answer))
	return m
}

func (m *model) close() { m.srv.Close() }

func (m *model) answer(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	if r.Method != http.MethodPost {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"scripted","object":"model"}]}`)
		return
	}
	size, _ := io.Copy(io.Discard, r.Body)
	m.mu.Lock()
	if m.n == 0 {
		m.first = now
	} else {
		m.gaps = append(m.gaps, gap{m.last, now.Sub(m.ended)})
	}
	s := m.steps[min(m.n, len(m.steps)-1)]
	m.n++
	id := fmt.Sprintf("call_%d", m.n)
	m.last, m.bytes = s.tool, max(m.bytes, size)
	m.mu.Unlock()

	w.Header().Set("Content-Type", "text/event-stream")
	s.write(w, id)
	m.mu.Lock()
	m.ended = time.Now() // before the last bytes leave
	m.mu.Unlock()
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
	_ = http.NewResponseController(w).Flush() // a client that is gone is seen by the run
}

// write streams the words and the call, less the end.
func (s step) write(w http.ResponseWriter, id string) {
	chunk := func(delta map[string]any, finish any) {
		data, _ := json.Marshal(map[string]any{ // strings and maps: it cannot fail
			"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted",
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
		})
		_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
		if s.flush {
			_ = http.NewResponseController(w).Flush()
		}
	}
	text := s.text
	if text == "" {
		text = strings.Repeat("word ", 40)
	}
	for word := range strings.SplitAfterSeq(text, " ") {
		chunk(map[string]any{"content": word}, nil)
	}
	if s.tool == "" {
		chunk(map[string]any{}, "stop")
		return
	}
	args, _ := json.Marshal(s.input)
	chunk(map[string]any{"tool_calls": []any{map[string]any{
		"index": 0, "id": id, "type": "function",
		"function": map[string]any{"name": s.tool, "arguments": string(args)},
	}}}, nil)
	chunk(map[string]any{}, "tool_calls")
}
