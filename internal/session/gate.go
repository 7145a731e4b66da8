package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/diff"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/spec"
)

// maxPlanDiff bounds the diff shown with a revised plan, in bytes.
const maxPlanDiff = 64 << 10

// watchEvery is how often the spec files are looked at while a plan waits.
const watchEvery = 400 * time.Millisecond

// gate presents the plan until it is approved, sent back or discarded. A plan that
// changes while it is on the screen is presented again: an answer counts only for
// the hash it names.
func (s *Session) gate(ctx context.Context, req Request, plan *spec.Plan) (step, outcome) {
	for n := 1; ; n++ {
		if s.onRecord(req, plan) {
			s.present(plan)
			s.takeFlag() // --yes is for the first plan, and that is this one
			return s.unlock(plan, "")
		}
		s.setPhase(event.Awaiting)
		s.present(plan)
		if out, end := s.flagged(req, plan); end {
			return stepEnd, out
		}
		answer, err := s.askPlan(ctx, req, plan)
		switch {
		case ctx.Err() != nil:
			return stepEnd, stopped()
		case errors.Is(err, errEdited):
			next, out, ok := s.load()
			if !ok {
				return stepEnd, out
			}
			plan = next
			continue
		case err != nil:
			return stepEnd, s.needsApproval(plan, err)
		}
		switch answer.Choice {
		case ask.Approve:
			now, out, ok := s.load()
			if !ok {
				return stepEnd, out
			}
			if now.Hash != answer.Hash || now.Problem != nil {
				plan = now
				continue
			}
			return s.unlock(now, answer.By)
		case ask.Comment:
			s.sendBack(answer.Text)
			return stepPlan, outcome{}
		default:
			return stepEnd, outcome{status: "declined", code: exitDeclined, summary: "The plan was discarded; nothing was changed. It stays in .coderrr/specs/" + plan.ID + "."}
		}
	}
}

// onRecord reports whether this very plan was approved before and no question is
// due: where a session or a spec is gone on with, and nobody sent the plan back
// since.
func (s *Session) onRecord(req Request, plan *spec.Plan) bool {
	s.mu.Lock()
	sent := s.sentBack
	s.mu.Unlock()
	if plan.Problem != nil || sent || req.PlanOnly || req.Approve != "" || !req.Resume && req.Spec == "" {
		return false
	}
	ok, err := s.o.Approvals.Approved(plan.ID, plan.Hash)
	return err == nil && ok
}

// unlock records an approval and leads to execution. by is empty for a plan whose
// approval is on record already.
func (s *Session) unlock(plan *spec.Plan, by ask.By) (step, outcome) {
	if by != "" {
		if err := s.o.Approvals.Record(plan.ID, plan.Hash, by); err != nil {
			return stepEnd, failed("record the approval", err)
		}
	}
	s.mu.Lock()
	if s.approved != plan.Hash {
		clear(s.accepted) // "accept all" was said of the tasks of another plan
	}
	s.approved, s.sentBack = plan.Hash, false
	s.mu.Unlock()
	return stepExecute, outcome{}
}

// present puts the plan on the log, with what changed since it was last shown.
func (s *Session) present(plan *spec.Plan) {
	s.mu.Lock()
	last := s.shown
	s.shown = plan
	s.mu.Unlock()
	e := event.PlanReady{Spec: plan.ID, Hash: plan.Hash, Title: plan.Title, Size: plan.Size, Documents: plan.Docs, Tasks: planTasks(plan)}
	if last != nil && last.Hash == plan.Hash && last.ID == plan.ID {
		return // shown already, and still the same
	}
	if last != nil {
		e.Previous, e.Diff = last.Hash, planDiff(last, plan)
	}
	s.o.Log.Append(e)
}

func planTasks(plan *spec.Plan) []event.PlanTask {
	out := make([]event.PlanTask, 0, len(plan.Tasks))
	for _, t := range plan.Tasks {
		out = append(out, event.PlanTask{ID: t.ID, Title: t.Title, Files: t.Files, Status: string(t.Status)})
	}
	return out
}

func planDiff(old, now *spec.Plan) string {
	var out strings.Builder
	for _, doc := range spec.Documents() {
		hunks := diff.Compute([]byte(old.Docs[doc]), []byte(now.Docs[doc]))
		if len(hunks) == 0 {
			continue
		}
		text, cut := diff.Unified("a/"+doc+".md", "b/"+doc+".md", hunks, maxPlanDiff)
		out.WriteString(text)
		if cut {
			out.WriteString("(the rest of this diff is left out)\n")
		}
	}
	return out.String()
}

