// Package schema fits a tool's JSON Schema to what a provider takes. It serves
// our own tools and those of MCP servers alike. Its one rule: the result is always
// an object schema a model can be given; what had to be cut is said in a note.
package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// Target is what a provider takes.
type Target int

// The targets, from the freest to the narrowest.
const (
	// Full keeps everything and repairs only the root: OpenAI (not strict),
	// Anthropic, Gemini's parametersJsonSchema.
	Full Target = iota
	// Plain inlines references and keeps the widely understood keywords.
	Plain
	// Gemini is the OpenAPI subset of Gemini's "parameters".
	Gemini
)

// maxNodes bounds the size of a flattened schema: references that refer to
// references can double it at every level.
const maxNodes = 4000

// maxDepth bounds its depth.
const maxDepth = 24

// Flatten fits raw to the target. An unreadable schema becomes one that takes any
// object. Notes say in plain words what was lost; the same input always gives the
// same bytes.
func Flatten(raw json.RawMessage, target Target) (json.RawMessage, []string) {
	root, err := decode(raw)
	if err != nil || root == nil {
		return json.RawMessage(`{"type":"object","properties":{}}`), noteUnless(len(raw) == 0, "the schema is not a JSON object; any object is accepted")
	}
	if target == Full && sound(root) {
		return raw, nil // as it is: models heed the order of properties
	}
	f := &flattener{target: target, root: root}
	out := root
	if target != Full {
		out = f.node(root, nil, 0)
	}
	f.object(out)
	data, err := json.Marshal(out)
	if err != nil {
		return json.RawMessage(`{"type":"object","properties":{}}`), append(f.notes, "the schema cannot be encoded")
	}
	return data, f.notes
}

// sound reports whether the root needs no repair.
func sound(root map[string]any) bool {
	for _, key := range []string{"$ref", "anyOf", "oneOf", "allOf", "nullable"} {
		if _, has := root[key]; has {
			return false
		}
	}
	_, ok := root["properties"].(map[string]any)
	return ok && root["type"] == "object"
}

func noteUnless(quiet bool, note string) []string {
	if quiet {
		return nil
	}
	return []string{note}
}

func decode(raw json.RawMessage) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var root map[string]any
	if err := dec.Decode(&root); err != nil {
		return nil, fmt.Errorf("decode the schema: %w", err)
	}
	return root, nil
}

type flattener struct {
	target Target
	root   map[string]any
	notes  []string
	nodes  int
}

func (f *flattener) note(format string, args ...any) {
	n := fmt.Sprintf(format, args...)
	if !slices.Contains(f.notes, n) {
		f.notes = append(f.notes, n)
	}
}

// object makes the root an object: providers refuse a union, a reference, a
// boolean or a missing "properties" there.
func (f *flattener) object(root map[string]any) {
	if ref, ok := root["$ref"].(string); ok {
		if found := f.lookup(ref); found != nil {
			for k, v := range found {
				if _, has := root[k]; !has {
					root[k] = v
				}
			}
		}
		delete(root, "$ref")
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		if list, ok := root[key].([]any); ok {
			f.mergeRoot(root, key, list)
			delete(root, key)
		}
	}
	if f.target == Full {
		delete(root, "$schema")
		delete(root, "$id")
	}
	delete(root, "nullable")
	root["type"] = "object"
	if _, ok := root["properties"].(map[string]any); !ok {
		root["properties"] = map[string]any{}
	}
	f.required(root)
}

// mergeRoot makes one object of a union of objects: every property of any branch,
// required only what every branch requires.
func (f *flattener) mergeRoot(root map[string]any, key string, list []any) {
	props, _ := root["properties"].(map[string]any)
	if props == nil {
		props = map[string]any{}
	}
	var common []any
	for i, item := range list {
		branch := f.deref(item)
		if branch == nil {
			continue
		}
		if bp, ok := branch["properties"].(map[string]any); ok {
			for name, v := range bp {
				if _, has := props[name]; !has {
					props[name] = v
				}
			}
		}
		req, _ := branch["required"].([]any)
		if i == 0 || key == "allOf" {
			common = append(common, req...)
		} else {
			common = slices.DeleteFunc(common, func(v any) bool { return !slices.Contains(req, v) })
		}
	}
	have, _ := root["required"].([]any)
	root["properties"] = props
	root["required"] = append(have, common...)
	if key != "allOf" {
		f.note("alternatives at the top of the schema were joined into one object")
	}
}

func (f *flattener) deref(v any) map[string]any {
	m, _ := v.(map[string]any)
	for range maxDepth {
		ref, ok := m["$ref"].(string)
		if !ok {
			return m
		}
		m = f.lookup(ref)
	}
	return nil
}

// required keeps only names that exist, once.
func (f *flattener) required(m map[string]any) {
	list, ok := m["required"].([]any)
	if !ok {
		delete(m, "required")
		return
	}
	props, _ := m["properties"].(map[string]any)
	var out []any
	for _, v := range list {
		name, ok := v.(string)
		if _, has := props[name]; ok && has && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	if len(out) == 0 {
		delete(m, "required")
		return
	}
	m["required"] = out
}
