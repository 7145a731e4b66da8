package ollama

import (
	"encoding/json"
	"errors"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/wire"
)

// maxAnswer bounds one assembled answer in bytes.
const maxAnswer = 64 << 20

type piece struct {
	Message struct {
		Content  string `json:"content"`
		Thinking string `json:"thinking"`
		Calls    []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"message"`
	Done   bool            `json:"done"`
	Reason string          `json:"done_reason"`
	Prompt *int64          `json:"prompt_eval_count"`
	Eval   *int64          `json:"eval_count"`
	Error  json.RawMessage `json:"error"`
}

// answer assembles one chat answer.
type answer struct {
	p      *Provider
	model  string
	origin llm.Origin
	keys   *wire.Keys
	names  *wire.Names

	text       []byte
	thinking   []byte
	calls      []llm.ToolUse
	incomplete []llm.ToolUse
	done       bool
	reason     string
	failure    *llm.Error
	usage      llm.Usage
	size       int
}

func (p *Provider) newAnswer(req llm.Request) *answer {
	return &answer{
		p: p, model: req.Model, origin: p.origin(req.Model),
		keys: wire.NewKeys(req.Messages), names: wire.NewNames(req.Tools),
	}
}

// Event takes one line.
func (a *answer) Event(data []byte, emit wire.Emit) (wire.Progress, error) {
	if a.size += len(data); a.size > 16*maxAnswer || len(a.text)+len(a.thinking) > maxAnswer {
		return 0, &llm.Error{Kind: llm.KindBadResponse, Message: "the answer is larger than any model writes"}
	}
	var p piece
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal(data, &p); err != nil && !errors.As(err, &wrong) {
		return 0, err
	}
	if len(p.Error) > 0 && string(p.Error) != "null" {
		a.failure = a.p.c.InBand(a.model, data)
		return wire.Ended, nil
	}
	if t := p.Message.Thinking; t != "" {
		a.thinking = append(a.thinking, t...)
		if !emit(llm.ThinkingDelta{Text: t}) {
			return 0, wire.Stopped()
		}
	}
	if t := p.Message.Content; t != "" {
		a.text = append(a.text, t...)
		if !emit(llm.TextDelta{Text: t}) {
			return 0, wire.Stopped()
		}
	}
	for _, c := range p.Message.Calls {
		if !a.call(c.ID, c.Function.Name, c.Function.Arguments, emit) {
			return 0, wire.Stopped()
		}
	}
	if p.Eval != nil {
		a.usage.Output, a.usage.Known = *p.Eval, true
	}
	if p.Prompt != nil {
		a.usage.Input, a.usage.Known = *p.Prompt, true
	}
	if p.Done {
		a.done, a.reason = true, p.Reason
		return wire.Ended, nil
	}
	return wire.Moving, nil
}

// call takes a call, which comes whole.
func (a *answer) call(id, name string, args json.RawMessage, emit wire.Emit) bool {
	index := len(a.calls) + len(a.incomplete)
	use := llm.ToolUse{Name: a.names.Back(name), Origin: a.origin}
	input, ok := wire.Object(args, false)
	if !ok || name == "" {
		use.Input, _ = wire.Marshal(string(args)) // a string always encodes
		a.incomplete = append(a.incomplete, use)
		return true
	}
	use.ID, use.Input = a.keys.Take(id), input
	a.calls = append(a.calls, use)
	return emit(llm.ToolUseStart{Index: index, ID: use.ID, Name: use.Name}) && emit(llm.ToolInputDelta{Index: index, JSON: string(input)})
}

// Finished reports whether the last line, or an error, was seen.
func (a *answer) Finished() bool { return a.done || a.failure != nil }

// Partial is the text and the thinking so far.
func (a *answer) Partial() (llm.Message, llm.Usage) {
	m := llm.Message{Role: llm.Assistant}
	if len(a.thinking) > 0 {
		m.Blocks = append(m.Blocks, llm.Thinking{Text: string(a.thinking), Origin: a.origin})
	}
	if len(a.text) > 0 {
		m.Blocks = append(m.Blocks, llm.Text{Text: string(a.text)})
	}
	return m, a.usage
}

// Done is the answer.
func (a *answer) Done() (llm.Done, error) {
	switch {
	case a.failure != nil:
		return llm.Done{}, a.failure
	case !a.done:
		return llm.Done{}, errors.New("the answer has no end")
	}
	m, usage := a.Partial()
	d := llm.Done{Message: m, RawStop: a.reason, Usage: usage, Stop: llm.StopEndTurn, Incomplete: a.incomplete}
	for _, use := range a.calls {
		d.Message.Blocks = append(d.Message.Blocks, use)
	}
	switch {
	case a.reason == "length":
		d.Stop = llm.StopMaxTokens
	case len(a.calls)+len(a.incomplete) > 0:
		d.Stop = llm.StopToolUse
	}
	return d, nil
}
