package diff

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// noNewline follows a line that ends its file without a line ending.
const noNewline = "\n\\ No newline at end of file\n"

// Unified renders hunks as a unified diff of at most max bytes (0: no limit),
// cut at a line; truncated says whether something is missing. No hunks give no
// text. The output is what patch and git apply read, with one exception: the
// lines of a file that ends them with lone CRs are written with CR LF.
func Unified(oldName, newName string, hunks []Hunk, max int) (text string, truncated bool) {
	if len(hunks) == 0 {
		return "", false
	}
	var out strings.Builder
	put := func(s string) bool {
		if max > 0 && out.Len()+len(s) > max {
			return false
		}
		out.WriteString(s)
		return true
	}
	if !put("--- " + name(oldName) + "\n+++ " + name(newName) + "\n") {
		return "", true
	}
	for _, h := range hunks {
		// A header alone says nothing: it goes in with its first line.
		lead := "@@ -" + span(h.OldStart, h.OldLines) + " +" + span(h.NewStart, h.NewLines) + " @@\n"
		for _, l := range h.Lines {
			if !put(lead + l.unified()) {
				return out.String(), true
			}
			lead = ""
		}
	}
	return out.String(), false
}

func (l Line) unified() string {
	switch l.EOL {
	case "":
		return string(l.Op) + l.Text + noNewline
	case "\r":
		return string(l.Op) + l.Text + "\r\n"
	default:
		return string(l.Op) + l.Text + l.EOL
	}
}

// span is a range of lines as diff -u writes it: the count is left out when 1.
func span(start, lines int) string {
	if lines == 1 {
		return strconv.Itoa(start)
	}
	return fmt.Sprintf("%d,%d", start, lines)
}

// name quotes a file name as git does when it could be taken for something else:
// a line break in it would otherwise begin a line of the diff.
func name(s string) string {
	plain := utf8.ValidString(s)
	for _, r := range s {
		if r < ' ' || r == 0x7f || r == '"' || r == '\\' {
			plain = false
		}
	}
	if !plain {
		return quote(s)
	}
	if strings.Contains(s, " ") {
		return s + "\t" // git's mark for where a name with blanks ends
	}
	return s
}

func quote(s string) string {
	var out strings.Builder
	out.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			out.WriteByte('\\')
			out.WriteByte(c)
		case c == '\n':
			out.WriteString(`\n`)
		case c == '\t':
			out.WriteString(`\t`)
		case c == '\r':
			out.WriteString(`\r`)
		case c < ' ' || c == 0x7f || c >= 0x80:
			fmt.Fprintf(&out, `\%03o`, c)
		default:
			out.WriteByte(c)
		}
	}
	out.WriteByte('"')
	return out.String()
}
