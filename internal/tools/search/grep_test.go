package search

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestGrep(t *testing.T) {
	b := setup(t, map[string]string{
		"a.go": "package a\nfunc Hello() {}\n// hello\n", "sub/b.go": "func Hello2() {}\r\n", "sub/c.ts": "hello", "bin": "hello\x00", ".gitignore": "ignored\n", "ignored": "hello",
		"long": strings.Repeat("a", 1000) + "hello" + strings.Repeat("b", 1000) + "\n", "d/l": "-> ../a.go", "link": "-> sub",
	})
	require.Equal(t, "a.go:2: func Hello() {}\nsub/b.go:1: func Hello2() {}\n[1 binary file was not searched]", b.ok("grep", args{"pattern": `func Hello\d*\(`}))
	got := b.ok("grep", args{"pattern": "hello", "ignore_case": true, "path": "sub"})
	require.Equal(t, "sub/b.go:1: func Hello2() {}\nsub/c.ts:1: hello", got)
	require.Equal(t, "sub/b.go:1: func Hello2() {}", b.ok("grep", args{"pattern": `\{\}$`, "path": "link"})) // CR is not part of a line
	require.Equal(t, "a.go:3: // hello", b.ok("grep", args{"pattern": "hello", "glob": "*.go"}))
	require.Equal(t, "a.go:3: // hello", b.ok("grep", args{"pattern": "hello", "path": "d/l"}))
	require.Equal(t, "sub/c.ts:1: hello", b.ok("grep", args{"pattern": "hello", "glob": "sub/**/*.{js,ts}"}))
	require.Equal(t, "sub/c.ts:1: hello", b.ok("grep", args{"pattern": "hello", "glob": "**/*.ts"}))
	require.Equal(t, "sub/c.ts:1: hello", b.ok("grep", args{"pattern": "hello", "glob": "/c.ts", "path": "sub"}))
	require.NotContains(t, b.ok("grep", args{"pattern": "hello", "glob": "!*.go"}), "a.go")
	require.Equal(t, "ignored:1: hello", b.ok("grep", args{"pattern": "hello", "path": "ignored"}))
	require.Contains(t, b.ok("grep", args{"pattern": "hello", "path": "long"}),
		"long:1: …"+strings.Repeat("a", 120)+"hello"+strings.Repeat("b", 275)+"… [cut: 400 of 2005 bytes shown]")
	require.Equal(t, "[no match in 1 file]", b.ok("grep", args{"pattern": "nothere", "path": "a.go"}))
	require.Contains(t, b.ok("grep", args{"pattern": "x", "glob": "*.zig"}), "no file was searched")
	require.Contains(t, b.ok("grep", args{"pattern": `a\nfunc`}), "within one line")
	b.fails("grep", args{"pattern": "x", "path": "gone.go"}, "does not exist")
	b.fails("grep", args{"pattern": ""}, "empty")
	require.Equal(t, `Search "hello" (1 match in 1 file)`, b.call("grep", args{"pattern": "hello", "path": "a.go"}).Display)
}

func TestGrepExplainsPatterns(t *testing.T) {
	b := setup(t, map[string]string{"a": "a"})
	for pattern, part := range map[string]string{
		`foo(?=bar)`: "no look-ahead", `foo(?!bar)`: "look-behind", `(?<=x)y`: "no look-ahead or look-behind", `(?<!x)y`: "look-behind", `(a)\1`: "back-references",
		`(unclosed`: "backslash", `[a`: "backslash", `*a`: `write \*`, `(?:a{900}){900}`: "large counts", `a{5000}`: "large counts",
	} {
		b.fails("grep", args{"pattern": pattern}, "not valid", part)
	}
}

