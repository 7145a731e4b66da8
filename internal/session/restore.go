package session

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/coderrr/coderrr/internal/agent"
	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/history"
	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/policy"
	"github.com/coderrr/coderrr/internal/prompt"
	"github.com/coderrr/coderrr/internal/spec"
	"github.com/coderrr/coderrr/internal/workspace"
)

// start writes the log's header and what the model is given besides the request.
func (s *Session) start(ctx context.Context, req Request) error {
	m := s.Model()
	info := s.o.Sandbox.Info()
	err := s.o.Log.Commit(event.SessionStarted{
		Version: event.Version, SessionID: s.o.ID, Workspace: s.o.Root.Dir(), Provider: m.Provider.Name(), Model: m.Name,
		Sandbox: event.Sandbox{Tier: string(info.Tier), Network: info.Network, Summary: info.Summary},
		Request: req.Text, Continues: req.Continues, Resumed: req.Resume,
	})
	if err != nil {
		return err
	}
	s.learn(ctx)
	s.prompt = prompt.Data{
		ReadOnly: req.ReadOnly, Workspace: s.o.Root.Dir(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Date: time.Now().Format(time.DateOnly), Sandbox: info.Summary, Listing: s.listing(ctx),
	}
	for _, g := range s.guidance(ctx) {
		s.prompt.Guidance = append(s.prompt.Guidance, prompt.Guidance{Path: g.Path, Text: g.Text})
		s.o.Log.Append(event.ContextChanged{What: "guidance", Name: g.Path, Detail: g.Note})
	}
	for _, w := range s.o.Warnings {
		s.o.Log.Append(event.Notice{Level: "warning", Kind: "guidance", Text: w})
	}
	if s.o.Begin != nil {
		if err := s.o.Begin(ctx); err != nil {
			return err
		}
	}
	if !req.Resume {
		s.talk = agent.NewTalk(s.o.Log, req.Prior, 0)
	}
	s.attach(ctx)
	if !req.Resume {
		return nil
	}
	if _, err := s.o.Root.Sweep(ctx); err != nil {
		s.o.Log.Append(event.Notice{Level: "warning", Kind: "files", Text: "Temporary files of the interrupted session could not be removed: " + err.Error()})
	}
	if err := history.Reconcile(ctx, s.o.Root, s.o.Past, s.commit); err != nil {
		return fmt.Errorf("look at what the interrupted session left: %w", err)
	}
	if text := req.Text; text != "" {
		s.talk.Say(text)
	}
	s.talk.Tell(prompt.Resumed())
	return nil
}

// maxListing bounds the names in the system prompt.
const maxListing = 60

// listing is what lies at the top of the workspace.
func (s *Session) listing(ctx context.Context) string {
	entries, err := s.o.Root.List(ctx, ".")
	if err != nil {
		return ""
	}
	var b strings.Builder
	for i, e := range entries {
		if i == maxListing {
			fmt.Fprintf(&b, "(%d more)\n", len(entries)-i)
			break
		}
		b.WriteString(workspace.Quote(e.Name))
		if e.Kind == workspace.KindDir {
			b.WriteByte('/')
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// restore rebuilds a resumed session's state from its log. What was approved is
// not in the log: that is asked of the approval store, and of the plan on disk.
func (s *Session) restore() {
	var total event.Usage
	var phase event.Phase
	said, turns := "", 0
	for _, e := range s.o.Past {
		switch p := e.Data.(type) {
		case event.TurnStarted:
			turns = max(turns, p.Turn)
		case event.PlanReady:
			s.specID = p.Spec
			s.shown = &spec.Plan{ID: p.Spec, Hash: p.Hash, Title: p.Title, Size: p.Size, Docs: p.Documents}
		case event.SpecWritten:
			s.specID = p.Spec
		case event.UsageAdded:
			total = p.Total
		case event.FileChanged:
			s.follow(p)
		case event.TaskUpdated:
			if p.Status == string(spec.InProgress) {
				s.task = p.ID
			} else if s.task == p.ID {
				s.task = ""
			}
		case event.ToolFinished:
			s.planned = p.Name == "finish" && p.OK
		case event.PhaseChanged:
			phase = p.Phase
		case event.UserMessage:
			s.planned, said = false, p.Text
			s.sentBack = s.sentBack || phase == event.Awaiting
			s.told(p.Text)
		case event.ContextChanged:
			s.waiting(p)
		case event.AskOpened:
			s.asked++
		case event.AskClosed:
			if p.Choice == ask.Approve || p.Choice == ask.Discard || p.Choice == ask.Comment {
				s.sentBack = p.Choice != ask.Approve
			}
		}
	}
	messages, _ := agent.Rebuild(slices.Concat(s.o.Before, s.o.Past), s.interrupted)
	s.talk = agent.NewTalk(s.o.Log, messages, turns)
	s.talk.Heard(said)
	s.budget.Restore(total, turns)
	s.ledger.Rebuild(s.o.Past)
}

// waiting follows what was typed and not read yet.
func (s *Session) waiting(p event.ContextChanged) {
	switch {
	case p.What != "queue":
	case p.Name == "removed":
		s.told(p.Detail)
	default:
		s.queue = append(s.queue, p.Detail)
	}
}

// told takes what the model was told out of the queue; comments on a plan go to it
// as one text.
func (s *Session) told(text string) {
	if at := slices.Index(s.queue, text); at >= 0 {
		s.queue = slices.Delete(s.queue, at, at+1)
		return
	}
	for n := 2; n <= len(s.queue); n++ {
		if strings.Join(s.queue[:n], queueSep) == text {
			s.queue = s.queue[n:]
			return
		}
	}
}

// queueSep joins what was typed to one comment.
const queueSep = "\n\n"

// interrupted says what became of a call whose result was not stored. For a write
// the file itself tells.
func (s *Session) interrupted(u llm.ToolUse) string {
	const note = "This call was interrupted and its result is lost."
	for _, e := range slices.Backward(slices.Concat(s.o.Before, s.o.Past)) {
		p, ok := e.Data.(event.FileChanged)
		if !ok || p.Call != u.ID || p.Failed != "" { // a failed one says what was taken back
			continue
		}
		hash, err := s.o.Files.Current(context.Background(), p.Path)
		switch {
		case err != nil:
			return fmt.Sprintf("%s Whether %s was changed could not be read: %v.", note, p.Path, err)
		case hash == p.After:
			return fmt.Sprintf("%s The change to %s was made in full.", note, p.Path)
		default:
			return fmt.Sprintf("%s The change to %s was not made.", note, p.Path)
		}
	}
	return note + " Nothing was changed by it; call it again if it is needed."
}

// system is the system prompt of a mode.
func (s *Session) system(mode policy.Mode) string {
	d := s.prompt
	d.Mode, d.Spec = mode, s.current()
	return prompt.System(d)
}
