package openai

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/wire"
)

// respEvent is one streamed event, or a whole response.
type respEvent struct {
	Type      string          `json:"type"`
	Object    string          `json:"object"`
	Index     int             `json:"output_index"`
	Delta     string          `json:"delta"`
	Arguments string          `json:"arguments"`
	Part      int             `json:"summary_index"`
	Item      json.RawMessage `json:"item"`
	Response  json.RawMessage `json:"response"`
}

// outItem is one output item that is still arriving. It is known by its
// output_index: some hosts change the item id with every event.
type outItem struct {
	kind    string
	ordinal int
	callID  string
	name    string
	status  string
	args    []byte
	text    []byte
	part    int
	done    json.RawMessage
}

// response assembles one answer of the Responses API.
type response struct {
	p      *Provider
	model  string
	origin llm.Origin
	keys   *wire.Keys
	names  *wire.Names

	items   map[int]*outItem
	calls   int
	size    int
	refusal []byte
	stop    string // completed, incomplete, failed
	reason  string // of incomplete
	failure *llm.Error
	usage   *respUsage
}

type respUsage struct {
	Input    int64 `json:"input_tokens"`
	Output   int64 `json:"output_tokens"`
	InputDet struct {
		Cached int64 `json:"cached_tokens"`
		Write  int64 `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputDet struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

func (u *respUsage) counts() llm.Usage {
	if u == nil {
		return llm.Usage{}
	}
	return llm.Usage{
		Input:     max(0, u.Input-u.InputDet.Cached-u.InputDet.Write),
		CacheRead: u.InputDet.Cached, CacheWrite: u.InputDet.Write,
		Output: u.Output, Reasoning: u.OutputDet.Reasoning, Known: true,
	}
}

func (p *Provider) newResponse(req llm.Request) *response {
	return &response{
		p: p, model: req.Model, origin: p.origin(req.Model), items: map[int]*outItem{},
		keys: wire.NewKeys(req.Messages), names: wire.NewNames(req.Tools),
	}
}

// Event takes one event by the type inside its data.
func (r *response) Event(data []byte, emit wire.Emit) (wire.Progress, error) {
	if r.size += len(data); r.size > 16*maxAnswer {
		return 0, &llm.Error{Kind: llm.KindBadResponse, Message: "the answer is larger than any model writes"}
	}
	var ev respEvent
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal(data, &ev); err != nil && !errors.As(err, &wrong) {
		return 0, err
	}
	ok := true
	switch ev.Type {
	case "response.output_item.added":
		ok = r.open(ev.Index, ev.Item, emit)
	case "response.output_item.done":
		ok = r.close(ev.Index, ev.Item, emit)
	case "response.output_text.delta":
		ok = r.text(ev.Index, ev.Delta, emit)
	case "response.refusal.delta":
		r.refusal = append(r.refusal, ev.Delta...)
		ok = emit(llm.TextDelta{Text: ev.Delta})
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		ok = r.think(ev.Index, ev.Part, ev.Delta, emit)
	case "response.function_call_arguments.delta":
		ok = r.args(ev.Index, ev.Delta, emit)
	case "response.completed", "response.incomplete", "response.failed":
		return r.end(ev.Response, emit)
	case "error":
		r.failure = r.p.c.InBand(r.model, data)
		return wire.Finishing, nil
	case "response.created", "response.in_progress", "response.queued", "response.content_part.added",
		"response.content_part.done", "response.output_text.done", "response.function_call_arguments.done",
		"response.reasoning_summary_part.added", "response.reasoning_summary_part.done":
	default:
		if ev.Object == "response" {
			return r.end(data, emit)
		}
		return r.progress(wire.Alive), nil
	}
	if !ok {
		return 0, wire.Stopped()
	}
	return r.progress(wire.Moving), nil
}

func (r *response) progress(p wire.Progress) wire.Progress {
	if r.Finished() {
		return wire.Finishing
	}
	return p
}

// at is the item with an index, made if an event came before its start.
func (r *response) at(index int, kind string) *outItem {
	it := r.items[index]
	if it == nil {
		it = &outItem{kind: kind}
		r.items[index] = it
	}
	return it
}

type itemHead struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Status    string `json:"status"`
	Content   []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	} `json:"content"`
	Summary []struct {
		Text string `json:"text"`
	} `json:"summary"`
}

func (r *response) open(index int, raw json.RawMessage, emit wire.Emit) bool {
	var head itemHead
	if json.Unmarshal(raw, &head) != nil {
		return true
	}
	it := r.at(index, head.Type)
	it.kind = head.Type
	return r.announce(it, head, emit)
}

func (r *response) announce(it *outItem, head itemHead, emit wire.Emit) bool {
	if it.kind != "function_call" || it.name != "" || head.Name == "" {
		return true
	}
	it.callID, it.name, it.ordinal = head.CallID, head.Name, r.calls
	r.calls++
	return emit(llm.ToolUseStart{Index: it.ordinal, ID: it.callID, Name: r.names.Back(it.name)})
}

// close takes the final form of an item; it also stands in for deltas that were
// never sent.
func (r *response) close(index int, raw json.RawMessage, emit wire.Emit) bool {
	var head itemHead
	if json.Unmarshal(raw, &head) != nil {
		return true
	}
	it := r.at(index, head.Type)
	it.kind, it.status, it.done = head.Type, head.Status, slices.Clone(raw)
	if !r.announce(it, head, emit) {
		return false
	}
	switch head.Type {
	case "function_call":
		missing := len(it.args) == 0
		it.args = []byte(head.Arguments)
		return !missing || head.Arguments == "" || emit(llm.ToolInputDelta{Index: it.ordinal, JSON: head.Arguments})
	case "message":
		if len(it.text) > 0 || len(r.refusal) > 0 {
			return true
		}
		for _, c := range head.Content {
			r.refusal = append(r.refusal, c.Refusal...)
			if c.Refusal != "" && !emit(llm.TextDelta{Text: c.Refusal}) {
				return false
			}
			if !r.text(index, c.Text, emit) {
				return false
			}
		}
	case "reasoning":
		if len(it.text) > 0 {
			return true
		}
		for i, s := range head.Summary {
			if !r.think(index, i, s.Text, emit) {
				return false
			}
		}
	}
	return true
}

func (r *response) text(index int, s string, emit wire.Emit) bool {
	if s == "" {
		return true
	}
	it := r.at(index, "message")
	it.text = append(it.text, s...)
	return emit(llm.TextDelta{Text: s})
}

func (r *response) think(index, part int, s string, emit wire.Emit) bool {
	if s == "" {
		return true
	}
	it := r.at(index, "reasoning")
	if part != it.part && len(it.text) > 0 {
		s = "\n\n" + s
	}
	it.part = part
	it.text = append(it.text, s...)
	return emit(llm.ThinkingDelta{Text: s})
}

func (r *response) args(index int, s string, emit wire.Emit) bool {
	it := r.at(index, "function_call")
	it.args = append(it.args, s...)
	return s == "" || it.name == "" || emit(llm.ToolInputDelta{Index: it.ordinal, JSON: s})
}

// end takes the terminal event, or a response that was not streamed.
func (r *response) end(raw json.RawMessage, emit wire.Emit) (wire.Progress, error) {
	var resp struct {
		Status     string            `json:"status"`
		Output     []json.RawMessage `json:"output"`
		Usage      *respUsage        `json:"usage"`
		Error      json.RawMessage   `json:"error"`
		Incomplete struct {
			Reason string `json:"reason"`
		} `json:"incomplete_details"`
	}
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal(raw, &resp); err != nil && !errors.As(err, &wrong) {
		return 0, err
	}
	r.stop, r.reason = resp.Status, resp.Incomplete.Reason
	if resp.Usage != nil {
		r.usage = resp.Usage
	}
	if len(r.items) == 0 {
		for i, one := range resp.Output {
			if !r.close(i, one, emit) {
				return 0, wire.Stopped()
			}
		}
	}
	if (r.stop == "failed" || r.stop == "") && r.failure == nil {
		r.failure = r.p.c.InBand(r.model, []byte(`{"error":`+orNull(resp.Error)+`}`))
	}
	return wire.Ended, nil
}

func orNull(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "null"
	}
	return string(raw)
}

// Finished reports whether the terminal event, or an error, was seen.
func (r *response) Finished() bool { return r.stop != "" || r.failure != nil }

// ordered are the items by output index.
func (r *response) ordered() []*outItem {
	var out []*outItem
	for _, i := range slices.Sorted(maps.Keys(r.items)) {
		out = append(out, r.items[i])
	}
	return out
}

// Partial is the text and the thinking so far.
func (r *response) Partial() (llm.Message, llm.Usage) {
	m := llm.Message{Role: llm.Assistant}
	for _, it := range r.ordered() {
		switch {
		case len(it.text) == 0:
		case it.kind == "reasoning":
			m.Blocks = append(m.Blocks, llm.Thinking{Text: string(it.text), Origin: r.origin})
		default:
			m.Blocks = append(m.Blocks, llm.Text{Text: string(it.text)})
		}
	}
	return m, r.usage.counts()
}

// Done is the answer.
func (r *response) Done() (llm.Done, error) {
	if r.failure != nil {
		return llm.Done{}, r.failure
	}
	if r.stop == "" {
		return llm.Done{}, errors.New("the answer has no end")
	}
	d := llm.Done{Message: llm.Message{Role: llm.Assistant}, RawStop: r.stop, Usage: r.usage.counts(), Stop: llm.StopEndTurn}
	if r.reason != "" {
		d.RawStop += ":" + r.reason
	}
	for _, it := range r.ordered() {
		r.finish(it, &d)
	}
	if len(r.refusal) > 0 {
		d.Message.Blocks = append(d.Message.Blocks, llm.Text{Text: string(r.refusal)})
	}
	switch {
	case r.stop == "incomplete" && r.reason == "content_filter", len(r.refusal) > 0:
		d.Stop = llm.StopRefusal
	case r.stop == "incomplete":
		d.Stop = llm.StopMaxTokens
	case len(llm.ToolUses(d.Message))+len(d.Incomplete) > 0:
		d.Stop = llm.StopToolUse
	}
	return d, nil
}

// finish adds one item to the result.
func (r *response) finish(it *outItem, d *llm.Done) {
	add := func(b llm.Block) { d.Message.Blocks = append(d.Message.Blocks, b) }
	switch it.kind {
	case "message":
		if len(it.text) > 0 {
			add(llm.Text{Text: string(it.text)})
		}
	case "reasoning":
		add(llm.Thinking{Text: string(it.text), Data: it.done, Origin: r.origin})
	case "function_call":
		use := llm.ToolUse{ID: it.callID, Name: r.names.Back(it.name), Origin: r.origin}
		cut := it.status == "incomplete" || r.stop == "incomplete" && it.status != "completed"
		input, ok := wire.Object(it.args, cut)
		if !ok || cut || it.name == "" {
			use.Input = raw(it.args)
			d.Incomplete = append(d.Incomplete, use)
			return
		}
		use.ID, use.Input = r.keys.Take(it.callID), input
		add(use)
	default:
		if len(it.done) > 0 {
			add(llm.Opaque{Kind: it.kind, Data: it.done, Origin: r.origin})
		}
	}
}
