// Package llmtest has the fakes for models: Script, a provider that says what it
// is told to, and Server, an HTTP server that says it in the wire format of every
// adapter. Both record what they were asked. Only tests may import it.
package llmtest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/coderrr/coderrr/internal/llm"
)

// Turn is one answer.
type Turn struct {
	Thinking string
	Text     string
	Calls    []Call
	// Stop is set from the calls when it is empty.
	Stop  llm.StopReason
	Usage llm.Usage // zero means 100 in, 20 out
	// Err fails the turn of a Script after its text; Status, Header and Body fail
	// that of a Server instead of its answer.
	Err    error
	Status int
	Header map[string]string
	Body   string
	// Raw is sent by a Server as the body of a good answer, instead of the turn.
	Raw string
	// Pause is waited before each piece.
	Pause time.Duration
	// Func makes the turn when it is asked for; the other fields are ignored.
	Func func(Ask) Turn
}

// Call is a tool call of a turn. An empty ID becomes call_N.
type Call struct {
	ID   string
	Name string
	// Input is a JSON document or anything that encoding/json takes.
	Input any
}

// Say is a turn of text.
func Say(text string) Turn { return Turn{Text: text} }

// Use is a turn of one call.
func Use(name string, input any) Turn { return Turn{Calls: []Call{{Name: name, Input: input}}} }

// Ask is what a turn's Func can see of a request.
type Ask struct {
	Model string
	Tools []string
	// Last is the text after the model's last message: what a person said, or the
	// results of tools.
	Last string
	// Body is the raw request, for a Server only.
	Body []byte
	// Request is the request, for a Script only.
	Request llm.Request
}

// Always may answer any request before the script does, without using up a turn: a
// verifier, say, whose requests have no tools.
type Always func(Ask) (Turn, bool)

// NoTools answers every request without tools with text.
func NoTools(text string) Always {
	return func(a Ask) (Turn, bool) { return Say(text), len(a.Tools) == 0 }
}

// script is the part that Script and Server share.
type script struct {
	mu     sync.Mutex
	turns  []Turn
	next   int
	calls  int
	always Always
}

// take is the turn for a request, with its calls given ids.
func (s *script) take(a Ask) (Turn, error) {
	s.mu.Lock()
	always := s.always
	s.mu.Unlock()
	if always != nil {
		if t, ok := always(a); ok {
			return s.fill(t)
		}
	}
	s.mu.Lock()
	if s.next >= len(s.turns) {
		s.mu.Unlock()
		return Turn{}, fmt.Errorf("the script has %d turns and was asked for one more; last message: %.200q", len(s.turns), a.Last)
	}
	t := s.turns[s.next]
	s.next++
	s.mu.Unlock()
	if t.Func != nil {
		t = t.Func(a)
	}
	return s.fill(t)
}

func (s *script) fill(t Turn) (Turn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := make([]Call, len(t.Calls))
	for i, c := range t.Calls {
		s.calls++
		if c.ID == "" {
			c.ID = fmt.Sprintf("call_%d", s.calls)
		}
		input, err := inputOf(c.Input)
		if err != nil {
			return Turn{}, fmt.Errorf("input of %s: %w", c.Name, err)
		}
		c.Input = input
		calls[i] = c
	}
	t.Calls = calls
	if t.Stop == "" {
		t.Stop = llm.StopEndTurn
		if len(calls) > 0 {
			t.Stop = llm.StopToolUse
		}
	}
	if t.Usage == (llm.Usage{}) {
		t.Usage = llm.Usage{Input: 100, Output: 20, Known: true}
	}
	return t, nil
}

func inputOf(v any) (json.RawMessage, error) {
	switch v := v.(type) {
	case nil:
		return json.RawMessage("{}"), nil
	case json.RawMessage:
		return v, nil
	case string:
		return json.RawMessage(v), nil
	}
	return json.Marshal(v)
}

// left is how many turns were not asked for.
func (s *script) left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.turns) - s.next
}

