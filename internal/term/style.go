// Package term shows a session in a terminal and asks there. Rules of its output:
//
//   - Only our own colour codes reach a terminal: everything that a model, a file,
//     a command or a server wrote passes through package inert first.
//   - Colour says nothing that words or signs do not say too.
//   - No cursor movement: what was printed stays, so it works over a slow line, in
//     a pipe, in a log and with a screen reader.
//   - No question has "yes" as its default.
package term

import (
	"strings"

	"github.com/coderrr/coderrr/internal/inert"
	lined "github.com/coderrr/coderrr/internal/line"
)

// The bounds of a line's width, in columns; a terminal can report anything.
const (
	minWidth     = 20
	maxWidth     = 200
	defaultWidth = 80
)

// Style says how to print. The zero Style is plain ASCII at 80 columns without
// colour or wrapping: right for a pipe.
type Style struct {
	Color   bool
	Unicode bool // signs beyond ASCII
	Wrap    bool // break long lines of text at words
	Width   int  // columns; 0 is 80
}

// Detect chooses a style from the environment. terminal says whether the output
// is one, columns is its width (0 when unknown).
func Detect(getenv func(string) string, terminal bool, columns int) Style {
	dumb := getenv("TERM") == "dumb"
	s := Style{
		Color:   terminal && !dumb && getenv("NO_COLOR") == "",
		Unicode: !dumb && utf8Locale(getenv),
		Wrap:    terminal,
		Width:   clampWidth(columns),
	}
	if force := getenv("FORCE_COLOR"); force != "" && force != "0" && getenv("NO_COLOR") == "" {
		s.Color = true
	}
	return s
}

func utf8Locale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := getenv(name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}

func clampWidth(columns int) int {
	if columns <= 0 {
		return defaultWidth
	}
	return min(max(columns, minWidth), maxWidth)
}

func (s Style) width() int { return clampWidth(s.Width) }

// paint puts text between a colour code and its end. The text must be inert.
func (s Style) paint(code, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s Style) bold(t string) string   { return s.paint("1", t) }
func (s Style) dim(t string) string    { return s.paint("2", t) }
func (s Style) red(t string) string    { return s.paint("31", t) }
func (s Style) green(t string) string  { return s.paint("32", t) }
func (s Style) yellow(t string) string { return s.paint("33", t) }
func (s Style) cyan(t string) string   { return s.paint("36", t) }

// sign picks a sign, or words for it where it cannot be shown.
func (s Style) sign(unicode, ascii string) string {
	if s.Unicode {
		return unicode
	}
	return ascii
}

// OneLine makes untrusted text fit for a line of ours: inert, and without line
// breaks, so that it can neither move the cursor nor forge another line.
func OneLine(text string) string {
	text = inert.Terminal(text)
	if !strings.ContainsAny(text, "\n\t") {
		return text
	}
	return strings.NewReplacer("\n", "⏎", "\t", " ").Replace(strings.TrimRight(text, "\n"))
}

// cut shortens a line to n columns.
func (s Style) cut(text string, n int) string {
	if columns(text) <= n {
		return text
	}
	dots := s.sign("…", "...")
	n -= columns(dots)
	used := 0
	for i, r := range text {
		if used += runeColumns(r); used > n {
			return text[:i] + dots
		}
	}
	return text
}

// columns is how wide text is shown. It holds no control codes.
func columns(text string) int {
	n := 0
	for _, r := range text {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int { return lined.Columns(r) }
