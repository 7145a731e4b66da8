package mcp

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/schema"
	"github.com/coderrr/coderrr/internal/tools"
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

// A picture goes on to the model when it is whole and what its bytes say; what the
// server calls it does not matter.
func TestPicturesGoOn(t *testing.T) {
	f := newFake(t, oneTool)
	r := start(t, map[string]Server{"srv": {URL: f.URL}}, nil)
	block := func(kind string, data []byte) string {
		return `{"type":"image","mimeType":"` + kind + `","data":"` + base64.StdEncoding.EncodeToString(data) + `"}`
	}
	run := func(blocks ...string) tools.Result {
		f.call = func(string, json.RawMessage) string { return `{"content":[` + strings.Join(blocks, ",") + `]}` }
		return r.tool(t, "look").Run(t.Context(), nil)
	}
	png := append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 2000)...)
	jpeg := []byte("\xff\xd8\xff\xe0jpeg")

	res := run(block("image/svg+xml", png), `{"type":"text","text":"between"}`, block("image/jpeg", jpeg))
	require.Equal(t, []llm.Image{{MediaType: "image/png", Data: png}, {MediaType: "image/jpeg", Data: jpeg}}, res.Images)
	require.Contains(t, res.Content, "[image 1, image/png, 2 kB]\nbetween\n[image 2, image/jpeg, 8 bytes]\n")

	res = run(block("image/png", jpeg), block("image/png", jpeg), block("image/png", jpeg), block("image/png", jpeg), block("image/png", jpeg))
	require.Len(t, res.Images, maxPictures)
	require.Contains(t, res.Content, "[image 4, image/jpeg, 8 bytes]\n[image, image/png, 8 bytes: not shown]")

	for name, b := range map[string]string{
		"no picture": block("image/png", []byte("<svg onload=alert(1)>")),
		"too big":    block("image/png", append(png, make([]byte, maxPicture)...)),
		"cut":        block("image/png", append(png, make([]byte, 2<<20)...)),
		"not base64": `{"type":"image","mimeType":"image/png","data":"!!"}`,
		"a document": `{"type":"resource","resource":{"uri":"x","mimeType":"image/png","blob":"` + base64.StdEncoding.EncodeToString(png) + `"}}`,
	} {
		res := run(b)
		require.Empty(t, res.Images, name)
		require.Contains(t, res.Content, "not shown]", name)
	}
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
