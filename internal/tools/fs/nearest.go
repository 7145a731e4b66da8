package fs

import (
	"fmt"
	"html"
	"regexp"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/coderrr/coderrr/internal/inert"
)

const (
	shownLines   = 12  // lines of the best candidate that are shown
	shownWidth   = 160 // characters of a line that are shown
	othersShown  = 2   // further candidates, by line number
	comparedLine = 300 // longest line, in bytes, that is compared fuzzily
	maxRepeats   = 8   // places of one line in old_string that count
	likeness     = 0.5 // from which on a line counts as similar
)

// nearest says where something like old_string is, and what the first difference
// is. It is bounded in size; the text is the file's own, with what does not show
// made visible.
func nearest(text string, in editArgs) string {
	var out strings.Builder
	for _, hint := range hints(text, in) {
		out.WriteString(hint + "\n")
	}
	file, old := lines(text), lines(in.Old)
	starts := candidates(file, old)
	if len(starts) == 0 {
		if out.Len() == 0 {
			out.WriteString("Nothing in the file is like it. Read the file again and take the text from there.\n")
		}
		return strings.TrimRight(out.String(), "\n")
	}
	best := starts[0]
	end := min(len(file), best+len(old))
	fmt.Fprintf(&out, "The nearest text is %s:\n", span(best, end))
	for i := best; i < min(end, best+shownLines); i++ {
		fmt.Fprintf(&out, "%6d  %s\n", i+1, shorten(visible(file[i])))
	}
	if end-best > shownLines {
		fmt.Fprintf(&out, "        ... %d more lines\n", end-best-shownLines)
	}
	out.WriteString(firstDifference(file, old, best))
	for _, s := range starts[1:] {
		fmt.Fprintf(&out, "\nAlso similar: %s.", span(s, min(len(file), s+len(old))))
	}
	return out.String()
}

// lines cuts a text without its line endings.
func lines(text string) []string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func span(from, to int) string {
	if to-from <= 1 {
		return fmt.Sprintf("line %d", from+1)
	}
	return fmt.Sprintf("lines %d-%d", from+1, to)
}

func shorten(s string) string {
	if utf8.RuneCountInString(s) <= shownWidth {
		return s
	}
	return string([]rune(s)[:shownWidth]) + "..."
}

// visible marks characters that do not show, and nothing else.
func visible(s string) string {
	s, _ = inert.Visible(s)
	return s
}

// candidates are the best places for old in the file, best first: windows that
// share most lines with it, blanks aside, or else the line most like its longest.
func candidates(file, old []string) []int {
	votes := map[int]float64{}
	where := map[string][]int{}
	for j, l := range old {
		if key := squeeze(l); key != "" && len(where[key]) < maxRepeats {
			where[key] = append(where[key], j)
		}
	}
	for i, l := range file {
		for _, j := range where[squeeze(l)] {
			votes[i-j] += 1 + float64(min(len(l), 40))/40
		}
	}
	if len(votes) == 0 {
		if start, ok := similar(file, old); ok {
			return []int{start}
		}
		return nil
	}
	starts := make([]int, 0, len(votes))
	for s := range votes {
		starts = append(starts, s)
	}
	sort.Slice(starts, func(a, b int) bool {
		if votes[starts[a]] != votes[starts[b]] {
			return votes[starts[a]] > votes[starts[b]]
		}
		return starts[a] < starts[b]
	})
	best := []int{max(0, starts[0])}
	for _, s := range starts[1:] {
		if len(best) > othersShown || votes[s] < votes[starts[0]]/2 {
			break
		}
		if s = max(0, s); apart(best, s, len(old)) {
			best = append(best, s)
		}
	}
	return best
}

func apart(starts []int, s, size int) bool {
	for _, other := range starts {
		if s < other+size && other < s+size {
			return false
		}
	}
	return true
}

// squeeze drops blanks, which is where models go wrong most.
func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

// similar finds the line most like the longest of old.
func similar(file, old []string) (start int, ok bool) {
	longest := 0
	for j, l := range old {
		if len(l) > len(old[longest]) && len(l) <= comparedLine || len(old[longest]) > comparedLine {
			longest = j
		}
	}
	want := bigrams(old[longest])
	best := likeness
	for i, l := range file {
		if len(l) > comparedLine || len(l)*3 < len(old[longest]) || len(old[longest])*3 < len(l) {
			continue
		}
		if v := dice(want, l); v > best {
			best, start, ok = v, max(0, i-longest), true
		}
	}
	return start, ok
}

