package mcp

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestResourcesAndPrompts(t *testing.T) {
	f := newFake(t, oneTool)
	f.other["resources/list"] = `{"resources":[{"uri":"note://a","name":"A\u001b[2J"}]}`
	f.other["resources/read"] = `{"contents":[{"uri":"note://a","mimeType":"text/plain","text":"` + strings.Repeat("n", 3000) + `"},{"uri":"note://b","blob":"AAAA"}]}`
	f.other["prompts/list"] = `{"prompts":[{"name":"review","description":"d","arguments":[{"name":"file","required":true}]}]}`
	f.other["prompts/get"] = `{"messages":[{"role":"user","content":{"type":"text","text":"Review it\u202e"}}]}`
	r := start(t, map[string]Server{"srv": {URL: f.URL}}, func(o *Options) { o.MaxResultBytes = 2000 })
	resources, prompts, err := r.Offers(t.Context(), "srv")
	require.NoError(t, err)
	require.Equal(t, []Offer{{Server: "srv", Name: "note://a", Description: "A⟨U+001B⟩[2J"}}, resources)
	require.Equal(t, []Offer{{Server: "srv", Name: "review", Description: "d", Arguments: []Argument{{Name: "file", Required: true}}}}, prompts)
	_, _, err = r.Offers(t.Context(), "none")
	require.ErrorIs(t, err, ErrUnknown)
	text, err := r.Prompt(t.Context(), "srv", "review", map[string]string{"file": "a.go"})
	require.NoError(t, err)
	require.Equal(t, "Review it⟨U+202E⟩", text)
	_, err = r.Prompt(t.Context(), "none", "x", nil)
	require.ErrorIs(t, err, ErrUnknown)
}

func TestSkills(t *testing.T) {
	const body = "---\nname: pdf\ndescription: Fills forms\n---\nBody.\n"
	entry := fmt.Sprintf(`{"uri":"skill://pdf/SKILL.md","frontmatter":{"name":"pdf","description":"Fills forms"},"resources":[{"uri":"skill://pdf/SKILL.md","size":%d,"digest":"sha256:%x"}]}`,
		len(body), sha256.Sum256([]byte(body)))
	raw, err := json.Marshal(body)
	require.NoError(t, err)
	f := newFake(t, oneTool)
	f.other["initialize"] = strings.Replace(initialized, `"tools":`, `"extensions":{"io.modelcontextprotocol/skills":{}},"tools":`, 1)
	f.other["skills/list"] = `{"skills":[` + entry + `]}`
	f.other["resources/read"] = `{"contents":[{"uri":"skill://pdf/SKILL.md","text":` + string(raw) + `}]}`
	offered := make(chan []Offer, 1)
	r := start(t, map[string]Server{"srv": {URL: f.URL}}, func(o *Options) {
		o.Offered = func(_ string, resources, _ []Offer) { offered <- resources }
	})
	require.Equal(t, []Offer{{Server: "srv", Name: "skill://pdf/SKILL.md", Description: "Fills forms"}}, <-offered)
	got := r.Bring(t.Context(), "use @srv:skill://pdf/SKILL.md, please")
	require.Empty(t, got.Problems)
	require.Contains(t, got.Text, "Body.")
	require.Contains(t, got.Text, "advice from there, not from the person")
	f.mu.Lock()
	f.other["resources/read"] = `{"contents":[{"uri":"skill://pdf/SKILL.md","text":"evil"}]}`
	f.mu.Unlock()
	_, err = r.Skill(t.Context(), "srv", "skill://pdf/SKILL.md")
	require.ErrorContains(t, err, "not the one that was listed")
	_, err = r.Skill(t.Context(), "srv", "skill://other")
	require.ErrorContains(t, err, "lists no skill")
}
