package spec

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// kind is what a line of tasks.md is.
type kind int

const (
	other    kind = iota
	title         // # Tasks: …
	heading       // any heading that is not a task's
	taskHead      // ## T001: …
	field         // - **key**: value
	progress      // Progress: 1/3
	fence         // opens or closes a code block
	code          // inside a code block
)

// line is one line of tasks.md. start and end are its bytes with the line end,
// text is without. All lines together are the document.
type line struct {
	number     int
	start, end int
	text       string
	eol        string // "\n", "\r\n" or ""
	bom        string // before the text of the first line

	kind   kind
	task   int    // number of the task it belongs to, from 0; -1 before the first
	id     string // of a task heading
	name   string // title of a task heading, or of the document
	level  int    // of a heading
	key    string // of a field, in lower case
	value  string // of a field
	prefix string // of a field: what stands before its value
	suffix string // of a field: emphasis closed after its value
	marked bool   // of a field: it is a list item
	indent int
}

// host reports whether the line is the host's to change, and not part of the hash.
func (l line) host() bool {
	switch l.kind {
	case progress:
		return true
	case field:
		return hostKey(l.key)
	default:
		return false
	}
}

func hostKey(key string) bool { return key == "status" || key == "notes" || key == "evidence" }

// scan splits a document and says what each line is. What a line is depends only
// on itself and on headings, code fences and fields before it, never on what a
// host line holds, so that giving one another value leaves the others what they
// are.
func scan(data []byte) []line {
	var lines []line
	s := scanner{task: -1, base: -1}
	for at := 0; at < len(data); {
		end := len(data)
		if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		l := line{number: len(lines) + 1, start: at, end: end}
		l.text = strings.TrimSuffix(string(data[at:end]), "\n")
		if len(l.text) < end-at {
			l.eol = "\n"
		}
		if cut, ok := strings.CutSuffix(l.text, "\r"); ok && l.eol != "" {
			l.text, l.eol = cut, "\r\n"
		}
		if at == 0 {
			bare := strings.TrimPrefix(l.text, "\ufeff")
			l.bom, l.text = l.text[:len(l.text)-len(bare)], bare
		}
		s.classify(&l)
		lines = append(lines, l)
		at = end
	}
	return lines
}

type scanner struct {
	task  int    // current task
	count int    // tasks so far
	level int    // of the current task's heading
	base  int    // indentation of the current task's first field, or -1
	open  string // the fence that is open
	named bool   // the document has its title
}

func (s *scanner) classify(l *line) {
	l.task = s.task
	mark := fenceOf(l.text)
	switch {
	case s.open != "":
		l.kind = code
		if mark != "" && mark[0] == s.open[0] && len(mark) >= len(s.open) && strings.TrimSpace(l.text) == mark {
			l.kind, s.open = fence, ""
		}
		return
	case mark != "":
		l.kind, s.open = fence, mark
		return
	}
	if level, rest, ok := headingOf(l.text); ok {
		s.heading(l, level, rest)
		return
	}
	if breaksLine(l.text) {
		return // a viewer shows it as more than one line: never the host's
	}
	if isProgress(l.text) {
		l.kind = progress
		return
	}
	if s.task >= 0 {
		s.field(l)
	}
}

func (s *scanner) heading(l *line, level int, rest string) {
	l.kind, l.level = heading, level
	if id, name, ok := taskHeading(rest); ok && (level == 2 || level == 3) {
		l.kind, l.id, l.name = taskHead, id, name
		s.task, s.level, s.base = s.count, level, -1
		s.count++
		l.task = s.task
		return
	}
	if level == 1 && !s.named && s.task < 0 {
		l.kind, l.name, s.named = title, documentTitle(rest), true
		return
	}
	if level <= s.level {
		s.task, l.task = -1, -1
	}
}

// field recognises "- **key**: value". Deeper than the task's first field it is
// part of the field above. Without a list mark only known names count, so that
// prose with a colon stays prose.
func (s *scanner) field(l *line) {
	f, ok := splitField(l.text)
	if !ok || !f.marked && !known(f.key) || s.base >= 0 && f.indent > s.base+1 {
		return
	}
	if f.key == "status" && !f.marked {
		if _, err := ParseStatus(f.value); err != nil {
			return
		}
	}
	if s.base < 0 {
		s.base = f.indent
	}
	l.kind, l.key, l.value, l.prefix, l.suffix = field, f.key, f.value, f.prefix, f.suffix
	l.marked, l.indent = f.marked, f.indent
}

