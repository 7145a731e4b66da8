package view

import (
	"strconv"
	"strings"

	"github.com/coderrr/coderrr/internal/diff"
)

// FileDiff is the hunks of one file of a unified diff.
type FileDiff struct {
	Old, New string // as in the --- and +++ lines, "" without
	Hunks    []diff.Hunk
}

// ParseUnified reads a unified diff back. A text that is cut or damaged gives
// what could be read before.
func ParseUnified(text string) []FileDiff {
	var files []FileDiff
	r := unified{rest: text}
	for {
		line, ok := r.next()
		if !ok {
			return files
		}
		switch {
		case strings.HasPrefix(line, "--- "):
			files = append(files, FileDiff{Old: name(line[4:])})
		case strings.HasPrefix(line, "+++ ") && len(files) > 0:
			files[len(files)-1].New = name(line[4:])
		case strings.HasPrefix(line, "@@ "):
			h, ok := header(line)
			if !ok {
				continue
			}
			if len(files) == 0 {
				files = append(files, FileDiff{})
			}
			r.lines(&h)
			if len(h.Lines) > 0 {
				last := &files[len(files)-1]
				last.Hunks = append(last.Hunks, h)
			}
		}
	}
}

type unified struct{ rest string }

func (r *unified) next() (string, bool) {
	if r.rest == "" {
		return "", false
	}
	line, rest, _ := strings.Cut(r.rest, "\n")
	r.rest = rest
	return line, true
}

// lines reads the lines that the header of h counts.
func (r *unified) lines(h *diff.Hunk) {
	before, after := h.OldLines, h.NewLines
	for before > 0 || after > 0 || strings.HasPrefix(r.rest, `\`) {
		if r.rest == "" {
			break
		}
		if strings.HasPrefix(r.rest, `\`) {
			_, _ = r.next()
			if n := len(h.Lines); n > 0 {
				h.Lines[n-1].EOL = ""
			}
			continue
		}
		op := diff.Op(r.rest[0])
		switch {
		case op == diff.Equal && before > 0 && after > 0:
			before, after = before-1, after-1
		case op == diff.Delete && before > 0:
			before--
		case op == diff.Insert && after > 0:
			after--
		default:
			h.OldLines, h.NewLines = h.OldLines-before, h.NewLines-after
			return
		}
		line, _ := r.next()
		l := diff.Line{Op: op, Text: line[1:], EOL: "\n"}
		if cr, ok := strings.CutSuffix(l.Text, "\r"); ok {
			l.Text, l.EOL = cr, "\r\n"
		}
		h.Lines = append(h.Lines, l)
	}
	h.OldLines, h.NewLines = h.OldLines-before, h.NewLines-after
}

// header reads "@@ -1,2 +3,4 @@".
func header(line string) (diff.Hunk, bool) {
	f := strings.Fields(line)
	if len(f) < 4 || f[0] != "@@" {
		return diff.Hunk{}, false
	}
	oldStart, oldLines, ok1 := span(f[1], "-")
	newStart, newLines, ok2 := span(f[2], "+")
	h := diff.Hunk{OldStart: oldStart, OldLines: oldLines, NewStart: newStart, NewLines: newLines}
	return h, ok1 && ok2
}

func span(s, sign string) (start, count int, ok bool) {
	s, ok = strings.CutPrefix(s, sign)
	if !ok {
		return 0, 0, false
	}
	a, b, has := strings.Cut(s, ",")
	start, err := strconv.Atoi(a)
	if err != nil || start < 0 || start > 1<<30 {
		return 0, 0, false
	}
	if !has {
		return start, 1, true
	}
	count, err = strconv.Atoi(b)
	return start, count, err == nil && count >= 0 && count <= 1<<30
}

func name(s string) string {
	s, _, _ = strings.Cut(s, "\t")
	if s == "/dev/null" {
		return ""
	}
	if len(s) > 2 && (s[:2] == "a/" || s[:2] == "b/") {
		return s[2:]
	}
	return s
}
