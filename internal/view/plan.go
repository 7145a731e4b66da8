package view

import (
	"encoding/json"
	"strconv"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/event"
)

func (s *State) planReady(p event.PlanReady, t *Touched) {
	plan := &Plan{
		Spec: p.Spec, Title: p.Title, Size: p.Size, Hash: p.Hash, Documents: p.Documents,
		Revision: 1, Diff: ParseUnified(p.Diff),
	}
	if plan.Documents == nil {
		plan.Documents = map[string]string{}
	}
	if old := s.Plan; old != nil && old.Revision > 0 {
		plan.Revision = old.Revision + 1
		if old.Hash == p.Hash { // presented again, the same: keep what was shown of it
			plan.Revision, plan.Approved, plan.By = old.Revision, old.Approved, old.By
			if len(plan.Diff) == 0 {
				plan.Diff = old.Diff
			}
		}
	}
	s.Plan = plan
	s.planTasks(p.Tasks)
	t.Parts |= PartPlan | PartTasks
}

// planTasks takes over the tasks of a plan and keeps what is known of those that
// stay.
func (s *State) planTasks(tasks []event.PlanTask) {
	fresh := make([]*Task, 0, len(tasks))
	for _, p := range tasks {
		task := &Task{ID: p.ID, Title: p.Title, Files: p.Files, Status: p.Status}
		if old := s.Task(p.ID); old != nil {
			task.Evidence, task.Started, task.Took = old.Evidence, old.Started, old.Took
			if task.Status == "" {
				task.Status = old.Status
			}
		}
		if task.Status == "" {
			task.Status = Pending
		}
		fresh = append(fresh, task)
	}
	s.Tasks = fresh
}

func (s *State) taskUpdated(e event.Event, p event.TaskUpdated, t *Touched) {
	task := s.Task(p.ID)
	if task == nil {
		if p.ID == "" || len(s.Tasks) > 10_000 {
			return
		}
		task = &Task{ID: p.ID}
		s.Tasks = append(s.Tasks, task)
	}
	if p.Status == InProgress && task.Status != InProgress {
		task.Started, task.Took = e.Time, 0
	}
	if p.Status != InProgress && task.Status == InProgress && !task.Started.IsZero() {
		task.Took = max(0, e.Time.Sub(task.Started))
	}
	task.Status, task.Evidence = p.Status, p.Evidence
	t.Parts |= PartTasks | PartHeader
}

func newQuestion(e event.Event, p event.AskOpened) *Question {
	q := &Question{AskOpened: p, Opened: e.Time}
	if len(p.Detail) == 0 {
		return q
	}
	var ok bool
	switch p.Kind {
	case ask.Write:
		q.Write, ok = into[event.WriteCard](p.Detail)
	case ask.Read:
		q.Read, ok = into[event.ReadCard](p.Detail)
	case ask.MCPTool:
		q.Tool, ok = into[event.ToolCard](p.Detail)
	case ask.Plan:
		q.Plan, ok = into[event.PlanCard](p.Detail)
	}
	if !ok {
		q.Raw = plainDetail(p.Detail)
	}
	return q
}

func into[T any](raw json.RawMessage) (*T, bool) {
	v := new(T)
	if json.Unmarshal(raw, v) != nil {
		return nil, false
	}
	return v, true
}

// plainDetail is a detail of an unknown shape, whole: nothing that is decided
// about may be left out.
func plainDetail(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return indent(raw)
}

func itoa(n int) string { return strconv.Itoa(n) }

// Has reports whether id is one of the choices.
func (q *Question) Has(id string) bool { return ask.Question{Choices: q.Choices}.Has(id) }
