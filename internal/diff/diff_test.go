package diff_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coderrr/coderrr/internal/diff"
)

func all(int) bool  { return true }
func none(int) bool { return false }

// TestUnified compares whole texts with what GNU diff -u prints for them.
func TestUnified(t *testing.T) {
	ten := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	for _, tc := range []struct{ name, before, after, want string }{
		{"equal", "a\n", "a\n", ""},
		{"both empty", "", "", ""},
		{"create", "", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{"remove all", "a\nb\n", "", "@@ -1,2 +0,0 @@\n-a\n-b\n"},
		{"one line", "a\n", "b\n", "@@ -1 +1 @@\n-a\n+b\n"},
		{"middle", ten, strings.Replace(ten, "5\n", "five\n", 1), "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"},
		{"first line", ten, "0\n" + ten, "@@ -1,3 +1,4 @@\n+0\n 1\n 2\n 3\n"},
		{"last line", ten, ten + "11\n", "@@ -8,3 +8,4 @@\n 8\n 9\n 10\n+11\n"},
		{"line gone", ten, strings.Replace(ten, "5\n", "", 1), "@@ -2,7 +2,6 @@\n 2\n 3\n 4\n-5\n 6\n 7\n 8\n"},
		{"newline added", "a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		{"newline gone", "a\n", "a", "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n"},
		{"no newline either side", "a\nz", "b\nz", "@@ -1,2 +1,2 @@\n-a\n+b\n z\n\\ No newline at end of file\n"},
		{"only the ending", "a\r\n", "a\n", "@@ -1 +1 @@\n-a\r\n+a\n"},
		{"far apart", "1\n" + ten + "2\n", "x\n" + ten + "y\n", "@@ -1,4 +1,4 @@\n-1\n+x\n 1\n 2\n 3\n@@ -9,4 +9,4 @@\n 8\n 9\n 10\n-2\n+y\n"},
		{
			"six between merge", "a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n",
			"@@ -1,8 +1,8 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+B\n",
		},
		{
			"seven between do not", "a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n",
			"@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+B\n",
		},
		{"lone CR in an LF file is text", "a\rb\nc\n", "a\rB\nc\n", "@@ -1,2 +1,2 @@\n-a\rb\n+a\rB\n c\n"},
		{"last line ends in CR", "a\nb\r", "a\nc\r", "@@ -1,2 +1,2 @@\n a\n-b\r\n\\ No newline at end of file\n+c\r\n\\ No newline at end of file\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			hunks := diff.Compute([]byte(tc.before), []byte(tc.after))
			text, cut := diff.Unified("a/f", "b/f", hunks, 0)
			want := tc.want
			if want != "" {
				want = "--- a/f\n+++ b/f\n" + want
			}
			require.Equal(t, want, text)
			require.False(t, cut)
		})
	}
}

// TestLines is T06: differences that do not show in a terminal are in the data.
func TestLines(t *testing.T) {
	for _, tc := range []struct {
		name, before, after string
		want                []diff.Line
	}{
		{"CRLF to LF", "a\r\n", "a\n", []diff.Line{{Op: '-', Text: "a", EOL: "\r\n"}, {Op: '+', Text: "a", EOL: "\n"}}},
		{"old Mac", "a\rb\r", "a\rc\r", []diff.Line{{Op: ' ', Text: "a", EOL: "\r"}, {Op: '-', Text: "b", EOL: "\r"}, {Op: '+', Text: "c", EOL: "\r"}}},
		{"BOM", "a\n", "\ufeffa\n", []diff.Line{{Op: '-', Text: "a", EOL: "\n"}, {Op: '+', Text: "\ufeffa", EOL: "\n"}}},
		{"trailing blank", "a\n", "a \n", []diff.Line{{Op: '-', Text: "a", EOL: "\n"}, {Op: '+', Text: "a ", EOL: "\n"}}},
		{"tab and blanks", "\ta\n", "    a\n", []diff.Line{{Op: '-', Text: "\ta", EOL: "\n"}, {Op: '+', Text: "    a", EOL: "\n"}}},
		{"NUL and bad UTF-8", "\x00\n", "\xff\n", []diff.Line{{Op: '-', Text: "\x00", EOL: "\n"}, {Op: '+', Text: "\xff", EOL: "\n"}}},
		{"U+2028 ends no line", "a\u2028b\n", "a\u2028c\n", []diff.Line{{Op: '-', Text: "a\u2028b", EOL: "\n"}, {Op: '+', Text: "a\u2028c", EOL: "\n"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			hunks := diff.Compute([]byte(tc.before), []byte(tc.after))
			require.Len(t, hunks, 1)
			require.Empty(t, cmp.Diff(tc.want, hunks[0].Lines))
		})
	}
}

// TestSlide: an inserted function begins with its own first line.
func TestSlide(t *testing.T) {
	before := "func a() {\n}\n\nfunc b() {\n}\n"
	after := "func a() {\n}\n\nfunc n() {\n}\n\nfunc b() {\n}\n"
	text, _ := diff.Unified("a", "b", diff.Compute([]byte(before), []byte(after)), 0)
	require.Contains(t, text, "+func n() {\n+}\n+\n func b() {\n")
}

// TestMoved: a block that moved is one deletion and one insertion, not a rewrite.
func TestMoved(t *testing.T) {
	before := numbered(400)
	lines := strings.SplitAfter(before, "\n")
	moved := strings.Join(lines[:50], "") + strings.Join(lines[100:300], "") + strings.Join(lines[50:100], "") + strings.Join(lines[300:], "")
	added, removed := diff.Stats(diff.Compute([]byte(before), []byte(moved)))
	require.Equal(t, 50, added)
	require.Equal(t, 50, removed)
}

func TestUnifiedCap(t *testing.T) {
	hunks := diff.Compute([]byte(numbered(300)), []byte(strings.ReplaceAll(numbered(300), "7", "seven")))
	whole, cut := diff.Unified("a/f", "b/f", hunks, 0)
	require.False(t, cut)
	exact, cut := diff.Unified("a/f", "b/f", hunks, len(whole))
	require.False(t, cut)
	require.Equal(t, whole, exact)
	for limit := 1; limit < len(whole); limit += 7 {
		text, cut := diff.Unified("a/f", "b/f", hunks, limit)
		require.True(t, cut)
		require.LessOrEqual(t, len(text), limit)
		require.True(t, strings.HasPrefix(whole, text))
		require.True(t, text == "" || strings.HasSuffix(text, "\n"), "cut at a line")
		require.False(t, strings.HasSuffix(text, "@@\n"), "no header without a line")
	}
}

func TestUnifiedCapKeepsTheMarkOfAMissingNewline(t *testing.T) {
	hunks := diff.Compute([]byte("a"), []byte("b"))
	whole, _ := diff.Unified("x", "y", hunks, 0)
	text, cut := diff.Unified("x", "y", hunks, len(whole)-1)
	require.True(t, cut)
	require.NotContains(t, text, "+b")
}

// TestUnifiedNames: a file name cannot forge a line of the diff.
func TestUnifiedNames(t *testing.T) {
	hunks := diff.Compute([]byte("a\n"), []byte("b\n"))
	for in, want := range map[string]string{
		"a/plain.go":     "--- a/plain.go\n",
		"a/with blank":   "--- a/with blank\t\n",
		"a/ümläut":       "--- a/ümläut\n",
		"a/x\n+evil":     `--- "a/x\n+evil"` + "\n",
		"a/\x1b[31m\"\\": `--- "a/\033[31m\"\\"` + "\n",
		"a/\xff":         `--- "a/\377"` + "\n",
		"/dev/null":      "--- /dev/null\n",
	} {
		text, _ := diff.Unified(in, "b/f", hunks, 0)
		require.True(t, strings.HasPrefix(text, want), "%q gives %q", in, text)
	}
}

func TestApplySubset(t *testing.T) {
	before := numbered(60)
	after := strings.NewReplacer("line 5\n", "five\n", "line 30\n", "thirty\nand more\n", "line 55\n", "").Replace(before)
	hunks := diff.Compute([]byte(before), []byte(after))
	require.Len(t, hunks, 3)
	for mask := range 8 {
		want := before
		for i, r := range [][2]string{{"line 5\n", "five\n"}, {"line 30\n", "thirty\nand more\n"}, {"line 55\n", ""}} {
			if mask&(1<<i) != 0 {
				want = strings.Replace(want, r[0], r[1], 1)
			}
		}
		got := diff.Apply([]byte(before), hunks, func(i int) bool { return mask&(1<<i) != 0 })
		require.Equal(t, want, string(got), "hunks %03b", mask)
	}
}

func TestApplyNeverReturnsNil(t *testing.T) {
	hunks := diff.Compute([]byte("a\n"), []byte{})
	require.NotNil(t, diff.Apply([]byte("a\n"), hunks, all))
	require.Empty(t, diff.Apply([]byte("a\n"), hunks, all))
	require.NotNil(t, diff.Apply(nil, nil, none))
}

func TestWords(t *testing.T) {
	for _, tc := range []struct {
		before, after string
		old, new      []string
	}{
		{"a := foo(x)", "a := bar(x)", []string{"foo"}, []string{"bar"}},
		{"return nil", "return nil, err", nil, []string{", err"}},
		{"return nil, err", "return nil", []string{", err"}, nil},
		{"\tx", "    x", []string{"\t"}, []string{"    "}},
		{"größer_als = 1", "größer_als = 2", []string{"1"}, []string{"2"}},
		{"nothing alike here", "0123 456", []string{"nothing alike here"}, []string{"0123 456"}},
		{"", "new", nil, []string{"new"}},
		{"same", "same", nil, nil},
	} {
		old, new := diff.Words(tc.before, tc.after)
		require.Equal(t, tc.old, parts(tc.before, old), "%q → %q", tc.before, tc.after)
		require.Equal(t, tc.new, parts(tc.after, new), "%q → %q", tc.before, tc.after)
	}
}

func parts(s string, ranges []diff.Range) []string {
	var out []string
	for _, r := range ranges {
		out = append(out, s[r.Start:r.End])
	}
	return out
}

func TestWordsRangesAreInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{"a", "b", "foo", " ", "\t", "(", "ö", "\xff", "1"})
		text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(word, 0, 30).Draw(t, "w"), "") })
		before, after := text.Draw(t, "before"), text.Draw(t, "after")
		old, new := diff.Words(before, after)
		for s, rs := range map[string][]diff.Range{before: old, after + "": new} {
			if before == after {
				continue
			}
			at := 0
			for _, r := range rs {
				if r.Start < at || r.End <= r.Start || r.End > len(s) {
					t.Fatalf("range %v in %q", r, s)
				}
				at = r.End
			}
		}
	})
}

