// Package inert makes untrusted text harmless to look at: characters that do not
// show, reorder what is around them, or drive a terminal become visible markers.
// It is pure; its one rule is that nothing is dropped in silence.
package inert

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Visible returns s with every character that hides or reorders text replaced by
// a marker such as ⟨U+E0041⟩, and every byte that is not UTF-8 by one such as
// ⟨0x9B⟩. hidden counts the markers. Tabs, line feeds, and a carriage return
// before a line feed stay. Text without such characters is returned as it is.
func Visible(s string) (out string, hidden int) {
	at := firstHidden(s)
	if at < 0 {
		return s, 0
	}
	var b strings.Builder
	b.Grow(len(s) + 64)
	b.WriteString(s[:at])
	for i := at; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "⟨0x%02X⟩", s[i])
			hidden++
		case hides(r) && !endsLine(s[i:]):
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
			hidden++
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String(), hidden
}

// Terminal returns s so that writing it to a terminal shows it and does nothing
// else: ESC and other C0 controls become their pictures (␛), C1 controls, bidi
// controls and other hidden characters become markers. Line feeds and tabs stay;
// the carriage return of a CRLF is left out, any other is shown as ␍.
func Terminal(s string) string {
	if firstHidden(s) < 0 && !strings.Contains(s, "\r") {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 64)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "⟨0x%02X⟩", s[i])
		case endsLine(s[i:]):
		case r < 0x20 && r != '\n' && r != '\t':
			b.WriteRune(0x2400 + r)
		case r == 0x7F:
			b.WriteRune(0x2421)
		case hides(r):
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// Hidden counts the characters that Visible would mark.
func Hidden(s string) int {
	_, n := Visible(s)
	return n
}

// firstHidden is where the first character to mark begins, or -1: most text has
// none and is not copied.
func firstHidden(s string) int {
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c < 0x7F || c == '\n' || c == '\t' {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 || hides(r) && !endsLine(s[i:]) {
			return i
		}
		i += size
	}
	return -1
}

func endsLine(s string) bool { return strings.HasPrefix(s, "\r\n") }

// hides reports characters that show nothing of themselves or change how others
// show. The joiners U+200C and U+200D and the variation selectors U+FE00-FE0F are
// part of ordinary words and emoji, and carry too little to hide a message: they
// stay.
func hides(r rune) bool {
	switch {
	case r < 0x20:
		return r != '\n' && r != '\t'
	case r < 0x7F:
		return false
	case r <= 0x9F: // DEL and C1
		return true
	case r < 0x61C:
		return false
	}
	switch {
	case r == 0x61C, r == 0x180E, r == 0x200B, r == 0x200E, r == 0x200F,
		r >= 0x2028 && r <= 0x202E,                         // line and paragraph separator, bidi embeddings
		r >= 0x2060 && r <= 0x206F,                         // word joiner, invisible operators, bidi isolates
		r == 0x3164, r == 0x115F, r == 0x1160, r == 0xFFA0, // Hangul fillers
		r == 0xFEFF, r >= 0xFFF9 && r <= 0xFFFB,
		r >= 0xE0000 && r <= 0xE007F, // tag characters
		r >= 0xE0100 && r <= 0xE01EF: // variation selectors supplement
		return true
	}
	return false
}
