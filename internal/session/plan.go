package session

import (
	"context"
	"fmt"

	"github.com/coderrr/coderrr/internal/agent"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/policy"
	"github.com/coderrr/coderrr/internal/prompt"
	"github.com/coderrr/coderrr/internal/spec"
	"github.com/coderrr/coderrr/internal/tools"
)

// maxNudges is how often a model that ended planning without a plan is reminded.
const maxNudges = 2

// plan talks in planning mode until there is a plan that can be approved. In this
// mode write tools do not exist. An empty text goes on with the conversation.
func (s *Session) plan(ctx context.Context, text string) (*spec.Plan, outcome, bool) {
	s.setPhase(event.Planning)
	set := tools.NewSet(s.setOptions(policy.Planning, nil))
	if text != "" {
		s.talk.Say(text)
	}
	for nudge := 0; ; nudge++ {
		res, err := s.loop(set, nil).Run(ctx)
		if out, end := s.stopOf(res, err); end {
			return nil, out, false
		}
		why := prompt.NoPlan
		if s.current() != "" {
			plan, err := s.o.Specs.Load(s.current())
			if err == nil && plan.Problem == nil {
				return &plan, outcome{}, true
			}
			if why = fmt.Sprint(plan.Problem); err != nil {
				why = err.Error()
			}
			if err == nil && nudge >= maxNudges {
				return &plan, outcome{}, true // the person can correct it
			}
		} else if s.queued() { // typed in the last turn: it is read before the end
			nudge--
			continue
		} else if res.Stop == agent.Finished {
			return nil, outcome{status: "ok", summary: res.Text}, false
		}
		if nudge >= maxNudges {
			return nil, outcome{status: "error", code: exitFailure, summary: "The model ended planning without a plan: " + why + ". Say more precisely what should change, or try another model."}, false
		}
		s.talk.Tell(prompt.Nudge(why))
	}
}

// talkOnly answers a question with the planning tools less those that write a
// spec.
func (s *Session) talkOnly(ctx context.Context, req Request) outcome {
	s.setPhase(event.Planning)
	hide := map[string]bool{"create_spec": true, "write_spec": true, "update_task": true}
	if !req.Resume { // else it was said when the session was opened again
		s.talk.Say(req.Text)
	}
	set := tools.NewSet(s.setOptions(policy.Planning, hide))
	for {
		res, err := s.loop(set, nil).Run(ctx)
		if out, end := s.stopOf(res, err); end {
			return out
		}
		if !s.queued() { // else it was typed in the last turn, and is read before the end
			return outcome{status: "ok", summary: res.Text}
		}
	}
}

// sendBack returns a plan to planning with the person's words.
func (s *Session) sendBack(text string) {
	s.mu.Lock()
	s.approved, s.sentBack = "", true
	s.mu.Unlock()
	if text == "" {
		text = "(no comment)"
	}
	s.o.Log.Append(event.UserMessage{Text: text})
	s.talk.Heard(text)
	s.talk.Tell(prompt.Revise(text))
}

// setOptions is what both modes' sets share. Mode is given by the caller: only
// execute may pass execution.
func (s *Session) setOptions(mode policy.Mode, hide map[string]bool) tools.Options {
	return tools.Options{
		Mode: mode, Sources: s.sources, Gate: s.gateRules, Asker: s.asker, Log: s.o.Log, Hide: hide,
		Task: s.currentTask, Refused: s.Refuse, AcceptAll: s.acceptAll,
	}
}

func (s *Session) loop(set *tools.Set, halt func() string) *agent.Loop {
	return agent.New(agent.Options{
		Model: s.Model, Set: set, Log: s.o.Log, Talk: s.talk,
		System:    func() string { return s.system(set.Mode()) },
		MaxTokens: s.o.Limits.MaxTokens, Temperature: s.o.Limits.Temperature,
		Budget: s.budget, MaxTurns: s.o.Limits.MaxToolTurns, Queued: s.drain, Halt: halt,
		Summary: s.o.Summary, Memory: s.memory, Compact: s.wished,
	})
}

// stopOf turns the end of a loop into the end of the session, where it is one.
func (s *Session) stopOf(res agent.Result, err error) (outcome, bool) {
	if err != nil {
		return failed("ask the model", err), true
	}
	switch res.Stop {
	case agent.Cancelled:
		return stopped(), true
	case agent.Spent:
		return outcome{status: "budget", code: exitBudget, summary: "Stopped at a limit: " + res.Why + "."}, true
	case agent.Stuck:
		return outcome{status: "error", code: exitFailure, summary: "Stopped: " + res.Why + "."}, true
	case agent.Refused:
		return outcome{status: "error", code: exitFailure, summary: "The model refused: " + res.Text}, true
	default:
		return outcome{}, false
	}
}