func bigrams(s string) map[string]int {
	out := map[string]int{}
	for s = squeeze(s); len(s) >= 2; s = s[1:] {
		out[s[:2]]++
	}
	return out
}

// dice is how much two lines have in common, from 0 to 1 (Dice's coefficient of
// their pairs of bytes).
func dice(want map[string]int, s string) float64 {
	have, common, total := bigrams(s), 0, 0
	for k, n := range have {
		common += min(n, want[k])
		total += n
	}
	for _, n := range want {
		total += n
	}
	if total == 0 {
		return 0
	}
	return 2 * float64(common) / float64(total)
}

// firstDifference compares line by line from the start of the best candidate.
func firstDifference(file, old []string, start int) string {
	for j, want := range old {
		if start+j >= len(file) {
			return fmt.Sprintf("The file ends there; old_string goes on with: %s", shorten(blanks(want)))
		}
		have := file[start+j]
		if have == want {
			continue
		}
		column := 1
		for column <= min(len(have), len(want)) && have[column-1] == want[column-1] {
			column++
		}
		for column > 1 && column <= len(have) && !utf8.RuneStart(have[column-1]) {
			column--
		}
		at := 1 + utf8.RuneCountInString(have[:min(column-1, len(have))])
		return fmt.Sprintf("First difference: line %d, column %d (→ is a tab, · a blank)\n  file:       %s\n  old_string: %s",
			start+j+1, at, shorten(blanks(have)), shorten(blanks(want)))
	}
	return "The lines are the same; the difference is in the line breaks at the ends of old_string. Leave the last one out."
}

// blanks makes tabs and the blanks at both ends of a line visible, and every
// character that does not show.
func blanks(s string) string {
	body := strings.TrimLeft(s, " \t")
	lead := s[:len(s)-len(body)]
	text := strings.TrimRight(body, " \t")
	tail := body[len(text):]
	mark := strings.NewReplacer("\t", "→", " ", "·")
	return mark.Replace(lead) + strings.ReplaceAll(visible(strings.ReplaceAll(text, "\u00a0", "⟨U+00A0⟩")), "\t", "→") + mark.Replace(tail)
}

var numbered = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^[ ]*\d+(\t|[ ]?[|:→] ?|  )`) })

// unescape takes away one level of escaping.
func unescape(s string) string {
	return strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\r`, "\r", `\"`, `"`, `\'`, `'`, `\\`, `\`).Replace(s)
}

// hints recognises the usual mistakes: each is tried, and named only if the text
// would then be found.
func hints(text string, in editArgs) []string {
	flat := strings.ReplaceAll(text, "\r\n", "\n")
	found := func(s string) bool { return s != in.Old && s != "" && strings.Contains(flat, s) }
	var out []string
	if found(unescape(in.Old)) {
		out = append(out, `old_string is escaped twice: it holds a backslash and a letter (such as \n) where the file has the character itself. Send it with one level of escaping; check new_string too.`)
	}
	if found(strings.ReplaceAll(in.Old, `\`, `\\`)) {
		out = append(out, `old_string lost backslashes: the file has two where it has one. Send it with all of them.`)
	}
	if found(html.UnescapeString(in.Old)) {
		out = append(out, `old_string holds HTML entities (such as &lt;) where the file has the character itself.`)
	}
	if found(numbered().ReplaceAllString(in.Old, "")) {
		out = append(out, "old_string holds the line numbers that read_file shows; they are not part of the file. Leave them out.")
	}
	if found(strings.TrimRight(in.Old, " \t\r\n")) {
		out = append(out, "It is there without the blanks or line breaks at the end of old_string.")
	}
	if new := strings.ReplaceAll(in.New, "\r\n", "\n"); strings.TrimSpace(new) != "" && len(new) > 8 && strings.Contains(flat, new) {
		i := strings.Index(flat, new)
		out = append(out, fmt.Sprintf("new_string is in the file already, at line %d: this edit seems to be done.", 1+strings.Count(flat[:i], "\n")))
	}
	return out
}