func TestGrepBoundsResults(t *testing.T) {
	files := map[string]string{}
	for i := range 30 {
		files[fmt.Sprintf("f%02d", i)] = strings.Repeat("needle\nother\n", 30)
	}
	b := setup(t, files)
	got := b.ok("grep", args{"pattern": "needle"})
	require.Equal(t, 100, strings.Count(got, ": needle\n"))
	require.Contains(t, got, "[100 of 900 matching lines shown, in 30 files;")
	require.True(t, strings.HasPrefix(got, "f00:1: needle\nf00:3: needle\n"))
	require.Contains(t, got, "f03:19: needle\n[")
	got = b.ok("grep", args{"pattern": "needle", "max_results": 3})
	require.Equal(t, "f00:1: needle\nf00:3: needle\nf00:5: needle\n[3 of 900 matching lines shown, in 30 files; narrow the pattern, path or glob, or raise max_results]", got)
	for range 5 { // the order does not depend on who is first
		require.Equal(t, got, b.ok("grep", args{"pattern": "needle", "max_results": 3}))
	}
}

// A word that is everywhere ends the search, at the same place each time.
func TestGrepLeavesOutTheRestOfACommonWord(t *testing.T) {
	files := map[string]string{}
	for i := range 200 {
		files[fmt.Sprintf("f%03d", i)] = strings.Repeat("needle\n", 30)
	}
	b := setup(t, files)
	for range 5 {
		got := b.ok("grep", args{"pattern": "needle", "max_results": 3})
		require.Equal(t, "f000:1: needle\nf000:2: needle\nf000:3: needle\n[3 shown of more than 1020 matching lines, in the first 34 files; the rest was not searched: narrow the pattern, path or glob]", got)
	}
}

func TestGrepStops(t *testing.T) {
	files := map[string]string{}
	for i := range 200 {
		files[fmt.Sprintf("f%03d", i)] = "needle\n"
	}
	b := setup(t, files)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, name := range []string{"grep", "tree", "list_dir", "read_file"} {
		res := b.set[name].Run(ctx, json.RawMessage(map[string]string{"grep": `{"pattern":"needle"}`, "tree": `{}`, "list_dir": `{}`, "read_file": `{"path":"f000"}`}[name]))
		require.True(t, res.IsError, name)
		require.Contains(t, res.Content, "stopped", name)
	}
}

func TestR05SparseFile(t *testing.T) {
	b := setup(t, map[string]string{"zeros": "", "text": strings.Repeat("needle line\n", 1000)})
	for name, size := range map[string]int64{"zeros": 8 << 30, "text": 8 << 30} {
		require.NoError(t, os.Truncate(filepath.Join(b.dir, name), size))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := time.Now()
	b.fails("read_file", "zeros", "NUL bytes", "8589934592 bytes")
	got := b.ok("read_file", args{"path": "text", "limit": 5})
	require.Contains(t, got, "[lines 1-5 of a file of 8589934592 bytes, which is too large to count its lines; go on with offset=6]")
	_, noted := b.seen.Hash("text")
	require.False(t, noted) // not read whole, so not to be edited
	require.Contains(t, b.ok("grep", args{"pattern": "needle", "glob": "zeros"}), "1 binary file was not searched")
	got = b.ok("grep", args{"pattern": "needle", "glob": "text"})
	require.Contains(t, got, "[100 of 1000 matching lines shown, in 1 file;")
	require.Contains(t, got, "[1 file was searched up to the first NUL byte only]")
	require.Less(t, time.Since(begin), 5*time.Second)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(32<<20))
	b.fails("read_file", args{"path": "text", "offset": 5000}, "MiB into the file")
	require.Contains(t, b.ok("read_file", args{"path": "text", "offset": 1001}), "the end of the last line was not found within 256 MiB")
}