// pieces cuts text as a model streams it: a few runes at a time.
func pieces(text string) []string {
	const size = 12
	var out []string
	runes := []rune(text)
	for len(runes) > 0 {
		n := min(size, len(runes))
		out = append(out, string(runes[:n]))
		runes = runes[n:]
	}
	return out
}

// Script is an llm.Provider that plays its turns in order. It is safe for
// concurrent use.
type Script struct {
	script
	requests []llm.Request
}

// NewScript returns a provider that plays turns.
func NewScript(turns ...Turn) *Script { return &Script{script: script{turns: turns}} }

// Always sets what answers before the turns do, and returns the script.
func (s *Script) Always(f Always) *Script {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.always = f
	return s
}

// Name is "script".
func (s *Script) Name() string { return "script" }

// Left is how many turns were not asked for.
func (s *Script) Left() int { return s.left() }

// Requests are all requests so far.
func (s *Script) Requests() []llm.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]llm.Request(nil), s.requests...)
}

// Models offers one model.
func (s *Script) Models(context.Context) ([]llm.ModelInfo, error) {
	return []llm.ModelInfo{{ID: "scripted", ContextTokens: 100_000, Tools: true}}, nil
}

// Stream plays the next turn.
func (s *Script) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		s.mu.Lock()
		s.requests = append(s.requests, req)
		s.mu.Unlock()
		t, err := s.take(askOf(req))
		if err != nil {
			yield(nil, &llm.Error{Provider: "script", Model: req.Model, Kind: llm.KindBadRequest, Message: err.Error()})
			return
		}
		t.play(ctx, llm.Origin{Provider: "script", Model: req.Model}, yield)
	}
}

// play yields the deltas of a turn.
func (t Turn) play(ctx context.Context, origin llm.Origin, yield func(llm.Delta, error) bool) {
	var blocks llm.Blocks
	var deltas []llm.Delta
	for _, p := range pieces(t.Thinking) {
		deltas = append(deltas, llm.ThinkingDelta{Text: p})
	}
	for _, p := range pieces(t.Text) {
		deltas = append(deltas, llm.TextDelta{Text: p})
	}
	if t.Thinking != "" {
		blocks = append(blocks, llm.Thinking{Text: t.Thinking, Signature: "signed", Origin: origin})
	}
	if t.Text != "" {
		blocks = append(blocks, llm.Text{Text: t.Text})
	}
	for i, c := range t.Calls {
		input, _ := c.Input.(json.RawMessage)
		deltas = append(deltas, llm.ToolUseStart{Index: i, ID: c.ID, Name: c.Name}, llm.ToolInputDelta{Index: i, JSON: string(input)})
		blocks = append(blocks, llm.ToolUse{ID: c.ID, Name: c.Name, Input: input, Origin: origin})
	}
	for _, d := range deltas {
		if err := pause(ctx, t.Pause); err != nil {
			yield(nil, err)
			return
		}
		if !yield(d, nil) {
			return
		}
	}
	if err := pause(ctx, 0); err != nil {
		yield(nil, err)
		return
	}
	if t.Err != nil {
		yield(nil, t.Err)
		return
	}
	yield(llm.Done{Message: llm.Message{Role: llm.Assistant, Blocks: blocks}, Stop: t.Stop, RawStop: string(t.Stop), Usage: t.Usage}, nil)
}

func pause(ctx context.Context, d time.Duration) error {
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

func askOf(req llm.Request) Ask {
	a := Ask{Model: req.Model, Request: req}
	for _, t := range req.Tools {
		a.Tools = append(a.Tools, t.Name)
	}
	var last []string
	for i := len(req.Messages) - 1; i >= 0 && req.Messages[i].Role == llm.User; i-- {
		for _, b := range req.Messages[i].Blocks {
			switch b := b.(type) {
			case llm.Text:
				last = append(last, b.Text)
			case llm.ToolResult:
				last = append(last, b.Content)
			}
		}
	}
	a.Last = strings.Join(last, "\n")
	return a
}
