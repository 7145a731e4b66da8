package search

import (
	"bytes"
	"regexp/syntax"
	"slices"
)

// What a step of a dfa leads to, besides a state.
const (
	unknown = iota // not worked out yet
	matched        // a match ends before this byte
	other          // a byte that the dfa does not judge
	dead           // the rest of the line cannot match
	first          // the first real state
)

// maxStates bounds a dfa; when it is full it starts again empty.
const maxStates = 2000

// dfa says which lines match, by a table that is filled while it runs. It judges
// ASCII only: a line with any other byte, or with a CR, is given to regexp. Not
// safe for concurrent use.
type dfa struct {
	prog   *syntax.Prog
	table  []uint16 // by state*256 + byte
	ends   []uint16 // by state: at the end of the text
	states []dstate
	known  map[string]uint16
	start  uint16
	stack  []uint32
	seen   []bool
	begins bool // a match begins only where a line does
}

type dstate struct {
	insts []uint32
	prev  rune // the byte before, as far as \b and ^ ask; -1 at the start of a line
}

func newDFA(prog *syntax.Prog) *dfa {
	d := &dfa{prog: prog, seen: make([]bool, len(prog.Inst))}
	d.begins = prog.StartCond()&(syntax.EmptyBeginText|syntax.EmptyBeginLine) != 0
	d.reset()
	return d
}

func (d *dfa) reset() {
	d.table = slices.Grow(d.table[:0], 64*256)[:first*256]
	clear(d.table)
	d.ends = append(d.ends[:0], make([]uint16, first)...)
	d.states = append(d.states[:0], make([]dstate, first)...)
	d.known = map[string]uint16{}
	d.start = d.state(nil, -1)
}

// state returns the number of a state, which may be new.
func (d *dfa) state(insts []uint32, prev rune) uint16 {
	if prev >= 0 {
		if d.begins && len(insts) == 0 {
			return dead
		}
		if syntax.IsWordChar(prev) {
			prev = 'a'
		} else {
			prev = ' '
		}
	}
	key := make([]byte, 0, 4*len(insts)+1)
	key = append(key, byte(prev))
	for _, i := range insts {
		key = append(key, byte(i), byte(i>>8), byte(i>>16), byte(i>>24))
	}
	if n, ok := d.known[string(key)]; ok {
		return n
	}
	n := uint16(len(d.states))
	d.known[string(key)] = n
	d.states = append(d.states, dstate{insts: insts, prev: prev})
	d.table = append(d.table, make([]uint16, 256)...)
	d.ends = append(d.ends, unknown)
	return n
}

// step works out where a byte leads; next < 0 is the end of the line.
func (d *dfa) step(from uint16, next rune) uint16 {
	if next >= 0x80 || next == '\r' {
		return other
	}
	s := d.states[from]
	clear(d.seen)
	var out []uint32
	op := syntax.EmptyOpContext(s.prev, next)
	seeds := append(slices.Clone(s.insts), uint32(d.prog.Start))
	if d.begins && s.prev >= 0 {
		seeds = seeds[:len(seeds)-1]
	}
	for _, seed := range seeds {
		d.stack = append(d.stack[:0], seed)
		for len(d.stack) > 0 {
			pc := d.stack[len(d.stack)-1]
			d.stack = d.stack[:len(d.stack)-1]
			if d.seen[pc] {
				continue
			}
			d.seen[pc] = true
			in := &d.prog.Inst[pc]
			switch in.Op {
			case syntax.InstMatch:
				return matched
			case syntax.InstAlt, syntax.InstAltMatch:
				d.stack = append(d.stack, in.Out, in.Arg)
			case syntax.InstCapture, syntax.InstNop:
				d.stack = append(d.stack, in.Out)
			case syntax.InstEmptyWidth:
				if syntax.EmptyOp(in.Arg)&^op == 0 {
					d.stack = append(d.stack, in.Out)
				}
			case syntax.InstFail:
			default:
				if next >= 0 && in.MatchRune(next) {
					out = append(out, in.Out)
				}
			}
		}
	}
	if next < 0 {
		return first
	}
	slices.Sort(out)
	return d.state(slices.Compact(out), next)
}

// move is step, remembered.
func (d *dfa) move(from uint16, b byte) uint16 {
	if len(d.states) >= maxStates {
		s := d.states[from]
		d.reset()
		from = d.state(s.insts, s.prev)
	}
	if b == '\n' {
		to := d.end(from)
		if to != matched {
			to = d.start
		}
		d.table[int(from)<<8|'\n'] = to
		return to
	}
	to := d.step(from, rune(b))
	d.table[int(from)<<8|int(b)] = to
	return to
}

// end says whether the text may end in a state.
func (d *dfa) end(from uint16) uint16 {
	if d.ends[from] == unknown {
		d.ends[from] = d.step(from, -1)
	}
	return d.ends[from]
}

// run goes through whole lines, of which the last may have no line end. It
// returns where it stopped and why: matched or other somewhere in a line, first
// when nothing matched.
func (d *dfa) run(data []byte) (int, uint16) {
	s, t := d.start, d.table
	for i := 0; i < len(data); i++ {
		next := t[int(s)<<8|int(data[i])]
		if next < first {
			if next == unknown {
				next = d.move(s, data[i])
				t = d.table
			}
			if next == dead {
				end := bytes.IndexByte(data[i:], '\n')
				if end < 0 {
					return len(data), first
				}
				i += end
				next = d.start
			}
			if next < first {
				return i, next
			}
		}
		s = next
	}
	if n := len(data); n > 0 && data[n-1] != '\n' {
		return n, d.end(s)
	}
	return len(data), first
}
