// Command gen writes the demo's recorded session from its script, as the
// exchanges of a chat completions server: go run ./internal/demo/gen > session.jsonl
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/coderrr/coderrr/internal/llm/cassette"
)

func main() {
	if err := write(os.Stdout, script()); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func write(w io.Writer, turns []turn) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for i, t := range turns {
		line, err := exchange(i, t)
		if err != nil {
			return fmt.Errorf("turn %d: %w", i, err)
		}
		if err := enc.Encode(line); err != nil {
			return fmt.Errorf("turn %d: %w", i, err)
		}
	}
	return nil
}

// exchange is one turn as a recorded answer.
func exchange(n int, t turn) (cassette.Line, error) {
	line := cassette.Line{Response: cassette.Response{Headers: map[string]string{"Content-Type": "text/event-stream"}}}
	if t.Step > 0 {
		line.Step = &t.Step
	} else {
		line.Repeat = true
	}
	if t.Goto > 0 {
		line.Goto = &t.Goto
	}
	if t.When != nil {
		line.When = cassette.When{Tools: t.When.Tools, LastContains: t.When.LastContains}
	}
	s := &stream{}
	s.event(thinkMS, delta{Role: "assistant"}, "")
	for _, piece := range pieces(t.Say, textPiece) {
		s.event(textMS, delta{Content: piece}, "")
	}
	for i, c := range t.Call {
		args, err := json.Marshal(c.Args)
		if err != nil {
			return cassette.Line{}, err
		}
		head := function{Name: c.Name}
		s.event(callMS, delta{Calls: []toolCall{{Index: i, ID: fmt.Sprintf("call_%d_%d", n, i), Type: "function", Function: head}}}, "")
		for _, piece := range pieces(string(args), argsPiece) {
			s.event(argsMS, delta{Calls: []toolCall{{Index: i, Function: function{Arguments: piece}}}}, "")
		}
	}
	reason := "stop"
	if len(t.Call) > 0 {
		reason = "tool_calls"
	}
	s.event(0, delta{}, reason)
	s.raw(0, "[DONE]")
	line.Response.Chunks = s.chunks
	return line, s.err
}

// How fast the recording speaks: milliseconds before a piece, and its runes.
const (
	thinkMS = 350
	textMS  = 18
	callMS  = 60
	argsMS  = 8

	textPiece = 6
	argsPiece = 24
)

type (
	chunk struct {
		ID      string   `json:"id"`
		Object  string   `json:"object"`
		Model   string   `json:"model"`
		Choices []choice `json:"choices"`
	}
	choice struct {
		Index  int     `json:"index"`
		Delta  delta   `json:"delta"`
		Finish *string `json:"finish_reason"`
	}
	delta struct {
		Role    string     `json:"role,omitempty"`
		Content string     `json:"content,omitempty"`
		Calls   []toolCall `json:"tool_calls,omitempty"`
	}
	toolCall struct {
		Index    int      `json:"index"`
		ID       string   `json:"id,omitempty"`
		Type     string   `json:"type,omitempty"`
		Function function `json:"function"`
	}
	function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	}
)

// stream collects the chunks of one answer and the first error.
type stream struct {
	chunks []cassette.Chunk
	err    error
}

func (s *stream) event(ms int64, d delta, finish string) {
	c := chunk{ID: "demo", Object: "chat.completion.chunk", Model: "demo", Choices: []choice{{Delta: d}}}
	if finish != "" {
		c.Choices[0].Finish = &finish
	}
	data, err := json.Marshal(c)
	if err != nil && s.err == nil {
		s.err = err
	}
	s.raw(ms, string(data))
}

func (s *stream) raw(ms int64, data string) {
	s.chunks = append(s.chunks, cassette.Chunk{MS: ms, Text: "data: " + data + "\n\n"})
}

func pieces(text string, size int) []string {
	var out []string
	runes := []rune(text)
	for len(runes) > 0 {
		n := min(size, len(runes))
		out = append(out, string(runes[:n]))
		runes = runes[n:]
	}
	return out
}
