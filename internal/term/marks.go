package term

import (
	"strings"
)

// marks is what is known of the markdown of one line. Text that streams in is
// printed word by word and never taken back, so it is only painted: every letter
// stays where it is, also where a mark is none after all.
type marks struct {
	words   int // of the line so far
	hang    int // columns that the rest of a list item is indented
	heading bool
	quote   bool
	fence   bool
	table   bool // not to be broken
	bold    bool
	span    bool // in `code`
}

// see looks at the first word of a line.
func (m *marks) see(gap, word string) {
	if m.words++; m.words > 1 {
		return
	}
	switch {
	case strings.HasPrefix(word, "```"), strings.HasPrefix(word, "~~~"):
		m.fence = true
	case strings.HasPrefix(word, "|"):
		m.table = true
	case word == ">":
		m.quote, m.hang = true, 0
	case len(word) <= 6 && strings.Trim(word, "#") == "":
		m.heading = true
	case word == "-", word == "*", word == "+", numbered(word):
		m.hang = columns(gap) + columns(word) + 1
	}
}

func numbered(word string) bool {
	digits := strings.TrimRight(word, ".)")
	return len(word)-len(digits) == 1 && digits != "" && len(digits) <= 9 && strings.Trim(digits, "0123456789") == ""
}

// painted is a word of a line in the colours of its markdown.
func (f *flow) painted(word string) string {
	s, m := f.style, &f.md
	switch {
	case !f.markdown || !s.Color:
		return word
	case f.code && !strings.HasPrefix(word, "```"):
		return s.cyan(word)
	case m.heading:
		return s.bold(word)
	case m.quote, m.fence, f.code:
		return s.dim(word)
	}
	var b strings.Builder
	for word != "" {
		switch {
		case strings.HasPrefix(word, "`"):
			m.span = !m.span
			b.WriteString(s.dim("`"))
			word = word[1:]
		case strings.HasPrefix(word, "**") && !m.span:
			m.bold = !m.bold
			b.WriteString(s.dim("**"))
			word = word[2:]
		default:
			end := nextMark(word, m.span)
			b.WriteString(f.inline(word[:end]))
			word = word[end:]
		}
	}
	return b.String()
}

func (f *flow) inline(text string) string {
	switch {
	case f.md.span:
		return f.style.cyan(text)
	case f.md.bold:
		return f.style.bold(text)
	default:
		return text
	}
}

// nextMark is where the next mark of a word begins, its end if there is none.
func nextMark(word string, span bool) int {
	end := len(word)
	if i := strings.Index(word, "`"); i >= 0 {
		end = i
	}
	if i := strings.Index(word[:end], "**"); i >= 0 && !span {
		end = i
	}
	return end
}
