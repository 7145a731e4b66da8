package web

import (
	"strconv"
	"strings"
)

// ansiHTML shows what a command printed: colours become classes, every other
// escape sequence is left out of the looks, and nothing of it acts.
func ansiHTML(s string) string {
	var b strings.Builder
	var st sgr
	for s != "" {
		at := strings.IndexByte(s, 0x1b)
		if at < 0 {
			st.text(&b, s)
			break
		}
		st.text(&b, s[:at])
		var seq string
		seq, s = escape(s[at:])
		if strings.HasPrefix(seq, "[") && strings.HasSuffix(seq, "m") {
			st.set(seq[1 : len(seq)-1])
		}
	}
	return b.String()
}

// escape cuts an escape sequence off: its content and the rest. One that does not
// end within the text is cut after its introducer.
func escape(s string) (seq, rest string) {
	if len(s) < 2 {
		return "", s[1:]
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s) && i < 64; i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return s[1 : i+1], s[i+1:]
			}
		}
		return "", s[2:]
	case ']', 'P', '_', '^': // to BEL or ST
		for i := 2; i < len(s) && i < 4096; i++ {
			if s[i] == 7 {
				return "", s[i+1:]
			}
			if s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\' {
				return "", s[i+2:]
			}
		}
		return "", s[2:]
	default:
		return "", s[2:]
	}
}

// sgr is how text looks now.
type sgr struct {
	bold, dim bool
	color     string
}

func (st *sgr) set(params string) {
	fields := strings.Split(params, ";")
	for i := 0; i < len(fields); i++ {
		n, _ := strconv.Atoi(fields[i])
		switch {
		case n == 0:
			*st = sgr{}
		case n == 1:
			st.bold = true
		case n == 2:
			st.dim = true
		case n == 22:
			st.bold, st.dim = false, false
		case n >= 30 && n <= 37:
			st.color = "c" + strconv.Itoa(n-30)
		case n >= 90 && n <= 97:
			st.color = "c" + strconv.Itoa(n-90)
		case n == 39:
			st.color = ""
		case n == 38 || n == 48: // 256 or true colour: skip its parameters
			if i+1 < len(fields) && fields[i+1] == "5" {
				i += 2
			} else {
				i += 4
			}
		}
	}
}

func (st *sgr) text(b *strings.Builder, s string) {
	if s == "" {
		return
	}
	var class []string
	if st.bold {
		class = append(class, "b")
	}
	if st.dim {
		class = append(class, "d")
	}
	if st.color != "" {
		class = append(class, st.color)
	}
	if len(class) == 0 {
		visible(b, overwritten(s))
		return
	}
	b.WriteString(`<span class="` + strings.Join(class, " ") + `">`)
	visible(b, overwritten(s))
	b.WriteString(`</span>`)
}

// overwritten drops what a carriage return lets the rest of a line cover, as
// progress bars do.
func overwritten(s string) string {
	if !strings.Contains(s, "\r") {
		return s
	}
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	for i, l := range lines {
		if at := strings.LastIndexByte(l, '\r'); at >= 0 {
			lines[i] = l[at+1:]
		}
	}
	return strings.Join(lines, "\n")
}