func TestR07LongLinesAndManyMatches(t *testing.T) {
	b := setup(t, map[string]string{"million": strings.Repeat("needle\n", 1_000_000)})
	one := append([]byte(`{"needle":"`), bytes.Repeat([]byte("x"), 40<<20)...)
	require.NoError(t, os.WriteFile(filepath.Join(b.dir, "one.json"), append(one, "\nneedle at the end\n"...), 0o644))
	begin := time.Now()
	got := b.ok("grep", args{"pattern": "needle"})
	require.Contains(t, got, "[100 shown of more than 1000000 matching lines, in the first 1 file; the rest was not searched:")
	got = b.ok("grep", args{"pattern": "needle", "glob": "one.json"})
	require.Contains(t, got, "[of 1 very long line only the first 1024 KiB were searched]")
	require.Contains(t, b.ok("grep", args{"pattern": "end", "glob": "one.json"}), "one.json:2: needle at the end")
	require.Contains(t, b.ok("grep", args{"pattern": ".*", "glob": "one.json"}), "one.json:2: needle")
	got = b.ok("read_file", "one.json")
	require.Contains(t, got, "[…line cut: 2000 of")
	require.Less(t, len(got), 3000)
	require.Less(t, time.Since(begin), 20*time.Second)
}

// The scan, with its buffer and its literals, finds exactly what a line by line
// search does.
func TestScanMatchesPlainSearch(t *testing.T) {
	word := rapid.SampledFrom([]string{"a", "B", "b", "ab", "\n", "\n", "\r\n", "é", "needle", " ", "x"})
	pattern := rapid.SampledFrom([]string{
		"a", "needle", "ab|x", "a+b", "^a", "b$", "(needle)+", "n.*e", `\bab`, "^$", "é", "a.?b", "(?:ab){2}", "needlea",
		"needle|ab|xa", "(?i:B)a", `a\b.`, `\B[a-c]+$`, `[^a]\s`, "x{2,}", "^(a|é)*$", "a(needle|x)b", `^\s*x`, "(?m)^b|a$", "ab$|^$", ".",
	})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(word, 0, 60).Draw(t, "text"), "")
		p := pattern.Draw(t, "pattern")
		fold := rapid.Bool().Draw(t, "fold")
		m, err := newMatcher(p, fold)
		if err != nil {
			t.Fatal(err)
		}
		size := rapid.IntRange(64, 200).Draw(t, "buffer")
		k := m.seeker()
		k.buf = make([]byte, size)
		got, err := k.scan(context.Background(), strings.NewReader(text), int64(len(text)), 1000)
		if err != nil {
			t.Fatal(err)
		}
		if got.long > 0 {
			return
		}
		if fold {
			p = "(?i)" + p
		}
		re, want := regexp.MustCompile(p), []hit(nil)
		lines := strings.Split(text, "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		for i, line := range lines {
			if line = strings.TrimSuffix(line, "\r"); re.MatchString(line) {
				want = append(want, hit{i + 1, line})
			}
		}
		if fmt.Sprint(want) != fmt.Sprint(got.hits) || len(want) != got.count {
			t.Fatalf("%q in %q: want %v, got %v", p, text, want, got.hits)
		}
	})
}

func TestGlobs(t *testing.T) {
	list, err := expand("a{b,c{d,e}}{f,g}")
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"abf", "abg", "acdf", "acdg", "acef", "aceg"}, list)
	for glob, want := range map[string]string{"{a": "{a", "a}": "a}", `\{a,b\}`: `\{a,b\}`, "{}": "", "}{a,b}": "}b }a"} {
		list, err := expand(glob)
		require.NoError(t, err)
		require.Equal(t, want, strings.Join(list, " "), glob)
	}
	_, err = expand(strings.Repeat("{a,b}", 20))
	require.ErrorContains(t, err, "too many")
	b := setup(t, map[string]string{"src/a.go": "x"})
	b.fails("grep", args{"pattern": "x", "glob": strings.Repeat("{a,b}", 20)}, "too many")
	require.Equal(t, "src/a.go:1: x", b.ok("grep", args{"pattern": "x", "glob": "src/"}))
	require.Equal(t, "src/a.go:1: x", b.ok("grep", args{"pattern": "x", "glob": "./src/*"}))
}
