package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/spec"
	"github.com/coderrr/coderrr/internal/tools"
)

// The methods below are what the SYSTEM tools act on: the current spec, its tasks
// and what proves them.

// Create starts a new spec and makes it the current one.
func (s *Session) Create(_ context.Context, title, goal, size string) (string, error) {
	if s.Phase() == event.Execute {
		return "", tools.Explain("a plan is being carried out; finish it, or say what is wrong with it with ask_review")
	}
	made, err := s.o.Specs.Create(title, goal, size)
	if err != nil {
		return "", err
	}
	s.setSpec(made.ID)
	for _, doc := range spec.Documents() {
		if text, ok := made.Docs[doc]; ok {
			s.o.Log.Append(event.SpecWritten{Spec: made.ID, Document: doc, SHA256: tools.HashOf([]byte(text))})
		}
	}
	return made.ID, nil
}

// Write replaces a document of the current spec and returns its hash.
func (s *Session) Write(_ context.Context, document, content string) (string, error) {
	id := s.current()
	if id == "" {
		return "", tools.Explain("there is no spec yet: call create_spec first")
	}
	sum, err := s.o.Specs.Write(id, document, content)
	if err != nil {
		return "", err
	}
	s.o.Log.Append(event.SpecWritten{Spec: id, Document: document, SHA256: sum})
	return sum, nil
}

// Read returns a document of the current spec, or all.
func (s *Session) Read(_ context.Context, document string) (string, error) {
	id := s.current()
	if id == "" {
		return "", tools.Explain("there is no spec yet: call create_spec first")
	}
	return s.o.Specs.Read(id, document)
}

// Update sets a task's status. Only an approved plan's tasks have one to set; what
// proves a task is the host's own record, never the model's word.
func (s *Session) Update(_ context.Context, id, status, notes string) (string, error) {
	if s.Phase() != event.Execute {
		return "", tools.Explain("tasks are updated after the plan is approved; until then write them with write_spec")
	}
	st, err := spec.ParseStatus(status)
	if err != nil {
		return "", tools.Explain(err.Error())
	}
	if st == spec.InProgress {
		s.ledger.Started(id)
	}
	evidence := s.ledger.Evidence(id)
	if st != spec.Done {
		evidence = nil
	}
	task, err := s.o.Specs.UpdateTask(s.current(), id, st, notes, evidence)
	if err != nil {
		return "", err
	}
	if st != spec.InProgress {
		s.ledger.Ended(id, st)
	}
	s.mu.Lock()
	before := s.task
	switch {
	case st == spec.InProgress:
		s.task = task.ID
	case s.task == task.ID:
		s.task = ""
	}
	if s.task != before {
		clear(s.accepted) // "accept all in task" ends with the task, also if it comes back
	}
	s.mu.Unlock()
	if err := s.o.Log.Commit(event.TaskUpdated{ID: task.ID, Status: string(st), Evidence: evidence}); err != nil {
		return "", fmt.Errorf("store the task's status: %w", err)
	}
	switch {
	case st == spec.Done && evidence == nil:
		return fmt.Sprintf("%s is marked done, but nothing proves it: no sandbox run succeeded since its last write. Run its tests with run_in_sandbox, then call update_task again.", task.ID), nil
	case st == spec.Done:
		return fmt.Sprintf("%s is done, proved by `%s`.", task.ID, evidence.Command), nil
	default:
		return fmt.Sprintf("%s is %s.", task.ID, st), nil
	}
}

// Ran keeps a sandbox run as possible evidence.
func (s *Session) Ran(_ context.Context, run event.Evidence) {
	s.mu.Lock()
	changed := maps.Clone(s.changed)
	s.mu.Unlock()
	run.Tree = spec.Tree(changed, s.o.Root.HeadID())
	run.Tier = string(s.o.Sandbox.Info().Tier)
	if id := s.ledger.Ran(run); id != "" {
		s.reprove(id)
	}
}

// reprove notes that a task's evidence was won or lost: on the log, so that it
// outlives a crash, and in tasks.md when the task is done.
func (s *Session) reprove(ids ...string) {
	plan, err := s.o.Specs.Load(s.current())
	if err != nil {
		return // deleted or unreadable: the next turn says so
	}
	for _, t := range plan.Tasks {
		if !slices.Contains(ids, t.ID) {
			continue
		}
		evidence := s.ledger.Evidence(t.ID)
		if t.Status != spec.Done {
			s.o.Log.Append(event.TaskUpdated{ID: t.ID, Status: string(t.Status), Evidence: evidence})
			continue
		}
		if _, err := s.o.Specs.UpdateTask(plan.ID, t.ID, spec.Done, "", evidence); err != nil {
			s.o.Log.Append(event.Notice{Level: "warning", Kind: "plan", Text: "The evidence of " + t.ID + " could not be written: " + err.Error()})
			continue
		}
		s.o.Log.Append(event.TaskUpdated{ID: t.ID, Status: string(spec.Done), Evidence: evidence})
		s.ledger.Ended(t.ID, spec.Done)
	}
}

// wrote records a change that is on the log: it is part of the tree, and voids
// what proved the task.
func (s *Session) wrote(e event.FileChanged) {
	s.follow(e)
	plan, err := s.o.Specs.Load(s.current())
	if err != nil {
		return
	}
	for _, path := range []string{e.From, e.Path} {
		if path != "" {
			s.reprove(s.ledger.Wrote(path, &plan)...)
		}
	}
}

// ErrStale: the document was edited since the version the edit was made from.
var ErrStale = errors.New("the document changed meanwhile: look at it again before you save")

// ErrNotWaiting: no plan waits for approval, so there is nothing to edit.
var ErrNotWaiting = errors.New("no plan is waiting for approval")

// EditSpec saves a person's edit of a document while the plan waits. base is the
// hex SHA-256 of the text that was edited. The plan is then presented anew.
func (s *Session) EditSpec(_ context.Context, document, content, base string) error {
	if s.Phase() != event.Awaiting {
		return ErrNotWaiting
	}
	id := s.current()
	now, err := s.o.Specs.Read(id, document)
	if err != nil {
		return fmt.Errorf("edit %s: %w", document, err)
	}
	if sum := sha256.Sum256([]byte(now)); base != hex.EncodeToString(sum[:]) {
		return ErrStale
	}
	sum, err := s.o.Specs.Save(id, document, content)
	if err != nil {
		return fmt.Errorf("edit %s: %w", document, err)
	}
	s.o.Log.Append(event.SpecWritten{Spec: id, Document: document, SHA256: sum})
	s.wake()
	return nil
}

func (s *Session) currentTask() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.task
}

// Asker puts questions to the person, and on the log.
func (s *Session) Asker() ask.Asker { return s.asker }

// Refuse notes a call that needed a person and found nobody: such a session does
// not end as done.
func (s *Session) Refuse(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = append(s.refused, name)
}

func (s *Session) acceptAll(task string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accepted[task] = true
}
