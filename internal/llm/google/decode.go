package google

import (
	"encoding/json"
	"errors"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/wire"
)

// maxAnswer bounds one assembled answer in bytes.
const maxAnswer = 64 << 20

// textSignature is the kind of the item that keeps a signature found on text.
const textSignature = "text_signature"

type response struct {
	Candidates []struct {
		Index   int `json:"index"`
		Content struct {
			Parts []json.RawMessage `json:"parts"`
		} `json:"content"`
		Finish string `json:"finishReason"`
	} `json:"candidates"`
	Feedback *struct {
		Block string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage *usage          `json:"usageMetadata"`
	Error json.RawMessage `json:"error"`
}

type usage struct {
	Prompt     *int64 `json:"promptTokenCount"`
	Candidates int64  `json:"candidatesTokenCount"`
	Thoughts   int64  `json:"thoughtsTokenCount"`
	ToolUse    int64  `json:"toolUsePromptTokenCount"`
	Cached     int64  `json:"cachedContentTokenCount"`
}

// counts maps a report: candidates exclude thoughts, the prompt includes what came
// from the cache, and what server tools read comes on top.
func (u *usage) counts() llm.Usage {
	if u == nil || u.Prompt == nil {
		return llm.Usage{}
	}
	return llm.Usage{
		Input: max(0, *u.Prompt+u.ToolUse-u.Cached), CacheRead: u.Cached,
		Output: u.Candidates + u.Thoughts, Reasoning: u.Thoughts, Known: true,
	}
}

// answer assembles one response.
type answer struct {
	p      *Provider
	model  string
	origin llm.Origin
	keys   *wire.Keys
	names  *wire.Names

	blocks     llm.Blocks
	incomplete []llm.ToolUse
	text       []byte // the text block, or the thinking block, that is still growing
	thinking   bool
	growing    bool
	calls      int
	size       int
	finish     string
	blocked    string
	server     bool // server tools ran: a finish may come in the middle
	failure    *llm.Error
	usage      *usage
}

func (p *Provider) newAnswer(req llm.Request) *answer {
	return &answer{
		p: p, model: req.Model, origin: p.origin(req.Model),
		keys: wire.NewKeys(req.Messages), names: wire.NewNames(req.Tools),
	}
}

// Event takes one response; each holds whole parts.
func (a *answer) Event(data []byte, emit wire.Emit) (wire.Progress, error) {
	if a.size += len(data); a.size > 16*maxAnswer || len(a.text) > maxAnswer {
		return 0, &llm.Error{Kind: llm.KindBadResponse, Message: "the answer is larger than any model writes"}
	}
	var r response
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal(data, &r); err != nil && !errors.As(err, &wrong) {
		return 0, err
	}
	if r.Usage != nil && r.Usage.Prompt != nil {
		a.usage = r.Usage
	}
	if len(r.Error) > 0 && string(r.Error) != "null" {
		a.failure = a.p.c.InBand(a.model, data)
		return wire.Finishing, nil
	}
	if r.Feedback != nil && r.Feedback.Block != "" {
		a.blocked = r.Feedback.Block
	}
	moved := false
	for _, c := range r.Candidates {
		if c.Index != 0 {
			continue // one candidate was asked for
		}
		for _, raw := range c.Content.Parts {
			moved = true
			if !a.part(raw, emit) {
				return 0, wire.Stopped()
			}
		}
		if c.Finish != "" {
			a.finish = c.Finish
		}
	}
	switch {
	case a.Finished() && !a.server:
		return wire.Finishing, nil
	case moved, a.Finished():
		return wire.Moving, nil
	}
	return wire.Alive, nil
}

// part takes one part.
func (a *answer) part(raw json.RawMessage, emit wire.Emit) bool {
	var p struct {
		Text      *string `json:"text"`
		Thought   bool    `json:"thought"`
		Signature string  `json:"thoughtSignature"`
		Call      *struct {
			ID   string          `json:"id"`
			Name string          `json:"name"`
			Args json.RawMessage `json:"args"`
		} `json:"functionCall"`
	}
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal(raw, &p); err != nil && !errors.As(err, &wrong) {
		return true
	}
	switch {
	case p.Call != nil:
		a.finish = "" // more came after a finish: it was not the last
		return a.call(p.Call.ID, p.Call.Name, p.Call.Args, p.Signature, emit)
	case p.Text != nil:
		return a.say(*p.Text, p.Thought, p.Signature, emit)
	}
	if kind := kindOf(raw); kind != "" {
		a.finish = ""
		a.server = true
		a.close()
		a.blocks = append(a.blocks, llm.Opaque{Kind: kind, Data: append(json.RawMessage(nil), raw...), Origin: a.origin})
	}
	return true
}

// kindOf names a part by the field that is not about thoughts.
func kindOf(raw json.RawMessage) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return ""
	}
	kind := ""
	for name := range fields {
		switch name {
		case "thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata":
		default:
			if name != "" && (kind == "" || name < kind) {
				kind = name
			}
		}
	}
	return kind
}

