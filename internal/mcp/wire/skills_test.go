package wire

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadSkill(t *testing.T) {
	const body = "---\nname: pdf\ndescription: \"Fill: forms\"\nlicence: 'it''s free' \n# a comment\nversion: 2 # two\n---\n\nBody.\n"
	listed := func(text string, size int) SkillFile {
		return SkillFile{URI: "skill://a/SKILL.md", Size: int64(size), Digest: fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text)))}
	}
	front := func(pairs string) map[string]json.RawMessage {
		var m map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(pairs), &m))
		return m
	}
	right := front(`{"name":"pdf","description":"Fill: forms","licence":"it's free","version":2}`)
	serves := body
	c := dialHTTP(t, serve(t, legacyHTTP(func(w http.ResponseWriter, _ *http.Request, m message) bool {
		if m.Method != "resources/read" {
			return false
		}
		raw, _ := json.Marshal(serves)
		reply(w, m, fmt.Sprintf(`{"contents":[{"uri":"skill://a/SKILL.md","text":%s}]}`, raw))
		return true
	})), nil)
	read := func(s Skill) error {
		s.URI = "skill://a/SKILL.md"
		_, err := c.ReadSkill(t.Context(), s, s.URI)
		return err
	}
	require.NoError(t, read(Skill{FrontMatter: right, Resources: []SkillFile{listed(body, len(body))}}))
	for name, s := range map[string]Skill{
		"not listed":    {FrontMatter: right},
		"size":          {FrontMatter: right, Resources: []SkillFile{listed(body, len(body)+1)}},
		"digest":        {FrontMatter: right, Resources: []SkillFile{listed("other", len(body))}},
		"a field more":  {FrontMatter: front(`{"name":"pdf"}`), Resources: []SkillFile{listed(body, len(body))}},
		"another value": {FrontMatter: front(`{"name":"pdf","description":"Send","licence":"it's free","version":2}`), Resources: []SkillFile{listed(body, len(body))}},
		"another field": {FrontMatter: front(`{"name":"pdf","description":"Fill: forms","licence":"it's free","versio":2}`), Resources: []SkillFile{listed(body, len(body))}},
	} {
		require.ErrorIs(t, read(s), ErrUnverified, name)
	}
	for _, odd := range []string{"no front matter", "---\nname: pdf\n", "---\ntags: [a]\n---\n", "---\nname:\n  - a\n---\n", "---\na: 1\na: 1\n---\n", "---\na: \"x\n---\n"} {
		serves = odd
		require.ErrorIs(t, read(Skill{FrontMatter: front(`{"name":"pdf"}`), Resources: []SkillFile{listed(odd, len(odd))}}), ErrUnverified, odd)
	}
}
