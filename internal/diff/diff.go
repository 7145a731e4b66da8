// Package diff computes line differences as data: hunks, statistics, unified
// text, and the result of accepting some hunks. No colours, no HTML.
package diff

// Op is what a line does.
type Op byte

// The operations of a line, as unified diffs print them.
const (
	Equal  Op = ' '
	Insert Op = '+'
	Delete Op = '-'
)

// Line is one line of a hunk. Text has no line ending; EOL is the ending it has
// in its file ("\n", "\r\n", "\r" or "" at the end of a file without one).
type Line struct {
	Op   Op     `json:"op"`
	Text string `json:"text"`
	EOL  string `json:"eol"`
}

// Hunk is one group of changed lines with its context. Line numbers start at 1;
// a side without lines has the number of the line before it, as diff -u has.
type Hunk struct {
	OldStart int    `json:"old_start"`
	OldLines int    `json:"old_lines"`
	NewStart int    `json:"new_start"`
	NewLines int    `json:"new_lines"`
	Lines    []Line `json:"lines"`
}
