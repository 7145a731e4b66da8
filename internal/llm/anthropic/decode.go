package anthropic

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/wire"
)

// maxAnswer bounds one assembled answer in bytes.
const maxAnswer = 64 << 20

// event is one piece of the stream, or a whole message.
type event struct {
	Type    string          `json:"type"`
	Index   int             `json:"index"`
	Delta   delta           `json:"delta"`
	Message json.RawMessage `json:"message"`
	Block   json.RawMessage `json:"content_block"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type delta struct {
	Type       string `json:"type"`
	Text       string `json:"text"`
	Thinking   string `json:"thinking"`
	Signature  string `json:"signature"`
	Partial    string `json:"partial_json"`
	StopReason string `json:"stop_reason"`
}

// part is one content block that is still arriving.
type part struct {
	ordinal   int // among the tool calls
	kind      string
	start     json.RawMessage
	id, name  string
	text      []byte // text, thinking or partial JSON
	signature []byte
	whole     bool // its stop event was seen
}

// answer assembles one message.
type answer struct {
	p      *Provider
	model  string
	origin llm.Origin
	keys   *wire.Keys
	names  *wire.Names

	parts   []*part
	byIndex map[int]*part
	calls   int
	size    int
	shown   bool
	stop    string
	ended   bool
	failure *llm.Error
	usage   usage
}

func (p *Provider) newAnswer(req llm.Request) *answer {
	return &answer{
		p: p, model: req.Model, origin: p.origin(req.Model), byIndex: map[int]*part{},
		keys: wire.NewKeys(req.Messages), names: wire.NewNames(req.Tools),
	}
}

// Event takes one event by the type inside its data: proxies leave the event line
// out.
func (a *answer) Event(data []byte, emit wire.Emit) (wire.Progress, error) {
	if a.size += len(data); a.size > 16*maxAnswer {
		return 0, &llm.Error{Kind: llm.KindBadResponse, Message: "the answer is larger than any model writes"}
	}
	var ev event
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal(data, &ev); err != nil && !errors.As(err, &wrong) {
		return 0, err
	}
	ok := true
	switch ev.Type {
	case "message_start":
		ok = a.begin(ev.Message, emit)
	case "content_block_start":
		ok = a.open(ev.Index, ev.Block, emit)
	case "content_block_delta":
		ok = a.add(ev.Index, ev.Delta, emit)
	case "content_block_stop":
		if b := a.byIndex[ev.Index]; b != nil {
			b.whole = true
		}
	case "message_delta":
		a.usage.merge(ev.Usage)
		if ev.Delta.StopReason != "" {
			a.stop = ev.Delta.StopReason
			return wire.Finishing, nil
		}
	case "message_stop":
		a.ended = true
		return wire.Ended, nil
	case "error":
		a.failure = a.p.c.InBand(a.model, data)
		return wire.Ended, nil
	case "message":
		return a.whole(data, emit)
	default: // ping and what is not invented yet
		return a.progress(wire.Alive), nil
	}
	if !ok {
		return 0, wire.Stopped()
	}
	return a.progress(wire.Moving), nil
}

func (a *answer) progress(p wire.Progress) wire.Progress {
	if a.Finished() {
		return wire.Finishing
	}
	return p
}

// begin takes message_start. A second one is a proxy's retry glued into the same
// stream: it resets everything before it.
func (a *answer) begin(raw json.RawMessage, emit wire.Emit) bool {
	var m struct {
		Usage json.RawMessage `json:"usage"`
	}
	_ = json.Unmarshal(raw, &m) // a message without usage is fine
	if len(a.parts) > 0 {
		a.parts, a.byIndex, a.calls, a.stop, a.usage = nil, map[int]*part{}, 0, "", usage{}
		if a.shown && !emit(llm.Retry{Attempt: 2, Reason: "the server began its answer anew"}) {
			return false
		}
		a.shown = false
	}
	a.usage.merge(m.Usage)
	return true
}

func (a *answer) open(index int, raw json.RawMessage, emit wire.Emit) bool {
	var head struct {
		Type      string          `json:"type"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Text      string          `json:"text"`
		Thinking  string          `json:"thinking"`
		Signature string          `json:"signature"`
		Input     json.RawMessage `json:"input"`
	}
	if json.Unmarshal(raw, &head) != nil {
		return true
	}
	b := &part{kind: head.Type, start: slices.Clone(raw), id: head.ID, name: head.Name, signature: []byte(head.Signature)}
	a.parts = append(a.parts, b)
	a.byIndex[index] = b
	a.shown = true
	switch head.Type {
	case "text":
		return a.text(b, head.Text, emit)
	case "thinking":
		return a.think(b, head.Thinking, emit)
	case "tool_use":
		b.ordinal = a.calls
		a.calls++
		if !emit(llm.ToolUseStart{Index: b.ordinal, ID: b.id, Name: a.names.Back(b.name)}) {
			return false
		}
	}
	return true
}

func (a *answer) add(index int, d delta, emit wire.Emit) bool {
	b := a.byIndex[index]
	if b == nil {
		return true
	}
	switch {
	case d.Type == "text_delta" && b.kind == "text":
		return a.text(b, d.Text, emit)
	case d.Type == "thinking_delta" && b.kind == "thinking":
		return a.think(b, d.Thinking, emit)
	case d.Type == "signature_delta":
		b.signature = append(b.signature, d.Signature...)
	case d.Type == "input_json_delta" && d.Partial != "" && b.kind != "text" && b.kind != "thinking":
		b.text = append(b.text, d.Partial...)
		if b.kind == "tool_use" {
			return emit(llm.ToolInputDelta{Index: b.ordinal, JSON: d.Partial})
		}
	}
	return true
}

func (a *answer) text(b *part, s string, emit wire.Emit) bool {
	if s == "" {
		return true
	}
	b.text = append(b.text, s...)
	return emit(llm.TextDelta{Text: s})
}

func (a *answer) think(b *part, s string, emit wire.Emit) bool {
	if s == "" {
		return true
	}
	b.text = append(b.text, s...)
	return emit(llm.ThinkingDelta{Text: s})
}

// whole takes a message that was not streamed.
func (a *answer) whole(data []byte, emit wire.Emit) (wire.Progress, error) {
	var m struct {
		Content []json.RawMessage `json:"content"`
		Stop    string            `json:"stop_reason"`
		Usage   json.RawMessage   `json:"usage"`
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return 0, err
	}
	for i, raw := range m.Content {
		if !a.open(i, raw, emit) {
			return 0, wire.Stopped()
		}
		a.byIndex[i].whole = true
	}
	a.usage.merge(m.Usage)
	a.stop, a.ended = m.Stop, true
	return wire.Ended, nil
}

// Finished reports whether the turn is known to be over.
func (a *answer) Finished() bool { return a.ended || a.stop != "" || a.failure != nil }