func TestPairs(t *testing.T) {
	h := diff.Hunk{Lines: []diff.Line{{Op: ' '}, {Op: '-'}, {Op: '-'}, {Op: '+'}, {Op: ' '}, {Op: '+'}, {Op: '-'}}}
	require.Equal(t, []diff.Pair{{0, 0}, {1, 3}, {2, -1}, {4, 4}, {-1, 5}, {6, -1}}, h.Pairs())
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

// content draws small files of few distinct lines and every kind of line ending,
// where alignment is ambiguous and mistakes show.
func content() *rapid.Generator[string] {
	line := rapid.SampledFrom([]string{"", "a", "b", "c", "}", "\ta", "a\rb", "é"})
	eol := rapid.SampledFrom([]string{"\n", "\n", "\n", "\n", "\r\n", "\r"})
	one := rapid.Custom(func(t *rapid.T) string { return line.Draw(t, "l") + eol.Draw(t, "e") })
	return rapid.Custom(func(t *rapid.T) string {
		s := strings.Join(rapid.SliceOfN(one, 0, 40).Draw(t, "lines"), "")
		if rapid.Bool().Draw(t, "no newline at the end") {
			s += line.Draw(t, "last")
		}
		return s
	})
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		check(t, content().Draw(t, "before"), content().Draw(t, "after"), rapid.Uint64().Draw(t, "accepted"))
	})
}

