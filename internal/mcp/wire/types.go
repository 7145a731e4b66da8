package wire

import (
	"bytes"
	"encoding/json"
)

// Info is what a server says of itself when the connection is made. None of it is
// to be believed.
type Info struct {
	Protocol     string
	Server       Implementation
	Instructions string
	Transport    string // stdio, http or sse
	Modern       bool
	Capabilities Capabilities
}

// Capabilities are what a server offers; a nil member is not offered.
type Capabilities struct {
	Tools       *ListCapability            `json:"tools,omitempty"`
	Resources   *ListCapability            `json:"resources,omitempty"`
	Prompts     *ListCapability            `json:"prompts,omitempty"`
	Completions json.RawMessage            `json:"completions,omitempty"`
	Extensions  map[string]json.RawMessage `json:"extensions,omitempty"`
}

// ListCapability says whether a list can change and be subscribed to.
type ListCapability struct {
	ListChanged bool `json:"listChanged,omitempty"`
	Subscribe   bool `json:"subscribe,omitempty"`
}

// Tool is a tool as a server lists it. Schemas and annotations are kept as they
// came.
type Tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  json.RawMessage `json:"annotations,omitempty"`
	Execution    struct {
		TaskSupport string `json:"taskSupport,omitempty"`
	} `json:"execution,omitzero"`
}

// Content is one block of a result.
type Content struct {
	Type        string    `json:"type"` // text, image, audio, resource_link or resource
	Text        string    `json:"text,omitempty"`
	Data        string    `json:"data,omitempty"` // base64
	MimeType    string    `json:"mimeType,omitempty"`
	URI         string    `json:"uri,omitempty"`
	Name        string    `json:"name,omitempty"`
	Description string    `json:"description,omitempty"`
	Resource    *Document `json:"resource,omitempty"`
}

// Document is the content of a resource: Text, or Blob in base64.
type Document struct {
	URI      string          `json:"uri"`
	MimeType string          `json:"mimeType,omitempty"`
	Text     string          `json:"text,omitempty"`
	Blob     string          `json:"blob,omitempty"`
	Meta     json.RawMessage `json:"_meta,omitempty"`
}

// Result is what a tool answered. Cut is the number of bytes left out while it
// was read.
type Result struct {
	Content    []Content
	Structured json.RawMessage
	IsError    bool
	Cut        int64
}

// UnmarshalJSON takes a block that is not one (a bare string, a number) as text,
// so that one odd block does not lose the others.
func (c *Content) UnmarshalJSON(data []byte) error {
	type plain Content
	if bytes.HasPrefix(data, []byte("{")) {
		var p plain
		if err := json.Unmarshal(data, &p); err == nil {
			*c = Content(p)
			return nil
		}
	}
	*c = Content{Type: "text", Text: string(data)}
	var s string
	if json.Unmarshal(data, &s) == nil {
		c.Text = s
	}
	return nil
}

// Resource is an entry of a server's resources, or of its templates (then URI is
// the template, RFC 6570).
type Resource struct {
	URI         string `json:"uri"`
	URITemplate string `json:"uriTemplate"`
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
	MimeType    string `json:"mimeType"`
	Size        int64  `json:"size"`
}

// Prompt is a text that a server offers to a person.
type Prompt struct {
	Name        string           `json:"name"`
	Title       string           `json:"title"`
	Description string           `json:"description"`
	Arguments   []PromptArgument `json:"arguments"`
}

// PromptArgument is one argument of a prompt.
type PromptArgument struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
}

// PromptMessage is one message of a prompt that was filled in.
type PromptMessage struct {
	Role    string  `json:"role"`
	Content Content `json:"content"`
}

// Progress is how far a call is. Total is 0 when it is not known.
type Progress struct {
	Progress float64 `json:"progress"`
	Total    float64 `json:"total"`
	Message  string  `json:"message"`
}

// Call is a tool call. Progress is called for each step the server reports, from
// another goroutine; nil is none.
type Call struct {
	Tool      string
	Arguments json.RawMessage // an object; empty is {}
	Progress  func(Progress)
}

// Elicitation is a server's question to the person: a form (Schema) or an address
// to open (URL).
type Elicitation struct {
	Mode    string          `json:"mode"` // form or url; "" is form
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"requestedSchema,omitempty"`
	URL     string          `json:"url,omitempty"`
	ID      string          `json:"elicitationId,omitempty"`
}

// ElicitResult is the person's answer: accept, decline or cancel.
type ElicitResult struct {
	Action  string         `json:"action"`
	Content map[string]any `json:"content,omitempty"`
}
