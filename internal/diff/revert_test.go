package diff_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coderrr/coderrr/internal/diff"
)

// TestRevertIsTheOppositeOfAccept: a hunk that is taken back leaves what accepting
// all the others gives.
func TestRevertIsTheOppositeOfAccept(t *testing.T) {
	line := rapid.SampledFrom([]string{"a\n", "b\n", "\n", "c\r\n", "  d\n", "e"})
	text := rapid.Custom(func(t *rapid.T) []byte {
		return []byte(strings.Join(rapid.SliceOfN(line, 0, 60).Draw(t, "lines"), ""))
	})
	rapid.Check(t, func(t *rapid.T) {
		before, after := text.Draw(t, "before"), text.Draw(t, "after")
		hunks := diff.Compute(before, after)
		for n, h := range hunks {
			got, ok := diff.Revert(after, h)
			require.True(t, ok)
			require.Equal(t, string(diff.Apply(before, hunks, func(i int) bool { return i != n })), string(got))
		}
	})
}

func TestRevertRefusesAnotherText(t *testing.T) {
	before, after := []byte("one\ntwo\nthree\n"), []byte("one\n2\nthree\n")
	h := diff.Compute(before, after)[0]
	for _, other := range []string{"", "one\n", "one\n2\nTHREE\n", "zero\none\n2\nthree\n", "one\n2\r\nthree\n"} {
		_, ok := diff.Revert([]byte(other), h)
		require.False(t, ok, "%q", other)
	}
	for _, wild := range []diff.Hunk{{NewStart: -5}, {NewStart: 1, NewLines: -1}, {NewStart: 9, NewLines: 1}, {NewStart: 1, NewLines: 1}} {
		_, ok := diff.Revert(after, wild)
		require.False(t, ok, "%+v", wild)
	}
}

func TestSpacesPairsWhatOnlyBlanksTellApart(t *testing.T) {
	before := "func f() {\n  a()\n  b()\n}\nx\n"
	after := "func f() {\n\ta()\n\tnew()\n\tb( )\n}\ny\n"
	h := diff.Compute([]byte(before), []byte(after))[0]
	got := map[string]string{}
	for d, i := range diff.Spaces(h) {
		require.Equal(t, diff.Delete, h.Lines[d].Op)
		require.Equal(t, diff.Insert, h.Lines[i].Op)
		got[h.Lines[d].Text] = h.Lines[i].Text
	}
	require.Equal(t, map[string]string{"  a()": "\ta()", "  b()": "\tb( )"}, got)
	crlf := diff.Compute([]byte("a\nb\n"), []byte("a\r\nb\r\n"))[0]
	require.Len(t, diff.Spaces(crlf), 2, "a line ending is white space too")
}

func TestLinesAreNumberedAsInTheFile(t *testing.T) {
	var text strings.Builder
	for i := range 10 {
		fmt.Fprintf(&text, "line %d\n", i+1)
	}
	lines, total := diff.Lines([]byte(text.String()), 9, 40)
	require.Equal(t, 10, total)
	require.Equal(t, []diff.Line{{Op: diff.Equal, Text: "line 9", EOL: "\n"}, {Op: diff.Equal, Text: "line 10", EOL: "\n"}}, lines)
	lines, total = diff.Lines(nil, -3, 3)
	require.Zero(t, total)
	require.Empty(t, lines)
}
