package term

import (
	"strings"

	"github.com/coderrr/coderrr/internal/inert"
)

// Error is an error for a person: what happened, and what to do about it.
func (s Style) Error(text, remedy string) string {
	out := s.red("error:") + " " + s.lines(text)
	if remedy != "" {
		out += "\n" + s.bold("what to do:") + " " + s.lines(remedy)
	}
	return out
}

// Warning is a line that says what to mind.
func (s Style) Warning(text string) string { return s.yellow("warning:") + " " + s.lines(text) }

// lines keeps line breaks and indents what follows the first: an error may quote
// text of others.
func (s Style) lines(text string) string {
	return strings.ReplaceAll(strings.TrimRight(inert.Terminal(text), "\n"), "\n", "\n  ")
}

// Bold, Dim, Good and Bad emphasise our own words; the text must be inert.
func (s Style) Bold(text string) string { return s.bold(text) }

// Dim is for what matters less.
func (s Style) Dim(text string) string { return s.dim(text) }

// Good is for what went well.
func (s Style) Good(text string) string { return s.green(text) }

// Bad is for what did not.
func (s Style) Bad(text string) string { return s.red(text) }

// Table lays out untrusted cells in columns. The last column is cut to the width.
func (s Style) Table(rows [][]string) string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], columns(OneLine(cell)))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		used := 0
		for i, cell := range row {
			cell = OneLine(cell)
			if i == len(row)-1 {
				if s.Wrap {
					cell = s.cut(cell, max(10, s.width()-used))
				}
				b.WriteString(cell)
				continue
			}
			b.WriteString(cell + strings.Repeat(" ", widths[i]-columns(cell)+2))
			used += widths[i] + 2
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Diff prints a unified diff, all of it.
func (s Style) Diff(unified string) string { return s.diffText(unified, "", 0) }

// Text prints untrusted text, wrapped where the style says so.
func (s Style) Text(text, indent string) string { return s.wrapped(text, indent) }
