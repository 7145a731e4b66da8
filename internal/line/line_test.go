package line_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coderrr/coderrr/internal/line"
)

// past is a history, newest first.
type past []string

func (p past) Len() int        { return len(p) }
func (p past) At(i int) string { return p[i] }

// typed applies what a terminal sends; what is left over is flushed.
func typed(e *line.Editor, text string) (last line.Event) {
	var d line.Decoder
	for _, k := range append(d.Feed([]byte(text)), d.Flush()...) {
		last = e.Do(k)
	}
	return last
}

func TestKeys(t *testing.T) {
	history := past{"run the tests", "add a flag", "fix the tests\nand the docs"}
	for name, tt := range map[string]struct {
		keys, text string
		event      line.Event
	}{
		"enter sends":                 {"one\r", "one", line.Submitted},
		"backslash goes on":           {"one\\\rtwo\r", "one\ntwo", line.Submitted},
		"a backslash in the middle":   {"a\\b\r", "a\\b", line.Submitted},
		"alt-enter goes on":           {"one\x1b\rtwo\r", "one\ntwo", line.Submitted},
		"ctrl-j goes on":              {"one\ntwo\r", "one\ntwo", line.Submitted},
		"shift-enter (kitty) goes on": {"one\x1b[13;2utwo\r", "one\ntwo", line.Submitted},
		"shift-enter (xterm) goes on": {"one\x1b[27;2;13~two\r", "one\ntwo", line.Submitted},
		"a paste keeps its lines":     {"\x1b[200~a\r\nb\rc\td\x1b[201~ e\r", "a\nb\nc\td e", line.Submitted},
		"keys in a paste are text":    {"\x1b[200~/quit\x03\x04\x1b[201~\r", "/quit\x03\x04", line.Submitted},
		"ctrl-c":                      {"half\x03", "half", line.Interrupted},
		"ctrl-d ends an empty line":   {"\x04", "", line.Ended},
		"ctrl-d deletes in another":   {"ab\x01\x04", "b", line.Edited},
		"esc does nothing once":       {"ab\x1b", "ab", line.Edited},
		"esc twice clears":            {"ab\x1b\x1b", "", line.Edited},
		"and ctrl-y brings it back":   {"ab\x1b\x1b\x19", "ab", line.Edited},
		"editor":                      {"ab\x07", "ab", line.WantsEditor},
		"redraw":                      {"ab\x0c", "ab", line.WantsRedraw},
		"suspend":                     {"ab\x1a", "ab", line.WantsSuspend},
		"words":                       {"one two three\x1bb\x1bbX\x1b[1;5CY", "one XtwoY three", line.Edited},
		"kill a word":                 {"one two\x17", "one ", line.Edited},
		"kill to the start":           {"one two\x02\x15", "o", line.Edited},
		"kill to the end, yank":       {"one two\x01\x0b\x19\x19", "one twoone two", line.Edited},
		"home, end, delete":           {"abc\x1b[H\x1b[3~\x1b[Fd", "bcd", line.Edited},
		"up is the history":           {"new\x1b[A", "run the tests", line.Edited},
		"down is what was typed":      {"new\x1b[A\x1b[A\x1b[B\x1b[B", "new", line.Edited},
		"up in several lines":         {"ab\ncd\x1b[AX", "abX\ncd", line.Edited},
		"down in several lines":       {"abc\nd\x1b[A\x1b[A\x1b[B\x1b[BX", "abc\ndX", line.Edited},
		"search":                      {"\x12tests\r", "run the tests", line.Submitted},
		"search further back":         {"\x12TESTS\x12\r", "fix the tests\nand the docs", line.Submitted},
		"search and edit":             {"\x12flag\x1b[C!", "add a flag!", line.Edited},
		"search, no hit":              {"was\x12zzz\r", "was", line.Submitted},
		"search, ctrl-c goes back":    {"was\x12add\x03", "was", line.Edited},
		"search, corrected":           {"\x12flax\x7fg\x1b[C", "add a flag", line.Edited},
		"windows-1252":                {"caf\xe9 \x80 fl\xfcgel\r", "café € flügel", line.Submitted},
		"windows-1252 at the end":     {"caf\xe9", "café", line.Edited},
		"windows-1252 in a paste":     {"\x1b[200~na\xefve\x1b[201~", "naïve", line.Edited},
		"utf-8":                       {"日本 é 🙂\x7f\r", "日本 é ", line.Submitted},
		"unknown sequences":           {"a\x1b[99~\x1b[1;2P\x1bOPb\x1b[", "ab", line.Edited},
		"c1 controls are no text":     {"a\u009bb", "ab", line.Edited},
	} {
		t.Run(name, func(t *testing.T) {
			e := &line.Editor{History: history}
			require.Equal(t, tt.event, typed(e, tt.keys))
			require.Equal(t, tt.text, e.Text())
		})
	}
}

