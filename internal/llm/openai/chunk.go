package openai

import (
	"encoding/json"
	"errors"
	"strings"
)

// chunk is one streamed piece, in the types that nearly every server sends. One
// json.Unmarshal reads it; slowChunk reads the rest.
type chunk struct {
	Object  string          `json:"object"`
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
	Groq    *groq           `json:"x_groq"`
	Error   json.RawMessage `json:"error"`
}

type groq struct {
	Usage *usage `json:"usage"`
}

type choice struct {
	Index   int             `json:"index"`
	Delta   delta           `json:"delta"`
	Message json.RawMessage `json:"message"` // an answer that was not streamed
	Finish  string          `json:"finish_reason"`
	Native  string          `json:"native_finish_reason"`
}

type delta struct {
	Content          string     `json:"content"`
	Refusal          string     `json:"refusal"`
	ReasoningContent string     `json:"reasoning_content"`
	Reasoning        string     `json:"reasoning"`
	Details          []detail   `json:"reasoning_details"`
	ToolCalls        []toolCall `json:"tool_calls"`
}

// detail is one item of OpenRouter's reasoning_details, kept whole.
type detail map[string]json.RawMessage

type toolCall struct {
	Index    *int            `json:"index"`
	ID       string          `json:"id"`
	Extra    json.RawMessage `json:"extra_content"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// slowDelta takes content as a list of parts and arguments as an object.
type slowDelta struct {
	Content          json.RawMessage `json:"content"`
	Refusal          json.RawMessage `json:"refusal"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	Reasoning        json.RawMessage `json:"reasoning"`
	Details          json.RawMessage `json:"reasoning_details"`
	ToolCalls        json.RawMessage `json:"tool_calls"`
}

type slowCall struct {
	Index    json.RawMessage `json:"index"`
	ID       json.RawMessage `json:"id"`
	Extra    json.RawMessage `json:"extra_content"`
	Function struct {
		Name      json.RawMessage `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

type slowChunk struct {
	Object  json.RawMessage `json:"object"`
	Choices []struct {
		Index   json.RawMessage `json:"index"`
		Delta   json.RawMessage `json:"delta"`
		Message json.RawMessage `json:"message"`
		Finish  json.RawMessage `json:"finish_reason"`
		Native  json.RawMessage `json:"native_finish_reason"`
	} `json:"choices"`
	Usage json.RawMessage `json:"usage"`
	Groq  json.RawMessage `json:"x_groq"`
	Error json.RawMessage `json:"error"`
}

// parser reads chunks into memory that it uses again: most of the time of a stream
// is spent here.
type parser struct {
	chunk chunk
	room  [1]choice
}

// parse reads data; the result is valid until the next call. Only data that is not
// a JSON object is an error.
func (p *parser) parse(data []byte) (*chunk, error) {
	p.room[0] = choice{}
	p.chunk = chunk{Choices: p.room[:0]}
	c := &p.chunk
	if err := json.Unmarshal(data, c); err != nil {
		var wrong *json.UnmarshalTypeError
		if !errors.As(err, &wrong) {
			return nil, err
		}
		slow, err := parseSlow(data)
		return &slow, err
	}
	for i := range c.Choices {
		if len(c.Choices[i].Message) > 0 {
			c.Choices[i].takeMessage(c.Choices[i].Message)
		}
	}
	return c, nil
}

func parseSlow(data []byte) (chunk, error) {
	var s slowChunk
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal(data, &s); err != nil && !errors.As(err, &wrong) {
		return chunk{}, err
	}
	c := chunk{Object: str(s.Object), Error: s.Error, Usage: parseUsage(s.Usage)}
	var g struct {
		Usage json.RawMessage `json:"usage"`
	}
	if json.Unmarshal(s.Groq, &g) == nil && len(g.Usage) > 0 {
		c.Groq = &groq{Usage: parseUsage(g.Usage)}
	}
	for _, sc := range s.Choices {
		ch := choice{Finish: str(sc.Finish), Native: str(sc.Native), Delta: parseDelta(sc.Delta)}
		if n := intOf(sc.Index); n != nil {
			ch.Index = *n
		}
		if len(sc.Message) > 0 {
			ch.takeMessage(sc.Message)
		}
		c.Choices = append(c.Choices, ch)
	}
	return c, nil
}

// takeMessage uses a whole message as if it were one delta.
func (c *choice) takeMessage(raw json.RawMessage) {
	if string(raw) != "null" {
		c.Delta = parseDelta(raw)
	}
}

func parseDelta(raw json.RawMessage) delta {
	var s slowDelta
	if json.Unmarshal(raw, &s) != nil {
		return delta{}
	}
	d := delta{Refusal: str(s.Refusal), ReasoningContent: str(s.ReasoningContent), Reasoning: str(s.Reasoning)}
	d.Content = str(s.Content)
	if len(s.Content) > 0 && s.Content[0] == '[' {
		text, thinking := parts(s.Content)
		d.Content = text
		d.ReasoningContent += thinking
	}
	_ = json.Unmarshal(s.Details, &d.Details) // another shape is not replayed
	var calls []slowCall
	if json.Unmarshal(s.ToolCalls, &calls) != nil {
		return d
	}
	for _, sc := range calls {
		tc := toolCall{Index: intOf(sc.Index), ID: str(sc.ID), Extra: sc.Extra}
		tc.Function.Name = str(sc.Function.Name)
		tc.Function.Arguments = arguments(sc.Function.Arguments)
		d.ToolCalls = append(d.ToolCalls, tc)
	}
	return d
}

// parts reads Mistral's content list: text parts and thinking parts.
func parts(raw json.RawMessage) (text, thinking string) {
	var list []struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return "", ""
	}
	var t, th strings.Builder
	for _, p := range list {
		switch {
		case p.Type == "thinking" && len(p.Thinking) > 0 && p.Thinking[0] == '[':
			inner, _ := parts(p.Thinking)
			th.WriteString(inner)
		case p.Type == "thinking":
			th.WriteString(str(p.Thinking))
		default:
			t.WriteString(p.Text)
		}
	}
	return t.String(), th.String()
}

// arguments is a string as it is, an object as its JSON.
func arguments(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	if raw[0] == '"' {
		return str(raw)
	}
	return string(raw)
}

func str(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

func intOf(raw json.RawMessage) *int {
	var n int
	if len(raw) == 0 || string(raw) == "null" || json.Unmarshal(raw, &n) != nil {
		return nil
	}
	return &n
}
