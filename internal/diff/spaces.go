package diff

import "strings"

// Spaces finds the lines of a hunk that only their white space (blanks, line
// ending) tells apart: for the index of each such deletion, the index of the
// insertion that puts the line back. Inside a run of changes they keep their order.
func Spaces(h Hunk) map[int]int {
	out := map[int]int{}
	for i := 0; i < len(h.Lines); {
		if h.Lines[i].Op == Equal {
			i++
			continue
		}
		var dels, ins []int
		for ; i < len(h.Lines) && h.Lines[i].Op != Equal; i++ {
			if h.Lines[i].Op == Delete {
				dels = append(dels, i)
			} else {
				ins = append(ins, i)
			}
		}
		if len(dels) > 0 && len(ins) > 0 {
			match(h, dels, ins, out)
		}
	}
	return out
}

// match pairs the equal lines of one run.
func match(h Hunk, dels, ins []int, out map[int]int) {
	a, b := bare(h, dels), bare(h, ins)
	as, bs, symbols := intern(a, b)
	i, j := 0, 0
	pair := func(to int) {
		for ; i < to; i, j = i+1, j+1 {
			out[dels[i]] = ins[j]
		}
	}
	for _, e := range compare(as, bs, symbols) {
		pair(e.a0)
		i, j = e.a1, e.b1
	}
	pair(len(a))
}

// bare is the lines without any white space.
func bare(h Hunk, at []int) []string {
	out := make([]string, len(at))
	for n, i := range at {
		out[n] = strings.Join(strings.Fields(h.Lines[i].Text), "")
	}
	return out
}

// Lines are the raw lines of a text as Compute sees them, from the one numbered
// from (1 is the first) to the one numbered to, as lines that stay; total is how
// many there are.
func Lines(text []byte, from, to int) (lines []Line, total int) {
	side := split(string(text))
	total = len(side.lines)
	for i := max(from, 1); i <= min(to, total); i++ {
		lines = append(lines, side.line(Equal, i-1))
	}
	return lines, total
}
