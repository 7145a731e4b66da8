package search

import (
	"bytes"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// needle is a text that a matching line must hold. Where case is ignored it is in
// lower case and all ASCII.
type needle struct {
	text []byte
	fold bool
	at   int // of the byte that is looked for
}

// common lists bytes from the most to the least frequent in source code. The rest
// is rarer than all of these.
const common = " etaoinsrlcdpum\n\tfhg_.,()b\"=:;0y1-v/*w{}xk2'<>STACEINRLO3DP4j5qFMz[]8U6&97B#HGW+K$@VYX!|\\?JQZ%~^`"

// commonness is high for a byte that is everywhere and 0 for the rarest.
func commonness(b byte) int {
	at := strings.IndexByte(common, b)
	if at < 0 {
		return 0
	}
	return len(common) - at
}

func newNeedle(text string, fold bool) needle {
	n := needle{text: []byte(text), fold: fold}
	cost := func(i int) int {
		c := commonness(text[i])
		if fold && isLower(text[i]) {
			c = max(c, commonness(text[i]-'a'+'A')) + 8 // two are looked for
		}
		return c
	}
	for i := range text {
		if cost(i) < cost(n.at) {
			n.at = i
		}
	}
	return n
}

// weak: found so often that a search for it does not pay.
func (n needle) weak() bool {
	return len(n.text) == 0 || len(n.text) < 4 && commonness(n.text[n.at]) > len(common)-50
}

// next finds the needle at or after from, or returns len(data).
func (n *needle) next(data []byte, from int) int {
	if n.fold {
		return n.nextFold(data, from)
	}
	b, back, text := n.text[n.at], n.at, n.text
	misses := 0
	for i := from + back; i < len(data); {
		j := bytes.IndexByte(data[i:], b)
		if j < 0 {
			return len(data)
		}
		i += j
		if begin := i - back; begin+len(text) <= len(data) && string(data[begin:begin+len(text)]) == string(text) {
			return begin
		}
		i++
		if misses++; misses > 4+(i-from)/64 { // not rare here
			if j := bytes.Index(data[i-back:], text); j >= 0 {
				return i - back + j
			}
			return len(data)
		}
	}
	return len(data)
}

func (n *needle) nextFold(data []byte, from int) int {
	low := n.text[n.at]
	up := low
	if isLower(low) {
		up = low - 'a' + 'A'
	}
	find := func(b byte, i int) int {
		if i >= len(data) {
			return len(data)
		}
		if j := bytes.IndexByte(data[i:], b); j >= 0 {
			return i + j
		}
		return len(data)
	}
	i := from + n.at
	a, b := find(low, i), len(data)
	if up != low {
		b = find(up, i)
	}
	for {
		i = min(a, b)
		if i >= len(data) {
			return len(data)
		}
		if begin := i - n.at; begin+len(n.text) <= len(data) && foldEqual(data[begin:begin+len(n.text)], n.text) {
			return begin
		}
		if a == i {
			a = find(low, i+1)
		} else {
			b = find(up, i+1)
		}
	}
}

func foldEqual(data, lower []byte) bool {
	for i, b := range data {
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		if b != lower[i] {
			return false
		}
	}
	return true
}

func isLower(b byte) bool { return 'a' <= b && b <= 'z' }

// maxNeedles bounds the texts of an alternation that are looked for.
const maxNeedles = 6

// required returns needles of which every match holds at least one; none when
// there is nothing to look for.
func required(t *syntax.Regexp) []needle {
	switch t.Op {
	case syntax.OpLiteral:
		if n, ok := literal(t); ok {
			return []needle{n}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(t.Sub[0])
	case syntax.OpRepeat:
		if t.Min > 0 {
			return required(t.Sub[0])
		}
	case syntax.OpConcat:
		var best []needle
		for _, s := range t.Sub {
			if r := required(s); better(r, best) {
				best = r
			}
		}
		return best
	case syntax.OpAlternate:
		var all []needle
		for _, s := range t.Sub {
			r := required(s)
			if len(r) == 0 || len(all)+len(r) > maxNeedles {
				return nil
			}
			all = append(all, r...)
		}
		return all
	}
	return nil
}

func better(a, b []needle) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) > 0
	}
	return worth(a) > worth(b)
}

// worth is that of the worst needle: long and with a rare byte is good.
func worth(list []needle) int {
	least := 1 << 30
	for _, n := range list {
		least = min(least, 4*min(len(n.text), 8)-commonness(n.text[n.at]))
	}
	return least - 20*(len(list)-1)
}

// literal makes a needle. A line holds no line end. Ignoring case, letters that
// are folded to beyond ASCII (k and s have such relatives) cannot be in it: the
// longest run without is.
func literal(t *syntax.Regexp) (needle, bool) {
	fold := t.Flags&syntax.FoldCase != 0
	text := string(t.Rune)
	if !fold {
		ok := text != "" && !strings.Contains(text, "\n") && utf8.ValidString(text)
		if !ok {
			return needle{}, false
		}
		return newNeedle(text, false), true
	}
	best := ""
	odd := func(r rune) bool { return r >= utf8.RuneSelf || strings.ContainsRune("ksKS\n", r) }
	for _, run := range strings.FieldsFunc(text, odd) {
		if len(run) > len(best) {
			best = run
		}
	}
	if best == "" {
		return needle{}, false
	}
	return newNeedle(strings.ToLower(best), true), true
}