func FuzzApply(f *testing.F) {
	f.Add("a\nb\n", "a\nc\n", uint64(1))
	f.Add("a\r\nb", "a\nb\r", uint64(0))
	f.Add("", "\r\r", uint64(3))
	f.Fuzz(func(t *testing.T, before, after string, mask uint64) { check(t, before, after, mask) })
}

type fataler interface {
	Fatalf(format string, args ...any)
}

// check holds the laws of a diff for one pair of files.
func check(t fataler, before, after string, mask uint64) {
	hunks := diff.Compute([]byte(before), []byte(after))
	if (len(hunks) == 0) != (before == after) {
		t.Fatalf("%d hunks for %q → %q", len(hunks), before, after)
	}
	if got := diff.Apply([]byte(before), hunks, all); string(got) != after {
		t.Fatalf("apply all: %q, want %q", got, after)
	}
	if got := diff.Apply([]byte(before), hunks, none); string(got) != before {
		t.Fatalf("apply none: %q, want %q", got, before)
	}
	// Accepting some and then the rest of what is left gives the whole.
	some := diff.Apply([]byte(before), hunks, func(i int) bool { return mask>>(i%64)&1 != 0 })
	if got := diff.Apply(some, diff.Compute(some, []byte(after)), all); string(got) != after {
		t.Fatalf("apply the rest: %q, want %q", got, after)
	}
	oldAt, newAt := 0, 0
	for _, h := range hunks {
		oldN, newN := 0, 0
		for _, l := range h.Lines {
			if l.Op != diff.Insert {
				oldN++
			}
			if l.Op != diff.Delete {
				newN++
			}
		}
		if oldN != h.OldLines || newN != h.NewLines || h.OldStart < oldAt || h.NewStart < newAt {
			t.Fatalf("hunk %+v counts %d, %d after %d, %d", h, oldN, newN, oldAt, newAt)
		}
		oldAt, newAt = h.OldStart+h.OldLines, h.NewStart+h.NewLines
	}
}

// TestPatch lets the patch program turn one file into the other.
func TestPatch(t *testing.T) {
	if _, err := exec.LookPath("patch"); err != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "CI has patch")
		t.Skip("patch is not installed")
	}
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		before, after := content().Draw(t, "before"), content().Draw(t, "after")
		if macOnly(before) || macOnly(after) || before == "" || after == "" {
			return // no unified form (lone CRs), or patch creates and removes files
		}
		file := filepath.Join(dir, "f")
		if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		text, _ := diff.Unified("f", "f", diff.Compute([]byte(before), []byte(after)), 0)
		cmd := exec.Command("patch", "--binary", "-s", "-F0", "--no-backup-if-mismatch", file)
		cmd.Stdin = strings.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil && text != "" {
			t.Fatalf("patch: %v\n%s\n%s", err, out, text)
		}
		got, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(got, []byte(after)) {
			t.Fatalf("patch gives %q, want %q (%v)\n%s", got, after, err, text)
		}
	})
}

func macOnly(s string) bool {
	return strings.Contains(s, "\r") && !strings.Contains(s, "\n")
}
