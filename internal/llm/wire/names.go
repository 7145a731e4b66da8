package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/coderrr/coderrr/internal/llm"
)

// maxName is the longest tool name that every provider takes.
const maxName = 64

// Names maps tool names to ones that every provider takes (letters, digits, _ and
// -, a letter or _ first, at most 64) and back. A valid name stays as it is.
type Names struct{ wire, back map[string]string }

// NewNames maps the names of tools, in order.
func NewNames(tools []llm.ToolSpec) *Names {
	n := &Names{wire: map[string]string{}, back: map[string]string{}}
	for _, t := range tools {
		n.Wire(t.Name)
	}
	return n
}

// Wire is the provider's form of a name.
func (n *Names) Wire(name string) string {
	if w, ok := n.wire[name]; ok {
		return w
	}
	w := name
	if !validName(w) || n.back[w] != "" {
		w = digestName(name)
	}
	n.wire[name], n.back[w] = w, name
	return w
}

// Back is our name for the provider's; an unknown one is returned as it is.
func (n *Names) Back(wire string) string {
	if name, ok := n.back[wire]; ok {
		return name
	}
	return wire
}

func validName(s string) bool {
	if s == "" || len(s) > maxName || strings.Trim(s, alnum+"_-") != "" {
		return false
	}
	return s[0] == '_' || s[0] >= 'A' && s[0] <= 'Z' || s[0] >= 'a' && s[0] <= 'z'
}

func digestName(name string) string {
	sum := sha256.Sum256([]byte(name))
	clean := strings.Map(func(r rune) rune {
		if r < 0x80 && strings.ContainsRune(alnum+"_-", r) {
			return r
		}
		return '_'
	}, name)
	if clean == "" || !validName(clean[:1]) {
		clean = "t_" + clean
	}
	const head = maxName - 9
	return clean[:min(len(clean), head)] + "_" + hex.EncodeToString(sum[:4])
}
