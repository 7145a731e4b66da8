package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/spec"
)

// Exit codes of CONTRACT.md that a session can end with.
const (
	exitOK            = 0
	exitFailure       = 1
	exitNeedsApproval = 4
	exitDeclined      = 5
	exitUnmet         = 6
	exitBudget        = 7
	exitProvider      = 9
	exitTimeout       = 124
	exitInterrupted   = 130
)

func stopped() outcome {
	return outcome{status: "cancelled", code: exitInterrupted, summary: "Stopped. What was written stays; coderrr --continue goes on from here."}
}

func failed(what string, err error) outcome {
	var end *End
	if errors.As(err, &end) {
		return outcome{status: end.Status, code: end.Code, summary: end.Summary}
	}
	out := outcome{status: "error", code: exitFailure, summary: fmt.Sprintf("Could not %s: %v", what, err)}
	var e *llm.Error
	if errors.As(err, &e) {
		out.summary = fmt.Sprintf("The model could not be reached: %v", err)
		switch e.Kind {
		case llm.KindAuth, llm.KindQuota, llm.KindModelNotFound, llm.KindNetwork:
			out.code = exitProvider
		case llm.KindUnsupported, llm.KindBadRequest, llm.KindContextLength:
			out.summary = fmt.Sprintf("The request was refused: %v", err)
		}
	}
	return out
}

// judge says how an execution ended. It is done only when every task is.
func (s *Session) judge(plan *spec.Plan, last string) outcome {
	s.mu.Lock()
	summary := s.finished
	s.mu.Unlock()
	if summary == "" {
		summary = last
	}
	if open := s.unmet(plan); len(open) > 0 {
		return outcome{status: "unmet", code: exitUnmet, summary: fmt.Sprintf("%d of %d tasks are not met. %s", len(open), len(plan.Tasks), summary)}
	}
	return outcome{status: "ok", code: exitOK, summary: summary}
}

// truthful keeps a session from ending as done, or merely unmet, when a call was
// refused for want of a person.
func (s *Session) truthful(out outcome) outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.refused) == 0 || out.code != exitOK && out.code != exitUnmet {
		return out
	}
	return outcome{
		status: "needs_approval", code: exitNeedsApproval,
		summary: fmt.Sprintf("Some calls needed a person's approval and nobody could be asked: %s. %s", strings.Join(s.refused, ", "), out.summary),
	}
}

// finish writes the last event. A session that was cancelled is cancelled,
// whatever phase noticed it.
func (s *Session) finish(ctx context.Context, out outcome) event.SessionFinished {
	if out.status == "" || (ctx.Err() != nil && out.status != "ok") {
		out = stopped()
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			out = outcome{status: "cancelled", code: exitTimeout, summary: "Stopped: its time was up (--timeout). coderrr --continue goes on from here."}
		}
	}
	out = s.truthful(out)
	fin := event.SessionFinished{
		Status: out.status, ExitCode: out.code, Summary: out.summary, Usage: s.budget.Total(), Files: []string{},
	}
	s.mu.Lock()
	fin.Files = append(fin.Files, slices.Sorted(maps.Keys(s.changed))...)
	fin.PlanHash = s.approved
	id := s.specID
	s.mu.Unlock()
	if id != "" {
		if plan, err := s.o.Specs.Load(id); err == nil {
			s.count(&fin, &plan)
		}
	}
	s.setPhase(event.Finished)
	s.unread()
	s.o.Log.Append(fin)
	return fin
}

func (s *Session) count(fin *event.SessionFinished, plan *spec.Plan) {
	fin.PlanHash = plan.Hash
	fin.TasksTotal = len(plan.Tasks)
	for _, t := range plan.Tasks {
		if t.Status != spec.Done {
			continue
		}
		fin.TasksDone++
		if s.ledger.Evidence(t.ID) != nil {
			fin.TasksVerified++
		}
	}
}
