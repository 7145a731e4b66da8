package spec

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Doc is a tasks.md that was read. It keeps the bytes, so that a change touches
// nothing but its own line. A Doc never changes.
type Doc struct {
	Title string
	Tasks []Task

	data  []byte
	lines []line
}

// ParseTasks reads tasks.md as people write it: bold or not, fields in any order,
// `##` or `###`, `T1`, any dash after the id, synonyms of a status, unknown fields
// kept. What it cannot read is a ParseError with the line. A document without
// tasks is no error here; see ErrNoTasks. With an error, Doc holds what could be
// read.
func ParseTasks(data []byte) (Doc, error) {
	d := Doc{data: slices.Clone(data), lines: scan(data)}
	var problem *ParseError
	fail := func(l line, why string) {
		if problem == nil || l.number < problem.Line {
			problem = parseError(l, why)
		}
	}
	seen := map[string]int{}
	for i, l := range d.lines {
		switch l.kind {
		case title:
			d.Title = l.name
		case taskHead:
			if at, twice := seen[l.id]; twice {
				fail(l, "the id "+l.id+" is used twice, first in line "+strconv.Itoa(at)+": give each task its own")
			}
			seen[l.id] = l.number
			if l.eol == "" {
				fail(l, "the file ends in a task's heading: end the line")
			}
			d.Tasks = append(d.Tasks, Task{ID: l.id, Title: l.name, Status: Pending, Line: l.number})
		case field:
			if why := d.take(&d.Tasks[l.task], i); why != "" {
				fail(l, why)
			}
		}
	}
	if l, open := d.openFence(); open {
		fail(l, "the code block that begins here is never closed")
	}
	for _, l := range d.lines {
		if l.kind != field || name(l.key) != "depends" {
			continue
		}
		t := d.Tasks[l.task]
		for _, dep := range t.Depends {
			if strings.HasPrefix(dep, "T") && seen[dep] == 0 && TaskID(dep[1:]) == dep {
				fail(l, "it depends on "+dep+", which is not a task of this plan")
			} else if dep == t.ID {
				fail(l, "it depends on itself")
			}
		}
	}
	if problem != nil {
		return d, problem
	}
	return d, nil
}

// take reads the field in line i into t and says what is wrong with it.
func (d Doc) take(t *Task, i int) string {
	l := d.lines[i]
	switch name(l.key) {
	case "status":
		if d.earlier(i) {
			return "this task has two status lines: keep one"
		}
		s, err := ParseStatus(l.value)
		if err != nil {
			return err.Error()
		}
		t.Status = s
	case "files":
		t.Files = append(t.Files, splitFiles(l.value, d.below(i))...)
	case "depends":
		t.Depends = append(t.Depends, splitIDs(l.value, d.below(i))...)
	case "acceptance":
		t.Acceptance = joinText(t.Acceptance, joinText(l.value, d.below(i)...))
	case "notes":
		t.Notes = joinText(t.Notes, joinText(l.value, d.below(i)...))
	case "evidence":
		if d.earlier(i) {
			return "this task has two evidence lines: keep one"
		}
		if !none(l.value) {
			t.Evidence = l.value
		}
	}
	return ""
}

// earlier reports whether the same field came before line i in its task.
func (d Doc) earlier(i int) bool {
	for j := i - 1; j >= 0 && d.lines[j].kind != taskHead; j-- {
		if d.lines[j].kind == field && d.lines[j].key == d.lines[i].key {
			return true
		}
	}
	return false
}

// below collects the lines that go on with the field in line i: indented, up to a
// blank line or anything else.
func (d Doc) below(i int) []string {
	var out []string
	for _, l := range d.lines[i+1:] {
		bare := strings.TrimLeft(l.text, " \t")
		if l.kind != other || bare == "" || len(bare) == len(l.text) {
			break
		}
		if len(bare) > 1 && strings.IndexByte("-*+", bare[0]) >= 0 && bare[1] == ' ' {
			bare = strings.TrimLeft(bare[1:], " ")
		}
		out = append(out, strings.TrimRight(bare, " \t"))
	}
	return out
}

func (d Doc) openFence() (line, bool) {
	var at line
	open := false
	for _, l := range d.lines {
		if l.kind == fence {
			if open = !open; open {
				at = l
			}
		}
	}
	return at, open
}

// name maps the ways a field is called to its one name. The host's own fields have
// one name only, so that what is left out of the hash is plain to see.
func name(key string) string {
	switch key {
	case "status", "notes", "evidence", "files", "depends", "acceptance":
		return key
	case "file", "paths", "path":
		return "files"
	case "depends on", "dependencies", "dependency", "deps":
		return "depends"
	case "acceptance criteria", "acceptance criterion", "done when", "accept":
		return "acceptance"
	}
	return ""
}

func known(key string) bool { return name(key) != "" }

var (
	quoted = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("`+([^`]+)`+") })
	aside  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[ \t]+\([^()]*\)$`) })
)

// splitFiles reads a list of files: quoted by backticks or not, separated by commas,
// or one a line below.
func splitFiles(value string, below []string) []string {
	var out []string
	add := func(s string) {
		s = aside().ReplaceAllString(strings.TrimSpace(s), "")
		s = strings.TrimPrefix(strings.Trim(s, "`\"' \t"), "./")
		if !none(s) && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, part := range append([]string{value}, below...) {
		at := 0
		for _, m := range quoted().FindAllStringSubmatchIndex(part, -1) {
			for _, s := range strings.FieldsFunc(part[at:m[0]], separates) {
				add(s)
			}
			add(part[m[2]:m[3]])
			at = m[1]
		}
		rest := part[at:]
		if at > 0 {
			rest = aside().ReplaceAllString(" "+strings.TrimLeft(rest, " "), "")
		}
		for _, s := range strings.FieldsFunc(rest, separates) {
			add(s)
		}
	}
	return out
}

func separates(r rune) bool { return r == ',' || r == ';' }

func splitIDs(value string, below []string) []string {
	var out []string
	for _, part := range append([]string{value}, below...) {
		for _, s := range strings.FieldsFunc(strings.ReplaceAll(part, " and ", ","), separates) {
			s = strings.TrimSpace(aside().ReplaceAllString(s, ""))
			if none(strings.Trim(s, "`*_. ")) {
				continue
			}
			if id := TaskID(s); !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
	}
	return out
}

func none(s string) bool {
	switch strings.ToLower(s) {
	case "", "none", "nothing", "n/a", "na", "-", "–", "—", "null", "nil", "tbd":
		return true
	}
	return false
}

func joinText(first string, more ...string) string {
	for _, m := range more {
		if m == "" {
			continue
		}
		if first != "" {
			first += "; "
		}
		first += m
	}
	return first
}

// missing says why a document without tasks has none: a line that looks like a
// task is shown.
func (d Doc) missing() error {
	for _, l := range d.lines {
		t := strings.TrimLeft(l.text, " \t-*+")
		if l.kind == code || l.kind == fence || len(t) == len(l.text) && l.level == 0 {
			continue
		}
		if l.level > 0 {
			_, t, _ = headingOf(l.text)
		}
		if id, title, ok := taskHeading(t); ok {
			return parseError(l, "it looks like a task and is not written as one: write `## "+id+": "+clip(title, 60)+"`")
		}
	}
	return ErrNoTasks
}