// A key comes whole however it is cut into reads.
func TestCutKeys(t *testing.T) {
	keys := "é日\x1b[A\x1b[200~pa\x1bsted\x1b[201~\x1b[13;2u\x1bb!"
	var whole line.Decoder
	want := whole.Feed([]byte(keys))
	var d line.Decoder
	var got []line.Key
	for _, b := range []byte(keys) {
		got = append(got, d.Feed([]byte{b})...)
	}
	require.Equal(t, want, got)
	require.False(t, d.Waits())
	d.Feed([]byte("\x1b"))
	require.True(t, d.Waits())
	require.Equal(t, []line.Key{{Name: line.Escape}}, d.Flush())
}

func TestComplete(t *testing.T) {
	options := []string{"/status", "/stop", "/specs"}
	e := &line.Editor{Complete: func(text []rune, at int) (int, []string) {
		var out []string
		for _, o := range options {
			if strings.HasPrefix(o, string(text[:at])) {
				out = append(out, o)
			}
		}
		return 0, out
	}}
	typed(e, "/sta\t")
	require.Equal(t, "/status ", e.Text())
	e.SetText("")
	typed(e, "/st\t")
	require.Equal(t, "/st", e.Text())
	require.Equal(t, []string{"> /st", "  /status", "  /stop"}, e.View("> ", 40, 20).Rows)
	typed(e, "o")
	require.Equal(t, []string{"> /sto"}, e.View("> ", 40, 20).Rows)
	typed(e, "x\t")
	require.Equal(t, "/stox", e.Text())
	require.Equal(t, line.Edited, typed(&line.Editor{}, "a\t"))
}

func TestView(t *testing.T) {
	e := &line.Editor{}
	typed(e, "0123456789abcdefghij\nsecond")
	v := e.View("> ", 12, 10)
	require.Equal(t, []string{"> 012345678", "9abcdefghij", ". second"}, v.Rows)
	require.Equal(t, [2]int{2, 8}, [2]int{v.Row, v.Col})
	require.Equal(t, []string{". second"}, e.View("> ", 12, 2).Rows, "the rows around the cursor")
	typed(e, "\x1b[A\x1b[A")
	require.Equal(t, 0, e.View("> ", 12, 10).Row)
	e.SetText("日本語日本語")
	require.Equal(t, []string{"> 日本語日", "本語"}, e.View("> ", 11, 10).Rows, "a wide character is not cut")
	typed(e, "\x12x")
	require.Equal(t, []string{"search: x  "}, e.View("> ", 40, 10).Rows)
}

// T01, T11: whatever is typed or pasted, and however narrow the terminal: rows
// hold no control characters and fit, and the cursor is in them.
func TestT01NothingTypedDrivesTheTerminal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := &line.Editor{History: past{"old \x1b[2J", "x\ny"}}
		keys := rapid.SliceOf(rapid.SampledFrom([]string{
			"a", "日", "\x1b[A", "\x1b[B", "\x1b[D", "\x12", "o", "\x7f", "\t", "\x17", "\x19", "\x1b", "\n", "\x15", "\x1b[H", "\xff",
			"\x1b[200~\x1b]0;t\x07\u009b2J\r\n\u202e\x00\x1b[201~",
		})).Draw(t, "keys")
		width := rapid.SampledFrom([]int{0, 1, 8, 20, 40, 80, 200, 10000}).Draw(t, "width")
		height := rapid.IntRange(0, 30).Draw(t, "height")
		for _, k := range keys {
			typed(e, k)
			v := e.View("> ", width, height)
			require.Less(t, v.Row, len(v.Rows))
			require.GreaterOrEqual(t, v.Row, 0)
			for _, row := range v.Rows {
				used := 0
				for _, r := range row {
					require.False(t, unicode.IsControl(r), "%q", row)
					used += line.Columns(r)
				}
				require.Less(t, used, max(8, width), "%q", row)
			}
			require.LessOrEqual(t, v.Col, max(8, width)-1)
		}
	})
}

func FuzzDecoder(f *testing.F) {
	f.Add([]byte("\x1b[200~x\x1b[201~"), 3)
	f.Add([]byte("\xe9\x1b[1;5D\x1bOA"), 1)
	f.Fuzz(func(t *testing.T, data []byte, n int) {
		if n <= 0 || n > 64 {
			n = 5
		}
		var d line.Decoder
		e := &line.Editor{}
		for len(data) > 0 {
			k := min(n, len(data))
			for _, key := range d.Feed(data[:k]) {
				if key.Name == line.Rune && unicode.IsControl(key.Rune) {
					t.Fatalf("%U is no text", key.Rune)
				}
				e.Do(key)
			}
			data = data[k:]
		}
		d.Flush()
		if d.Waits() {
			t.Fatal("a flush leaves nothing")
		}
	})
}
