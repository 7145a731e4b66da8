package diff

import "math"

// minCost is how many edits Myers' search may always spend on one split before
// it takes the best one so far.
const minCost = 256

// differ compares two sequences of numbers. It marks lines as changed; the blocks
// of marked lines are the edits.
type differ struct {
	a, b           []int32
	deleted        []bool // by index into a
	inserted       []bool // by index into b
	forward, back  []int  // furthest x on each diagonal, see split
	offset         int    // of diagonal 0 in forward and back
	cost           int
	countA, countB []int32 // by symbol: occurrences in the range looked at
	whereA         []int32 // by symbol: its last index in a in that range
}

// compare returns the edits between two sequences of numbers below symbols, in
// order, not touching each other.
func compare(a, b []int32, symbols int) []edit {
	d := &differ{
		a: a, b: b, deleted: make([]bool, len(a)), inserted: make([]bool, len(b)),
		countA: make([]int32, symbols), countB: make([]int32, symbols), whereA: make([]int32, symbols),
		cost: max(minCost, int(math.Sqrt(float64(len(a)+len(b))))),
	}
	d.anchored(0, len(a), 0, len(b), 0)
	return d.edits()
}

func (d *differ) edits() []edit {
	var out []edit
	i, j := 0, 0
	for i < len(d.a) || j < len(d.b) {
		e := edit{a0: i, b0: j}
		for i < len(d.a) && d.deleted[i] {
			i++
		}
		for j < len(d.b) && d.inserted[j] {
			j++
		}
		if i > e.a0 || j > e.b0 {
			e.a1, e.b1 = i, j
			out = append(out, e)
			continue
		}
		i, j = i+1, j+1
	}
	return out
}

// trim cuts equal ends; what is left is empty on both sides or differs at both.
func (d *differ) trim(a0, a1, b0, b1 int) (int, int, int, int) {
	for a0 < a1 && b0 < b1 && d.a[a0] == d.b[b0] {
		a0, b0 = a0+1, b0+1
	}
	for a0 < a1 && b0 < b1 && d.a[a1-1] == d.b[b1-1] {
		a1, b1 = a1-1, b1-1
	}
	return a0, a1, b0, b1
}

// mark says that nothing of the two ranges is common.
func (d *differ) mark(a0, a1, b0, b1 int) {
	for i := a0; i < a1; i++ {
		d.deleted[i] = true
	}
	for i := b0; i < b1; i++ {
		d.inserted[i] = true
	}
}

// myers compares two ranges by divide and conquer (E. Myers, "An O(ND) difference
// algorithm and its variations", 1986, §4b).
func (d *differ) myers(a0, a1, b0, b1 int) {
	for {
		a0, a1, b0, b1 = d.trim(a0, a1, b0, b1)
		if a0 == a1 || b0 == b1 {
			d.mark(a0, a1, b0, b1)
			return
		}
		x, y := d.split(a0, a1, b0, b1)
		d.myers(a0, x, b0, y)
		a0, b0 = x, y
	}
}

// split finds a point that a shortest path crosses near its middle: a search from
// either end, one edit deeper each round, until they meet. Past the cost bound it
// returns the point furthest from its own end. Both ranges are trimmed and not
// empty, so the point is never a corner and myers makes progress.
func (d *differ) split(a0, a1, b0, b1 int) (x, y int) {
	d.room()
	s := search{
		differ: d, a0: a0, a1: a1, b0: b0, b1: b1,
		fmin: a0 - b0, fmax: a0 - b0, bmin: a1 - b1, bmax: a1 - b1,
	}
	s.odd = (s.fmin-s.bmin)&1 != 0
	d.forward[d.offset+s.fmin] = a0
	d.back[d.offset+s.bmin] = a1
	for c := 1; ; c++ {
		if x, y, met := s.stepForward(); met {
			return x, y
		}
		if x, y, met := s.stepBack(); met {
			return x, y
		}
		if c >= d.cost {
			return s.best()
		}
	}
}

// room makes the diagonals' slices at the first use: most comparisons are done
// by anchors alone.
func (d *differ) room() {
	if d.forward == nil {
		n := len(d.a) + len(d.b) + 3
		d.forward, d.back, d.offset = make([]int, n), make([]int, n), len(d.b)+1
	}
}

// search is one split under way. fmin..fmax and bmin..bmax are the diagonals
// (x - y) that the two directions have reached.
type search struct {
	*differ
	a0, a1, b0, b1         int
	fmin, fmax, bmin, bmax int
	odd                    bool // the distance is odd: the forward step meets
}

func (s *search) stepForward() (x, y int, met bool) {
	f := s.forward
	if s.fmin > s.a0-s.b1 {
		s.fmin--
		f[s.offset+s.fmin-1] = -1
	} else {
		s.fmin++
	}
	if s.fmax < s.a1-s.b0 {
		s.fmax++
		f[s.offset+s.fmax+1] = -1
	} else {
		s.fmax--
	}
	for k := s.fmax; k >= s.fmin; k -= 2 {
		low, high := f[s.offset+k-1], f[s.offset+k+1]
		x = low + 1
		if low < high {
			x = high
		}
		y = x - k
		for x < s.a1 && y < s.b1 && s.a[x] == s.b[y] {
			x, y = x+1, y+1
		}
		f[s.offset+k] = x
		if s.odd && s.bmin <= k && k <= s.bmax && s.back[s.offset+k] <= x {
			return x, y, true
		}
	}
	return 0, 0, false
}

func (s *search) stepBack() (x, y int, met bool) {
	r := s.back
	if s.bmin > s.a0-s.b1 {
		s.bmin--
		r[s.offset+s.bmin-1] = math.MaxInt
	} else {
		s.bmin++
	}
	if s.bmax < s.a1-s.b0 {
		s.bmax++
		r[s.offset+s.bmax+1] = math.MaxInt
	} else {
		s.bmax--
	}
	for k := s.bmax; k >= s.bmin; k -= 2 {
		low, high := r[s.offset+k-1], r[s.offset+k+1]
		x = high - 1
		if low < high {
			x = low
		}
		y = x - k
		for s.a0 < x && s.b0 < y && s.a[x-1] == s.b[y-1] {
			x, y = x-1, y-1
		}
		r[s.offset+k] = x
		if !s.odd && s.fmin <= k && k <= s.fmax && x <= s.forward[s.offset+k] {
			return x, y, true
		}
	}
	return 0, 0, false
}

// best is the point that got furthest from its own end, kept inside the ranges.
func (s *search) best() (x, y int) {
	fx, fsum := s.a0, -1
	for k := s.fmax; k >= s.fmin; k -= 2 {
		x := min(s.forward[s.offset+k], s.a1)
		if x-k > s.b1 {
			x = s.b1 + k
		}
		if sum := 2*x - k; sum > fsum {
			fx, fsum = x, sum
		}
	}
	bx, bsum := s.a1, math.MaxInt
	for k := s.bmax; k >= s.bmin; k -= 2 {
		x := max(s.back[s.offset+k], s.a0)
		if x-k < s.b0 {
			x = s.b0 + k
		}
		if sum := 2*x - k; sum < bsum {
			bx, bsum = x, sum
		}
	}
	if s.a1+s.b1-bsum < fsum-s.a0-s.b0 {
		return fx, fsum - fx
	}
	return bx, bsum - bx
}
