package diff

// Revert takes one hunk back from the text it leads to: after is what a file holds,
// h one of the hunks that made it so, and the result what it would hold without h.
// ok is false, and nothing is done, when after does not hold the lines that h says.
func Revert(after []byte, h Hunk) (out []byte, ok bool) {
	side := split(string(after))
	start := h.NewStart - 1
	if h.NewLines == 0 {
		start = h.NewStart
	}
	if start < 0 || start+h.NewLines > len(side.lines) {
		return nil, false
	}
	at := start
	var old []byte
	for _, l := range h.Lines {
		raw := l.Text + l.EOL
		if l.Op != Insert {
			old = append(old, raw...)
		}
		if l.Op == Delete {
			continue
		}
		if at >= start+h.NewLines || side.lines[at] != raw {
			return nil, false
		}
		at++
	}
	if at != start+h.NewLines {
		return nil, false
	}
	out = make([]byte, 0, len(after)+len(old))
	for _, l := range side.lines[:start] {
		out = append(out, l...)
	}
	out = append(out, old...)
	for _, l := range side.lines[at:] {
		out = append(out, l...)
	}
	return out, true
}
