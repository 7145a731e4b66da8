package spec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/inert"
)

// maxNotes bounds what the host writes into one line, in bytes.
const maxNotes = 1000

// Update is what the host may change of a task.
type Update struct {
	Status   Status
	Notes    string // "" keeps the notes
	Evidence string // "" becomes none
}

// Set returns the document with one task updated. It changes the task's status,
// notes and evidence lines and the progress line, keeps the line ends of the
// document, and leaves every other byte as it is. A line that is not there is put
// below the heading or the status.
func (d Doc) Set(id string, u Update) ([]byte, error) {
	at := slices.IndexFunc(d.Tasks, func(t Task) bool { return t.ID == TaskID(id) })
	if at < 0 {
		return nil, fmt.Errorf("%w: %q; the plan has %s", ErrNoTask, clip(id, 40), d.ids())
	}
	e := edits{doc: d, text: map[int]string{}, after: map[int]string{}}
	status := e.set(at, "status", string(u.Status), e.heading(at))
	if u.Notes != "" {
		e.set(at, "notes", oneLine(u.Notes, maxNotes), status)
	}
	switch {
	case u.Evidence != "":
		e.set(at, "evidence", oneLine(u.Evidence, maxNotes), status)
	case e.find(at, "evidence") >= 0:
		e.set(at, "evidence", "none", status)
	}
	e.count(at, u.Status)
	return e.apply(), nil
}

func (d Doc) ids() string {
	var ids []string
	for _, t := range d.Tasks {
		ids = append(ids, t.ID)
	}
	if len(ids) == 0 {
		return "no tasks"
	}
	return clip(strings.Join(ids, ", "), 300)
}

// edits collects changes by line: the new bytes of a line, and what comes after it.
type edits struct {
	doc   Doc
	text  map[int]string
	after map[int]string
}

func (e edits) heading(task int) int { return e.doc.Tasks[task].Line - 1 }

// find is the task's first line with this field, or -1.
func (e edits) find(task int, key string) int {
	return slices.IndexFunc(e.doc.lines, func(l line) bool { return l.kind == field && l.task == task && l.key == key })
}

// set gives a field its value and returns the line after which more may be put. A
// new line comes after below, or after the heading where below ends the file.
func (e edits) set(task int, key, value string, below int) int {
	if i := e.find(task, key); i >= 0 {
		l := e.doc.lines[i]
		head := l.prefix
		if strings.HasSuffix(head, ":") || strings.HasSuffix(head, "*") || strings.HasSuffix(head, "_") {
			head += " "
		}
		e.text[i] = head + value + l.suffix + l.eol
		if l.eol == "" {
			return e.heading(task)
		}
		return i
	}
	if e.doc.lines[below].eol == "" {
		below = e.heading(task)
	}
	indent := ""
	for _, l := range e.doc.lines {
		if l.kind == field && l.task == task {
			indent = l.prefix[:len(l.prefix)-len(strings.TrimLeft(l.prefix, " \t"))]
			break
		}
	}
	e.after[below] += indent + "- **" + key + "**: " + value + e.doc.lines[e.heading(task)].eol
	return below
}

// count brings the progress lines up to date, where they count tasks.
func (e edits) count(task int, status Status) {
	done := 0
	for i, t := range e.doc.Tasks {
		if i == task {
			t.Status = status
		}
		if t.Status == Done {
			done++
		}
	}
	for i, l := range e.doc.lines {
		m := progressPattern().FindStringSubmatchIndex(l.text)
		if l.kind != progress || m == nil || m[2] < 0 {
			continue
		}
		e.text[i] = l.bom + l.text[:m[2]] + strconv.Itoa(done) + l.text[m[4]:m[5]] + strconv.Itoa(len(e.doc.Tasks)) + l.text[m[7]:] + l.eol
	}
}

func (e edits) apply() []byte {
	var out []byte
	for i, l := range e.doc.lines {
		if text, ok := e.text[i]; ok {
			out = append(out, text...)
		} else {
			out = append(out, e.doc.data[l.start:l.end]...)
		}
		out = append(out, e.after[i]...)
	}
	return out
}

// oneLine makes text fit for one line of a document: no line breaks, nothing
// hidden, not endless.
func oneLine(s string, most int) string {
	s, _ = inert.Visible(strings.Join(strings.Fields(s), " "))
	return clip(s, most)
}

// EvidenceText is how evidence is written in tasks.md.
func EvidenceText(e *event.Evidence) string {
	if e == nil {
		return ""
	}
	const most, short = 200, 12
	command := clip(oneLine(e.Command, maxNotes), most)
	mark := "`"
	for strings.Contains(command, mark) {
		mark += "`"
	}
	if len(mark) > 1 {
		command = " " + command + " "
	}
	text := fmt.Sprintf("%s%s%s exit %d", mark, command, mark, e.ExitCode)
	if tree := e.Tree; tree != "" {
		if len(tree) > short {
			tree = tree[:short] + "…"
		}
		text += ", tree " + tree
	}
	return text
}

// Render writes tasks in the canonical form of CONTRACT §Spec files.
func Render(title string, tasks []Task) []byte {
	var b strings.Builder
	b.WriteString("# Tasks: " + oneLine(title, maxNotes) + "\n")
	for _, t := range tasks {
		fmt.Fprintf(&b, "\n## %s: %s\n", t.ID, oneLine(t.Title, maxNotes))
		fmt.Fprintf(&b, "- **status**: %s\n", t.Status)
		fmt.Fprintf(&b, "- **files**: %s\n", renderList(t.Files, "`"))
		fmt.Fprintf(&b, "- **depends**: %s\n", renderList(t.Depends, ""))
		for _, f := range []struct{ key, value string }{{"acceptance", t.Acceptance}, {"notes", t.Notes}, {"evidence", t.Evidence}} {
			if f.value != "" {
				fmt.Fprintf(&b, "- **%s**: %s\n", f.key, oneLine(f.value, 4*maxNotes))
			}
		}
	}
	return []byte(b.String())
}

func renderList(items []string, mark string) string {
	if len(items) == 0 {
		return "none"
	}
	var out []string
	for _, it := range items {
		out = append(out, mark+oneLine(it, maxNotes)+mark)
	}
	return strings.Join(out, ", ")
}
