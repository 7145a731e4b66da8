package schema

import (
	"encoding/json"
	"slices"
)

// strictWord reports whether OpenAI's strict mode takes a keyword in our use.
func strictWord(key string) bool {
	switch key {
	case "type", "description", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "title":
		return true
	}
	return false
}

// IsStrict reports whether a schema satisfies OpenAI's strict mode as it stands:
// every object closed, every property required, no other keyword. A schema is not
// bent to fit: an optional argument made nullable would be another contract.
func IsStrict(raw json.RawMessage) bool {
	root, err := decode(raw)
	return err == nil && strict(root, 0)
}

func strict(v any, depth int) bool {
	m, ok := v.(map[string]any)
	if !ok || depth > 5 {
		return false
	}
	for key := range m {
		if !strictWord(key) {
			return false
		}
	}
	if list, ok := m["anyOf"].([]any); ok {
		if depth == 0 {
			return false
		}
		for _, b := range list {
			if !strict(b, depth+1) {
				return false
			}
		}
	}
	switch m["type"] {
	case "object":
		return strictObject(m, depth)
	case "array":
		return strict(m["items"], depth+1)
	case "string", "number", "integer", "boolean", "null":
		return true
	}
	return m["anyOf"] != nil
}

func strictObject(m map[string]any, depth int) bool {
	props, _ := m["properties"].(map[string]any)
	required, _ := m["required"].([]any)
	if m["additionalProperties"] != false || len(required) != len(props) {
		return false
	}
	for name, p := range props {
		if !slices.Contains(required, any(name)) || !strict(p, depth+1) {
			return false
		}
	}
	return true
}

// Empty reports whether an object schema has no properties.
func Empty(raw json.RawMessage) bool {
	root, err := decode(raw)
	if err != nil {
		return false
	}
	props, _ := root["properties"].(map[string]any)
	return len(props) == 0
}
