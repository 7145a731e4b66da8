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
	for _, l := range h.Lines {
		b.WriteString(indent + s.diffLine(l) + "\n")
		if l.EOL == "" {
			b.WriteString(indent + s.dim(`\ no newline at the end of the file`) + "\n")
		}
	}
	return b.String()
}

func (s Style) diffLine(l diff.Line) string {
	text := string(l.Op) + visible(l)
	switch l.Op {
	case diff.Insert:
		return s.green(text)
	case diff.Delete:
		return s.red(text)
	default:
		return text
	}
}

func visible(l diff.Line) string {
	text := inert.Terminal(strings.ReplaceAll(l.Text, "\r", "␍"))
	if l.Op != diff.Equal {
		bare := strings.TrimRight(text, " ")
		text = bare + strings.Repeat("·", len(text)-len(bare))
	}
	text = strings.ReplaceAll(text, "\t", "    ")
	return text + strings.ReplaceAll(strings.TrimSuffix(l.EOL, "\n"), "\r", "␍")
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
