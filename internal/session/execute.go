package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/coderrr/coderrr/internal/agent"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/policy"
	"github.com/coderrr/coderrr/internal/prompt"
	"github.com/coderrr/coderrr/internal/spec"
	"github.com/coderrr/coderrr/internal/tools"
)

// execute works through an approved plan. It is the one function that sets
// execution mode, and refuses to without an approval of the plan as it is on disk.
// It leads back to the gate when the plan changes.
func (s *Session) execute(ctx context.Context) (step, outcome) {
	plan, out, ok := s.load()
	if !ok {
		return stepEnd, out
	}
	if ok, err := s.o.Approvals.Approved(plan.ID, plan.Hash); err != nil {
		return stepEnd, failed("read the approval", err)
	} else if !ok {
		return stepGate, outcome{}
	}
	s.undoing.Lock() // an undo that began while the plan waited ends first
	s.setPhase(event.Execute)
	s.undoing.Unlock()
	o := s.setOptions(policy.Execution, nil)
	o.Files, o.Verify = &holding{s: s, files: s.o.Files}, s.o.Verify
	set := tools.NewSet(o)
	s.talk.Tell(prompt.Execute(plan.ID, taskList(plan)))
	return s.rounds(ctx, set)
}

// rounds repeats the loop while tasks are unmet.
func (s *Session) rounds(ctx context.Context, set *tools.Set) (step, outcome) {
	for round := 1; ; round++ {
		res, err := s.loop(set, s.planMoved).Run(ctx)
		if out, end := s.stopOf(res, err); end {
			return stepEnd, out
		}
		if res.Stop == agent.Halted {
			return s.halted(res.Why)
		}
		if res.Stop == agent.Finished {
			s.mu.Lock()
			s.finished = res.Text
			s.mu.Unlock()
		}
		plan, out, ok := s.load()
		if !ok {
			return stepEnd, out
		}
		if plan.Hash != s.approvedHash() {
			return stepGate, outcome{}
		}
		if s.queued() { // typed in the last turn: it is read before the end
			round--
			continue
		}
		open := s.unmet(plan)
		if len(open) == 0 || round >= max(1, s.o.Limits.MaxIter) || allBlocked(open) {
			return stepEnd, s.judge(plan, res.Text)
		}
		s.talk.Tell(prompt.Unmet(strings.Join(open, "\n")))
	}
}

// planMoved is asked before each turn: execution goes on only while the plan is
// the approved one.
func (s *Session) planMoved() string {
	plan, err := s.o.Specs.Load(s.current())
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, spec.ErrGone):
		return planGone
	case err != nil:
		return err.Error()
	case plan.Hash != s.approvedHash():
		return planChanged
	default:
		return ""
	}
}

const (
	planChanged = "the plan changed since it was approved"
	planGone    = "the plan's folder was deleted"
)

func (s *Session) halted(why string) (step, outcome) {
	if why == planChanged {
		s.o.Log.Append(event.Notice{Level: "warning", Kind: "plan", Text: "The plan changed since it was approved: it is shown again."})
		return stepGate, outcome{}
	}
	return stepEnd, outcome{status: "error", code: exitFailure, summary: fmt.Sprintf("Stopped: %s. Restore .coderrr/specs/%s, or start again.", why, s.current())}
}

func (s *Session) approvedHash() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.approved
}

// unmet lists the tasks that are not done, or not proved where that is required.
func (s *Session) unmet(plan *spec.Plan) []string {
	var open []string
	for _, t := range plan.Tasks {
		switch {
		case t.Status != spec.Done:
			open = append(open, fmt.Sprintf("%s (%s): %s", t.ID, t.Status, t.Title))
		case s.o.Limits.RequireEvidence && s.ledger.Evidence(t.ID) == nil:
			open = append(open, fmt.Sprintf("%s (done, but not proved by a sandbox run): %s", t.ID, t.Title))
		}
	}
	return open
}

func allBlocked(open []string) bool {
	for _, o := range open {
		if !strings.Contains(o, "("+string(spec.Blocked)+")") {
			return false
		}
	}
	return true
}

func taskList(plan *spec.Plan) string {
	var b strings.Builder
	for _, t := range plan.Tasks {
		fmt.Fprintf(&b, "%s [%s] %s\n", t.ID, t.Status, t.Title)
	}
	return b.String()
}

// holding lets a write through only while the plan is the approved one.
type holding struct {
	s     *Session
	files tools.Files
}

// Current implements tools.Files.
func (h *holding) Current(ctx context.Context, path string) (string, error) {
	return h.files.Current(ctx, path)
}

// Commit implements tools.Files.
func (h *holding) Commit(ctx context.Context, c tools.Change, log func(event.FileChanged) error) error {
	if why := h.s.planMoved(); why != "" {
		return tools.Explain("Nothing was written: " + why + ". Stop here; the person is asked.")
	}
	var logged []event.FileChanged
	err := h.files.Commit(ctx, c, func(e event.FileChanged) error {
		if err := log(e); err != nil {
			return err
		}
		logged = append(logged, e)
		return nil
	})
	for _, e := range logged {
		h.s.wrote(e)
	}
	return err
}
