// Package spec is the plan as files: requirements, design and tasks of one piece
// of work, in .coderrr/specs/NNN-slug. People may edit them by hand; its one rule
// is that the host changes only status, notes, evidence and progress lines of
// tasks.md, and that every other byte stays as it is and is part of the plan's
// hash.
package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/coderrr/coderrr/internal/inert"
)

// The documents of a spec. Each lies in its folder as NAME.md.
const (
	Requirements = "requirements"
	Design       = "design"
	Tasks        = "tasks"
)

// Documents lists the documents in reading order.
func Documents() []string { return []string{Requirements, Design, Tasks} }

// The sizes of a spec. A quick spec is one page: it has tasks.md only, and its
// size is told by that. An absent document counts as empty bytes in the hash.
const (
	Full  = "full"
	Quick = "quick"
)

// Plan is a spec as it is on disk. Problem says why it cannot be approved (a
// ParseError where tasks.md cannot be read, or that it has no tasks); it is nil for
// a plan that can be. With a Problem, Tasks holds what could be read.
type Plan struct {
	ID    string // folder name, NNN-slug
	Title string
	Size  string // Full or Quick
	Hash  string // hex; see Hash
	Docs  map[string]string
	Tasks []Task

	Problem error
}

// Task is one task of a plan. Line is the number of its heading in tasks.md, from
// 1. Evidence is what the file says; what counts is the Ledger.
type Task struct {
	ID         string // T and at least three digits, however it is written
	Title      string
	Status     Status
	Files      []string
	Depends    []string
	Acceptance string
	Notes      string
	Evidence   string
	Line       int
}

// Summary is the state of a plan's tasks in one line for people and models.
func (p Plan) Summary() string {
	if p.Problem != nil {
		return p.Problem.Error()
	}
	n := map[Status]int{}
	for _, t := range p.Tasks {
		n[t.Status]++
	}
	out := fmt.Sprintf("%d of %d tasks done", n[Done], len(p.Tasks))
	if n[InProgress] > 0 {
		out += fmt.Sprintf(", %d in progress", n[InProgress])
	}
	if n[Blocked] > 0 {
		out += fmt.Sprintf(", %d blocked", n[Blocked])
	}
	return out
}

// Errors of specs.
var (
	// ErrNotFound: no spec is meant by what was given.
	ErrNotFound = errors.New("no such spec")
	// ErrGone: the folder of a spec that was there is there no more.
	ErrGone = errors.New("the spec's folder was deleted")
	// ErrNoTask: the plan has no task with this id.
	ErrNoTask = errors.New("no such task")
	// ErrDocument: not the name of a document of a spec.
	ErrDocument = errors.New("not a document of a spec")
	// ErrNoTasks: tasks.md holds no task, so there is nothing to approve.
	ErrNoTasks = errors.New("tasks.md has no tasks: each begins with a heading such as `## T001: Title`")
)

// ParseError says where and why tasks.md cannot be read. Line counts from 1, Text
// is the line, cut when long and with hidden characters made visible.
type ParseError struct {
	Line int
	Text string
	Why  string
}

// Error names the file, the line, its text and the remedy.
func (e *ParseError) Error() string {
	return fmt.Sprintf("tasks.md line %d (%s): %s", e.Line, e.Text, e.Why)
}

func parseError(l line, why string) *ParseError {
	const most = 100
	text, _ := inert.Visible(strings.TrimSpace(l.text))
	return &ParseError{Line: l.number, Text: clip(text, most), Why: why}
}

// clip cuts s at a rune boundary and says that it did.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xC0 == 0x80 {
		most--
	}
	return s[:most] + "…"
}

// Hash identifies a plan: hex SHA-256 of requirements, NUL, design, NUL, tasks, as
// bytes, less each whole line of tasks that parses as status, notes, evidence or
// progress (CONTRACT §Approval). An absent document is empty bytes. Ticking a task
// does not change it; anything else does, since no document may hold a NUL.
func Hash(requirements, design, tasks []byte) string {
	h := sha256.New()
	h.Write(requirements)
	h.Write([]byte{0})
	h.Write(design)
	h.Write([]byte{0})
	from := 0
	for _, l := range scan(tasks) {
		if l.host() {
			h.Write(tasks[from:l.start])
			from = l.end
		}
	}
	h.Write(tasks[from:])
	return hex.EncodeToString(h.Sum(nil))
}