// flagged handles what the command line said about the plan before anyone is
// asked.
func (s *Session) flagged(req Request, plan *spec.Plan) (outcome, bool) {
	switch {
	case req.PlanOnly:
		return s.needsApproval(plan, nil), true
	case req.Approve != "" && !s.usedFlag() && plan.Hash != req.Approve:
		return outcome{
			status: "needs_approval", code: exitNeedsApproval,
			summary: fmt.Sprintf("The plan is not the one that was approved: its hash is %s, --approve named %s. Read it again (coderrr spec show %s).", plan.Hash, req.Approve, plan.ID),
		}, true
	}
	return outcome{}, false
}

// needsApproval ends a session whose plan waits and that has nobody to ask.
func (s *Session) needsApproval(plan *spec.Plan, err error) outcome {
	summary := fmt.Sprintf("The plan %s is written and waits for approval: coderrr run --spec %s --approve %s", plan.ID, plan.ID, plan.Hash)
	if plan.Problem != nil {
		summary = fmt.Sprintf("The plan %s cannot be approved yet: %v", plan.ID, plan.Problem)
	}
	if err != nil && !errors.Is(err, ask.ErrNobody) {
		summary += fmt.Sprintf(" (%v)", err)
	}
	return outcome{status: "needs_approval", code: exitNeedsApproval, summary: summary}
}

// errEdited: the plan on disk is no longer the one that is asked about.
var errEdited = errors.New("the plan changed while it was shown")

// askPlan asks once. It returns errEdited when the files change meanwhile, and a
// comment when the person typed a message instead of answering.
func (s *Session) askPlan(ctx context.Context, req Request, plan *spec.Plan) (ask.Answer, error) {
	if texts := s.drain(); len(texts) > 0 {
		return ask.Answer{Choice: ask.Comment, Text: strings.Join(texts, queueSep)}, nil
	}
	asker := s.asker
	if (req.Yes || req.Approve != "") && s.takeFlag() {
		yes := ask.Policy{Choices: map[ask.Kind]string{ask.Plan: ask.Approve}, By: ask.ByFlag}
		asker = &logged{asker: yes, log: s.o.Log, budget: s.budget}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		s.watch(ctx, plan, cancel)
	}()
	answer, err := asker.Ask(ctx, s.planQuestion(plan))
	cause := context.Cause(ctx)
	cancel(nil)
	<-watched
	switch {
	case err == nil:
		return answer, nil
	case errors.Is(cause, errEdited):
		return ask.Answer{}, errEdited
	case errors.Is(cause, errSaid):
		return ask.Answer{Choice: ask.Comment, Text: strings.Join(s.drain(), queueSep)}, nil
	default:
		return ask.Answer{}, err
	}
}

// errSaid: the person typed a message while the plan waited.
var errSaid = errors.New("a message came")

// watch cancels the question when the plan's files or the queue change.
func (s *Session) watch(ctx context.Context, plan *spec.Plan, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.kick:
		case <-tick.C:
		}
		s.mu.Lock()
		said := len(s.queue) > 0
		s.mu.Unlock()
		if said {
			cancel(errSaid)
			return
		}
		if now, err := s.o.Specs.Load(plan.ID); err != nil || now.Hash != plan.Hash || fmt.Sprint(now.Problem) != fmt.Sprint(plan.Problem) {
			cancel(errEdited)
			return
		}
	}
}

func (s *Session) planQuestion(plan *spec.Plan) ask.Question {
	s.mu.Lock()
	s.asked++
	id := fmt.Sprintf("plan-%s-%d", s.o.ID, s.asked)
	s.mu.Unlock()
	card := event.PlanCard{Spec: plan.ID, Title: plan.Title, Tasks: planTasks(plan)}
	detail, err := json.Marshal(card)
	if err != nil {
		panic(fmt.Sprintf("encode a plan card: %v", err)) // strings only
	}
	q := ask.Question{
		ID: id, Kind: ask.Plan, About: plan.ID, Hash: plan.Hash, Detail: detail,
		Prompt: fmt.Sprintf("Approve the plan %q (%d tasks)?", plan.Title, len(plan.Tasks)),
		Choices: []ask.Choice{
			{ID: ask.Approve, Label: "Approve and start"},
			{ID: ask.Comment, Label: "Send comments"},
			{ID: ask.Discard, Label: "Discard plan", Danger: true},
		},
	}
	if plan.Problem != nil {
		q.Prompt = fmt.Sprintf("The plan cannot be approved yet: %v. Correct the file, or send a comment.", plan.Problem)
		q.Choices = q.Choices[1:]
	}
	return q
}

func (s *Session) usedFlag() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flagUsed
}

// takeFlag lets a flag answer the first plan question only.
func (s *Session) takeFlag() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.flagUsed
	s.flagUsed = true
	return first
}
