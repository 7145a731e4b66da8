package term

import (
	"fmt"
	"strings"

	"github.com/coderrr/coderrr/internal/diff"
	"github.com/coderrr/coderrr/internal/inert"
	"github.com/coderrr/coderrr/internal/view"
)

// hunkText prints one hunk. Every line keeps its sign, with or without colour;
// what does not show is made visible: other line endings than the usual, spaces
// at the end of a changed line, hidden characters.
func (s Style) hunkText(h diff.Hunk, indent string) string {
	var b strings.Builder
	head := fmt.Sprintf("@@ -%d,%d +%d,%d @@", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
	b.WriteString(indent + s.cyan(head) + "\n")
	words := s.words(h)
	for i, l := range h.Lines {
		b.WriteString(indent + s.diffLine(l, words[i]) + "\n")
		if l.EOL == "" {
			b.WriteString(indent + s.dim(`\ no newline at the end of the file`) + "\n")
		}
	}
	return b.String()
}

// words finds, for each line of a hunk that has a counterpart, the words that
// changed. Only colour shows them: without it there is nothing to find.
func (s Style) words(h diff.Hunk) map[int][]diff.Range {
	if !s.Color {
		return nil
	}
	out := map[int][]diff.Range{}
	for _, p := range h.Pairs() {
		if p.Old < 0 || p.New < 0 || h.Lines[p.Old].Op != diff.Delete || h.Lines[p.New].Op != diff.Insert {
			continue
		}
		before, after := h.Lines[p.Old].Text, h.Lines[p.New].Text
		old, fresh := diff.Words(before, after)
		if !whole(old, before) || !whole(fresh, after) {
			out[p.Old], out[p.New] = old, fresh
		}
	}
	return out
}

// whole reports whether a line changed from one end to the other.
func whole(changed []diff.Range, text string) bool {
	return len(changed) == 1 && changed[0].Start == 0 && changed[0].End == len(text)
}

func (s Style) diffLine(l diff.Line, words []diff.Range) string {
	code := map[diff.Op]string{diff.Insert: "32", diff.Delete: "31"}[l.Op]
	if code == "" {
		return string(l.Op) + visible(l, 0, len(l.Text)) + ending(l)
	}
	if len(words) == 0 {
		return s.paint(code, string(l.Op)+visible(l, 0, len(l.Text))+ending(l))
	}
	var b strings.Builder
	b.WriteString(s.paint(code, string(l.Op)+visible(l, 0, words[0].Start)))
	for i, w := range words {
		next := len(l.Text)
		if i+1 < len(words) {
			next = words[i+1].Start
		}
		b.WriteString(s.paint(code+";7", visible(l, w.Start, w.End)) + s.paint(code, visible(l, w.End, next)))
	}
	return b.String() + s.paint(code, ending(l))
}

// visible is a part of a line with all that does not show made visible.
func visible(l diff.Line, from, to int) string {
	end := len(l.Text) // of what is not a space at the end of a changed line
	if l.Op != diff.Equal {
		end = len(strings.TrimRight(l.Text, " "))
	}
	text := l.Text[min(from, end):min(to, end)]
	text = inert.Terminal(strings.ReplaceAll(text, "\r", "␍"))
	dots := max(0, to-max(from, end))
	if l.Op == diff.Equal {
		dots = 0
	}
	return strings.ReplaceAll(text, "\t", "    ") + strings.Repeat("·", dots)
}

// ending shows a line end that is not the usual one.
func ending(l diff.Line) string {
	return strings.ReplaceAll(strings.TrimSuffix(l.EOL, "\n"), "\r", "␍")
}

// diffText prints a unified diff of at most max lines (0: all) and says how many
// it left out.
func (s Style) diffText(unified, indent string, max int) string {
	var b strings.Builder
	left := 0
	for _, f := range view.ParseUnified(unified) {
		for _, h := range f.Hunks {
			text := s.hunkText(h, indent)
			lines := strings.Count(text, "\n")
			if max > 0 && left+lines > max {
				keep := strings.SplitAfter(text, "\n")
				if left < max {
					b.WriteString(strings.Join(keep[:max-left], ""))
				}
			} else {
				b.WriteString(text)
			}
			left += lines
		}
	}
	if max > 0 && left > max {
		b.WriteString(indent + s.dim(fmt.Sprintf("(%d more lines; -v shows all)", left-max)) + "\n")
	}
	return b.String()
}
