// Package line is a line editor without a terminal: keys go in, a text and the
// rows that show it come out. It is pure, so every key can be tested without a
// terminal. Its one rule: what was typed or pasted never reaches the screen as it
// is, only through package inert.
package line

import (
	"slices"
	"strings"
	"unicode"
)

// History is what was typed before; At(0) is the newest.
type History interface {
	Len() int
	At(i int) string
}

// Completer lists what the text could go on with. from is where the word begins
// that is completed, in characters; each option replaces text[from:at].
type Completer func(text []rune, at int) (from int, options []string)

// Event is what a key led to.
type Event int

// The events.
const (
	Edited       Event = iota // show it anew
	Submitted                 // Text is the line
	Interrupted               // Ctrl-C
	Ended                     // Ctrl-D in an empty line
	WantsEditor               // Ctrl-G
	WantsSuspend              // Ctrl-Z
	WantsRedraw               // Ctrl-L
)

// Editor is one text that is edited. The zero Editor is ready.
type Editor struct {
	History  History
	Complete Completer

	text    []rune
	at      int
	killed  []rune
	back    int      // how far back in the history, 0 is the text itself
	draft   []rune   // the text before going back
	options []string // shown below
	search  *search
	escaped bool // the last key was Esc
}

// Text is what was typed.
func (e *Editor) Text() string { return string(e.text) }

// SetText replaces the text; the cursor goes to its end.
func (e *Editor) SetText(text string) {
	e.text = []rune(text)
	e.at, e.search, e.options = len(e.text), nil, nil
}

// Do applies one key.
func (e *Editor) Do(k Key) Event {
	e.options = nil
	escaped := e.escaped
	e.escaped = k.Name == Escape
	if e.search != nil {
		if done, event := e.searching(k); done {
			return event
		}
	}
	switch k.Name {
	case Enter:
		return e.enter()
	case Interrupt:
		return Interrupted
	case EOF:
		if len(e.text) == 0 {
			return Ended
		}
		e.cut(e.at, e.at+1)
	case Outside:
		return WantsEditor
	case Suspend:
		return WantsSuspend
	case Redraw:
		return WantsRedraw
	case Search:
		e.search = &search{}
	case Escape:
		if escaped && len(e.text) > 0 {
			e.killed = e.cut(0, len(e.text)) // Ctrl-Y brings it back
		}
	case Tab:
		e.complete()
	case Up:
		e.up()
	case Down:
		e.down()
	default:
		e.edit(k)
	}
	return Edited
}

// enter sends the text, but for a \ at its end: then it goes on.
func (e *Editor) enter() Event {
	if n := len(e.text); n > 0 && e.at == n && e.text[n-1] == '\\' {
		e.text[n-1] = '\n'
		return Edited
	}
	e.at = len(e.text)
	return Submitted
}

// edit moves the cursor and changes the text.
func (e *Editor) edit(k Key) {
	switch k.Name {
	case Rune:
		e.insert([]rune{k.Rune})
	case Paste:
		e.insert([]rune(k.Text))
	case NewLine:
		e.insert([]rune{'\n'})
	case Backspace:
		e.cut(e.at-1, e.at)
	case Delete:
		e.cut(e.at, e.at+1)
	case Left:
		e.at = max(0, e.at-1)
	case Right:
		e.at = min(len(e.text), e.at+1)
	case Home:
		e.at = e.lineStart(e.at)
	case End:
		e.at = e.lineEnd(e.at)
	case WordLeft:
		e.at = e.wordLeft()
	case WordRight:
		e.at = e.wordRight()
	case KillEnd:
		e.kill(e.at, max(e.lineEnd(e.at), min(e.at+1, len(e.text))))
	case KillStart:
		e.kill(e.lineStart(e.at), e.at)
	case KillWord:
		e.kill(e.wordLeft(), e.at)
	case KillWordAhead:
		e.kill(e.at, e.wordRight())
	case Yank:
		e.insert(e.killed)
	}
}

func (e *Editor) insert(text []rune) {
	e.text = slices.Insert(e.text, e.at, text...)
	e.at += len(text)
}

