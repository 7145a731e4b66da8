package line

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"github.com/coderrr/coderrr/internal/inert"
)

// minColumns is the least width that is laid out; narrower terminals wrap.
const minColumns = 8

// maxOptions is how many completions are listed.
const maxOptions = 12

// View is what to show: rows that fit the width and hold no control characters,
// and where the cursor is in them.
type View struct {
	Rows     []string
	Row, Col int
}

// View lays the text out behind a prompt, for a terminal of so many columns and
// rows. A text that is higher than the terminal is shown around the cursor.
func (e *Editor) View(prompt string, columns, rows int) View {
	l := &layout{room: max(minColumns, columns) - 1} // the last column wraps by itself
	text, at := e.text, e.at
	if s := e.search; s != nil {
		prompt, text, at = "search: "+string(s.query)+"  ", nil, 0
		if s.found {
			text = []rune(e.History.At(s.hit))
			at = len(text)
		}
	}
	l.put(strings.ReplaceAll(inert.Terminal(prompt), "\n", " "))
	for i, r := range text {
		if i == at {
			l.mark()
		}
		if r == '\n' {
			l.next()
			l.put(". ")
			continue
		}
		l.put(shown(r))
	}
	if at >= len(text) {
		l.mark()
	}
	l.next()
	v := View{Rows: l.rows, Row: l.row, Col: l.col}
	options := optionRows(e.options, l.room, rows)
	v.window(max(1, rows-1-len(options)))
	v.Rows = append(v.Rows, options...)
	return v
}

func shown(r rune) string {
	if r == '\t' {
		return "    "
	}
	return inert.Terminal(string(r))
}

// window keeps only so many rows, the cursor's among them.
func (v *View) window(n int) {
	if len(v.Rows) <= n {
		return
	}
	from := min(max(0, v.Row-n+1), len(v.Rows)-n)
	v.Rows = v.Rows[from : from+n]
	v.Row -= from
}

func optionRows(options []string, room, rows int) []string {
	most := max(0, min(maxOptions, rows-2))
	var out []string
	for i, o := range options {
		if i == most {
			break
		}
		if i == most-1 && len(options) > most {
			return append(out, "  ...")
		}
		out = append(out, cut("  "+strings.ReplaceAll(inert.Terminal(o), "\n", " "), room))
	}
	return out
}

func cut(text string, room int) string {
	used := 0
	for i, r := range text {
		if used += Columns(r); used > room {
			return text[:i]
		}
	}
	return text
}

// layout breaks text into rows at the width.
type layout struct {
	room     int
	rows     []string
	line     strings.Builder
	used     int
	row, col int // of the cursor
}

func (l *layout) put(text string) {
	for _, r := range text {
		n := Columns(r)
		if l.used+n > l.room {
			l.next()
		}
		l.line.WriteRune(r)
		l.used += n
	}
}

func (l *layout) mark() { l.row, l.col = len(l.rows), l.used }

func (l *layout) next() {
	l.rows = append(l.rows, l.line.String())
	l.line.Reset()
	l.used = 0
}

// Columns is how many columns a terminal gives a character: none to control and
// combining ones, two to wide ones.
func Columns(r rune) int {
	switch {
	case r < 0x20:
		return 0
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r >= 0x1F300 && r <= 0x1FAFF:
		return 2
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}
