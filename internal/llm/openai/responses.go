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

type responsesRequest struct {
	Model           string     `json:"model"`
	Instructions    string     `json:"instructions,omitempty"`
	Input           []item     `json:"input"`
	Tools           []flatTool `json:"tools,omitempty"`
	MaxOutputTokens int        `json:"max_output_tokens,omitempty"`
	Temperature     *float64   `json:"temperature,omitempty"`
	Reasoning       *reasoning `json:"reasoning,omitempty"`
	Include         []string   `json:"include,omitempty"`
	Store           bool       `json:"store"`
	Stream          bool       `json:"stream"`
}

type (
	// item is any input item; raw, if set, is sent instead of the fields.
	item struct {
		raw       json.RawMessage
		Type      string     `json:"type"`
		Role      string     `json:"role,omitempty"`
		Content   []itemPart `json:"content,omitempty"`
		CallID    string     `json:"call_id,omitempty"`
		Name      string     `json:"name,omitempty"`
		Arguments string     `json:"arguments,omitempty"`
		Output    *string    `json:"output,omitempty"`
	}
	itemPart struct {
		Type     string `json:"type"`
		Text     string `json:"text,omitempty"`
		ImageURL string `json:"image_url,omitempty"`
	}
	flatTool struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      bool            `json:"strict"`
	}
)

// MarshalJSON sends a kept item unchanged.
func (i item) MarshalJSON() ([]byte, error) {
	if i.raw != nil {
		return i.raw, nil
	}
	type plain item
	return wire.Marshal(plain(i))
}

// buildResponses renders a request that leaves nothing at the provider: store is
// off, and reasoning comes back encrypted to be replayed.
func (p *Provider) buildResponses(req llm.Request) ([]byte, error) {
	messages, err := wire.Images(p.c.Name, req, p.lookup)
	if err != nil {
		return nil, err
	}
	out := responsesRequest{Model: req.Model, Instructions: req.System, Stream: true, MaxOutputTokens: req.MaxTokens}
	names := wire.NewNames(req.Tools)
	for _, t := range req.Tools {
		if p.quirks.Has(req.Model, dropTool+t.Name) {
			continue
		}
		target := schema.Full
		if p.quirks.Has(req.Model, dropSchema) {
			target = schema.Plain
		}
		flat, _ := schema.Flatten(t.Schema, target)
		strict := schema.IsStrict(flat) && !p.quirks.Has(req.Model, dropStrict)
		out.Tools = append(out.Tools, flatTool{"function", names.Wire(t.Name), t.Description, flat, strict})
	}
	if reasoningModel(req.Model) && !p.quirks.Has(req.Model, dropReasoning) {
		out.Include = []string{"reasoning.encrypted_content"}
		out.Reasoning = &reasoning{Effort: req.Effort, Summary: "auto"}
		if p.quirks.Has(req.Model, dropSummary) {
			out.Reasoning.Summary = "" // some organisations must be verified for it
		}
		if *out.Reasoning == (reasoning{}) {
			out.Reasoning = nil
		}
	} else if !p.quirks.Has(req.Model, dropTemperature) {
		out.Temperature = req.Temperature
	}
	out.Input = p.items(req, messages, names)
	body, err := wire.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	return body, nil
}

func (p *Provider) items(req llm.Request, msgs []llm.Message, names *wire.Names) []item {
	keep := wire.Keep(p.origin(req.Model))
	if p.quirks.Has(req.Model, dropReplay) {
		keep = wire.KeepNone
	}
	ids := wire.NewIDs(wire.AnyID)
	var out []item
	for _, m := range wire.Tidy(msgs, keep) {
		if m.Role == llm.Assistant {
			out = append(out, assistantItems(m, ids, names)...)
		} else {
			out = append(out, userItems(m, ids)...)
		}
	}
	return out
}

func assistantItems(m llm.Message, ids *wire.IDs, names *wire.Names) []item {
	var out []item
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case llm.Text:
			out = append(out, item{Type: "message", Role: "assistant", Content: []itemPart{{Type: "output_text", Text: b.Text}}})
		case llm.Thinking:
			if raw := replayed(b.Data); raw != nil {
				out = append(out, item{raw: raw})
			}
		case llm.Opaque:
			out = append(out, item{raw: b.Data})
		case llm.ToolUse:
			out = append(out, item{Type: "function_call", CallID: ids.Wire(b.ID), Name: names.Wire(b.Name), Arguments: string(b.Input)})
		}
	}
	return out
}

// replayed is a reasoning item as it may go back: without encrypted content the
// server, which stored nothing, would look for it in vain.
func replayed(raw json.RawMessage) json.RawMessage {
	var it struct {
		ID        string          `json:"id"`
		Type      string          `json:"type"`
		Summary   json.RawMessage `json:"summary"`
		Encrypted json.RawMessage `json:"encrypted_content"`
	}
	if json.Unmarshal(raw, &it) != nil || len(it.Encrypted) < len(`"x"`) || string(it.Encrypted) == "null" {
		return nil
	}
	if len(it.Summary) == 0 {
		it.Summary = json.RawMessage("[]")
	}
	data, err := wire.Marshal(it)
	if err != nil {
		return nil
	}
	return data
}

func userItems(m llm.Message, ids *wire.IDs) []item {
	var out []item
	var said []itemPart
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case llm.ToolResult:
			text := toolText(b)
			out = append(out, item{Type: "function_call_output", CallID: ids.Wire(b.ToolUseID), Output: &text})
			if len(b.Images) > 0 {
				said = append(said, itemPart{Type: "input_text", Text: "Images from " + b.Name + ":"})
			}
			for _, img := range b.Images {
				said = append(said, inputImage(img))
			}
		case llm.Text:
			said = append(said, itemPart{Type: "input_text", Text: b.Text})
		case llm.Image:
			said = append(said, inputImage(b))
		}
	}
	if len(said) > 0 {
		out = append(out, item{Type: "message", Role: "user", Content: said})
	}
	return out
}

func inputImage(img llm.Image) itemPart {
	uri := "data:" + img.MediaType + ";base64," + base64.StdEncoding.EncodeToString(img.Data)
	return itemPart{Type: "input_image", ImageURL: uri}
}

// responses decides between the two protocols.
func (p *Provider) responses(model string) bool {
	switch p.api {
	case Responses:
		return true
	case Chat:
		return false
	default:
		return p.d.OwnRoles && strings.HasSuffix(p.c.Host(), "api.openai.com") && reasoningModel(model)
	}
}
