package anthropic

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/schema"
	"github.com/coderrr/coderrr/internal/llm/wire"
)

// What a server may refuse and the request can do without.
const (
	dropTemperature = "temperature"
	dropThinking    = "thinking"
	dropEffort      = "output_config"
	dropReplay      = "replayed thinking"
	dropCache       = "cache_control"
	dropSchema      = "full schemas"
	dropTool        = "tool " // followed by the name
)

type request struct {
	Model        string        `json:"model"`
	MaxTokens    int           `json:"max_tokens"`
	System       []block       `json:"system,omitempty"`
	Messages     []message     `json:"messages"`
	Tools        []tool        `json:"tools,omitempty"`
	Thinking     *thinking     `json:"thinking,omitempty"`
	OutputConfig *outputConfig `json:"output_config,omitempty"`
	Temperature  *float64      `json:"temperature,omitempty"`
	Stream       bool          `json:"stream"`
}

type (
	thinking struct {
		Type   string `json:"type"`
		Budget int    `json:"budget_tokens,omitempty"`
	}
	outputConfig struct {
		Effort string `json:"effort"`
	}
	ephemeral struct {
		Type string `json:"type"`
	}
	tool struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		InputSchema json.RawMessage `json:"input_schema"`
		Cache       *ephemeral      `json:"cache_control,omitempty"`
	}
	message struct {
		Role    string  `json:"role"`
		Content []block `json:"content"`
	}
	// block is any content block; raw, if set, is sent instead of the fields.
	block struct {
		raw       json.RawMessage
		Type      string          `json:"type"`
		Text      string          `json:"text,omitempty"`
		Thinking  *string         `json:"thinking,omitempty"`
		Signature string          `json:"signature,omitempty"`
		ID        string          `json:"id,omitempty"`
		Name      string          `json:"name,omitempty"`
		Input     json.RawMessage `json:"input,omitempty"`
		ToolUseID string          `json:"tool_use_id,omitempty"`
		Content   []block         `json:"content,omitempty"`
		IsError   bool            `json:"is_error,omitempty"`
		Source    *source         `json:"source,omitempty"`
		Cache     *ephemeral      `json:"cache_control,omitempty"`
	}
	source struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      []byte `json:"data"`
	}
)

// MarshalJSON sends a kept block unchanged.
func (b block) MarshalJSON() ([]byte, error) {
	if b.raw != nil {
		return b.raw, nil
	}
	type plain block
	return wire.Marshal(plain(b))
}

// build renders the request. The same request gives the same bytes, and what
// comes first changes least, so that the prompt cache hits.
func (p *Provider) build(req llm.Request) ([]byte, error) {
	messages, err := wire.Images(p.c.Name, req, p.lookup)
	if err != nil {
		return nil, err
	}
	out := request{Model: req.Model, Stream: true, Tools: p.tools(req)}
	if strings.TrimSpace(req.System) != "" {
		out.System = []block{{Type: "text", Text: req.System, Cache: p.cache(req.Model)}}
	}
	out.Messages = p.messages(req, messages)
	p.limits(req, &out)
	body, err := wire.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	return body, nil
}

func (p *Provider) cache(model string) *ephemeral {
	if p.quirks.Has(model, dropCache) {
		return nil
	}
	return &ephemeral{Type: "ephemeral"}
}

func (p *Provider) tools(req llm.Request) []tool {
	names := wire.NewNames(req.Tools)
	target := schema.Full
	if p.quirks.Has(req.Model, dropSchema) {
		target = schema.Plain
	}
	var out []tool
	for _, t := range req.Tools {
		if p.quirks.Has(req.Model, dropTool+t.Name) {
			continue
		}
		flat, _ := schema.Flatten(t.Schema, target)
		out = append(out, tool{Name: names.Wire(t.Name), Description: t.Description, InputSchema: flat})
	}
	if n := len(out); n > 0 {
		out[n-1].Cache = p.cache(req.Model)
	}
	return out
}