// cut takes a part out and returns it.
func (e *Editor) cut(from, to int) []rune {
	from, to = max(0, from), min(len(e.text), to)
	if from >= to {
		return nil
	}
	out := slices.Clone(e.text[from:to])
	e.text = slices.Delete(e.text, from, to)
	if e.at > from {
		e.at = max(from, e.at-(to-from))
	}
	return out
}

func (e *Editor) kill(from, to int) {
	if out := e.cut(from, to); out != nil {
		e.killed = out
	}
}

func (e *Editor) lineStart(at int) int {
	for at > 0 && e.text[at-1] != '\n' {
		at--
	}
	return at
}

func (e *Editor) lineEnd(at int) int {
	for at < len(e.text) && e.text[at] != '\n' {
		at++
	}
	return at
}

func (e *Editor) wordLeft() int {
	at := e.at
	for at > 0 && !inWord(e.text[at-1]) {
		at--
	}
	for at > 0 && inWord(e.text[at-1]) {
		at--
	}
	return at
}

func (e *Editor) wordRight() int {
	at := e.at
	for at < len(e.text) && !inWord(e.text[at]) {
		at++
	}
	for at < len(e.text) && inWord(e.text[at]) {
		at++
	}
	return at
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// up goes a line up in the text, or from its first line back in the history.
func (e *Editor) up() {
	start := e.lineStart(e.at)
	if start > 0 {
		above := e.lineStart(start - 1)
		e.at = min(above+e.at-start, start-1)
		return
	}
	if e.History == nil || e.back >= e.History.Len() {
		return
	}
	if e.back == 0 {
		e.draft = slices.Clone(e.text)
	}
	e.back++
	e.SetText(e.History.At(e.back - 1))
}

func (e *Editor) down() {
	end := e.lineEnd(e.at)
	if end < len(e.text) {
		e.at = min(end+1+e.at-e.lineStart(e.at), e.lineEnd(end+1))
		return
	}
	switch {
	case e.back == 0:
	case e.back == 1:
		e.back = 0
		e.SetText(string(e.draft))
	default:
		e.back--
		e.SetText(e.History.At(e.back - 1))
	}
}

// complete puts in what all options have in common, and lists them when that adds
// nothing.
func (e *Editor) complete() {
	if e.Complete == nil {
		return
	}
	from, options := e.Complete(slices.Clone(e.text), e.at)
	if len(options) == 0 || from < 0 || from > e.at {
		return
	}
	common := options[0]
	for _, o := range options[1:] {
		common = commonPrefix(common, o)
	}
	if len(options) == 1 && !strings.HasSuffix(common, "/") {
		common += " "
	}
	if len([]rune(common)) > e.at-from {
		e.cut(from, e.at)
		e.at = from
		e.insert([]rune(common))
		return
	}
	if len(options) > 1 {
		e.options = options
	}
}

func commonPrefix(a, b string) string {
	x, y := []rune(a), []rune(b)
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	return string(x[:n])
}

// search is Ctrl-R.
type search struct {
	query []rune
	hit   int  // index in the history
	found bool // hit fits the query
}

// searching handles a key while a search is open. done is false for a key that
// ends the search and is then handled as any other.
func (e *Editor) searching(k Key) (done bool, event Event) {
	s := e.search
	switch k.Name {
	case Rune:
		s.query = append(s.query, k.Rune)
		e.find(s.hit)
	case Backspace:
		if n := len(s.query); n > 0 {
			s.query = s.query[:n-1]
		}
		e.find(0)
	case Search:
		if s.found {
			e.find(s.hit + 1)
		}
	case Interrupt, Outside:
		e.search = nil
	default:
		e.search = nil
		if s.found {
			e.SetText(e.History.At(s.hit))
		}
		if k.Name != Escape && k.Name != Tab {
			return false, Edited
		}
	}
	return true, Edited
}

// find looks from an entry backwards; the last hit stays when there is none
// further back.
func (e *Editor) find(from int) {
	s := e.search
	if e.History == nil || len(s.query) == 0 {
		s.found, s.hit = false, 0
		return
	}
	query := strings.ToLower(string(s.query))
	for i := from; i < e.History.Len(); i++ {
		if strings.Contains(strings.ToLower(e.History.At(i)), query) {
			s.hit, s.found = i, true
			return
		}
	}
	if !s.found || !strings.Contains(strings.ToLower(e.History.At(s.hit)), query) {
		s.found = false
	}
}
