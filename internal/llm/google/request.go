package google

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/schema"
	"github.com/coderrr/coderrr/internal/llm/wire"
)

// What a server may refuse and the request can do without.
const (
	dropTemperature = "temperature"
	dropThinking    = "thinkingConfig"
	dropReplay      = "replayed signatures"
	dropSchema      = "parametersJsonSchema"
	dropResultParts = "images in results"
	dropTool        = "tool " // followed by the name
)

// noSignature stands in for a signature that another model's call cannot have:
// Gemini 3 refuses a call without one. It is documented by Google for that use.
const noSignature = "skip_thought_signature_validator"

type request struct {
	Contents          []content `json:"contents"`
	SystemInstruction *content  `json:"systemInstruction,omitempty"`
	Tools             []tools   `json:"tools,omitempty"`
	GenerationConfig  genConfig `json:"generationConfig"`
}

type (
	content struct {
		Role  string `json:"role,omitempty"`
		Parts []part `json:"parts"`
	}
	// part is any part; raw, if set, is sent instead of the fields.
	part struct {
		raw              json.RawMessage
		Text             string            `json:"text,omitempty"`
		Thought          bool              `json:"thought,omitempty"`
		ThoughtSignature string            `json:"thoughtSignature,omitempty"`
		FunctionCall     *functionCall     `json:"functionCall,omitempty"`
		FunctionResponse *functionResponse `json:"functionResponse,omitempty"`
		InlineData       *inlineData       `json:"inlineData,omitempty"`
	}
	functionCall struct {
		ID   string          `json:"id,omitempty"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	}
	functionResponse struct {
		ID       string            `json:"id,omitempty"`
		Name     string            `json:"name"`
		Response map[string]string `json:"response"`
		Parts    []part            `json:"parts,omitempty"`
	}
	inlineData struct {
		MimeType string `json:"mimeType"`
		Data     []byte `json:"data"`
	}
	tools struct {
		Declarations []declaration `json:"functionDeclarations"`
	}
	declaration struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		JSONSchema  json.RawMessage `json:"parametersJsonSchema,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	}
	genConfig struct {
		MaxOutputTokens int             `json:"maxOutputTokens,omitempty"`
		Temperature     *float64        `json:"temperature,omitempty"`
		ThinkingConfig  *thinkingConfig `json:"thinkingConfig,omitempty"`
	}
	thinkingConfig struct {
		IncludeThoughts bool   `json:"includeThoughts,omitempty"`
		ThinkingLevel   string `json:"thinkingLevel,omitempty"`
		ThinkingBudget  *int   `json:"thinkingBudget,omitempty"`
	}
)

// MarshalJSON sends a kept part unchanged.
func (p part) MarshalJSON() ([]byte, error) {
	if p.raw != nil {
		return p.raw, nil
	}
	type plain part
	return wire.Marshal(plain(p))
}

func (p *Provider) build(req llm.Request) ([]byte, error) {
	messages, err := wire.Images(p.c.Name, req, p.lookup)
	if err != nil {
		return nil, err
	}
	out := request{Contents: p.contents(req, messages), Tools: p.tools(req)}
	if strings.TrimSpace(req.System) != "" {
		out.SystemInstruction = &content{Parts: []part{{Text: req.System}}}
	}
	out.GenerationConfig.MaxOutputTokens = req.MaxTokens
	if !p.quirks.Has(req.Model, dropTemperature) {
		out.GenerationConfig.Temperature = req.Temperature
	}
	out.GenerationConfig.ThinkingConfig = p.thinking(req)
	body, err := wire.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	return body, nil
}

// thinking asks for readable thoughts where there are any. The two forms of effort
// must not be mixed: level is for 3.x, budget for 2.5.
func (p *Provider) thinking(req llm.Request) *thinkingConfig {
	gen := generation(req.Model)
	if gen < 205 || p.quirks.Has(req.Model, dropThinking) {
		return nil
	}
	cfg := &thinkingConfig{IncludeThoughts: req.Effort != "none"}
	switch {
	case req.Effort == "":
	case gen >= 300:
		cfg.ThinkingLevel = levelOf(req.Effort)
	default:
		budget := budgetOf(req.Effort)
		cfg.ThinkingBudget = &budget
	}
	return cfg
}

func levelOf(effort string) string {
	switch effort {
	case "none", "minimal", "low":
		return "low"
	case "medium":
		return "medium"
	default:
		return "high"
	}
}

func budgetOf(effort string) int {
	switch effort {
	case "none":
		return 0
	case "minimal", "low":
		return 2048
	case "medium":
		return 8192
	default:
		return 24576
	}
}

func (p *Provider) tools(req llm.Request) []tools {
	names := wire.NewNames(req.Tools)
	var list []declaration
	for _, t := range req.Tools {
		if p.quirks.Has(req.Model, dropTool+t.Name) {
			continue
		}
		d := declaration{Name: names.Wire(t.Name), Description: t.Description}
		if p.quirks.Has(req.Model, dropSchema) {
			d.Parameters, _ = schema.Flatten(t.Schema, schema.Gemini)
			if schema.Empty(d.Parameters) {
				d.Parameters = nil // an object without properties is refused there
			}
		} else {
			d.JSONSchema, _ = schema.Flatten(t.Schema, schema.Full)
		}
		list = append(list, d)
	}
	if len(list) == 0 {
		return nil
	}
	return []tools{{Declarations: list}}
}

func (p *Provider) contents(req llm.Request, msgs []llm.Message) []content {
	keep := wire.Keep(p.origin(req.Model))
	if p.quirks.Has(req.Model, dropReplay) {
		keep = wire.KeepNone
	}
	r := &renderer{
		p: p, model: req.Model, names: wire.NewNames(req.Tools), origin: p.origin(req.Model),
		nested: generation(req.Model) >= 300 && !p.quirks.Has(req.Model, dropResultParts), own: map[string]bool{},
	}
	var out []content
	for _, m := range wire.Tidy(msgs, keep) {
		if m.Role == llm.Assistant {
			out = append(out, content{Role: "model", Parts: r.modelParts(m)})
			continue
		}
		out = append(out, content{Role: "user", Parts: r.userParts(m)})
	}
	if n := len(out); n > 0 && out[n-1].Role == "model" {
		out = append(out, content{Role: "user", Parts: []part{{Text: "Continue."}}})
	}
	return out
}

type renderer struct {
	p      *Provider
	model  string
	names  *wire.Names
	origin llm.Origin
	nested bool            // images go inside a function response
	own    map[string]bool // ids that Gemini gave
}

func (r *renderer) modelParts(m llm.Message) []part {
	var out []part
	first := true
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case llm.Text:
			out = append(out, part{Text: b.Text})
		case llm.Thinking:
			if b.Signature != "" {
				out = append(out, part{Text: b.Text, Thought: true, ThoughtSignature: b.Signature})
			}
		case llm.Opaque:
			out = append(out, part{raw: b.Data})
		case llm.ToolUse:
			call := &functionCall{Name: r.names.Wire(b.Name), Args: b.Input}
			if b.Origin == r.origin && !wire.Made(b.ID) {
				call.ID = b.ID
				r.own[b.ID] = true
			}
			signature := b.Signature
			if signature == "" && first && generation(r.model) >= 300 {
				signature = noSignature
			}
			first = false
			out = append(out, part{FunctionCall: call, ThoughtSignature: signature})
		}
	}
	return out
}

func (r *renderer) userParts(m llm.Message) []part {
	var out, after []part
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case llm.Text:
			after = append(after, part{Text: b.Text})
		case llm.Image:
			after = append(after, inline(b))
		case llm.ToolResult:
			key := "result"
			if b.IsError {
				key = "error"
			}
			resp := &functionResponse{Name: r.names.Wire(b.Name), Response: map[string]string{key: b.Content}}
			if r.own[b.ToolUseID] {
				resp.ID = b.ToolUseID
			}
			for _, img := range b.Images {
				if r.nested {
					resp.Parts = append(resp.Parts, inline(img))
				} else {
					after = append(after, part{Text: "Image from " + b.Name + ":"}, inline(img))
				}
			}
			out = append(out, part{FunctionResponse: resp})
		}
	}
	return append(out, after...)
}

func inline(img llm.Image) part {
	return part{InlineData: &inlineData{MimeType: img.MediaType, Data: img.Data}}
}
