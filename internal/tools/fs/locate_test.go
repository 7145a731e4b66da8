package fs

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// FuzzLocate holds the laws of a match: what is replaced is what was asked for, up
// to line endings, and every byte around it stays.
func FuzzLocate(f *testing.F) {
	f.Add("a\r\nb\r\nc", "b\nc", "x\ny")
	f.Add("a\nb", "a\r\nb", "")
	f.Add("a\rb\r", "b", "x\n")
	f.Add("aaa", "aa", "b")
	f.Fuzz(func(t *testing.T, text, old, new string) { checkLocate(t.Fatalf, text, old, new) })
}

func TestLocate(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "b", "\n", "\r\n", "\r", "\ufeff", "é"})
	words := func(most int) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 0, most).Draw(t, "pieces"), "") })
	}
	rapid.Check(t, func(t *rapid.T) {
		checkLocate(t.Fatalf, words(12).Draw(t, "text"), words(4).Draw(t, "old"), words(4).Draw(t, "new"))
	})
}

func checkLocate(fatalf func(string, ...any), text, old, new string) {
	if old == "" {
		return // refused before it is looked for
	}
	plain := func(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n") }
	m := locate(text, old, new)
	for _, at := range m.at {
		if text[at:at+len(m.old)] != m.old {
			fatalf("%q is not at %d of %q", m.old, at, text)
		}
	}
	if plain(m.old) != plain(old) || plain(m.new) != plain(new) {
		fatalf("%q → %q became %q → %q", old, new, m.old, m.new)
	}
	if strings.Contains(text, old) && m.old != old {
		fatalf("%q is in %q as it is, and %q was taken", old, text, m.old)
	}
	if lone := strings.ReplaceAll(new, "\r\n", ""); uniform(text) == "\r\n" && len(m.at) > 0 && !strings.Contains(old+lone, "\r") && strings.Contains(strings.ReplaceAll(m.new, "\r\n", ""), "\n") {
		fatalf("a bare LF gets into the CRLF file %q: %q", text, m.new)
	}
}
