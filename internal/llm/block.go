package llm

import (
	"encoding/json"
	"fmt"
)

// Block is one part of a message. It is a closed set: Text, Image, Thinking,
// ToolUse, ToolResult and Opaque.
type Block interface{ blockType() string }

// Text is visible text.
type Text struct {
	Text string `json:"text"`
}

// Image is a picture given to the model. Data is the encoded file.
type Image struct {
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"`
}

// Thinking is reasoning the model showed. Signature and Data are replayed byte
// for byte, and only to Origin; Data holds a provider's own form of it.
type Thinking struct {
	Text      string          `json:"text,omitempty"`
	Signature string          `json:"signature,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
	Origin    Origin          `json:"origin"`
}

// ToolUse is a call the model asks for. Input is raw until a tool decodes it;
// it always holds one JSON object. Signature is replayed only to Origin.
type ToolUse struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Signature string          `json:"signature,omitempty"`
	Origin    Origin          `json:"origin"`
}

// ToolResult answers a ToolUse of the message before it.
type ToolResult struct {
	ToolUseID string  `json:"tool_use_id"`
	Name      string  `json:"name"`
	Content   string  `json:"content"`
	Images    []Image `json:"images,omitempty"`
	IsError   bool    `json:"is_error,omitempty"`
}

// Opaque is something a provider sent that must go back to Origin unchanged and
// means nothing to anyone else.
type Opaque struct {
	Kind   string          `json:"kind"`
	Data   json.RawMessage `json:"data"`
	Origin Origin          `json:"origin"`
}

func (Text) blockType() string       { return "text" }
func (Image) blockType() string      { return "image" }
func (Thinking) blockType() string   { return "thinking" }
func (ToolUse) blockType() string    { return "tool_use" }
func (ToolResult) blockType() string { return "tool_result" }
func (Opaque) blockType() string     { return "opaque" }

// Blocks is a list of blocks that survives JSON: each element carries its type.
type Blocks []Block

// MarshalJSON writes each block as an object with a "type" field.
func (bs Blocks) MarshalJSON() ([]byte, error) {
	out := make([]json.RawMessage, 0, len(bs))
	for i, b := range bs {
		raw, err := json.Marshal(b)
		if err != nil {
			return nil, fmt.Errorf("encode block %d (%s): %w", i, b.blockType(), err)
		}
		head := fmt.Appendf(nil, `{"type":%q`, b.blockType())
		if len(raw) > len("{}") {
			head = append(head, ',')
		}
		out = append(out, append(head, raw[1:]...))
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote. An unknown type is an error: a
// block that is dropped in silence would change a conversation.
func (bs *Blocks) UnmarshalJSON(data []byte) error {
	var raws []json.RawMessage
	if err := json.Unmarshal(data, &raws); err != nil {
		return fmt.Errorf("decode blocks: %w", err)
	}
	out := make(Blocks, 0, len(raws))
	for i, raw := range raws {
		b, err := decodeBlock(raw)
		if err != nil {
			return fmt.Errorf("decode block %d: %w", i, err)
		}
		out = append(out, b)
	}
	*bs = out
	return nil
}

func decodeBlock(raw json.RawMessage) (Block, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, err
	}
	switch head.Type {
	case "text":
		return decodeAs[Text](raw)
	case "image":
		return decodeAs[Image](raw)
	case "thinking":
		return decodeAs[Thinking](raw)
	case "tool_use":
		return decodeAs[ToolUse](raw)
	case "tool_result":
		return decodeAs[ToolResult](raw)
	case "opaque":
		return decodeAs[Opaque](raw)
	default:
		return nil, fmt.Errorf("unknown block type %q", head.Type)
	}
}

func decodeAs[B Block](raw json.RawMessage) (Block, error) {
	var b B
	if err := json.Unmarshal(raw, &b); err != nil {
		return nil, err
	}
	return b, nil
}

// TextOf joins the visible text of a message, nothing between blocks.
func TextOf(m Message) string {
	var s string
	for _, b := range m.Blocks {
		if t, ok := b.(Text); ok {
			s += t.Text
		}
	}
	return s
}

// ToolUses returns the calls of a message in order.
func ToolUses(m Message) []ToolUse {
	var uses []ToolUse
	for _, b := range m.Blocks {
		if u, ok := b.(ToolUse); ok {
			uses = append(uses, u)
		}
	}
	return uses
}
