package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// lookup follows a JSON pointer within the document (RFC 6901).
func (f *flattener) lookup(ref string) map[string]any {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	var at any = f.root
	for _, part := range strings.Split(strings.Trim(path, "/"), "/") {
		if part == "" {
			continue
		}
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		switch node := at.(type) {
		case map[string]any:
			at = node[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(node) {
				return nil
			}
			at = node[i]
		default:
			return nil
		}
	}
	m, _ := at.(map[string]any)
	return m
}

// node rewrites one schema. refs are the references being expanded above it.
func (f *flattener) node(v any, refs []string, depth int) map[string]any {
	f.nodes++
	if f.nodes > maxNodes || depth > maxDepth {
		f.note("the schema is too large; its deepest parts accept anything")
		return map[string]any{"type": "object"}
	}
	in, ok := v.(map[string]any)
	if !ok { // true, false, or garbage: anything goes
		return map[string]any{"type": "string", "description": "any value, as JSON"}
	}
	if ref, ok := in["$ref"].(string); ok {
		return f.reference(in, ref, refs, depth)
	}
	if all, ok := in["allOf"].([]any); ok {
		in = f.all(in, all)
	}
	out := map[string]any{}
	if d := text(in["description"]); d != "" {
		out["description"] = d
	}
	f.kind(in, out, refs, depth)
	f.values(in, out)
	f.children(in, out, refs, depth)
	f.limits(in, out)
	return out
}

func (f *flattener) reference(in map[string]any, ref string, refs []string, depth int) map[string]any {
	found := f.lookup(ref)
	name := ref[strings.LastIndexByte(ref, '/')+1:]
	switch {
	case found == nil:
		f.note("the reference %s leads nowhere; any object is accepted there", ref)
		return map[string]any{"type": "object", "description": "see " + name}
	case slices.Contains(refs, ref):
		f.note("the recursive type %s is cut after one level", name)
		return map[string]any{"type": "object", "description": "another " + name + ", of the same form"}
	}
	out := f.node(found, append(slices.Clone(refs), ref), depth+1)
	if d := text(in["description"]); d != "" {
		out["description"] = d
	}
	return out
}

// all merges allOf into one schema.
func (f *flattener) all(in map[string]any, list []any) map[string]any {
	merged := map[string]any{}
	props := map[string]any{}
	var required []any
	for _, item := range append([]any{in}, list...) {
		part := f.deref(item)
		for k, v := range part {
			switch k {
			case "allOf", "$ref":
			case "properties":
				if p, ok := v.(map[string]any); ok {
					for name, prop := range p {
						props[name] = prop
					}
				}
			case "required":
				if r, ok := v.([]any); ok {
					required = append(required, r...)
				}
			default:
				if _, has := merged[k]; !has {
					merged[k] = v
				}
			}
		}
	}
	if len(props) > 0 {
		merged["properties"] = props
	}
	if len(required) > 0 {
		merged["required"] = required
	}
	return merged
}

// kind settles type, nullability and unions.
func (f *flattener) kind(in, out map[string]any, refs []string, depth int) {
	var branches []any
	for _, key := range []string{"anyOf", "oneOf"} {
		if list, ok := in[key].([]any); ok {
			branches = append(branches, list...)
		}
	}
	types, nullable := typesOf(in)
	branches = slices.DeleteFunc(branches, func(b any) bool {
		t, null := typesOf(f.deref(b))
		nullable = nullable || (null && len(t) == 0)
		return null && len(t) == 0
	})
	switch {
	case len(branches) == 1:
		for k, v := range f.node(branches[0], refs, depth+1) {
			if _, has := out[k]; !has {
				out[k] = v
			}
		}
	case len(branches) > 1:
		var list []any
		for _, b := range branches {
			list = append(list, f.node(b, refs, depth+1))
		}
		out["anyOf"] = list
	case len(types) > 1:
		var list []any
		for _, t := range types {
			list = append(list, map[string]any{"type": t})
		}
		out["anyOf"] = list
	case len(types) == 1:
		out["type"] = types[0]
	default:
		out["type"] = guess(in)
	}
	if nullable && f.target == Gemini {
		out["nullable"] = true
	} else if nullable {
		describe(out, "may be null")
	}
}

// typesOf lists the types other than null, and whether null is one.
func typesOf(in map[string]any) (types []string, nullable bool) {
	add := func(t string) {
		if t == "null" {
			nullable = true
		} else if t != "" {
			types = append(types, t)
		}
	}
	switch t := in["type"].(type) {
	case string:
		add(t)
	case []any:
		for _, v := range t {
			add(text(v))
		}
	}
	if b, ok := in["nullable"].(bool); ok && b {
		nullable = true
	}
	return types, nullable
}

// guess names the type of a schema that leaves it out.
func guess(in map[string]any) string {
	switch {
	case in["properties"] != nil || in["additionalProperties"] != nil:
		return "object"
	case in["items"] != nil || in["prefixItems"] != nil:
		return "array"
	case in["minimum"] != nil || in["maximum"] != nil:
		return "number"
	}
	value := in["const"]
	if list, ok := in["enum"].([]any); ok && len(list) > 0 {
		value = list[0]
	}
	switch value.(type) {
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	}
	return "string"
}

// values keeps enum and const. Gemini takes only strings there.
func (f *flattener) values(in, out map[string]any) {
	list, _ := in["enum"].([]any)
	if c, ok := in["const"]; ok {
		list = []any{c}
	}
	list = slices.DeleteFunc(slices.Clone(list), func(v any) bool { return v == nil })
	if len(list) == 0 || out["anyOf"] != nil {
		return
	}
	if f.target == Gemini && out["type"] != "string" {
		describe(out, "one of: "+join(list))
		return
	}
	out["enum"] = list
}

func (f *flattener) children(in, out map[string]any, refs []string, depth int) {
	if props, ok := in["properties"].(map[string]any); ok && (out["type"] == "object" || out["type"] == nil && out["anyOf"] == nil) {
		kept := map[string]any{}
		for name, p := range props {
			kept[name] = f.node(p, refs, depth+1)
		}
		out["properties"] = kept
		out["required"] = in["required"]
		f.required(out)
	}
	if out["type"] == "array" {
		switch items := in["items"].(type) {
		case map[string]any:
			out["items"] = f.node(items, refs, depth+1)
		default:
			out["items"] = f.tuple(in, refs, depth)
		}
	}
	if f.target == Plain && in["additionalProperties"] == false && out["type"] == "object" {
		out["additionalProperties"] = false
	}
}

// tuple turns prefixItems into the union of its members.
func (f *flattener) tuple(in map[string]any, refs []string, depth int) map[string]any {
	prefix, _ := in["prefixItems"].([]any)
	if list, ok := in["items"].([]any); ok {
		prefix = list
	}
	switch len(prefix) {
	case 0:
		return map[string]any{"type": "string"}
	case 1:
		return f.node(prefix[0], refs, depth+1)
	}
	var list []any
	for _, p := range prefix {
		list = append(list, f.node(p, refs, depth+1))
	}
	f.note("a list of fixed positions accepts its members in any order")
	return map[string]any{"anyOf": list}
}

// limits keeps bounds where they are understood and says them in words where not.
func (f *flattener) limits(in, out map[string]any) {
	for _, key := range []string{"minItems", "maxItems"} {
		if v, ok := in[key].(json.Number); ok && out["type"] == "array" {
			out[key] = v
		}
	}
	format := text(in["format"])
	if format != "" && (f.target == Plain || format == "date-time" && out["type"] == "string") {
		out["format"] = format
	} else if format != "" {
		describe(out, "format "+format)
	}
	for _, key := range []string{"pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "default"} {
		v, ok := in[key]
		if !ok || v == nil {
			continue
		}
		if f.target == Plain && key != "default" {
			out[key] = v
			continue
		}
		describe(out, key+" "+join([]any{v}))
	}
}

func describe(out map[string]any, more string) {
	d := text(out["description"])
	if d != "" {
		d += " "
	}
	out["description"] = d + "(" + more + ")"
}

func join(list []any) string {
	var parts []string
	for _, v := range list {
		data, err := json.Marshal(v)
		if err != nil {
			data = []byte(fmt.Sprint(v))
		}
		parts = append(parts, string(data))
	}
	return strings.Join(parts, ", ")
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
