package web

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strings"

	"github.com/a-h/templ"

	"github.com/coderrr/coderrr/internal/diff"
	"github.com/coderrr/coderrr/internal/view"
)

// maxHunks is how many hunks of a file are drawn at once.
const maxHunks = 50

// hunkSet is hunks as they are shown.
type hunkSet struct {
	File  string
	Hunks []diff.Hunk
	First int // number of Hunks[0], from 0
	Total int // of all hunks; 0 is len(Hunks)
	// Q is the question in which each is decided, nil for none.
	Q *view.Question
	// After is the hash of the content that the hunks lead to, when each can be kept
	// and, unless Fixed, undone; "" when not.
	After string
	Fixed bool
	// Lazy: the page can ask for lines that are not drawn yet. Context: it can also
	// ask for lines between the hunks.
	Lazy, Context bool
	// Whole hunks come from the contents, others from the diffs of the log.
	Whole bool
	// Before is the hunk before the first one of a later part.
	Before *diff.Hunk
}

// Changes is hunks of a file from number first on, when the page asks for them.
func Changes(p Page, f *view.File, hunks []diff.Hunk, first int, whole bool) templ.Component {
	s := fileSet(p, f)
	s.Whole, s.Total, s.First = whole, len(hunks), min(first, len(hunks))
	if s.First > 0 {
		s.Before = &hunks[s.First-1]
	}
	s.Hunks = hunks[s.First:min(len(hunks), s.First+maxHunks)]
	return Hunks(s)
}

func fileSet(p Page, f *view.File) hunkSet {
	mine := p.Session != "" && !foreign(p)
	return hunkSet{
		File: f.Path, Hunks: f.Hunks[:min(len(f.Hunks), maxHunks)], Total: len(f.Hunks), After: f.After,
		Fixed: p.fixed() || f.After == "", Lazy: p.Session != "", Context: mine && f.Before != "" && f.After != "",
	}
}

func (s hunkSet) number(i int) int { return s.First + i + 1 }

func (s hunkSet) total() int { return max(s.Total, s.First+len(s.Hunks)) }

// room is how many lines of hunk i are drawn at once: the first lines of a file
// are there quickly, and all others when they are looked for.
func (s hunkSet) room(i int) int {
	left := foldLines
	for _, h := range s.Hunks[:i] {
		left -= len(h.Lines)
	}
	n := len(s.Hunks[i].Lines)
	if n <= left {
		return n
	}
	return max(left, 0)
}

// gap is the lines before hunk i, or after the last one (to is 0: to the end).
func (s hunkSet) gap(i int) (from, to, shift int) {
	from = 1
	before := s.Before
	if i > 0 {
		before = &s.Hunks[i-1]
	}
	if before != nil {
		from = oldEnd(*before) + 1
		shift = newEnd(*before) - oldEnd(*before)
	}
	if i == len(s.Hunks) {
		if short(*before) {
			return 1, -1, 0 // the file ends there
		}
		return from, 0, shift
	}
	h := s.Hunks[i]
	to = h.OldStart - 1
	if h.OldLines == 0 {
		to = h.OldStart
	}
	if to == 0 {
		return 1, -1, 0 // nothing stands before it
	}
	return from, to, shift
}

// oldEnd and newEnd are the last line of a hunk on each side.
func oldEnd(h diff.Hunk) int {
	if h.OldLines == 0 {
		return h.OldStart
	}
	return h.OldStart + h.OldLines - 1
}

func newEnd(h diff.Hunk) int {
	if h.NewLines == 0 {
		return h.NewStart
	}
	return h.NewStart + h.NewLines - 1
}

// short reports a hunk with less after its last change than a diff shows where it
// can.
func short(h diff.Hunk) bool {
	const context = 3
	n := 0
	for i := len(h.Lines) - 1; i >= 0 && h.Lines[i].Op == diff.Equal; i-- {
		n++
	}
	return n < context
}

func gapText(from, to int) string {
	if to == 0 {
		return "All lines below"
	}
	return plural(to-from+1, "line")
}

func gapName(from, to int) string {
	if to == 0 {
		return fmt.Sprintf("Show all lines after line %d", from-1)
	}
	return fmt.Sprintf("Show all %s between", plural(to-from+1, "line"))
}

// key names a state of something for what the reader has looked at.
func key(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:6])
}

// hunkKey stays while the same lines change in the same way, wherever they are.
func hunkKey(file string, h diff.Hunk) string {
	var b strings.Builder
	for _, l := range h.Lines {
		b.WriteByte(byte(l.Op))
		b.WriteString(l.Text + l.EOL)
	}
	return key(file, b.String())
}

func hunksKey(p Page, f *view.File) string {
	return key(f.Before, f.After, fmt.Sprint(p.fixed(), f.Partial, len(f.Edits)))
}

// onlySpaces reports a hunk in which nothing but white space changes.
func onlySpaces(h diff.Hunk) bool {
	added, removed := diff.Stats([]diff.Hunk{h})
	return added == removed && len(diff.Spaces(h)) == added
}

// firstLines is hunks up to a number of lines.
func firstLines(hunks []diff.Hunk, most int) []diff.Hunk {
	for i := range hunks {
		if most -= len(hunks[i].Lines); most <= 0 {
			return hunks[:i+1]
		}
	}
	return hunks
}

func foreign(p Page) bool {
	for _, s := range p.Sessions {
		if s.ID == p.Session {
			return s.Foreign
		}
	}
	return false
}

// binary reports a file whose diff holds what no text has.
func binary(f *view.File) bool {
	sets := [][]diff.Hunk{f.Hunks}
	for _, e := range f.Edits {
		sets = append(sets, e.Hunks)
	}
	for _, hunks := range sets {
		for _, h := range hunks {
			for _, l := range h.Lines {
				if strings.ContainsRune(l.Text, 0) {
					return true
				}
			}
		}
	}
	return false
}

func movedWord(f *view.File) string {
	if path.Dir(f.From) == path.Dir(f.Path) {
		return "renamed"
	}
	return "moved"
}

// modeWord says what permission bits mean for a person.
func modeWord(mode string) string {
	switch mode {
	case "120000":
		return "symbolic link"
	case "0755":
		return "executable (mode 0755)"
	default:
		return "mode " + mode
	}
}

func span(h diff.Hunk) string {
	if h.NewLines > 0 {
		return fmt.Sprintf("%d,%d", h.NewStart, h.NewLines)
	}
	return fmt.Sprintf("%d,%d", h.OldStart, h.OldLines)
}

// heading is the nearest unindented line above, as far as the hunk shows one.
func heading(h diff.Hunk) string {
	for _, l := range h.Lines {
		if l.Op != diff.Equal {
			break
		}
		if l.Text != "" && word(l.Text[0]) {
			return firstLine(l.Text)
		}
	}
	return ""
}