// splitField takes a line apart: indentation, list mark, emphasis, key, colon,
// value. The colon may stand inside or outside the emphasis.
func splitField(text string) (line, bool) {
	var f line
	i := 0
	for ; i < len(text) && (text[i] == ' ' || text[i] == '\t'); i++ {
		f.indent++
		if text[i] == '\t' {
			f.indent += 3
		}
	}
	if i+1 < len(text) && strings.IndexByte("-*+", text[i]) >= 0 && (text[i+1] == ' ' || text[i+1] == '\t') {
		f.marked = true
		for i++; i < len(text) && (text[i] == ' ' || text[i] == '\t'); i++ {
		}
	}
	open := run(text[i:], "*_")
	i += len(open)
	k := i
	for k < len(text) && k-i <= 32 && isKeyByte(text[k]) {
		k++
	}
	f.key = strings.ToLower(strings.TrimSpace(text[i:k]))
	if f.key == "" || k == i || !isLetter(text[i]) {
		return f, false
	}
	i = k
	if open != "" && strings.HasPrefix(text[i:], open) {
		i += len(open)
		open = ""
	}
	for i < len(text) && text[i] == ' ' {
		i++
	}
	if i >= len(text) || text[i] != ':' {
		return f, false
	}
	i++
	if open != "" && strings.HasPrefix(text[i:], open) {
		i += len(open)
		open = ""
	}
	for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
		i++
	}
	f.prefix, f.value = text[:i], strings.TrimRight(text[i:], " \t")
	if open != "" {
		if cut, ok := strings.CutSuffix(f.value, open); ok {
			f.value, f.suffix = strings.TrimRight(cut, " \t"), open
		}
	}
	return f, true
}

func isLetter(c byte) bool  { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isKeyByte(c byte) bool { return isLetter(c) || c == ' ' }

// run is the leading repetition of one of the characters, at most three.
func run(s, chars string) string {
	n := 0
	for n < len(s) && n < 3 && strings.IndexByte(chars, s[0]) >= 0 && s[n] == s[0] {
		n++
	}
	return s[:n]
}

// breaksLine finds what other readers take for a line end.
func breaksLine(text string) bool {
	return strings.ContainsAny(text, "\r\v\f\u0085\u2028\u2029")
}

func fenceOf(text string) string {
	t := strings.TrimLeft(text, " \t")
	n := 0
	for n < len(t) && (t[0] == '`' || t[0] == '~') && t[n] == t[0] {
		n++
	}
	if n < 3 || t[0] == '`' && strings.Contains(t[n:], "`") {
		return ""
	}
	return t[:n]
}

// headingOf recognises "## text" with at most three spaces before it.
func headingOf(text string) (level int, rest string, ok bool) {
	t := strings.TrimLeft(text, " ")
	if len(text)-len(t) > 3 {
		return 0, "", false
	}
	for level < len(t) && t[level] == '#' {
		level++
	}
	if level == 0 || level > 6 || level < len(t) && t[level] != ' ' && t[level] != '\t' {
		return 0, "", false
	}
	rest = strings.TrimSpace(t[level:])
	if bare := strings.TrimRight(rest, "#"); bare == "" || bare != rest && strings.HasSuffix(bare, " ") {
		rest = strings.TrimSpace(bare)
	}
	return level, rest, true
}

var taskPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:\[[ xX~/]\][ \t]*)?[*_]{0,3}(?:(?i:task)[ \t]+[Tt]?|[Tt])([0-9]{1,6})(?:[*_]{0,3}[ \t]*[:.)–—-][*_]{0,3}|[*_]{1,3}|[ \t]|$)[ \t]*(?:[-–—:][ \t]+)?(.*)$`)
})

// taskHeading reads "T001: title", "T1 - title", "**T1** title".
func taskHeading(rest string) (id, name string, ok bool) {
	m := taskPattern().FindStringSubmatch(rest)
	if m == nil {
		return "", "", false
	}
	id = canonical(m[1])
	if name = strings.Trim(m[2], "*_ \t"); name == "" {
		name = id
	}
	return id, name, true
}

// canonical writes the digits of an id in one way.
func canonical(digits string) string {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return "T" + digits
	}
	return fmt.Sprintf("T%03d", n)
}

var idPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("^[`*_\\[(]*(?i:task[ \\t]+)?[Tt]?([0-9]{1,6})[`*_\\])]*\\.?$")
})

// TaskID returns the one way an id is written: T1, t001 and 1 are T001. Anything
// else comes back as it is.
func TaskID(id string) string {
	if m := idPattern().FindStringSubmatch(strings.TrimSpace(id)); m != nil {
		return canonical(m[1])
	}
	return id
}

func documentTitle(rest string) string {
	for _, word := range []string{"tasks", "task"} {
		if len(rest) < len(word) || !strings.EqualFold(rest[:len(word)], word) {
			continue
		}
		after := strings.TrimSpace(rest[len(word):])
		if after == "" {
			return ""
		}
		if cut := strings.TrimLeft(after, ":-–— "); cut != after {
			return cut
		}
	}
	return rest
}

var progressPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[ \t]*(?:[-*+][ \t]+)?[*_]{0,3}(?i:progress)[*_]{0,3}[ \t]*:[*_]{0,3}[ \t]*(?:([0-9]{1,6})([ \t]*(?:/|of)[ \t]*)([0-9]{1,6})|[0-9]{1,3}[ \t]*%)(?i:[ \t]+tasks?)?(?i:[ \t]+(?:complete|completed|done))?\.?[*_]{0,3}[ \t]*$`)
})

func isProgress(text string) bool {
	return strings.Contains(text, ":") && progressPattern().MatchString(text)
}
