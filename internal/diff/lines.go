package diff

import "strings"

// side is one of the two files: its raw lines, each with its ending, and whether
// a lone CR ends a line. That is so only in a file without any LF (as old Macs
// wrote them); elsewhere a CR is an ordinary character, as git and patch see it.
type side struct {
	lines []string
	cr    bool
}

func split(text string) side {
	if text == "" {
		return side{}
	}
	end, cr := byte('\n'), false
	if strings.IndexByte(text, '\n') < 0 {
		end, cr = '\r', true
	}
	out := make([]string, 0, strings.Count(text, string(end))+1)
	for text != "" {
		i := strings.IndexByte(text, end)
		if i < 0 {
			out = append(out, text)
			break
		}
		out, text = append(out, text[:i+1]), text[i+1:]
	}
	return side{out, cr}
}

// line takes raw line i apart.
func (s side) line(op Op, i int) Line {
	raw := s.lines[i]
	for _, eol := range []string{"\r\n", "\n"} {
		if strings.HasSuffix(raw, eol) {
			return Line{Op: op, Text: raw[:len(raw)-len(eol)], EOL: eol}
		}
	}
	if s.cr && strings.HasSuffix(raw, "\r") {
		return Line{Op: op, Text: raw[:len(raw)-1], EOL: "\r"}
	}
	return Line{Op: op, Text: raw}
}

// intern numbers equal lines of both sides with equal small numbers, so that the
// rest compares integers. It returns how many numbers there are.
func intern(a, b []string) (as, bs []int32, symbols int) {
	ids := make(map[string]int32, len(a)+len(b)/4)
	number := func(lines []string) []int32 {
		out := make([]int32, len(lines))
		for i, l := range lines {
			id, ok := ids[l]
			if !ok {
				id = int32(len(ids))
				ids[l] = id
			}
			out[i] = id
		}
		return out
	}
	as, bs = number(a), number(b)
	return as, bs, len(ids)
}
