package web

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"

	"github.com/coderrr/coderrr/internal/diff"
	"github.com/coderrr/coderrr/internal/inert"
)

// Limits of what a diff shows at once; the rest is folded, never left out.
const (
	foldLines = 400
	moreLines = 200 // at once, of the rest
	foldBytes = 2000
)

// marks are the word ranges to highlight of one line.
type marks []diff.Range

// pairs finds the lines to compare word by word: in a run of deletions and as many
// insertions, line n with line n. It holds both ways.
func pairs(h diff.Hunk) map[int]int {
	out := map[int]int{}
	for i := 0; i < len(h.Lines); {
		if h.Lines[i].Op != diff.Delete {
			i++
			continue
		}
		d := i
		for i < len(h.Lines) && h.Lines[i].Op == diff.Delete {
			i++
		}
		a := i
		for i < len(h.Lines) && h.Lines[i].Op == diff.Insert {
			i++
		}
		for k := range min(a-d, i-a) {
			out[d+k], out[a+k] = a+k, d+k
		}
	}
	return out
}

// changedWords are the words of line i that its partner does not have.
func changedWords(h diff.Hunk, i int, partner map[int]int) marks {
	j, ok := partner[i]
	if !ok {
		return nil
	}
	d, a := min(i, j), max(i, j)
	before, after := h.Lines[d].Text, h.Lines[a].Text
	old, fresh := diff.Words(before, after)
	switch {
	case whole(old, before) || whole(fresh, after):
		return nil
	case i == d:
		return old
	default:
		return fresh
	}
}

func whole(r []diff.Range, s string) bool {
	return len(r) == 1 && r[0].Start == 0 && r[0].End == len(s) && s != ""
}

// hunkHTML writes the lines of a hunk; what is over the limit is folded.
func hunkHTML(h diff.Hunk, file string, room int) string {
	rest := len(h.Lines) - room
	if rest <= 20 {
		return rowsHTML(h, file, 0, len(h.Lines))
	}
	return rowsHTML(h, file, 0, room) +
		fmt.Sprintf(`<details class="rest"><summary>Show %d more lines</summary><div class="code">`, rest) +
		rowsHTML(h, file, room, len(h.Lines)) + `</div></details>`
}

// partLines is how many lines are laid out together: a long hunk is drawn in parts,
// and only those that are near the window cost time.
const partLines = 100

// rowsHTML writes the lines of a hunk from one up to another.
func rowsHTML(h diff.Hunk, file string, from, to int) string {
	var b strings.Builder
	g, partner, spaces := languageOf(file), pairs(h), map[int]int{}
	for d, a := range diff.Spaces(h) {
		spaces[d], spaces[a] = 0, d
	}
	number := make([]int, len(h.Lines)) // old numbers
	oldAt, newAt := h.OldStart, h.NewStart
	parts := to-from > partLines
	for i, l := range h.Lines[:to] {
		number[i] = oldAt
		if i >= from {
			if parts && (i-from)%partLines == 0 {
				b.WriteString(strings.Repeat(`</div>`, min(1, i-from)) + `<div class="part">`)
			}
			r := row{Line: l, old: oldAt, new: newAt, marks: changedWords(h, i, partner)}
			if d, ok := spaces[i]; ok {
				r.space, r.was = true, number[d]
			}
			r.html(&b, g)
		}
		if l.Op != diff.Insert {
			oldAt++
		}
		if l.Op != diff.Delete {
			newAt++
		}
	}
	if parts {
		b.WriteString(`</div>`)
	}
	return b.String()
}

// row is one line with its numbers.
type row struct {
	diff.Line
	old, new int
	marks    marks
	// space: only white space tells the line and its partner, number was, apart.
	space bool
	was   int
}

func (r row) html(b *strings.Builder, g language) {
	class, sign, before, after := "l", " ", fmt.Sprint(r.old), fmt.Sprint(r.new)
	switch r.Op {
	case diff.Insert:
		class, sign, before = "l a", "+", ""
	case diff.Delete:
		class, sign, after = "l d", "−", ""
	}
	was := ""
	if r.space {
		class += " w"
		if r.Op == diff.Insert {
			was = fmt.Sprintf(` data-was="%d"`, r.was)
		}
	}
	fmt.Fprintf(b, `<div class="%s"><span class="no"%s>%s</span><span class="no">%s</span><span class="s">%s</span><code>`, class, was, before, after, sign)
	text, rest := r.Text, ""
	if len(text) > foldBytes {
		cut := foldBytes
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text, rest = text[:cut], text[cut:]
	}
	runs(b, text, g.lex(text), r.marks, r.Op != diff.Equal)
	if rest != "" {
		fmt.Fprintf(b, `<details class="rest"><summary>%d more characters on this line</summary>`, utf8.RuneCountInString(rest))
		visible(b, rest)
		b.WriteString(`</details>`)
	}
	b.WriteString(eol(r.Line))
	b.WriteString("</code></div>")
}

