package anthropic

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/wire"
)

// Partial is the text and the thinking so far.
func (a *answer) Partial() (llm.Message, llm.Usage) {
	m := llm.Message{Role: llm.Assistant}
	for _, b := range a.parts {
		switch {
		case len(b.text) == 0:
		case b.kind == "text":
			m.Blocks = append(m.Blocks, llm.Text{Text: string(b.text)})
		case b.kind == "thinking":
			m.Blocks = append(m.Blocks, llm.Thinking{Text: string(b.text), Origin: a.origin})
		}
	}
	return m, a.usage.counts()
}

// Done is the answer.
func (a *answer) Done() (llm.Done, error) {
	if a.failure != nil {
		return llm.Done{}, a.failure
	}
	if !a.Finished() {
		return llm.Done{}, errors.New("the answer has no end")
	}
	d := llm.Done{Message: llm.Message{Role: llm.Assistant}, RawStop: a.stop, Usage: a.usage.counts()}
	cut := a.stop == "max_tokens" || a.stop == "model_context_window_exceeded"
	calls := 0
	for _, b := range a.parts {
		block, ok := a.block(b, cut)
		use, isCall := block.(llm.ToolUse)
		switch {
		case isCall && !ok:
			d.Incomplete = append(d.Incomplete, use)
		case ok:
			d.Message.Blocks = append(d.Message.Blocks, block)
		}
		if isCall {
			calls++
		}
	}
	d.Stop = stopOf(a.stop, calls)
	return d, nil
}

// stopOf maps a stop reason; whole calls decide where the label says nothing else.
func stopOf(raw string, calls int) llm.StopReason {
	switch raw {
	case "max_tokens", "model_context_window_exceeded":
		return llm.StopMaxTokens
	case "refusal":
		return llm.StopRefusal
	case "pause_turn", "compaction":
		return llm.StopPause
	}
	switch {
	case calls > 0:
		return llm.StopToolUse
	case raw == "stop_sequence":
		return llm.StopStopSequence
	}
	return llm.StopEndTurn
}

// block is the finished form of a part; ok is false if it is to be left out, or
// if it is a call that was cut.
func (a *answer) block(b *part, cut bool) (out llm.Block, ok bool) {
	switch b.kind {
	case "text":
		return llm.Text{Text: string(b.text)}, len(b.text) > 0
	case "thinking":
		return llm.Thinking{Text: string(b.text), Signature: string(b.signature), Origin: a.origin}, len(b.text)+len(b.signature) > 0
	case "redacted_thinking":
		return llm.Thinking{Data: b.start, Origin: a.origin}, true
	case "tool_use":
		use := llm.ToolUse{ID: b.id, Name: a.names.Back(b.name), Origin: a.origin}
		args := b.text
		if len(args) == 0 {
			args = startInput(b.start)
		}
		input, whole := wire.Object(args, cut && !b.whole)
		if !whole || (cut && len(args) == 0) || !b.whole || b.name == "" {
			use.Input = quoted(args)
			return use, false
		}
		use.ID, use.Input = a.keys.Take(b.id), input
		return use, true
	}
	return llm.Opaque{Kind: b.kind, Data: withInput(b), Origin: a.origin}, b.whole
}

// startInput is a non-empty input that came with the start of a call.
func startInput(start json.RawMessage) []byte {
	var head struct {
		Input json.RawMessage `json:"input"`
	}
	if json.Unmarshal(start, &head) != nil || string(head.Input) == "{}" {
		return nil
	}
	return head.Input
}

// withInput is a server's own block with the input that followed its start.
func withInput(b *part) json.RawMessage {
	if len(b.text) == 0 {
		return b.start
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(b.start, &fields) != nil || !json.Valid(b.text) {
		return b.start
	}
	fields["input"] = slices.Clone(b.text)
	data, err := wire.Marshal(fields)
	if err != nil {
		return b.start
	}
	return data
}

// quoted keeps cut arguments as a JSON string, so that the value is valid JSON.
func quoted(args []byte) json.RawMessage {
	data, err := wire.Marshal(string(args))
	if err != nil {
		return json.RawMessage(`""`)
	}
	return data
}

// usage merges the reports of one stream: the newest number that is not null wins.
type usage struct {
	known                            bool
	input, output, read, write, mind int64
}

func (u *usage) merge(raw json.RawMessage) {
	var r struct {
		Input  *int64 `json:"input_tokens"`
		Output *int64 `json:"output_tokens"`
		Read   *int64 `json:"cache_read_input_tokens"`
		Write  *int64 `json:"cache_creation_input_tokens"`
		Det    *struct {
			Thinking *int64 `json:"thinking_tokens"`
		} `json:"output_tokens_details"`
	}
	if len(raw) == 0 || string(raw) == "null" {
		return
	}
	_ = json.Unmarshal(raw, &r) // fields of another type stay unknown
	take := func(to *int64, from *int64) {
		if from != nil {
			*to, u.known = *from, true
		}
	}
	take(&u.input, r.Input)
	take(&u.output, r.Output)
	take(&u.read, r.Read)
	take(&u.write, r.Write)
	if r.Det != nil {
		take(&u.mind, r.Det.Thinking)
	}
}

func (u *usage) counts() llm.Usage {
	return llm.Usage{Input: u.input, CacheRead: u.read, CacheWrite: u.write, Output: u.output, Reasoning: u.mind, Known: u.known}
}
