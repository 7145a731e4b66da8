package term

import (
	"io"
	"strings"

	"github.com/coderrr/coderrr/internal/inert"
)

// flow writes streamed text. It breaks long lines at spaces, leaves code blocks
// as they are, and holds back only the word that is still coming in, and a table.
type flow struct {
	w      io.Writer
	style  Style
	indent string
	column int    // where the next character goes, without the indent
	word   string // not yet printed
	gap    string // spaces before word
	cr     bool   // a carriage return whose line feed may follow
	line   string // the line so far, to see fences
	code   bool
	any    bool // something was written since the last end
	err    error

	markdown bool // paint what is markdown
	md       marks
	table    table
}

// write adds untrusted text.
func (f *flow) write(text string) {
	if f.cr {
		text, f.cr = "\r"+text, false
	}
	if strings.HasSuffix(text, "\r") {
		text, f.cr = text[:len(text)-1], true
	}
	for _, r := range inert.Terminal(text) {
		if f.tabular(r) {
			continue
		}
		switch r {
		case '\n':
			f.flushWord()
			f.newline()
		case ' ', '\t':
			f.flushWord()
			if r == '\t' {
				f.gap += "    "
			} else {
				f.gap += " "
			}
			f.line += string(r)
		default:
			f.word += string(r)
			f.line += string(r)
			if columns(f.word) >= f.room() || !f.style.Wrap {
				f.flushWord()
			}
		}
	}
}

func (f *flow) room() int { return max(1, f.style.width()-columns(f.indent)-1) }

func (f *flow) flushWord() {
	if f.word == "" {
		return
	}
	if f.markdown && !f.code {
		f.md.see(f.gap, f.word)
	}
	if f.column+columns(f.gap)+columns(f.word) > f.room() && f.column > 0 && f.style.Wrap && !f.code && !f.md.table {
		f.put("\n")
		f.column, f.gap = 0, strings.Repeat(" ", min(f.md.hang, f.room()/2))
	}
	if f.column == 0 {
		f.put(f.indent)
	}
	f.put(f.gap + f.painted(f.word))
	f.column += columns(f.gap) + columns(f.word)
	f.gap, f.word = "", ""
}

func (f *flow) newline() {
	if strings.HasPrefix(strings.TrimSpace(f.line), "```") {
		f.code = !f.code
	}
	f.put("\n")
	f.column, f.gap, f.line, f.md = 0, "", "", marks{}
}

// end finishes a block: the cursor is then at the start of a line.
func (f *flow) end() {
	if f.cr {
		f.cr = false
		f.word += inert.Terminal("\r")
	}
	f.flushTable()
	f.flushWord()
	if f.column > 0 {
		f.put("\n")
	}
	*f = flow{w: f.w, style: f.style, indent: f.indent, err: f.err, markdown: f.markdown}
}

func (f *flow) put(s string) {
	if s == "" || f.err != nil {
		return
	}
	f.any = true
	_, f.err = io.WriteString(f.w, s)
}

// wrapped returns whole untrusted text, wrapped and indented, with a line feed at
// its end.
func (s Style) wrapped(text, indent string) string {
	var b strings.Builder
	f := flow{w: &b, style: s, indent: indent}
	f.write(strings.TrimRight(text, "\r\n"))
	f.end()
	return b.String()
}
