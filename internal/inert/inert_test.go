package inert

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestT05VisibleMarksHiddenCharacters(t *testing.T) {
	for name, c := range map[string]struct {
		in, out string
		hidden  int
	}{
		"plain":             {"a\tb\nc é 漢", "a\tb\nc é 漢", 0},
		"tag characters":    {"ok\U000E0041\U000E007F.", "ok⟨U+E0041⟩⟨U+E007F⟩.", 2},
		"bidi override":     {"a\u202Eb\u2066c\u061Cd", "a⟨U+202E⟩b⟨U+2066⟩c⟨U+061C⟩d", 3},
		"zero width":        {"a\u200Bb\uFEFFc", "a⟨U+200B⟩b⟨U+FEFF⟩c", 2},
		"emoji joiner":      {"👩\u200D💻 ❤\uFE0F", "👩\u200D💻 ❤\uFE0F", 0},
		"escape":            {"\x1b[2J", "⟨U+001B⟩[2J", 1},
		"C1 as a rune":      {"\u009b2J", "⟨U+009B⟩2J", 1},
		"C1 as a byte":      {"\x9b2J", "⟨0x9B⟩2J", 1},
		"crlf stays":        {"a\r\nb", "a\r\nb", 0},
		"lone cr":           {"a\rb", "a⟨U+000D⟩b", 1},
		"separator":         {"a\u2028b", "a⟨U+2028⟩b", 1},
		"selectors":         {"a\U000E0100", "a⟨U+E0100⟩", 1},
		"replacement stays": {"a\uFFFDb", "a\uFFFDb", 0},
		"NUL and DEL":       {"\x00\x7f", "⟨U+0000⟩⟨U+007F⟩", 2},
		"interlinear":       {"\uFFF9", "⟨U+FFF9⟩", 1},
		"empty":             {"", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			out, n := Visible(c.in)
			require.Equal(t, c.out, out)
			require.Equal(t, c.hidden, n)
			require.Equal(t, c.hidden, Hidden(c.in))
		})
	}
}

func TestT01TerminalIsInert(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\n":             "plain\ttext\n",
		"\x1b]52;c;eA==\x07":        "␛]52;c;eA==␇",
		"\u009b2J":                  "⟨U+009B⟩2J",
		"\x9b2J":                    "⟨0x9B⟩2J",
		"50%\r100%\r\ndone":         "50%␍100%\ndone",
		"a\x7fb\x00\x08":            "a␡b␀␈",
		"x\u202Ey":                  "x⟨U+202E⟩y",
		"\x1b]8;;http://a\x1b\\hi":  "␛]8;;http://a␛\\hi",
		"\U000E0041\U000E0042 tags": "⟨U+E0041⟩⟨U+E0042⟩ tags",
	} {
		require.Equal(t, want, Terminal(in))
	}
}

func TestT01TerminalNeverEmitsControls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		out := Terminal(in)
		if !utf8.ValidString(out) {
			t.Fatalf("not UTF-8: %q", out)
		}
		for _, r := range out {
			if r != '\n' && r != '\t' && (r < 0x20 || r >= 0x7F && r <= 0x9F) {
				t.Fatalf("control %U left in %q", r, out)
			}
		}
		visible, n := Visible(in)
		if n == 0 && visible != in {
			t.Fatalf("changed without counting: %q -> %q", in, visible)
		}
		if again, n := Visible(visible); n != 0 || again != visible {
			t.Fatalf("not settled: %q", visible)
		}
	})
}

func TestVisibleKeepsPlainTextUncopied(t *testing.T) {
	s := strings.Repeat("line of text\n", 1000)
	require.Zero(t, testing.AllocsPerRun(10, func() { Visible(s) }))
}
