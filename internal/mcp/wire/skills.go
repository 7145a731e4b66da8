package wire

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// SkillsExtension is the capability of servers that offer skills (SEP-2640).
const SkillsExtension = "io.modelcontextprotocol/skills"

// ErrUnverified: a skill's file is not what the server listed.
var ErrUnverified = errors.New("the skill's file is not the one that was listed")

// Skill is an entry of a server's skills. Files are fetched when they are read and
// not before.
type Skill struct {
	URI         string                     `json:"uri"`
	FrontMatter map[string]json.RawMessage `json:"frontmatter"`
	Resources   []SkillFile                `json:"resources"`
}

// SkillFile is one file of a skill as it was listed.
type SkillFile struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"` // sha256:HEX
	Size   int64  `json:"size"`
}

// Skills lists what a server offers; nothing of it is fetched.
func (c *Client) Skills(ctx context.Context) ([]Skill, error) {
	return pages[Skill](ctx, c, "skills/list", "skills")
}

// ReadSkill reads a file of a skill and verifies it: its address must be listed,
// its size and digest must be those listed, and the front matter of the skill's
// own text must say what the list said. Anything else is ErrUnverified.
func (c *Client) ReadSkill(ctx context.Context, s Skill, uri string) (string, error) {
	i := slices.IndexFunc(s.Resources, func(f SkillFile) bool { return f.URI == uri })
	if i < 0 {
		return "", fmt.Errorf("%w: %s is not in its list", ErrUnverified, short(uri))
	}
	docs, cut, err := c.Read(ctx, uri)
	if err != nil {
		return "", err
	}
	if len(docs) != 1 || cut > 0 {
		return "", fmt.Errorf("%w: %s did not come whole", ErrUnverified, short(uri))
	}
	text := docs[0].Text
	if docs[0].Blob != "" {
		raw, err := base64.StdEncoding.DecodeString(docs[0].Blob)
		if err != nil {
			return "", fmt.Errorf("%w: %s cannot be decoded", ErrUnverified, short(uri))
		}
		text = string(raw)
	}
	if int64(len(text)) != s.Resources[i].Size {
		return "", fmt.Errorf("%w: %s has another size", ErrUnverified, short(uri))
	}
	sum := sha256.Sum256([]byte(text))
	want := "sha256:" + hex.EncodeToString(sum[:])
	if subtle.ConstantTimeCompare([]byte(want), []byte(s.Resources[i].Digest)) != 1 {
		return "", fmt.Errorf("%w: %s has another digest", ErrUnverified, short(uri))
	}
	if uri == s.URI {
		if err := s.matches(text); err != nil {
			return "", err
		}
	}
	return text, nil
}

// matches compares the front matter of a skill's text with the list, field by
// field. What cannot be compared does not match.
func (s Skill) matches(text string) error {
	have, err := frontMatter(text)
	if err != nil {
		return err
	}
	if len(have) != len(s.FrontMatter) {
		return fmt.Errorf("%w: its front matter has other fields", ErrUnverified)
	}
	for _, key := range slices.Sorted(maps.Keys(s.FrontMatter)) {
		listed := string(s.FrontMatter[key])
		var plain string
		if json.Unmarshal(s.FrontMatter[key], &plain) == nil {
			listed = plain
		}
		if got, ok := have[key]; !ok || got != listed {
			return fmt.Errorf("%w: its front matter differs in %s", ErrUnverified, short(key))
		}
	}
	return nil
}

// frontMatter reads flat YAML front matter: one "key: value" a line, with or
// without quotes. Lists and tables in it are refused.
func frontMatter(text string) (map[string]string, error) {
	rest, ok := strings.CutPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "---\n")
	head, _, closed := strings.Cut(rest, "\n---")
	if !ok || !closed {
		return nil, fmt.Errorf("%w: it has no front matter", ErrUnverified)
	}
	out := map[string]string{}
	for line := range strings.SplitSeq(head, "\n") {
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if _, twice := out[key]; !ok || twice || key == "" || strings.TrimSpace(key) != key || value == "" || strings.ContainsAny(value[:1], "[{|>&*!%@`") {
			return nil, fmt.Errorf("%w: its front matter cannot be compared: %s", ErrUnverified, short(line))
		}
		switch quote := value[0]; {
		case quote == '"':
			if json.Unmarshal([]byte(value), &value) != nil {
				return nil, fmt.Errorf("%w: its front matter cannot be compared: %s", ErrUnverified, short(line))
			}
		case quote == '\'' && len(value) > 1 && value[len(value)-1] == quote:
			value = strings.ReplaceAll(value[1:len(value)-1], "''", "'")
		default:
			value, _, _ = strings.Cut(value, " #")
			value = strings.TrimSpace(value)
		}
		out[key] = value
	}
	return out, nil
}
