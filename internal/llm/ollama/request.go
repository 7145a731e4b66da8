package ollama

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/schema"
	"github.com/coderrr/coderrr/internal/llm/wire"
)

const dropThink = "think"

type request struct {
	Model     string    `json:"model"`
	Messages  []message `json:"messages"`
	Tools     []tool    `json:"tools,omitempty"`
	Stream    bool      `json:"stream"`
	Think     any       `json:"think,omitempty"` // bool, or a level for gpt-oss
	KeepAlive string    `json:"keep_alive"`
	Options   options   `json:"options"`
	// A prompt that does not fit is an error, and old messages are not dropped
	// while the answer grows. Servers that do not know the two ignore them.
	Truncate bool `json:"truncate"`
	Shift    bool `json:"shift"`
}

type (
	options struct {
		NumCtx      int      `json:"num_ctx,omitempty"`
		NumPredict  int      `json:"num_predict,omitempty"`
		Temperature *float64 `json:"temperature,omitempty"`
	}
	message struct {
		Role       string     `json:"role"`
		Content    string     `json:"content"`
		Thinking   string     `json:"thinking,omitempty"`
		Images     [][]byte   `json:"images,omitempty"`
		ToolCalls  []toolCall `json:"tool_calls,omitempty"`
		ToolName   string     `json:"tool_name,omitempty"`
		ToolCallID string     `json:"tool_call_id,omitempty"`
	}
	toolCall struct {
		ID       string   `json:"id,omitempty"`
		Function function `json:"function"`
	}
	function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	tool struct {
		Type     string   `json:"type"`
		Function toolSpec `json:"function"`
	}
	toolSpec struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}
)

func (p *Provider) build(ctx context.Context, req llm.Request, window int) ([]byte, error) {
	model, err := p.Show(ctx, req.Model)
	known := err == nil
	messages, err := wire.Images(p.c.Name, req, func(name string) (llm.ModelInfo, bool) {
		if p.o.Lookup != nil {
			if info, said := p.o.Lookup(name); said {
				return info, true // the person knows better
			}
		}
		return llm.ModelInfo{Images: model.Images}, known
	})
	if err != nil {
		return nil, err
	}
	out := request{
		Model: req.Model, Stream: true, KeepAlive: p.o.KeepAlive, Think: p.think(req, model),
		Options: options{NumCtx: window, NumPredict: req.MaxTokens, Temperature: req.Temperature},
	}
	names := wire.NewNames(req.Tools)
	for _, t := range req.Tools {
		flat, _ := schema.Flatten(t.Schema, schema.Plain)
		out.Tools = append(out.Tools, tool{"function", toolSpec{names.Wire(t.Name), t.Description, flat}})
	}
	if strings.TrimSpace(req.System) != "" {
		out.Messages = append(out.Messages, message{Role: "system", Content: req.System})
	}
	for _, m := range wire.Tidy(messages, wire.Keep(p.origin(req.Model))) {
		if m.Role == llm.Assistant {
			out.Messages = append(out.Messages, assistant(m, names))
		} else {
			out.Messages = append(out.Messages, user(m, names)...)
		}
	}
	body, err := wire.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	return body, nil
}

// think asks for thinking where the model can; gpt-oss takes levels instead.
func (p *Provider) think(req llm.Request, m Model) any {
	switch {
	case p.quirks.Has(req.Model, dropThink):
		return nil
	case req.Effort == "none":
		return false
	case strings.HasPrefix(req.Model, "gpt-oss") && req.Effort != "":
		return req.Effort
	case m.Thinks || req.Effort != "":
		return true
	}
	return nil
}

func assistant(m llm.Message, names *wire.Names) message {
	out := message{Role: "assistant", Content: llm.TextOf(m)}
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case llm.Thinking:
			out.Thinking += b.Text
		case llm.ToolUse:
			out.ToolCalls = append(out.ToolCalls, toolCall{b.ID, function{names.Wire(b.Name), b.Input}})
		}
	}
	return out
}

func user(m llm.Message, names *wire.Names) []message {
	var out []message
	said := message{Role: "user"}
	var texts []string
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case llm.ToolResult:
			r := message{Role: "tool", Content: b.Content, ToolName: names.Wire(b.Name), ToolCallID: b.ToolUseID}
			if b.IsError {
				r.Content = "Error: " + strings.TrimPrefix(b.Content, "Error: ")
			}
			for _, img := range b.Images {
				r.Images = append(r.Images, img.Data)
			}
			out = append(out, r)
		case llm.Text:
			texts = append(texts, b.Text)
		case llm.Image:
			said.Images = append(said.Images, b.Data)
		}
	}
	said.Content = strings.Join(texts, "\n\n")
	if said.Content != "" || len(said.Images) > 0 {
		out = append(out, said)
	}
	return out
}
