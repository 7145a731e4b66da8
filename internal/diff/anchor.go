package diff

import "sort"

// maxDepth bounds how often the gaps between anchors are searched for anchors of
// their own; below it Myers' search does the rest.
const maxDepth = 12

// smallRange is the size below which looking for anchors does not pay.
const smallRange = 16

// pair is a line that is unique on both sides of a range: index in a and in b.
type pair struct{ a, b int }

// anchored compares two ranges by the lines that occur exactly once on either
// side (Bram Cohen's patience diff): the longest increasing run of them is kept
// equal, and what lies between is compared by itself. It is what makes large
// files with many changes cheap, and hunks that follow the text's own structure.
func (d *differ) anchored(a0, a1, b0, b1, depth int) {
	a0, a1, b0, b1 = d.trim(a0, a1, b0, b1)
	if a0 == a1 || b0 == b1 {
		d.mark(a0, a1, b0, b1)
		return
	}
	if depth >= maxDepth || a1-a0+b1-b0 < smallRange {
		d.myers(a0, a1, b0, b1)
		return
	}
	anchors := rising(d.unique(a0, a1, b0, b1))
	if len(anchors) == 0 {
		d.myers(a0, a1, b0, b1)
		return
	}
	for _, p := range anchors {
		d.anchored(a0, p.a, b0, p.b, depth+1)
		a0, b0 = p.a+1, p.b+1
	}
	d.anchored(a0, a1, b0, b1, depth+1)
}

// unique returns the lines that occur once in a's range and once in b's, in the
// order of b.
func (d *differ) unique(a0, a1, b0, b1 int) []pair {
	for i := a0; i < a1; i++ {
		d.countA[d.a[i]]++
		d.whereA[d.a[i]] = int32(i)
	}
	for i := b0; i < b1; i++ {
		d.countB[d.b[i]]++
	}
	var out []pair
	for i := b0; i < b1; i++ {
		if s := d.b[i]; d.countA[s] == 1 && d.countB[s] == 1 {
			out = append(out, pair{int(d.whereA[s]), i})
		}
	}
	for i := a0; i < a1; i++ {
		d.countA[d.a[i]] = 0
	}
	for i := b0; i < b1; i++ {
		d.countB[d.b[i]] = 0
	}
	return out
}

// rising returns the longest subsequence whose indexes grow on both sides, by
// patience sorting.
func rising(pairs []pair) []pair {
	if len(pairs) == 0 {
		return nil
	}
	tops := make([]int, 0, len(pairs)) // per pile: index of its top pair
	prev := make([]int, len(pairs))    // per pair: top of the pile to the left
	for i, p := range pairs {
		pile := len(tops)
		if pile > 0 && pairs[tops[pile-1]].a >= p.a {
			pile = sort.Search(len(tops), func(k int) bool { return pairs[tops[k]].a >= p.a })
		}
		prev[i] = -1
		if pile > 0 {
			prev[i] = tops[pile-1]
		}
		if pile == len(tops) {
			tops = append(tops, i)
		} else {
			tops[pile] = i
		}
	}
	out := make([]pair, len(tops))
	for i, k := len(tops)-1, tops[len(tops)-1]; i >= 0; i, k = i-1, prev[k] {
		out[i] = pairs[k]
	}
	return out
}