func (a *answer) say(text string, thought bool, signature string, emit wire.Emit) bool {
	if text != "" {
		a.finish = ""
		if a.growing && a.thinking != thought {
			a.close()
		}
		a.growing, a.thinking = true, thought
		a.text = append(a.text, text...)
	}
	ok := true
	switch {
	case text == "":
	case thought:
		ok = emit(llm.ThinkingDelta{Text: text})
	default:
		ok = emit(llm.TextDelta{Text: text})
	}
	if signature != "" {
		a.sign(thought, signature)
	}
	return ok
}

// sign keeps a signature that came on text or on a thought.
func (a *answer) sign(thought bool, signature string) {
	if thought {
		if !a.growing {
			a.growing, a.thinking = true, true
		}
		a.close()
		if n := len(a.blocks); n > 0 {
			if th, ok := a.blocks[n-1].(llm.Thinking); ok {
				th.Signature = signature
				a.blocks[n-1] = th
			}
		}
		return
	}
	a.close()
	data, err := wire.Marshal(map[string]string{"text": "", "thoughtSignature": signature})
	if err == nil {
		a.blocks = append(a.blocks, llm.Opaque{Kind: textSignature, Data: data, Origin: a.origin})
	}
}

// close ends the block that is growing.
func (a *answer) close() {
	if !a.growing {
		return
	}
	if a.thinking {
		a.blocks = append(a.blocks, llm.Thinking{Text: string(a.text), Origin: a.origin})
	} else {
		a.blocks = append(a.blocks, llm.Text{Text: string(a.text)})
	}
	a.text, a.growing = nil, false
}

func (a *answer) call(id, name string, args json.RawMessage, signature string, emit wire.Emit) bool {
	a.close()
	use := llm.ToolUse{Name: a.names.Back(name), Signature: signature, Origin: a.origin}
	input, ok := wire.Object(args, false)
	if !ok || name == "" {
		use.Input, _ = wire.Marshal(string(args)) // a string always encodes
		a.incomplete = append(a.incomplete, use)
		return true
	}
	use.ID, use.Input = a.keys.Take(id), input
	a.blocks = append(a.blocks, use)
	index := a.calls
	a.calls++
	return emit(llm.ToolUseStart{Index: index, ID: use.ID, Name: use.Name}) && emit(llm.ToolInputDelta{Index: index, JSON: string(input)})
}

// Finished reports whether a finish reason is there that nothing followed.
func (a *answer) Finished() bool { return a.finish != "" || a.blocked != "" || a.failure != nil }

// Partial is the text and the thinking so far.
func (a *answer) Partial() (llm.Message, llm.Usage) {
	a.close()
	m := llm.Message{Role: llm.Assistant}
	for _, b := range a.blocks {
		switch b := b.(type) {
		case llm.Text, llm.Thinking:
			m.Blocks = append(m.Blocks, b)
		}
	}
	return m, a.usage.counts()
}

// Done is the answer.
func (a *answer) Done() (llm.Done, error) {
	a.close()
	switch {
	case a.failure != nil:
		return llm.Done{}, a.failure
	case !a.Finished():
		return llm.Done{}, errors.New("the answer has no end")
	}
	d := llm.Done{Message: llm.Message{Role: llm.Assistant, Blocks: a.blocks}, RawStop: a.finish, Usage: a.usage.counts(), Incomplete: a.incomplete}
	switch a.finish {
	case "STOP", "FINISH_REASON_UNSPECIFIED":
		d.Stop = llm.StopEndTurn
	case "MAX_TOKENS":
		d.Stop = llm.StopMaxTokens
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MISSING_THOUGHT_SIGNATURE":
		return llm.Done{}, &llm.Error{Kind: llm.KindBadToolCall, Code: a.finish, Message: "the model wrote a tool call that cannot be read"}
	case "":
		d.Stop, d.RawStop = llm.StopRefusal, "BLOCK:"+a.blocked
	case "OTHER":
		if len(a.blocks) == 0 {
			return llm.Done{}, &llm.Error{Kind: llm.KindServer, Code: a.finish, Message: "the model stopped for an unknown reason without an answer"}
		}
		d.Stop = llm.StopEndTurn
	default:
		d.Stop = llm.StopRefusal
	}
	if d.Stop == llm.StopEndTurn && a.calls+len(a.incomplete) > 0 {
		d.Stop = llm.StopToolUse
	}
	return d, nil
}
