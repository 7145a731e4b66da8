package openai

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/wire"
)

// maxAnswer bounds one assembled answer in bytes: no model writes that much, a
// broken server may.
const maxAnswer = 64 << 20

// chat assembles one chat completion.
type chat struct {
	p      *Provider
	model  string
	origin llm.Origin
	keys   *wire.Keys
	split  *splitter // nil unless the dialect needs it
	parse  parser

	text     []byte
	refusal  []byte
	thinking []byte
	details  details
	calls    assembler
	size     int
	chunks   int

	finish  string
	native  string
	ended   bool // [DONE]
	failure *llm.Error
	usage   *usage
}

func (p *Provider) newChat(req llm.Request) *chat {
	c := &chat{
		p: p, model: req.Model, origin: p.origin(req.Model), keys: wire.NewKeys(req.Messages),
		calls: assembler{names: wire.NewNames(req.Tools)},
	}
	if p.d.ThinkTags {
		c.split = &splitter{}
	}
	return c
}

// Event takes one chunk.
func (c *chat) Event(data []byte, emit wire.Emit) (wire.Progress, error) {
	if c.size += len(data); c.size > 16*maxAnswer || len(c.text)+len(c.thinking) > maxAnswer {
		return 0, &llm.Error{Kind: llm.KindBadResponse, Message: "the answer is larger than any model writes"}
	}
	ch, err := c.parse.parse(data)
	if err != nil {
		return 0, err
	}
	c.chunks++
	c.report(ch)
	if raw := failureIn(ch, data); raw != nil && c.failure == nil {
		c.failure = c.p.c.InBand(c.model, raw)
	}
	moved := len(ch.Choices) > 0
	for i := range ch.Choices {
		choice := &ch.Choices[i]
		if choice.Index != 0 {
			continue // one candidate was asked for
		}
		if !c.take(&choice.Delta, emit) {
			return 0, wire.Stopped()
		}
		if choice.Finish != "" {
			c.finish = choice.Finish
		}
		if choice.Native != "" {
			c.native = choice.Native
		}
	}
	if !c.release(emit) {
		return 0, wire.Stopped()
	}
	switch {
	case c.Finished():
		return wire.Finishing, nil
	case moved:
		return wire.Moving, nil
	default:
		return wire.Alive, nil
	}
}

// report keeps the latest usage: servers repeat it, sums would be wrong.
func (c *chat) report(ch *chunk) {
	if ch.Groq != nil && ch.Groq.Usage != nil {
		c.usage = ch.Groq.Usage
	}
	if ch.Usage != nil {
		c.usage = ch.Usage
	}
}

// failureIn is the error object of a chunk, nil if there is none. vLLM sends the
// error as the chunk itself.
func failureIn(ch *chunk, data []byte) []byte {
	if len(ch.Error) > 0 && string(ch.Error) != "null" && string(ch.Error) != "{}" {
		return data
	}
	if ch.Object == "error" {
		return data
	}
	return nil
}

func (c *chat) take(d *delta, emit wire.Emit) bool {
	thought := d.ReasoningContent
	if thought == "" {
		thought = d.Reasoning
	}
	if shown := c.details.add(d.Details); thought == "" {
		thought = shown // the two carry the same text: it is shown once
	}
	text := d.Content
	if c.split != nil && text != "" {
		var more string
		text, more = c.split.push(text)
		thought += more
	}
	if !c.think(thought, emit) || !c.say(text, emit) {
		return false
	}
	if d.Refusal != "" {
		c.refusal = append(c.refusal, d.Refusal...)
		if !emit(llm.TextDelta{Text: d.Refusal}) {
			return false
		}
	}
	for _, f := range d.ToolCalls {
		if !c.calls.add(f, emit) {
			return false
		}
	}
	return true
}

func (c *chat) think(s string, emit wire.Emit) bool {
	if s == "" {
		return true
	}
	c.thinking = append(c.thinking, s...)
	return emit(llm.ThinkingDelta{Text: s})
}

func (c *chat) say(s string, emit wire.Emit) bool {
	if s == "" {
		return true
	}
	c.text = append(c.text, s...)
	return emit(llm.TextDelta{Text: s})
}

// Marker takes [DONE]: it ends an answer even without a finish reason.
func (c *chat) Marker(emit wire.Emit) error {
	c.ended = true
	if !c.release(emit) {
		return wire.Stopped()
	}
	return nil
}

// release shows what the splitter held back, once the turn is over.
func (c *chat) release(emit wire.Emit) bool {
	if c.split == nil || !c.Finished() {
		return true
	}
	text, thinking := c.split.rest()
	return c.think(thinking, emit) && c.say(text, emit)
}

// Short explains a stream without a single chunk: LM Studio sends one, with status
// 200, when the prompt does not fit.
func (c *chat) Short() *llm.Error {
	if !c.p.d.EmptyIsFull || c.chunks > 0 {
		return nil
	}
	return &llm.Error{
		Kind:    llm.KindContextLength,
		Message: "the server sent an empty answer, which it does when the prompt is longer than the context it loaded the model with",
	}
}

