package diff

// context is how many equal lines a hunk shows around a change, as diff -u does.
const context = 3

// edit says that the lines [a0,a1) of the old side become [b0,b1) of the new.
type edit struct{ a0, a1, b0, b1 int }

// Compute returns the hunks that turn before into after: lines with three lines
// of context, changes that are close merged into one hunk, as diff -u prints
// them. A line whose ending alone differs is a difference. Equal inputs have no
// hunks. Time is bounded: beyond that bound the result stays correct and is only
// longer than it could be.
func Compute(before, after []byte) []Hunk {
	old, new := split(string(before)), split(string(after))
	a, b := old.lines, new.lines
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	as, bs, symbols := intern(a[head:len(a)-tail], b[head:len(b)-tail])
	edits := compare(as, bs, symbols)
	for i := range edits {
		e := &edits[i]
		e.a0, e.a1, e.b0, e.b1 = e.a0+head, e.a1+head, e.b0+head, e.b1+head
	}
	return hunks(old, new, slide(a, b, edits))
}

// slide moves each pure insertion or deletion down as far as equal lines allow:
// an inserted function then begins with its first line and not with the brace
// before it. Blocks that meet become one.
func slide(a, b []string, edits []edit) []edit {
	var out []edit
	for i := len(edits) - 1; i >= 0; i-- {
		e := edits[i]
		endA, endB := len(a), len(b)
		if n := len(out); n > 0 {
			endA, endB = out[n-1].a0, out[n-1].b0
		}
		switch {
		case e.a0 == e.a1:
			for e.a1 < endA && e.b1 < endB && b[e.b0] == b[e.b1] {
				e = edit{e.a0 + 1, e.a1 + 1, e.b0 + 1, e.b1 + 1}
			}
		case e.b0 == e.b1:
			for e.a1 < endA && e.b1 < endB && a[e.a0] == a[e.a1] {
				e = edit{e.a0 + 1, e.a1 + 1, e.b0 + 1, e.b1 + 1}
			}
		}
		if n := len(out); n > 0 && e.a1 == out[n-1].a0 && e.b1 == out[n-1].b0 {
			out[n-1].a0, out[n-1].b0 = e.a0, e.b0
			continue
		}
		out = append(out, e)
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// hunks groups edits whose contexts touch.
func hunks(a, b side, edits []edit) []Hunk {
	var out []Hunk
	for len(edits) > 0 {
		n := 1
		for n < len(edits) && edits[n].a0-edits[n-1].a1 <= 2*context {
			n++
		}
		out = append(out, hunk(a, b, edits[:n]))
		edits = edits[n:]
	}
	return out
}

func hunk(a, b side, edits []edit) Hunk {
	first, last := edits[0], edits[len(edits)-1]
	before := min(context, first.a0)
	after := min(context, len(a.lines)-last.a1)
	h := Hunk{
		OldStart: first.a0 - before + 1, OldLines: last.a1 + after - first.a0 + before,
		NewStart: first.b0 - before + 1, NewLines: last.b1 + after - first.b0 + before,
	}
	if h.OldLines == 0 {
		h.OldStart--
	}
	if h.NewLines == 0 {
		h.NewStart--
	}
	h.Lines = make([]Line, 0, h.OldLines+h.NewLines)
	at := first.a0 - before
	for _, e := range edits {
		for ; at < e.a0; at++ {
			h.Lines = append(h.Lines, a.line(Equal, at))
		}
		for ; at < e.a1; at++ {
			h.Lines = append(h.Lines, a.line(Delete, at))
		}
		for i := e.b0; i < e.b1; i++ {
			h.Lines = append(h.Lines, b.line(Insert, i))
		}
	}
	for ; at < last.a1+after; at++ {
		h.Lines = append(h.Lines, a.line(Equal, at))
	}
	return h
}

// Stats counts inserted and deleted lines.
func Stats(hunks []Hunk) (added, removed int) {
	for _, h := range hunks {
		for _, l := range h.Lines {
			switch l.Op {
			case Insert:
				added++
			case Delete:
				removed++
			}
		}
	}
	return added, removed
}

// Apply returns before with the accepted hunks (numbered from 0, from Compute on
// it) applied, byte for byte: all of them give after, none gives before. The
// result is a new slice and never nil, so that an emptied file stays a file.
func Apply(before []byte, hunks []Hunk, accepted func(i int) bool) []byte {
	a := split(string(before)).lines
	out := make([]byte, 0, len(before))
	at := 0
	for i, h := range hunks {
		if !accepted(i) {
			continue
		}
		start := h.OldStart - 1
		if h.OldLines == 0 {
			start = h.OldStart
		}
		for ; at < start; at++ {
			out = append(out, a[at]...)
		}
		for _, l := range h.Lines {
			if l.Op != Delete {
				out = append(append(out, l.Text...), l.EOL...)
			}
		}
		at += h.OldLines
	}
	for ; at < len(a); at++ {
		out = append(out, a[at]...)
	}
	return out
}
