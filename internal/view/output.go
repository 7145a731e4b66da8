package view

import "strings"

// Limits of what is kept of a call's output.
const (
	maxOutputLines = 500
	maxOutputLine  = 4000    // bytes of one line
	maxText        = 1 << 20 // bytes of one block of text
	maxContent     = 64 << 10
)

// Output is the last lines of what a call printed. The zero Output is empty.
type Output struct {
	lines   []string // the last one is still open
	Dropped int      // lines that are gone
}

// Add appends text as it came.
func (o *Output) Add(text string) {
	for i, part := range strings.Split(text, "\n") {
		if i > 0 || len(o.lines) == 0 {
			o.lines = append(o.lines, "")
		}
		last := &o.lines[len(o.lines)-1]
		if room := maxOutputLine - len(*last); len(part) > room {
			part = cutString(part, room)
		}
		*last += part
	}
	if over := len(o.lines) - maxOutputLines; over > 0 {
		o.Dropped += over
		o.lines = append([]string(nil), o.lines[over:]...)
	}
}

// Empty reports whether nothing was printed.
func (o *Output) Empty() bool { return len(o.lines) == 0 }

// String is the lines that are kept.
func (o *Output) String() string { return strings.Join(o.lines, "\n") }

// cutString is the first n bytes of s, less a rune that would be torn.
func cutString(s string, n int) string {
	if n <= 0 {
		return ""
	}
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
