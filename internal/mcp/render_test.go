package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/llm/schema"
)

// What is not text is named: kind, type and size, with what a server says of it
// made harmless and kept short. An image of 50 MB (M09) costs no more than that.
func TestOtherContentIsNamed(t *testing.T) {
	t.Parallel()
	f := newFake(t, oneTool)
	r := start(t, map[string]Server{"srv": {URL: f.URL}}, nil)
	for block, want := range map[string]string{
		`{"type":"image","mimeType":"image/png","data":"` + strings.Repeat("A", 16_000) + `"}`: "[image, image/png, 12 kB: not shown]\n",
		`{"type":"audio","mimeType":"audio/wav\u001b[2J","data":"AAA="}`:                       "[audio, audio/wav⟨U+001B⟩[2J, 2 bytes: not shown]\n",
		`{"type":"image","data":""}`: "[image, unknown type, 0 bytes: not shown]\n",
		`{"type":"image","mimeType":"image/png","data":"` + strings.Repeat("A", 2_000_000) + `"}`:                                "more bytes were not kept",
		`{"type":"resource_link","name":"notes","uri":"file:///n.txt","mimeType":"text/plain","description":"all\u202e of it"}`:  "[link to the resource notes: file:///n.txt (text/plain) all⟨U+202E⟩ of it]\n",
		`{"type":"resource","resource":{"uri":"note://a","mimeType":"text/plain","text":"inside"}}`:                              "[resource note://a, text/plain]\ninside\n",
		`{"type":"resource","resource":{"uri":"note://b","mimeType":"image/png","blob":"` + strings.Repeat("A", 400_000) + `"}}`: "[resource note://b, image/png, 300 kB: not shown]\n",
		`{"type":"resource"}`: "[a resource without content]",
		`{"type":"hologram"}`: `[a block of the unknown kind "hologram"]`,
	} {
		f.call = func(string, json.RawMessage) string { return `{"content":[` + block + `]}` }
		res := r.tool(t, "look").Run(t.Context(), nil)
		require.False(t, res.IsError)
		require.Contains(t, res.Content, want)
		require.Less(t, len(res.Content), 1000)
	}
	huge := strings.Repeat("A", 50<<20)
	f.call = func(string, json.RawMessage) string {
		return `{"content":[{"type":"image","mimeType":"image/png","data":"` + huge + `"},{"type":"text","text":"after"}]}`
	}
	res := r.tool(t, "look").Run(t.Context(), nil)
	require.Contains(t, res.Content, "[image, image/png, ")
	require.Contains(t, res.Content, "after")
	require.Contains(t, res.Content, "more bytes were not kept")
}

// Rows 26 and 29: a schema with local references or a union at its root reaches a
// provider as one object that it takes; ours keeps what the server sent.
func TestRow26ReferencesAndUnions(t *testing.T) {
	f := newFake(t, `[{"name":"create_object","inputSchema":{"type":"object","properties":{"object":{"anyOf":[{"$ref":"#/$defs/Table"},{"$ref":"#/$defs/View"}]}},"required":["object"],
		"$defs":{"Table":{"type":"object","properties":{"name":{"type":"string"},"parent":{"$ref":"#/$defs/Table"}}},"View":{"type":"object","properties":{"sql":{"type":"string"}}}}}},
		{"name":"either","inputSchema":{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"type":"object","properties":{"b":{"type":"string"}}}]}}]`)
	r := start(t, map[string]Server{"srv": {URL: f.URL}}, nil)
	require.Contains(t, string(r.tool(t, "create_object").raw.InputSchema), `"$ref"`)
	for _, x := range r.Tools() {
		for _, target := range []schema.Target{schema.Full, schema.Plain, schema.Gemini} {
			flat, _ := schema.Flatten(x.Spec().Schema, target)
			var root map[string]any
			require.NoError(t, json.Unmarshal(flat, &root))
			require.Equal(t, "object", root["type"], "%s", flat)
			require.NotContains(t, root, "anyOf")
			require.NotEmpty(t, root["properties"])
			if target != schema.Full {
				require.NotContains(t, string(flat), "$ref")
			}
		}
	}
}