// eol shows a line ending that is not the usual one.
func eol(l diff.Line) string {
	switch l.EOL {
	case "\n":
		return ""
	case "\r\n":
		return `<i class="eol" title="carriage return and line feed">␍␊</i>`
	case "\r":
		return `<i class="eol" title="carriage return">␍</i>`
	default:
		if l.Op == diff.Equal {
			return ""
		}
		return `<i class="eol">no newline at end of file</i>`
	}
}

// runs writes a line in pieces: syntax colour, changed words, blanks at the end.
func runs(b *strings.Builder, s string, tokens []token, m marks, changed bool) {
	end := len(s)
	if changed {
		end = len(strings.TrimRight(s, " \t"))
	}
	for i := 0; i < end; {
		stop := end
		class := ""
		for len(tokens) > 0 && tokens[0].end <= i {
			tokens = tokens[1:]
		}
		if len(tokens) > 0 {
			if t := tokens[0]; t.start <= i {
				class, stop = t.class, min(stop, t.end)
			} else {
				stop = min(stop, t.start)
			}
		}
		for len(m) > 0 && m[0].End <= i {
			m = m[1:]
		}
		marked := false
		if len(m) > 0 {
			if m[0].Start <= i {
				marked, stop = true, min(stop, m[0].End)
			} else {
				stop = min(stop, m[0].Start)
			}
		}
		piece(b, s[i:stop], class, marked)
		i = stop
	}
	if end < len(s) {
		b.WriteString(`<i class="ws" title="blanks at the end of the line">`)
		b.WriteString(strings.NewReplacer(" ", "·", "\t", "→").Replace(s[end:]))
		b.WriteString(`</i>`)
	}
}

func piece(b *strings.Builder, s, class string, marked bool) {
	if marked {
		b.WriteString("<mark>")
	}
	if class != "" {
		b.WriteString(`<span class="` + class + `">`)
	}
	visible(b, s)
	if class != "" {
		b.WriteString("</span>")
	}
	if marked {
		b.WriteString("</mark>")
	}
}

// visible writes text with its hidden characters as marked code points.
func visible(b *strings.Builder, s string) {
	if inert.Hidden(s) == 0 {
		b.WriteString(html.EscapeString(s))
		return
	}
	for i := 0; i < len(s); {
		_, size := utf8.DecodeRuneInString(s[i:])
		out, hidden := inert.Visible(s[i : i+size])
		if hidden > 0 {
			b.WriteString(`<b class="hid">` + html.EscapeString(out) + `</b>`)
		} else {
			b.WriteString(html.EscapeString(out))
		}
		i += size
	}
}

// show is a text for a place that takes text only: hidden characters are marked.
func show(s string) string {
	out, _ := inert.Visible(s)
	return out
}

// hidden counts the hidden characters of what hunks put in.
func hidden(hunks []diff.Hunk) int {
	n := 0
	for _, h := range hunks {
		for _, l := range h.Lines {
			if l.Op == diff.Insert {
				n += inert.Hidden(l.Text)
			}
		}
	}
	return n
}

// lineEnds says in words how the line endings change, "" when they do not.
func lineEnds(hunks []diff.Hunk) string {
	count := map[diff.Op]map[string]int{diff.Insert: {}, diff.Delete: {}}
	for _, h := range hunks {
		for _, l := range h.Lines {
			if c := count[l.Op]; c != nil {
				c[l.EOL]++
			}
		}
	}
	ins, del := count[diff.Insert], count[diff.Delete]
	switch {
	case del["\n"] > 0 && ins["\r\n"] > 0 && del["\r\n"] == 0:
		return "line ends change: LF → CRLF"
	case del["\r\n"] > 0 && ins["\n"] > 0 && ins["\r\n"] == 0:
		return "line ends change: CRLF → LF"
	default:
		return ""
	}
}

// squares is the five-square summary of a change: p, m or nothing.
func squares(added, removed int) []string {
	out := make([]string, 5)
	total := added + removed
	if total == 0 {
		return out
	}
	n := min(5, total)
	plus := (added*n + total/2) / total
	if added > 0 && plus == 0 {
		plus = 1
	}
	if removed > 0 && plus == n {
		plus = n - 1
	}
	for i := range n {
		if i < plus {
			out[i] = "p"
		} else {
			out[i] = "m"
		}
	}
	return out
}
