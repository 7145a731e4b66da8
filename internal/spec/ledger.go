package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/coderrr/coderrr/internal/event"
)

// Ledger is what proves tasks: for each its last sandbox run that ended with exit
// code 0 since the task was started, after its last write. One task is in progress
// at a time. It is kept in memory and rebuilt from the log; it is safe for
// concurrent use.
type Ledger struct {
	mu      sync.Mutex
	current string // task in progress, or done and not yet proved
	proof   map[string]*event.Evidence
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger {
	return &Ledger{proof: map[string]*event.Evidence{}}
}

// Started says that a task is in progress: what proved it before counts no more,
// and the task before it is no longer the one that runs and writes are for.
func (l *Ledger) Started(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id = TaskID(id)
	delete(l.proof, id)
	l.current = id
}

// Ended says that a task has another status than in progress. One that is done and
// not proved goes on: a run that comes now may still prove it.
func (l *Ledger) Ended(id string, s Status) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id = TaskID(id)
	if s != Done {
		delete(l.proof, id)
	}
	if l.current == id && (s != Done || l.proof[id] != nil) {
		l.current = ""
	}
}

// Ran adds a sandbox run and returns the id of the task whose evidence it changed,
// or "". A run that fails proves nothing; one that repeats the command that proved
// the task takes the proof back.
func (l *Ledger) Ran(e event.Evidence) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current == "" {
		return ""
	}
	old := l.proof[l.current]
	switch {
	case e.ExitCode == 0:
		l.proof[l.current] = &e
	case old != nil && old.Command == e.Command:
		delete(l.proof, l.current)
	default:
		return ""
	}
	return l.current
}

// Wrote says that a file changed, and returns the tasks that lost their evidence by
// it, sorted: the one in progress, and every task of the plan that names the file.
func (l *Ledger) Wrote(file string, plan *Plan) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lost []string
	drop := func(id string) {
		if l.proof[id] != nil {
			delete(l.proof, id)
			lost = append(lost, id)
		}
	}
	drop(l.current)
	if plan != nil {
		for _, t := range plan.Tasks {
			if slices.ContainsFunc(t.Files, func(f string) bool { return covers(f, file) }) {
				drop(t.ID)
			}
		}
	}
	slices.Sort(lost)
	return lost
}

// covers reports whether an entry of a task's files means a path: the file itself,
// a directory above it, or a pattern.
func covers(entry, file string) bool {
	entry = path.Clean(strings.ReplaceAll(entry, `\`, "/"))
	if entry == file || strings.HasPrefix(file, entry+"/") {
		return true
	}
	if dir, ok := strings.CutSuffix(entry, "/**"); ok && strings.HasPrefix(file, dir+"/") {
		return true
	}
	ok, err := path.Match(entry, file)
	return err == nil && ok
}

// Evidence is what proves a task, or nil. The value is not to be changed.
func (l *Ledger) Evidence(id string) *event.Evidence {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.proof[TaskID(id)]
}

// Rebuild brings the ledger to where a stored log left it. A run that no
// task.updated tells of is forgotten: it has to be repeated.
func (l *Ledger) Rebuild(events []event.Event) {
	var plan Plan
	for _, e := range events {
		switch p := e.Data.(type) {
		case event.PlanReady:
			plan = Plan{ID: p.Spec}
			for _, t := range p.Tasks {
				plan.Tasks = append(plan.Tasks, Task{ID: TaskID(t.ID), Files: t.Files})
			}
		case event.TaskUpdated:
			l.restore(p)
		case event.FileChanged:
			l.Wrote(p.Path, &plan)
			if p.From != "" {
				l.Wrote(p.From, &plan)
			}
		}
	}
}

func (l *Ledger) restore(p event.TaskUpdated) {
	if Status(p.Status) == InProgress {
		l.Started(p.ID)
	}
	l.mu.Lock()
	if id := TaskID(p.ID); p.Evidence != nil {
		l.proof[id] = p.Evidence
	} else {
		delete(l.proof, id)
	}
	l.mu.Unlock()
	if Status(p.Status) != InProgress {
		l.Ended(p.ID, Status(p.Status))
	}
}

// Tree identifies what a run saw: hex SHA-256 over the path and hash of each
// changed file, sorted by path ("" as hash for a deleted one), and the id of git's
// HEAD, "" where there is none.
func Tree(changed map[string]string, head string) string {
	h := sha256.New()
	for _, p := range slices.Sorted(maps.Keys(changed)) {
		h.Write([]byte(p + "\x00" + changed[p] + "\n"))
	}
	h.Write([]byte("\x00" + head))
	return hex.EncodeToString(h.Sum(nil))
}