// limits sets the token limit, the thinking and the temperature, which depend on
// each other and on the generation of the model.
func (p *Provider) limits(req llm.Request, out *request) {
	out.MaxTokens = req.MaxTokens
	info := llm.ModelInfo{}
	if p.lookup != nil {
		info, _ = p.lookup(req.Model)
	}
	if out.MaxTokens <= 0 {
		out.MaxTokens = 8192
	}
	gen := generation(req.Model)
	if effort := req.Effort; effort != "" && effort != "none" && !p.quirks.Has(req.Model, dropThinking) {
		if gen >= 406 {
			out.Thinking = &thinking{Type: "adaptive"}
			if !p.quirks.Has(req.Model, dropEffort) {
				out.OutputConfig = &outputConfig{Effort: effort}
			}
		} else if gen == 0 || gen >= 307 {
			budget := budgetOf(effort)
			out.Thinking = &thinking{Type: "enabled", Budget: budget}
			out.MaxTokens += budget // the budget counts against the limit
		}
	}
	if info.MaxOutputTokens > 0 && int64(out.MaxTokens) > info.MaxOutputTokens {
		out.MaxTokens = int(info.MaxOutputTokens)
		if out.Thinking != nil && out.Thinking.Budget >= out.MaxTokens {
			out.Thinking.Budget = max(1024, out.MaxTokens/2)
		}
	}
	if out.Thinking == nil && gen < 407 && !p.quirks.Has(req.Model, dropTemperature) {
		out.Temperature = req.Temperature
	}
}

func budgetOf(effort string) int {
	switch effort {
	case "minimal", "low":
		return 2048
	case "medium":
		return 8192
	default:
		return 16384
	}
}

// generation reads the version of a Claude model as a number: 4.6 is 406, 3.7 is
// 307; 0 is unknown. Dates in the name are no versions.
func generation(model string) int {
	at := strings.Index(model, "claude")
	if at < 0 {
		return 0
	}
	var nums []int
	for _, part := range strings.FieldsFunc(model[at:], func(r rune) bool { return r == '-' || r == '.' || r == '@' || r == ':' }) {
		if n, err := strconv.Atoi(part); err == nil && n < 100 && len(nums) < 2 {
			nums = append(nums, n)
		} else if len(nums) > 0 {
			break
		}
	}
	switch len(nums) {
	case 0:
		return 0
	case 1:
		return nums[0] * 100
	}
	return nums[0]*100 + nums[1]
}

func (p *Provider) messages(req llm.Request, msgs []llm.Message) []message {
	keep := wire.Keep(p.origin(req.Model))
	if p.quirks.Has(req.Model, dropReplay) {
		keep = wire.KeepNone
	}
	ids, names := wire.NewIDs(wire.WordID), wire.NewNames(req.Tools)
	var out []message
	for _, m := range wire.Tidy(msgs, keep) {
		blocks := make([]block, 0, len(m.Blocks))
		for _, b := range m.Blocks {
			blocks = append(blocks, render(b, ids, names))
		}
		out = append(out, message{Role: string(m.Role), Content: blocks})
	}
	p.mark(req.Model, out)
	return out
}

// mark puts cache breakpoints on the last two user messages: the newest is written
// to the cache, the one before it is read. With tools and system they make four,
// which is all that the API takes.
func (p *Provider) mark(model string, msgs []message) {
	left := 2
	for i := len(msgs) - 1; i >= 0 && left > 0; i-- {
		if msgs[i].Role != string(llm.User) || len(msgs[i].Content) == 0 {
			continue
		}
		if last := &msgs[i].Content[len(msgs[i].Content)-1]; last.raw == nil {
			last.Cache = p.cache(model)
			left--
		}
	}
}

func render(b llm.Block, ids *wire.IDs, names *wire.Names) block {
	switch b := b.(type) {
	case llm.Text:
		return block{Type: "text", Text: b.Text}
	case llm.Image:
		return image(b)
	case llm.Thinking:
		if len(b.Data) > 0 {
			return block{raw: b.Data}
		}
		return block{Type: "thinking", Thinking: &b.Text, Signature: b.Signature}
	case llm.ToolUse:
		return block{Type: "tool_use", ID: ids.Wire(b.ID), Name: names.Wire(b.Name), Input: b.Input}
	case llm.Opaque:
		return block{raw: b.Data}
	case llm.ToolResult:
		return result(b, ids)
	}
	return block{Type: "text", Text: "-"} // the set of blocks is closed
}

func result(b llm.ToolResult, ids *wire.IDs) block {
	out := block{Type: "tool_result", ToolUseID: ids.Wire(b.ToolUseID), IsError: b.IsError}
	if strings.TrimSpace(b.Content) != "" {
		out.Content = append(out.Content, block{Type: "text", Text: b.Content})
	}
	for _, img := range b.Images {
		out.Content = append(out.Content, image(img))
	}
	if b.IsError && len(out.Content) == 0 {
		out.Content = []block{{Type: "text", Text: "(failed without a message)"}}
	}
	return out
}

func image(b llm.Image) block {
	return block{Type: "image", Source: &source{Type: "base64", MediaType: b.MediaType, Data: b.Data}}
}
