package tools

import (
	"encoding/json"
	"slices"
	"strings"
)

// unquoted decodes arguments that a model sent as JSON inside a string where the
// schema wants a list or an object. Everything else stays as it came, byte for
// byte, to be accepted or refused as it is.
func unquoted(schema, input json.RawMessage) json.RawMessage {
	var given map[string]json.RawMessage
	if json.Unmarshal(input, &given) != nil {
		return input
	}
	var want struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &want) != nil {
		return input
	}
	changed := false
	for name, raw := range given {
		var text string
		if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
			continue
		}
		text = strings.TrimSpace(text)
		kinds := kindsOf(want.Properties[name])
		list := strings.HasPrefix(text, "[") && slices.Contains(kinds, "array")
		object := strings.HasPrefix(text, "{") && slices.Contains(kinds, "object")
		if (list || object) && !slices.Contains(kinds, "string") && json.Valid([]byte(text)) {
			given[name], changed = json.RawMessage(text), true
		}
	}
	if !changed {
		return input
	}
	out, err := json.Marshal(given)
	if err != nil {
		return input
	}
	return out
}

// kindsOf are the types that a schema names, one level of unions included; a schema
// that names none takes anything, a string too.
func kindsOf(schema json.RawMessage) []string {
	var s struct {
		Type  json.RawMessage   `json:"type"`
		AnyOf []json.RawMessage `json:"anyOf"`
		OneOf []json.RawMessage `json:"oneOf"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	var one string
	var out []string
	if json.Unmarshal(s.Type, &one) == nil {
		out = append(out, one)
	} else if json.Unmarshal(s.Type, &out) != nil {
		out = nil
	}
	for _, branch := range append(s.AnyOf, s.OneOf...) {
		kinds := kindsOf(branch)
		if len(kinds) == 0 {
			return nil
		}
		out = append(out, kinds...)
	}
	return out
}
