package diff

import (
	"unicode"
	"unicode/utf8"
)

// maxWords bounds what is compared word by word; a longer line (minified code)
// counts as changed whole.
const maxWords = 4 << 10

// Range is a part of a string, in bytes: [Start, End).
type Range struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Words returns which parts of two lines differ, by words. Lines that have next
// to nothing in common are changed whole: speckled marks say less than one.
func Words(before, after string) (old, new []Range) {
	if before == after {
		return nil, nil
	}
	whole := func() ([]Range, []Range) { return wholeOf(before), wholeOf(after) }
	if len(before)+len(after) > maxWords || before == "" || after == "" {
		return whole()
	}
	a, b := words(before), words(after)
	as, bs, symbols := intern(a, b)
	edits := compare(as, bs, symbols)
	old, same := ranges(a, edits, func(e edit) (int, int) { return e.a0, e.a1 })
	new, _ = ranges(b, edits, func(e edit) (int, int) { return e.b0, e.b1 })
	if same*4 < min(len(before), len(after)) {
		return whole()
	}
	return old, new
}

func wholeOf(s string) []Range {
	if s == "" {
		return nil
	}
	return []Range{{0, len(s)}}
}

// ranges turns edits into byte ranges of one side and counts the bytes of words
// (not blanks) that are the same.
func ranges(tokens []string, edits []edit, of func(edit) (int, int)) (out []Range, same int) {
	at, k := 0, 0
	for _, e := range edits {
		from, to := of(e)
		for ; k < from; k++ {
			at += len(tokens[k])
			if !blank(tokens[k]) {
				same += len(tokens[k])
			}
		}
		r := Range{at, at}
		for ; k < to; k++ {
			at += len(tokens[k])
		}
		r.End = at
		if r.End > r.Start {
			out = append(out, r)
		}
	}
	for ; k < len(tokens); k++ {
		if !blank(tokens[k]) {
			same += len(tokens[k])
		}
	}
	return out, same
}

func blank(s string) bool { return s[0] == ' ' || s[0] == '\t' }

// words cuts a line into runs of letters and digits, runs of blanks, and single
// other characters.
func words(s string) []string {
	var out []string
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		kind := kindOf(r)
		for kind != other && n < len(s) {
			next, size := utf8.DecodeRuneInString(s[n:])
			if kindOf(next) != kind {
				break
			}
			n += size
		}
		out, s = append(out, s[:n]), s[n:]
	}
	return out
}

type runeKind int

const (
	other runeKind = iota
	letter
	space
)

func kindOf(r rune) runeKind {
	switch {
	case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
		return letter
	case r == ' ' || r == '\t':
		return space
	default:
		return other
	}
}

// Pair is one row of a side-by-side view: indexes into Hunk.Lines, -1 for none.
// An equal line has the same index on both sides.
type Pair struct{ Old, New int }

// Pairs lines a hunk up for a side-by-side view: each run of deleted lines beside
// the inserted lines that follow it.
func (h Hunk) Pairs() []Pair {
	out := make([]Pair, 0, len(h.Lines))
	for i := 0; i < len(h.Lines); {
		if h.Lines[i].Op == Equal {
			out = append(out, Pair{i, i})
			i++
			continue
		}
		del := i
		for i < len(h.Lines) && h.Lines[i].Op == Delete {
			i++
		}
		ins := i
		for i < len(h.Lines) && h.Lines[i].Op == Insert {
			i++
		}
		for k := 0; k < ins-del || k < i-ins; k++ {
			p := Pair{-1, -1}
			if k < ins-del {
				p.Old = del + k
			}
			if k < i-ins {
				p.New = ins + k
			}
			out = append(out, p)
		}
	}
	return out
}
