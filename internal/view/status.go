package view

import (
	"fmt"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/event"
)

// The statuses of a task.
const (
	Pending    = "pending"
	InProgress = "in_progress"
	Done       = "done"
	Blocked    = "blocked"
)

// Run is where a session stands, in one word.
type Run string

// The values of Run.
const (
	Ready     Run = "ready"
	Planning  Run = "planning"
	PlanReady Run = "plan-ready"
	Working   Run = "working"
	Waiting   Run = "waiting"
	Asking    Run = "question"
	Stopped   Run = "stopped"
	Finished  Run = "done"
	Failed    Run = "error"
)

// Status is where the session stands and the words for it.
func (s *State) Status() (Run, string) {
	if s.Outcome != nil {
		return s.ended()
	}
	if len(s.Questions) > 0 {
		switch q := s.Questions[0]; q.Kind {
		case ask.Plan:
			return PlanReady, "Plan ready"
		case ask.General:
			return Asking, "Question"
		default:
			return Waiting, "Waiting for you"
		}
	}
	switch s.Header.Phase {
	case event.Planning:
		return Planning, "Planning"
	case event.Awaiting:
		return PlanReady, "Plan ready"
	case event.Execute:
		return Working, s.progress()
	case event.Finished:
		return Finished, "Done"
	}
	if s.Header.Session == "" {
		return Ready, "Ready"
	}
	return Planning, "Planning"
}

func (s *State) progress() string {
	for i, t := range s.Tasks {
		if t.Status == InProgress {
			return fmt.Sprintf("Working · task %d of %d", i+1, len(s.Tasks))
		}
	}
	return "Working"
}

func (s *State) ended() (Run, string) {
	switch s.Outcome.Status {
	case "ok":
		return Finished, "Done"
	case "error":
		return Failed, "Error"
	case "unmet":
		return Finished, fmt.Sprintf("Done · %d of %d tasks", s.Outcome.TasksDone, s.Outcome.TasksTotal)
	case "declined":
		return Stopped, "Stopped · declined"
	case "needs_approval":
		return Stopped, "Stopped · needs approval"
	case "budget":
		return Stopped, "Stopped · budget used up"
	default:
		return Stopped, "Stopped"
	}
}
