package ignore

import (
	"strings"
	"unicode/utf8"
)

// Glob reports whether a slash-separated path matches a pattern of the same
// language: a pattern without a slash is compared with the last name, ** stands
// for any number of folders, a leading slash is allowed.
func Glob(glob, rel string) bool {
	p, ok := parseLine(glob)
	if !ok {
		return false
	}
	if p.base {
		return matchName(p.segs[0], rel[strings.LastIndexByte(rel, '/')+1:])
	}
	return matchPath(p.segs, strings.Split(rel, "/"))
}

// matchPath compares whole paths, segment by segment. "**" at the end needs at
// least one segment, elsewhere none.
func matchPath(pat, segs []string) bool {
	back, from := -1, 0 // where to try again: after the last "**", one segment later
	i, j := 0, 0
	for j < len(segs) {
		switch {
		case i < len(pat) && pat[i] == "**":
			if i == len(pat)-1 {
				return true
			}
			i++
			back, from = i, j
		case i < len(pat) && matchName(pat[i], segs[j]):
			i++
			j++
		case back >= 0:
			from++
			i, j = back, from
		default:
			return false
		}
	}
	return i == len(pat)
}

// matchName compares one name with a pattern of *, ?, [class] and backslashes. It
// takes time proportional to the product of the lengths at worst.
func matchName(pat, name string) bool {
	back, from := -1, 0
	i, j := 0, 0
	for j < len(name) || i < len(pat) {
		if i < len(pat) {
			if pat[i] == '*' {
				for i < len(pat) && pat[i] == '*' {
					i++
				}
				back, from = i, j
				continue
			}
			if j < len(name) {
				if n, m, ok := matchOne(pat[i:], name[j:]); ok {
					i += n
					j += m
					continue
				}
			}
		}
		if back < 0 || from >= len(name) {
			return false
		}
		from++
		i, j = back, from
	}
	return true
}

// matchOne compares one element of a pattern with the start of a name; n and m
// are their lengths in bytes.
func matchOne(pat, name string) (n, m int, ok bool) {
	_, size := utf8.DecodeRuneInString(name)
	switch pat[0] {
	case '?':
		return 1, size, true
	case '[':
		return matchClass(pat, name)
	case '\\':
		if len(pat) == 1 {
			return 0, 0, false // a backslash at the end matches nothing
		}
		return 2, 1, pat[1] == name[0]
	}
	return 1, 1, pat[0] == name[0]
}

// matchClass compares a bracket expression, as fnmatch does: ! or ^ negates, ] is
// ordinary when first. A bracket that is not closed matches nothing.
func matchClass(pat, name string) (n, m int, ok bool) {
	r, size := utf8.DecodeRuneInString(name)
	i, negate, in := 1, false, false
	if i < len(pat) && (pat[i] == '!' || pat[i] == '^') {
		negate = true
		i++
	}
	for first := true; ; first = false {
		if i >= len(pat) {
			return 0, 0, false
		}
		if pat[i] == ']' && !first {
			return i + 1, size, in != negate
		}
		if strings.HasPrefix(pat[i:], "[:") {
			if end := strings.Index(pat[i:], ":]"); end > 0 {
				in = in || namedClass(pat[i+2:i+end], r)
				i += end + 2
				continue
			}
		}
		lo, n := classRune(pat[i:])
		i += n
		hi := lo
		if i+1 < len(pat) && pat[i] == '-' && pat[i+1] != ']' {
			hi, n = classRune(pat[i+1:])
			i += 1 + n
		}
		in = in || lo <= r && r <= hi
	}
}

func classRune(s string) (rune, int) {
	if s[0] == '\\' && len(s) > 1 {
		r, n := utf8.DecodeRuneInString(s[1:])
		return r, n + 1
	}
	return utf8.DecodeRuneInString(s)
}

func namedClass(name string, r rune) bool {
	lower, upper, digit := r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9'
	switch name {
	case "lower":
		return lower
	case "upper":
		return upper
	case "alpha":
		return lower || upper
	case "digit":
		return digit
	case "alnum":
		return lower || upper || digit
	case "xdigit":
		return digit || r >= 'a' && r <= 'f' || r >= 'A' && r <= 'F'
	case "space":
		return r == ' ' || r >= '\t' && r <= '\r'
	case "blank":
		return r == ' ' || r == '\t'
	case "punct":
		return r > ' ' && r < 0x7F && !lower && !upper && !digit
	case "cntrl":
		return r < ' ' || r == 0x7F
	case "graph":
		return r > ' ' && r < 0x7F
	case "print":
		return r >= ' ' && r < 0x7F
	}
	return false
}
