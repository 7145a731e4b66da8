package diff

import "bytes"

// Compute returns the hunks that turn before into after.
func Compute(before, after []byte) []Hunk {
	if bytes.Equal(before, after) {
		return nil
	}
	h := Hunk{OldStart: 1, NewStart: 1}
	for _, l := range lines(before) {
		l.Op = Delete
		h.Lines, h.OldLines = append(h.Lines, l), h.OldLines+1
	}
	for _, l := range lines(after) {
		l.Op = Insert
		h.Lines, h.NewLines = append(h.Lines, l), h.NewLines+1
	}
	return []Hunk{h}
}

func lines(b []byte) []Line {
	var out []Line
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			return append(out, Line{Text: string(b)})
		}
		out, b = append(out, Line{Text: string(b[:i]), EOL: "\n"}), b[i+1:]
	}
	return out
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

// Apply returns before with the accepted hunks (from Compute on it) applied.
func Apply(before []byte, hunks []Hunk, accepted func(i int) bool) []byte {
	if len(hunks) == 0 || !accepted(0) {
		return before
	}
	var out []byte
	for _, l := range hunks[0].Lines {
		if l.Op != Delete {
			out = append(append(out, l.Text...), l.EOL...)
		}
	}
	return out
}

// Unified renders hunks as a unified diff of at most max bytes (0: no limit),
// cut at a line; truncated says whether something is missing.
func Unified(oldName, newName string, hunks []Hunk, max int) (text string, truncated bool) {
	return "", false
}
