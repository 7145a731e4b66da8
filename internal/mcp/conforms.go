package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
)

// maxConform bounds how deep a value is checked against a schema.
const maxConform = 24

// conforms checks a value against the plain parts of a JSON Schema: type, enum,
// const, required, properties, items and references within the document. Other
// words are not judged, and nothing is fetched. It returns what is wrong, or "".
func conforms(schema, value json.RawMessage) string {
	var root, v any
	if json.Unmarshal(schema, &root) != nil || json.Unmarshal(value, &v) != nil {
		return ""
	}
	return (&conformer{root: root}).check(root, v, "it", 0)
}

type conformer struct{ root any }

func (c *conformer) check(schema, v any, at string, depth int) string {
	s, ok := schema.(map[string]any)
	if !ok || depth > maxConform {
		return ""
	}
	if ref, ok := s["$ref"].(string); ok {
		return c.check(c.lookup(ref), v, at, depth+1)
	}
	if types := stringsOf(s["type"]); len(types) > 0 && !slices.ContainsFunc(types, func(t string) bool { return is(t, v) }) {
		return fmt.Sprintf("%s is not of type %s", at, strings.Join(types, " or "))
	}
	if want, ok := s["const"]; ok && !reflect.DeepEqual(want, v) {
		return at + " is not the one value that is allowed"
	}
	if list, ok := s["enum"].([]any); ok && !slices.ContainsFunc(list, func(x any) bool { return reflect.DeepEqual(x, v) }) {
		return at + " is not one of the allowed values"
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range stringsOf(s["required"]) {
			if _, ok := v[name]; !ok {
				return fmt.Sprintf("%s has no %q", at, name)
			}
		}
		props, _ := s["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(props)) {
			if x, ok := v[name]; ok {
				if why := c.check(props[name], x, at+"."+name, depth+1); why != "" {
					return why
				}
			}
		}
	case []any:
		for i, x := range v {
			if why := c.check(s["items"], x, fmt.Sprintf("%s[%d]", at, i), depth+1); why != "" {
				return why
			}
		}
	}
	return ""
}

// lookup follows a reference within the document (RFC 6901); any other leads to
// nothing, which allows everything.
func (c *conformer) lookup(ref string) any {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	at := c.root
	for part := range strings.SplitSeq(path, "/") {
		m, _ := at.(map[string]any)
		at = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
	}
	return at
}

func stringsOf(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, x := range v {
			if s, ok := x.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

func is(kind string, v any) bool {
	switch x := v.(type) {
	case nil:
		return kind == "null"
	case bool:
		return kind == "boolean"
	case string:
		return kind == "string"
	case float64:
		return kind == "number" || kind == "integer" && x == math.Trunc(x)
	case []any:
		return kind == "array"
	case map[string]any:
		return kind == "object"
	}
	return true
}
