package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/schema"
	"github.com/coderrr/coderrr/internal/llm/wire"
)

// What a server may refuse and the request can do without.
const (
	dropTemperature   = "temperature"
	dropStreamOptions = "stream_options"
	dropEffort        = "reasoning_effort"
	dropReasoning     = "reasoning"
	dropSummary       = "summary"
	dropThinking      = "thinking"
	dropStrict        = "strict"
	dropDeveloper     = "developer"
	dropSystem        = "system"
	dropReplay        = "reasoning_content"
	dropToolImages    = "tool images"
	dropSchema        = "full schemas"
	swapTokens        = "max tokens field"
	offThinking       = "thinking off"
	dropTool          = "tool " // followed by the name
)

type chatRequest struct {
	Model               string         `json:"model"`
	Messages            []message      `json:"messages"`
	Tools               []tool         `json:"tools,omitempty"`
	Stream              bool           `json:"stream"`
	StreamOptions       *streamOptions `json:"stream_options,omitempty"`
	MaxTokens           int            `json:"max_tokens,omitempty"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
	Temperature         *float64       `json:"temperature,omitempty"`
	ReasoningEffort     string         `json:"reasoning_effort,omitempty"`
	Reasoning           *reasoning     `json:"reasoning,omitempty"`
	Thinking            *thinking      `json:"thinking,omitempty"`
}

type (
	streamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	}
	reasoning struct {
		Effort  string `json:"effort,omitempty"`
		Summary string `json:"summary,omitempty"`
	}
	thinking struct {
		Type string `json:"type"`
	}
	message struct {
		Role             string          `json:"role"`
		Content          any             `json:"content,omitempty"` // string or []part; nil is left out
		ReasoningContent string          `json:"reasoning_content,omitempty"`
		Reasoning        string          `json:"reasoning,omitempty"`
		Details          json.RawMessage `json:"reasoning_details,omitempty"`
		ToolCalls        []sentCall      `json:"tool_calls,omitempty"`
		ToolCallID       string          `json:"tool_call_id,omitempty"`
	}
	part struct {
		Type     string     `json:"type"`
		Text     string     `json:"text,omitempty"`
		ImageURL *imageURL  `json:"image_url,omitempty"`
		Cache    *ephemeral `json:"cache_control,omitempty"`
	}
	imageURL struct {
		URL string `json:"url"`
	}
	ephemeral struct {
		Type string `json:"type"`
	}
	sentCall struct {
		ID       string          `json:"id"`
		Type     string          `json:"type"`
		Function sentFunction    `json:"function"`
		Extra    json.RawMessage `json:"extra_content,omitempty"`
	}
	sentFunction struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	tool struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      *bool           `json:"strict,omitempty"`
	}
)

// buildChat renders the request. The same request gives the same bytes, so that
// prompt caches hit.
func (p *Provider) buildChat(req llm.Request) ([]byte, error) {
	messages, err := wire.Images(p.c.Name, req, p.lookup)
	if err != nil {
		return nil, err
	}
	out := chatRequest{Model: req.Model, Stream: true, Tools: p.chatTools(req)}
	out.Messages = p.chatMessages(req, messages)
	if !p.d.NoStreamOptions && !p.quirks.Has(req.Model, dropStreamOptions) {
		out.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	own := p.d.OwnRoles && reasoningModel(req.Model)
	if (own || p.d.CompletionTokens) != p.quirks.Has(req.Model, swapTokens) {
		out.MaxCompletionTokens = req.MaxTokens
	} else {
		out.MaxTokens = req.MaxTokens
	}
	if !own && !p.quirks.Has(req.Model, dropTemperature) {
		out.Temperature = req.Temperature
	}
	p.effort(req, &out)
	body, err := p.sent.body(out)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	return body, nil
}

func (p *Provider) effort(req llm.Request, out *chatRequest) {
	if p.quirks.Has(req.Model, offThinking) {
		out.Thinking = &thinking{Type: "disabled"}
		return
	}
	if req.Effort == "" {
		return
	}
	switch p.d.Effort {
	case EffortField:
		if p.d.OwnRoles && !reasoningModel(req.Model) {
			return // chat models have no such setting
		}
		if !p.quirks.Has(req.Model, dropEffort) {
			out.ReasoningEffort = req.Effort
		}
	case EffortObject:
		if !p.quirks.Has(req.Model, dropReasoning) {
			out.Reasoning = &reasoning{Effort: req.Effort}
		}
	case EffortThinking:
		if p.quirks.Has(req.Model, dropThinking) {
			return
		}
		out.Thinking = &thinking{Type: "enabled"}
		if req.Effort == "none" {
			out.Thinking.Type = "disabled"
		}
	case EffortNone:
	}
}

func (p *Provider) chatTools(req llm.Request) []tool {
	names := wire.NewNames(req.Tools)
	var out []tool
	for _, t := range req.Tools {
		if p.quirks.Has(req.Model, dropTool+t.Name) {
			continue
		}
		f := function{Name: names.Wire(t.Name), Description: t.Description, Parameters: p.parameters(req.Model, t.Schema)}
		if p.d.Strict && !p.quirks.Has(req.Model, dropStrict) {
			strict := schema.IsStrict(f.Parameters)
			f.Strict = &strict
		}
		out = append(out, tool{Type: "function", Function: f})
	}
	return out
}

// parameters is the schema as it is, or its plain form for a server that refused.
func (p *Provider) parameters(model string, raw json.RawMessage) json.RawMessage {
	target := schema.Full
	if p.quirks.Has(model, dropSchema) {
		target = schema.Plain
	}
	flat, _ := schema.Flatten(raw, target)
	return flat
}

func (p *Provider) chatMessages(req llm.Request, msgs []llm.Message) []message {
	keep := wire.Keep(p.origin(req.Model))
	if p.quirks.Has(req.Model, dropReplay) {
		keep = wire.KeepNone
	}
	ids, names := wire.NewIDs(p.d.IDs), wire.NewNames(req.Tools)
	var out []message
	system := p.systemRole(req.Model)
	folded := ""
	if req.System != "" {
		if system == "" {
			folded = req.System + "\n\n"
		} else {
			out = append(out, message{Role: system, Content: p.cached(req.Model, req.System)})
		}
	}
	for _, m := range wire.Tidy(msgs, keep) {
		if m.Role == llm.Assistant {
			out = append(out, p.assistant(m, ids, names))
			continue
		}
		out = append(out, p.user(req.Model, m, ids, &folded)...)
	}
	if p.d.CacheParts && caches(req.Model) && len(out) > 0 {
		if last := &out[len(out)-1]; last.Role == "user" {
			if text, ok := last.Content.(string); ok {
				last.Content = p.cached(req.Model, text)
			}
		}
	}
	return out
}

func (p *Provider) systemRole(model string) string {
	if p.quirks.Has(model, dropSystem) {
		return ""
	}
	if p.d.OwnRoles && reasoningModel(model) && !p.quirks.Has(model, dropDeveloper) {
		return "developer"
	}
	return "system"
}

// caches reports whether OpenRouter passes cache_control on for the model.
func caches(model string) bool {
	return strings.Contains(model, "claude") || strings.HasPrefix(model, "anthropic/")
}

func (p *Provider) cached(model, text string) any {
	if p.d.CacheParts && caches(model) {
		return []part{{Type: "text", Text: text, Cache: &ephemeral{Type: "ephemeral"}}}
	}
	return text
}

func (p *Provider) assistant(m llm.Message, ids *wire.IDs, names *wire.Names) message {
	out := message{Role: "assistant"}
	if text := llm.TextOf(m); text != "" {
		out.Content = text
	}
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case llm.Thinking:
			p.replay(b, &out)
		case llm.ToolUse:
			call := sentCall{ID: ids.Wire(b.ID), Type: "function", Function: sentFunction{Name: names.Wire(b.Name), Arguments: string(b.Input)}}
			if json.Valid([]byte(b.Signature)) {
				call.Extra = json.RawMessage(b.Signature)
			}
			out.ToolCalls = append(out.ToolCalls, call)
		}
	}
	if out.Content == nil && (p.d.EmptyContent || len(out.ToolCalls) == 0) {
		out.Content = ""
	}
	return out
}

// replay puts the reasoning back where the dialect wants it.
func (p *Provider) replay(b llm.Thinking, out *message) {
	switch p.d.Replay {
	case ReplayContent:
		out.ReasoningContent += b.Text
	case ReplayReasoning:
		out.Reasoning += b.Text
	case ReplayDetails:
		if len(b.Data) > 0 {
			out.Details = b.Data
		} else {
			out.Reasoning += b.Text
		}
	case ReplayNone:
	}
}

// user renders one user turn: tool messages first, then what a person said and
// the images of results that a tool message cannot hold.
func (p *Provider) user(model string, m llm.Message, ids *wire.IDs, folded *string) []message {
	var out []message
	var said []part
	inTool := p.d.ToolImages && !p.quirks.Has(model, dropToolImages)
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case llm.ToolResult:
			content := any(toolText(b))
			if len(b.Images) > 0 && inTool {
				content = append([]part{{Type: "text", Text: toolText(b)}}, imageParts(b.Images)...)
			} else if len(b.Images) > 0 {
				said = append(said, part{Type: "text", Text: "Images from " + b.Name + ":"})
				said = append(said, imageParts(b.Images)...)
			}
			out = append(out, message{Role: "tool", ToolCallID: ids.Wire(b.ToolUseID), Content: content})
		case llm.Text:
			said = append(said, part{Type: "text", Text: b.Text})
		case llm.Image:
			said = append(said, imageParts([]llm.Image{b})...)
		}
	}
	if len(said) == 0 {
		return out
	}
	if *folded != "" {
		said = append([]part{{Type: "text", Text: *folded}}, said...)
		*folded = ""
	}
	return append(out, message{Role: "user", Content: joined(said)})
}

// toolText is never empty: some servers refuse an empty tool message.
func toolText(r llm.ToolResult) string {
	switch {
	case r.Content != "" && r.IsError:
		return "Error: " + strings.TrimPrefix(r.Content, "Error: ")
	case r.Content != "":
		return r.Content
	case len(r.Images) > 0:
		return "(image)"
	default:
		return "(no output)"
	}
}

func imageParts(images []llm.Image) []part {
	out := make([]part, 0, len(images))
	for _, img := range images {
		uri := "data:" + img.MediaType + ";base64," + base64.StdEncoding.EncodeToString(img.Data)
		out = append(out, part{Type: "image_url", ImageURL: &imageURL{URL: uri}})
	}
	return out
}

// joined is one string when all parts are text: some servers take nothing else.
func joined(parts []part) any {
	var texts []string
	for _, p := range parts {
		if p.Type != "text" {
			return parts
		}
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n\n")
}
