package ignore

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMatchGolden(t *testing.T) {
	for _, c := range []struct {
		rules, path string
		dir, want   bool
	}{
		{"*.o", "a.o", false, true},
		{"*.o", "deep/er/a.o", false, true},
		{"*.o\n!keep.o", "keep.o", false, false},
		{"!keep.o\n*.o", "keep.o", false, true},
		{"/build", "build", true, true},
		{"/build", "sub/build", true, false},
		{"build/", "build", true, true},
		{"build/", "build", false, false},
		{"build/", "sub/build", true, true},
		{"doc/*.txt", "doc/a.txt", false, true},
		{"doc/*.txt", "doc/sub/a.txt", false, false},
		{"doc/*.txt", "x/doc/a.txt", false, false},
		{"**/foo", "foo", false, true},
		{"**/foo", "a/b/foo", false, true},
		{"foo/**", "foo", true, false},
		{"foo/**", "foo/a/b", false, true},
		{"a/**/b", "a/b", false, true},
		{"a/**/b", "a/x/y/b", false, true},
		{"a/**/b", "a/x/y/c", false, false},
		{"**/a/**/b", "q/a/w/b", false, true},
		{"**", "x", false, true},
		{"# comment", "# comment", false, false},
		{`\#x`, "#x", false, true},
		{`\!x`, "!x", false, true},
		{"x ", "x", false, true},
		{`x\ `, "x ", false, true},
		{"x\r", "x", false, true},
		{"\uFEFFx", "x", false, true},
		{"", "x", false, false},
		{"/", "x", true, false},
		{"[a-c]x", "bx", false, true},
		{"[!a-c]x", "bx", false, false},
		{"[^a-c]x", "dx", false, true},
		{"[]]", "]", false, true},
		{"[a", "[a", false, false},
		{"[[:digit:]]*", "7up", false, true},
		{"[[:upper:][:lower:]]", "q", false, true},
		{`[\]]`, "]", false, true},
		{"?", "é", false, true},
		{"a?c", "abc", false, true},
		{"a*b*c", "axxbyyc", false, true},
		{"a*b*c", "axxbyy", false, false},
		{`a\`, `a\`, false, false},
		{`a\*`, "a*", false, true},
		{`a\*`, "ab", false, false},
		{"node_modules", "web/node_modules", true, true},
		{"*", "", false, true},
		{"a**b", "axxb", false, true},
	} {
		got, _ := Parse([]byte(c.rules)).Match(c.path, c.dir)
		require.Equal(t, c.want, got, "%q on %q", c.rules, c.path)
	}
}

func TestNamedClasses(t *testing.T) {
	for class, c := range map[string][2]string{
		"lower": {"a", "A"}, "upper": {"A", "a"}, "alpha": {"q", "1"}, "digit": {"1", "a"}, "alnum": {"z", "-"}, "xdigit": {"f", "g"},
		"space": {" ", "a"}, "blank": {"\t", "a"}, "punct": {"!", "a"}, "cntrl": {"\x01", "a"}, "graph": {"a", " "}, "print": {" ", "\x01"},
	} {
		require.True(t, Glob("x[[:"+class+":]]y", "x"+c[0]+"y"), class)
		require.False(t, Glob("x[[:"+class+":]]y", "x"+c[1]+"y"), class)
	}
	require.False(t, Glob("[[:nonsense:]]", "a"))
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		glob, path string
		want       bool
	}{
		{"*.go", "a/b.go", true},
		{"src/**/*.go", "src/b.go", true},
		{"src/**/*.go", "src/x/y/b.go", true},
		{"src/**/*.go", "lib/b.go", false},
		{"/a.go", "a.go", true},
		{"/a.go", "x/a.go", false},
		{"", "a", false},
	} {
		require.Equal(t, c.want, Glob(c.glob, c.path), "%q %q", c.glob, c.path)
	}
}

func TestStack(t *testing.T) {
	s := NewStack()
	s.Base(Parse([]byte("excluded\nboth\n")))
	s.Push(".", Parse([]byte("*.log\n!both\n")), nil)
	require.True(t, s.Ignored("a.log", false))
	require.True(t, s.Ignored("excluded", false))
	require.False(t, s.Ignored("both", false)) // .gitignore outvotes info/exclude
	before := s.Push("sub", Parse([]byte("!keep.log\n/top\n")), Parse([]byte("keep2.log\n")))
	require.False(t, s.Ignored("sub/keep.log", false))
	require.True(t, s.Ignored("sub/other.log", false))
	require.True(t, s.Ignored("sub/top", false))
	require.False(t, s.Ignored("sub/deep/top", false))
	require.True(t, s.Ignored("sub/keep2.log", false))
	s.Pop(before)
	require.False(t, s.Ignored("sub/top", false))
	require.False(t, NewStack().Ignored("x", false))
}

// R07: patterns that make backtracking matchers run for ever.
func TestR07PathologicalPatterns(t *testing.T) {
	name := strings.Repeat("a", 4000)
	require.False(t, Glob(strings.Repeat("*a", 200)+"*b", name))
	require.False(t, Glob(strings.Repeat("**/a/", 200)+"b", strings.TrimSuffix(strings.Repeat("a/", 1000), "/")))
	require.True(t, Glob("a[", "a[") == false)
}

func FuzzGlob(f *testing.F) {
	for _, s := range []string{"*.go", "[", "[a", `\`, "**", "a/**/b", "[[:alpha:]]", "[a-", "[!]", "[\\"} {
		f.Add(s, "a/b.go")
	}
	f.Fuzz(func(t *testing.T, glob, rel string) {
		Glob(glob, rel)
		Parse([]byte(glob)).Match(rel, true)
	})
}