// Finished reports whether the turn is known to be over.
func (c *chat) Finished() bool {
	return c.ended || c.finish != "" || c.failure != nil
}

// Partial is the text and the thinking so far.
func (c *chat) Partial() (llm.Message, llm.Usage) {
	c.flush()
	var blocks llm.Blocks
	if len(c.thinking) > 0 {
		blocks = append(blocks, llm.Thinking{Text: string(c.thinking), Origin: c.origin})
	}
	if text := string(c.text) + string(c.refusal); text != "" {
		blocks = append(blocks, llm.Text{Text: text})
	}
	return llm.Message{Role: llm.Assistant, Blocks: blocks}, c.usage.counts()
}

// flush takes what the splitter held back.
func (c *chat) flush() {
	if c.split == nil {
		return
	}
	text, thinking := c.split.rest()
	c.text = append(c.text, text...)
	c.thinking = append(c.thinking, thinking...)
}

// Done is the answer, in the order: error, cut, refusal, calls, end.
func (c *chat) Done() (llm.Done, error) {
	c.flush()
	if err := c.failed(); err != nil {
		return llm.Done{}, err
	}
	stop := llm.StopEndTurn
	switch {
	case c.cut():
		stop = llm.StopMaxTokens
	case len(c.refusal) > 0 || c.finish == "content_filter" || c.finish == "refusal":
		stop = llm.StopRefusal
	}
	whole, incomplete := c.calls.finish(stop != llm.StopEndTurn, c.origin, c.keys)
	if stop == llm.StopRefusal {
		whole, incomplete = nil, append(incomplete, whole...)
	}
	if stop == llm.StopEndTurn && len(whole)+len(incomplete) > 0 {
		stop = llm.StopToolUse
	}
	var blocks llm.Blocks
	if len(c.thinking) > 0 || len(c.details.list) > 0 {
		blocks = append(blocks, llm.Thinking{Text: string(c.thinking), Data: c.details.raw(), Origin: c.origin})
	}
	if text := string(c.text) + string(c.refusal); text != "" {
		blocks = append(blocks, llm.Text{Text: text})
	}
	for _, use := range whole {
		blocks = append(blocks, use)
	}
	return llm.Done{
		Message: llm.Message{Role: llm.Assistant, Blocks: blocks},
		Stop:    stop, RawStop: c.finish, Usage: c.usage.counts(), Incomplete: incomplete,
	}, nil
}

// cut reports whether the token limit ended the turn. The native reason is the
// more honest one: OpenRouter has said tool_calls for a cut call.
func (c *chat) cut() bool {
	switch c.finish {
	case "length", "max_tokens", "model_length":
		return true
	}
	switch strings.ToLower(c.native) {
	case "max_output_tokens", "max_tokens", "length":
		return true
	}
	return false
}

func (c *chat) failed() error {
	switch {
	case c.failure != nil:
		return c.failure
	case c.finish == "insufficient_system_resource":
		return &llm.Error{Kind: llm.KindOverloaded, Code: c.finish, Message: "the provider ran out of resources in the middle of the answer"}
	case c.finish == "error":
		return &llm.Error{Kind: llm.KindServer, Code: c.finish, Message: "the provider ended the answer with an error"}
	case c.finish == "" && !c.ended:
		return errors.New("the answer has no end")
	}
	return nil
}

// details merges OpenRouter's reasoning_details by index, keeping every field.
type details struct{ list []detail }

// add merges a delta's items and returns their readable text.
func (ds *details) add(items []detail) string {
	var shown strings.Builder
	for _, it := range items {
		shown.WriteString(str(it["text"]))
		shown.WriteString(str(it["summary"]))
		if old := ds.same(it); old != nil {
			merge(old, it)
			continue
		}
		ds.list = append(ds.list, it)
	}
	return shown.String()
}

// same is the item that it continues: same type and index, no other id; encrypted
// items come whole.
func (ds *details) same(it detail) detail {
	if str(it["type"]) == "reasoning.encrypted" {
		return nil
	}
	for _, old := range ds.list {
		if string(old["index"]) != string(it["index"]) || string(old["type"]) != string(it["type"]) {
			continue
		}
		if a, b := str(old["id"]), str(it["id"]); a == "" || b == "" || a == b {
			return old
		}
	}
	return nil
}

func merge(old, it detail) {
	for key, value := range it {
		switch key {
		case "text", "summary", "data":
			joined, err := wire.Marshal(str(old[key]) + str(value))
			if err == nil {
				old[key] = joined
			}
		case "signature", "format", "id":
			if s := str(value); s != "" {
				old[key] = value
			}
		default:
			old[key] = value
		}
	}
}

// raw is the merged list as it goes back, nil if nothing came.
func (ds *details) raw() json.RawMessage {
	if len(ds.list) == 0 {
		return nil
	}
	data, err := wire.Marshal(ds.list)
	if err != nil {
		return nil
	}
	return data
}
