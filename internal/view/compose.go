package view

import "github.com/coderrr/coderrr/internal/diff"

// contextLines is how much unchanged text a hunk keeps around a change.
const contextLines = 3

// step is a piece of an edit script: n lines that are kept and whose text is
// unknown, or one line whose text is known.
type step struct {
	gap  int // > 0: unknown lines that are kept
	line diff.Line
}

// Compose returns the hunks that do first and then second in one go: first turns
// version 0 of a file into version 1, second that into version 2. Lines that
// neither shows stay unknown, so hunks meet only where they touch. ok is false
// when second does not start from what first made.
func Compose(first, second []diff.Hunk) (sum []diff.Hunk, ok bool) {
	if len(first) == 0 {
		return second, true
	}
	if len(second) == 0 {
		return first, true
	}
	steps, ok := merge(script(first), script(second))
	if !ok {
		return nil, false
	}
	return hunks(tidy(steps)), true
}

// script is hunks as steps from the first line on. The rest of the file is left
// out. The old side places the hunks, because a script runs over the whole file.
func script(hs []diff.Hunk) []step {
	var out []step
	at := 1
	for _, h := range hs {
		start := h.OldStart
		if h.OldLines == 0 {
			start++ // a side without lines has the number of the line before
		}
		if start > at {
			out = append(out, step{gap: start - at})
			at = start
		}
		for _, l := range h.Lines {
			out = append(out, step{line: l})
			if l.Op != diff.Insert {
				at++
			}
		}
	}
	return out
}

// merge walks version 1, which a makes and b reads.
func merge(a, b []step) (out []step, ok bool) {
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(a) > 0 && a[0].gap == 0 && a[0].line.Op == diff.Delete:
			out, a = append(out, a[0]), a[1:]
		case len(b) > 0 && b[0].gap == 0 && b[0].line.Op == diff.Insert:
			out, b = append(out, b[0]), b[1:]
		case len(a) == 0:
			out, b = append(out, b[0]), b[1:]
		case len(b) == 0:
			out, a = append(out, a[0]), a[1:]
		default:
			if a[0].gap == 0 && b[0].gap == 0 && !same(a[0], b[0]) {
				return nil, false
			}
			a, b, out = meet(a, b, out)
		}
	}
	return out, true
}

// meet takes what both scripts say about the next line of version 1, or about as
// many unknown ones as they share.
func meet(a, b, out []step) (restA, restB, more []step) {
	x, y := a[0], b[0]
	switch {
	case x.gap > 0 && y.gap > 0:
		n := min(x.gap, y.gap)
		return take(a, n), take(b, n), append(out, step{gap: n})
	case x.gap > 0:
		return take(a, 1), b[1:], append(out, y)
	case y.gap > 0:
		return a[1:], take(b, 1), append(out, x)
	case y.line.Op == diff.Equal:
		return a[1:], b[1:], append(out, x)
	case x.line.Op == diff.Equal: // b deletes what a kept
		return a[1:], b[1:], append(out, y)
	default: // b deletes what a inserted
		return a[1:], b[1:], out
	}
}

func take(s []step, n int) []step {
	if s[0].gap == n {
		return s[1:]
	}
	s[0].gap -= n // a script belongs to the merge that reads it
	return s
}

// tidy puts deletions before insertions in each run of changes, and turns lines
// that were taken away and put back into kept ones.
func tidy(in []step) []step {
	var out []step
	var dels, ins []step
	flush := func() {
		for len(dels) > 0 && len(ins) > 0 && same(dels[0], ins[0]) {
			out = append(out, kept(dels[0]))
			dels, ins = dels[1:], ins[1:]
		}
		var tail []step
		for len(dels) > 0 && len(ins) > 0 && same(dels[len(dels)-1], ins[len(ins)-1]) {
			tail = append([]step{kept(dels[len(dels)-1])}, tail...)
			dels, ins = dels[:len(dels)-1], ins[:len(ins)-1]
		}
		out = append(append(append(out, dels...), ins...), tail...)
		dels, ins = nil, nil
	}
	for _, s := range in {
		switch {
		case s.gap > 0 || s.line.Op == diff.Equal:
			flush()
			if n := len(out); s.gap > 0 && n > 0 && out[n-1].gap > 0 {
				out[n-1].gap += s.gap
			} else {
				out = append(out, s)
			}
		case s.line.Op == diff.Delete:
			dels = append(dels, s)
		default:
			ins = append(ins, s)
		}
	}
	flush()
	return out
}

func same(a, b step) bool { return a.line.Text == b.line.Text && a.line.EOL == b.line.EOL }

func kept(s step) step {
	s.line.Op = diff.Equal
	return s
}

// hunks groups steps: a gap ends a hunk, and so do more known lines than two
// contexts hold.
func hunks(in []step) []diff.Hunk {
	var out []diff.Hunk
	b := builder{oldAt: 1, newAt: 1}
	for i, s := range in {
		if s.gap > 0 {
			out = b.close(out)
			b.oldAt, b.newAt = b.oldAt+s.gap, b.newAt+s.gap
			continue
		}
		if s.line.Op == diff.Equal && !near(in, i) {
			out = b.close(out)
			b.oldAt, b.newAt = b.oldAt+1, b.newAt+1
			continue
		}
		b.add(s.line)
	}
	return b.close(out)
}

// near reports whether a change is within the context of step i, with nothing
// unknown between.
func near(in []step, i int) bool {
	for _, dir := range []int{-1, 1} {
		for d := 1; d <= contextLines; d++ {
			j := i + d*dir
			if j < 0 || j >= len(in) || in[j].gap > 0 {
				break
			}
			if in[j].line.Op != diff.Equal {
				return true
			}
		}
	}
	return false
}

type builder struct {
	oldAt, newAt int
	cur          diff.Hunk
}

func (b *builder) add(l diff.Line) {
	if len(b.cur.Lines) == 0 {
		b.cur.OldStart, b.cur.NewStart = b.oldAt, b.newAt
	}
	b.cur.Lines = append(b.cur.Lines, l)
	if l.Op != diff.Insert {
		b.cur.OldLines, b.oldAt = b.cur.OldLines+1, b.oldAt+1
	}
	if l.Op != diff.Delete {
		b.cur.NewLines, b.newAt = b.cur.NewLines+1, b.newAt+1
	}
}

func (b *builder) close(out []diff.Hunk) []diff.Hunk {
	h := b.cur
	b.cur = diff.Hunk{}
	if added, removed := diff.Stats([]diff.Hunk{h}); added+removed == 0 {
		return out
	}
	if h.OldLines == 0 {
		h.OldStart--
	}
	if h.NewLines == 0 {
		h.NewStart--
	}
	return append(out, h)
}
