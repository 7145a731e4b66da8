package fs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const program = "package main\n\nfunc main() {\n\tname := \"world\"\n\tfmt.Printf(\"hello %s\\n\", name)\n}\n\nfunc other() {\n\treturn\n}\n"

// TestNearest compares whole messages: they are what a model has to go on.
func TestNearest(t *testing.T) {
	for _, tc := range []struct{ name, file, old, new, want string }{
		{
			"blanks for a tab", program, "    name := \"world\"\n    fmt.Printf", "x",
			`The nearest text is lines 4-5:
     4  	name := "world"
     5  	fmt.Printf("hello %s\n", name)
First difference: line 4, column 1 (→ is a tab, · a blank)
  file:       →name := "world"
  old_string: ····name := "world"`,
		},
		{
			"another word", program, "func main() {\n\tname := \"wolrd\"\n", "x",
			`The nearest text is lines 3-4:
     3  func main() {
     4  	name := "world"
First difference: line 4, column 13 (→ is a tab, · a blank)
  file:       →name := "world"
  old_string: →name := "wolrd"`,
		},
		{
			"one line, a little off", program, `fmt.Printf("helo %s\n", nam)`, "x",
			`The nearest text is line 5:
     5  	fmt.Printf("hello %s\n", name)
First difference: line 5, column 1 (→ is a tab, · a blank)
  file:       →fmt.Printf("hello %s\n", name)
  old_string: fmt.Printf("helo %s\n", nam)`,
		},
		{
			"escaped twice", program, `func main() {\n\tname := \"world\"`, "x",
			`old_string is escaped twice: it holds a backslash and a letter (such as \n) where the file has the character itself. Send it with one level of escaping; check new_string too.
The nearest text is line 3:
     3  func main() {
First difference: line 3, column 14 (→ is a tab, · a blank)
  file:       func main() {
  old_string: func main() {\n\tname := \"world\"`,
		},
		{
			"lost a backslash", `re := "\\d+"` + "\n", `re := "\d+"`, "x",
			"old_string lost backslashes: the file has two where it has one. Send it with all of them.\n" +
				"The nearest text is line 1:\n     1  re := \"\\\\d+\"\n" +
				"First difference: line 1, column 9 (→ is a tab, · a blank)\n  file:       re := \"\\\\d+\"\n  old_string: re := \"\\d+\"",
		},
		{
			"line numbers", program, "     3\tfunc main() {\n     4\t\tname := \"world\"", "x",
			"old_string holds the line numbers that read_file shows; they are not part of the file. Leave them out.\n" +
				"The nearest text is lines 3-4:\n     3  func main() {\n     4  \tname := \"world\"\n" +
				"First difference: line 3, column 1 (→ is a tab, · a blank)\n  file:       func main() {\n  old_string: ·····3→func main() {",
		},
		{
			"HTML entities", "if a < b && c {\n", "if a &lt; b &amp;&amp; c {", "x",
			"old_string holds HTML entities (such as &lt;) where the file has the character itself.",
		},
		{
			"blank at the end", "a b c\nd\n", "a b c ", "x",
			"It is there without the blanks or line breaks at the end of old_string.\nThe nearest text is line 1:\n     1  a b c\n" +
				"First difference: line 1, column 6 (→ is a tab, · a blank)\n  file:       a b c\n  old_string: a b c·",
		},
		{
			"no final newline", "a\nlast line", "last line\n", "x",
			"It is there without the blanks or line breaks at the end of old_string.\nThe nearest text is line 2:\n     2  last line\n" +
				"The lines are the same; the difference is in the line breaks at the ends of old_string. Leave the last one out.",
		},
		{
			"done already", "value := compute(2)\n", "value := compute(1)", "value := compute(2)",
			"new_string is in the file already, at line 1: this edit seems to be done.\nThe nearest text is line 1:\n     1  value := compute(2)\n" +
				"First difference: line 1, column 18 (→ is a tab, · a blank)\n  file:       value := compute(2)\n  old_string: value := compute(1)",
		},
		{
			"characters that do not show", "price\u00a0= 1\nzero\u200bwidth\n", "price = 1", "x",
			"The nearest text is line 1:\n     1  price\u00a0= 1\n" +
				"First difference: line 1, column 6 (→ is a tab, · a blank)\n  file:       price⟨U+00A0⟩= 1\n  old_string: price = 1",
		},
		{
			"goes on where the file ends", "a long first line\n", "a long first line\nsecond", "x",
			"The nearest text is line 1:\n     1  a long first line\nThe file ends there; old_string goes on with: second",
		},
		{"nothing like it", "a\nb\n", "zebra crossing", "x", "Nothing in the file is like it. Read the file again and take the text from there."},
		{"empty file", "", "zebra", "x", "Nothing in the file is like it. Read the file again and take the text from there."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t)
			b.file("f", tc.file)
			res := b.call("edit_file", args{"path": "f", "old_string": tc.old, "new_string": tc.new})
			require.True(t, res.IsError)
			require.Equal(t, "old_string was not found in f. Nothing was written.\n"+tc.want, res.Content)
			require.Equal(t, tc.file, b.content("f"))
		})
	}
}

func TestNearestNamesOtherCandidates(t *testing.T) {
	block := "if err != nil {\n\treturn fmt.Errorf(\"read: %w\", err)\n}\n"
	b := newBench(t)
	b.file("f", block+"x\n"+block+"y\n"+block)
	b.fails("edit_file", args{"path": "f", "old_string": strings.ReplaceAll(block, "\t", "  "), "new_string": "z"},
		"The nearest text is lines 1-3", "Also similar: lines 5-7.", "Also similar: lines 9-11.")
}

// TestNearestIsBounded: whatever the file and the model send, the answer is short
// and comes soon.
func TestNearestIsBounded(t *testing.T) {
	b := newBench(t)
	b.file("minified", strings.Repeat("var a=1;", 20_000)+"\n")
	b.file("long", strings.Repeat("a line like any other in this file\n", 20_000))
	for _, name := range []string{"minified", "long"} {
		for _, old := range []string{
			strings.Repeat("var a=2;", 10_000), strings.Repeat("another line in this file\n", 2000), strings.Repeat("a  line like any other in this file\n", 5000),
		} {
			began := time.Now()
			res := b.call("edit_file", args{"path": name, "old_string": old, "new_string": "x"})
			require.True(t, res.IsError)
			require.Less(t, len(res.Content), 8000)
			require.Less(t, time.Since(began), 10*time.Second)
			t.Log(name, time.Since(began))
		}
	}
}
