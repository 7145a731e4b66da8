package line

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// Name says which key it was.
type Name int

// The keys. Rune is a character that was typed, Paste a text that was pasted.
const (
	Rune Name = iota
	Paste
	Enter
	NewLine // Alt-Enter, Shift-Enter where the terminal tells it apart, Ctrl-J
	Tab
	Escape
	Backspace
	Delete
	Left
	Right
	Up
	Down
	Home
	End
	WordLeft
	WordRight
	KillEnd
	KillStart
	KillWord      // before the cursor
	KillWordAhead // behind it
	Yank
	Interrupt // Ctrl-C
	EOF       // Ctrl-D
	Redraw    // Ctrl-L
	Search    // Ctrl-R
	Outside   // Ctrl-G: the person's editor
	Suspend   // Ctrl-Z
)

// Key is one key, or one paste.
type Key struct {
	Name Name
	Rune rune   // of Rune
	Text string // of Paste
}

// maxPaste bounds one pasted text, in bytes; what is longer is taken in parts.
const maxPaste = 1 << 20

// Decoder turns what a terminal sends into keys. The zero Decoder is ready. Bytes
// that are not UTF-8 are taken as Windows-1252, which is what a terminal set to
// it, or to Latin-1, sends.
type Decoder struct {
	buf     []byte
	pasting bool
	paste   []byte
}

// Feed takes bytes and returns the keys that are whole.
func (d *Decoder) Feed(data []byte) []Key {
	d.buf = append(d.buf, data...)
	return d.keys(false)
}

// Waits says whether a key is not whole yet: a lone Esc, or half a character. If
// nothing follows within a moment, Flush takes it as it is.
func (d *Decoder) Waits() bool { return len(d.buf) > 0 && !d.pasting }

// Flush returns what waits.
func (d *Decoder) Flush() []Key { return d.keys(true) }

func (d *Decoder) keys(flush bool) []Key {
	var out []Key
	for len(d.buf) > 0 {
		if d.pasting {
			key, ok := d.pasted()
			if !ok {
				break
			}
			out = append(out, key)
			continue
		}
		key, n, known := decode(d.buf, flush)
		if n == 0 {
			break
		}
		if d.buf = d.buf[n:]; !known {
			continue
		}
		if key.Name == Paste {
			d.pasting = true
			continue
		}
		out = append(out, key)
	}
	return out
}

// pasteEnd ends a bracketed paste.
const pasteEnd = "\x1b[201~"

func (d *Decoder) pasted() (Key, bool) {
	i := bytes.Index(d.buf, []byte(pasteEnd))
	if i < 0 {
		keep := min(len(d.buf), len(pasteEnd)-1) // it may be the first half of the end
		d.paste = append(d.paste, d.buf[:len(d.buf)-keep]...)
		d.buf = d.buf[len(d.buf)-keep:]
		if len(d.paste) < maxPaste {
			return Key{}, false
		}
		key := Key{Name: Paste, Text: clean(d.paste)}
		d.paste = nil
		return key, true
	}
	text := append(d.paste, d.buf[:i]...)
	d.buf, d.paste, d.pasting = d.buf[i+len(pasteEnd):], nil, false
	return Key{Name: Paste, Text: clean(text)}, true
}

// clean is pasted text with the line ends of a text, in UTF-8.
func clean(text []byte) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(Decode(string(text)))
}

// Decode returns text as it is when it is UTF-8; bytes that are not are read as
// Windows-1252.
func Decode(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && n == 1 {
			r = charmap.Windows1252.DecodeByte(text[i])
		}
		b.WriteRune(r)
		i += n
	}
	return b.String()
}

// decode reads one key. n is 0 when more is needed; known is false for a key that
// means nothing here.
func decode(b []byte, flush bool) (key Key, n int, known bool) {
	if b[0] == 0x1b {
		return escape(b, flush)
	}
	if b[0] < 0x20 || b[0] == 0x7f {
		name, ok := control(b[0])
		return Key{Name: name}, 1, ok
	}
	if !utf8.FullRune(b) && !flush {
		return Key{}, 0, false
	}
	r, size := utf8.DecodeRune(b)
	if r == utf8.RuneError && size == 1 {
		r = charmap.Windows1252.DecodeByte(b[0])
	}
	return Key{Name: Rune, Rune: r}, size, !unicode.IsControl(r)
}

func control(c byte) (Name, bool) {
	name, ok := map[byte]Name{
		'\r': Enter, '\n': NewLine, '\t': Tab, 8: Backspace, 0x7f: Backspace,
		1: Home, 2: Left, 3: Interrupt, 4: EOF, 5: End, 6: Right, 7: Outside, 11: KillEnd, 12: Redraw,
		14: Down, 16: Up, 18: Search, 21: KillStart, 23: KillWord, 25: Yank, 26: Suspend,
	}[c]
	return name, ok
}

func escape(b []byte, flush bool) (Key, int, bool) {
	if len(b) == 1 {
		if !flush {
			return Key{}, 0, false
		}
		return Key{Name: Escape}, 1, true
	}
	switch b[1] {
	case '[':
		return csi(b, flush)
	case 'O':
		if len(b) < 3 {
			return Key{}, wait(len(b), flush), false
		}
		name, ok := arrows(b[2], false)
		return Key{Name: name}, 3, ok
	case 0x1b:
		return Key{Name: Escape}, 1, true
	}
	name, ok := map[byte]Name{
		'\r': NewLine, '\n': NewLine, 'b': WordLeft, 'f': WordRight, 'd': KillWordAhead, 0x7f: KillWord, 8: KillWord,
	}[b[1]]
	return Key{Name: name}, 2, ok
}

// wait is how much of an unfinished sequence to drop.
func wait(n int, flush bool) int {
	if flush {
		return n
	}
	return 0
}

// csi reads a control sequence (ECMA-48 §5.4): parameters, intermediates, a final
// byte.
func csi(b []byte, flush bool) (Key, int, bool) {
	i := 2
	for i < len(b) && b[i] >= 0x20 && b[i] < 0x40 {
		i++
	}
	if i == len(b) {
		return Key{}, wait(len(b), flush), false
	}
	if b[i] < 0x40 || b[i] > 0x7e {
		return Key{}, i, false // broken off; what follows is a key of its own
	}
	params, final := string(b[2:i]), b[i]
	if final == '~' || final == 'u' {
		name, ok := map[string]Name{
			"200~": Paste, "1~": Home, "7~": Home, "4~": End, "8~": End, "3~": Delete,
			"13;2u": NewLine, "13;3u": NewLine, "13;5u": NewLine, "27;2;13~": NewLine, "27;3;13~": NewLine, "27u": Escape,
		}[params+string(final)]
		return Key{Name: name}, i + 1, ok
	}
	word := strings.HasSuffix(params, ";5") || strings.HasSuffix(params, ";3")
	name, ok := arrows(final, word)
	return Key{Name: name}, i + 1, ok
}

func arrows(final byte, word bool) (Name, bool) {
	if word {
		name, ok := map[byte]Name{'C': WordRight, 'D': WordLeft}[final]
		return name, ok
	}
	name, ok := map[byte]Name{'A': Up, 'B': Down, 'C': Right, 'D': Left, 'H': Home, 'F': End}[final]
	return name, ok
}
