package view

import (
	"slices"
	"strings"
	"time"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/event"
)

// Apply folds one event into the state and says what it changed. Any sequence of
// events is taken; what makes no sense is left out.
func (s *State) Apply(e event.Event) Touched {
	var t Touched
	if e.Seq > s.seq {
		s.seq = e.Seq
	}
	switch p := e.Data.(type) {
	case event.TextDelta:
		s.delta(e, Text, &s.text, p.Text, &t)
	case event.ThinkingDelta:
		s.delta(e, Thinking, &s.thought, p.Text, &t)
	case event.TextDone:
		s.done(e, Text, &s.text, p.Text, &t)
	case event.ThinkingDone:
		s.done(e, Thinking, &s.thought, p.Text, &t)
	case event.ToolStarted:
		s.toolStarted(e, p, &t)
	case event.ToolOutput:
		s.toolOutput(p, &t)
	case event.ToolFinished:
		s.toolFinished(e, p, &t)
	default:
		s.applyRun(e, &t)
	}
	return t
}

// applyRun takes the events about the session itself.
func (s *State) applyRun(e event.Event, t *Touched) {
	switch p := e.Data.(type) {
	case event.SessionStarted:
		s.started(e, p, t)
	case event.PhaseChanged:
		s.phase(e, p, t)
	case event.TurnStarted:
		s.Header.Turn, s.Retry = p.Turn, nil
		t.Parts |= PartHeader | PartRetry
	case event.TurnFinished:
		s.settle(t)
	case event.UserMessage:
		s.userMessage(e, p, t)
	case event.UsageAdded:
		s.usage(p, t)
	case event.RetryScheduled:
		s.Retry = &Retry{At: e.Time.Add(msec(p.InMS)), Attempt: p.Attempt, Reason: p.Reason}
		t.Parts |= PartRetry
	case event.ContextChanged:
		s.contextChanged(e, p, t)
	case event.Notice:
		if p.On != nil && p.Kind == "confirm_writes" {
			s.Confirm = p.On
			t.Parts |= PartHeader
		}
		s.notice(e, p.Level, p.Text, t)
	case event.SessionFinished:
		s.finished(e, p, t)
	default:
		s.applyWork(e, t)
	}
}

// applyWork takes the events about the plan, questions and files.
func (s *State) applyWork(e event.Event, t *Touched) {
	switch p := e.Data.(type) {
	case event.PlanReady:
		s.planReady(p, t)
	case event.AskOpened:
		s.askOpened(e, p, t)
	case event.AskClosed:
		s.askClosed(e, p, t)
	case event.FileChanged:
		s.fileChanged(p, t)
	case event.TaskUpdated:
		s.taskUpdated(e, p, t)
	case event.VerifyFinished:
		s.verified(e, p, t)
	}
}

func (s *State) add(e event.Event, k Kind, t *Touched) *Item {
	s.next++
	it := &Item{ID: "i" + itoa(s.next), Kind: k, Time: e.Time}
	s.Items = append(s.Items, it)
	t.Items = append(t.Items, it.ID)
	return it
}

func (s *State) delta(e event.Event, k Kind, at **Item, text string, t *Touched) {
	s.clearRetry(t)
	if *at == nil {
		*at = s.add(e, k, t)
	} else {
		t.Items, t.Stream = append(t.Items, (*at).ID), true
	}
	if room := maxText - len((*at).Body); room > 0 {
		(*at).Body += cutString(text, room)
	}
}

func (s *State) done(e event.Event, k Kind, at **Item, text string, t *Touched) {
	s.clearRetry(t)
	it := *at
	if it == nil {
		if strings.TrimSpace(text) == "" {
			return
		}
		it = s.add(e, k, t)
	} else {
		t.Items = append(t.Items, it.ID)
	}
	it.Body, it.Done, *at = cutString(text, maxText), true, nil
}

// settle closes what still streams: its done event is not coming any more.
func (s *State) settle(t *Touched) {
	for _, at := range []**Item{&s.text, &s.thought} {
		if *at != nil {
			(*at).Done = true
			t.Items = append(t.Items, (*at).ID)
			*at = nil
		}
	}
}

func (s *State) clearRetry(t *Touched) {
	if s.Retry != nil {
		s.Retry = nil
		t.Parts |= PartRetry
	}
}

func (s *State) started(e event.Event, p event.SessionStarted, t *Touched) {
	h := &s.Header
	h.Session, h.Workspace, h.Provider, h.Model, h.Sandbox = p.SessionID, p.Workspace, p.Provider, p.Model, p.Sandbox
	if h.Started.IsZero() {
		h.Started = e.Time
	}
	t.Parts |= PartHeader | PartQuestions
	if p.Resumed {
		s.resumed(e, t)
		return
	}
	h.Request = p.Request
	if strings.TrimSpace(p.Request) != "" {
		it := s.add(e, User, t)
		it.Body, it.Done, s.pending = cutString(p.Request, maxText), true, true
	}
}

// resumed: whatever ran or waited when the log broke off is over.
func (s *State) resumed(e event.Event, t *Touched) {
	s.settle(t)
	for id, it := range s.open {
		it.Done, it.Tool.Done, it.Tool.Display = true, true, "interrupted"
		t.Items = append(t.Items, it.ID)
		delete(s.open, id)
	}
	s.Questions, s.asked, s.Outcome, s.Retry, s.drafts, s.Confirm = nil, nil, nil, nil, nil, nil
	s.Header.Ended = time.Time{}
	s.divide(e, "Session resumed", t)
	t.Parts |= PartOutcome | PartRetry
}

func (s *State) phase(e event.Event, p event.PhaseChanged, t *Touched) {
	if s.Header.Phase == p.Phase {
		return
	}
	s.settle(t)
	before := s.Header.Phase
	s.Header.Phase = p.Phase
	t.Parts |= PartHeader | PartPlan
	switch {
	case p.Phase == event.Execute:
		s.divide(e, "Plan approved · write tools unlocked", t)
		if s.Plan != nil {
			s.Plan.Approved = true
		}
	case p.Phase == event.Planning && before != "":
		s.divide(e, "Back to planning · write tools are locked", t)
		if s.Plan != nil {
			s.Plan.Approved = false
		}
	}
}

func (s *State) divide(e event.Event, title string, t *Touched) {
	it := s.add(e, Divider, t)
	it.Title, it.Done = title, true
}

func (s *State) userMessage(e event.Event, p event.UserMessage, t *Touched) {
	s.delivered(p.Text, t)
	if s.pending && p.Text == s.Header.Request {
		s.pending = false
		return
	}
	s.pending = false
	if s.said(p.Text) {
		return
	}
	s.settle(t)
	it := s.add(e, User, t)
	it.Body, it.Done = cutString(p.Text, maxText), true
}

// delivered takes a message off the queue: one that is text, or else all that
// text was joined from.
func (s *State) delivered(text string, t *Touched) {
	if len(s.Queue) == 0 {
		return
	}
	at := slices.Index(s.Queue, text)
	var left []string
	for i, q := range s.Queue {
		if i != at && (at >= 0 || !strings.Contains(text, q)) {
			left = append(left, q)
		}
	}
	s.Queue = left
	t.Parts |= PartQueue
}

// said reports whether a text was shown a moment ago as the answer to a question:
// it is then not shown again as a message.
func (s *State) said(text string) bool {
	for i := len(s.Items) - 1; i >= 0 && i >= len(s.Items)-3; i-- {
		if q := s.Items[i].Ask; q != nil && q.Answer.Text != "" && q.Answer.Text == text {
			return true
		}
	}
	return false
}

func (s *State) usage(p event.UsageAdded, t *Touched) {
	h := &s.Header
	h.Usage, h.Estimated = p.Total, h.Estimated || p.Estimated
	if p.Purpose == "" && p.Context > 0 {
		h.Context = p.Context
	}
	if p.Window > 0 {
		h.Window = p.Window
	}
	t.Parts |= PartHeader
}

func (s *State) contextChanged(e event.Event, p event.ContextChanged, t *Touched) {
	switch p.What {
	case "queue":
		s.queued(p, t)
	case "model":
		if p.Name != "" {
			s.Header.Model = p.Name
		}
		t.Parts |= PartHeader
		s.notice(e, "info", strings.TrimSpace("Model: "+p.Name+" "+p.Detail), t)
	case "title": // of the list of sessions
	case "undo":
		s.notice(e, "info", strings.TrimSpace("Undone: "+p.Name+" "+p.Detail), t)
	case "compaction":
		s.notice(e, "info", strings.TrimSpace("Conversation shortened. "+p.Detail), t)
	default:
		for i, c := range s.Context {
			if c.What == p.What && c.Name == p.Name {
				s.Context[i].Detail = p.Detail
				t.Parts |= PartContext
				return
			}
		}
		if len(s.Context) < 200 {
			s.Context = append(s.Context, Context{p.What, p.Name, p.Detail})
		}
		t.Parts |= PartContext
	}
}

// queued: name says what happened to the message in detail; anything but a
// removal or a delivery is an addition.
func (s *State) queued(p event.ContextChanged, t *Touched) {
	t.Parts |= PartQueue
	switch p.Name {
	case "removed", "delivered", "dropped":
		for i, q := range s.Queue {
			if q == p.Detail {
				s.Queue = append(append([]string(nil), s.Queue[:i]...), s.Queue[i+1:]...)
				return
			}
		}
	default:
		if p.Detail != "" && len(s.Queue) < 100 {
			s.Queue = append(s.Queue, p.Detail)
		}
	}
}

func (s *State) notice(e event.Event, level, text string, t *Touched) {
	if strings.TrimSpace(text) == "" {
		return
	}
	it := s.add(e, Note, t)
	it.Level, it.Body, it.Done = level, cutString(text, maxContent), true
}

func (s *State) finished(e event.Event, p event.SessionFinished, t *Touched) {
	s.settle(t)
	s.Outcome, s.Questions, s.Retry, s.Queue = &p, nil, nil, nil
	s.Header.Phase, s.Header.Ended = event.Finished, e.Time
	for id, it := range s.open {
		it.Done, it.Tool.Done = true, true
		if it.Tool.Display == "" {
			it.Tool.Display = "cancelled"
		}
		t.Items = append(t.Items, it.ID)
		delete(s.open, id)
	}
	if p.Usage != (event.Usage{}) {
		s.Header.Usage = p.Usage
	}
	it := s.add(e, Ending, t)
	it.Done, it.Body = true, cutString(p.Summary, maxText)
	_, it.Title = s.ended()
	it.Level = p.Status
	t.Parts |= PartHeader | PartOutcome | PartQuestions | PartQueue | PartRetry | PartPlan | PartTasks | PartFiles
}

func (s *State) askOpened(e event.Event, p event.AskOpened, t *Touched) {
	s.settle(t)
	q := newQuestion(e, p)
	if s.asked == nil {
		s.asked = map[string]*Question{}
	}
	for i, old := range s.Questions {
		if old.ID == p.ID { // asked again: the new text counts
			s.Questions[i], s.asked[p.ID] = q, q
			t.Parts |= PartQuestions | PartHeader
			return
		}
	}
	s.Questions = append(s.Questions, q)
	s.asked[p.ID] = q
	t.Parts |= PartQuestions | PartHeader | PartPlan
}

func (s *State) askClosed(e event.Event, p event.AskClosed, t *Touched) {
	q := s.asked[p.ID]
	if q == nil {
		return
	}
	delete(s.asked, p.ID)
	for i, open := range s.Questions {
		if open == q {
			s.Questions = append(append([]*Question(nil), s.Questions[:i]...), s.Questions[i+1:]...)
			break
		}
	}
	q.Answer = &p
	it := s.add(e, Asked, t)
	it.Ask, it.Done = q, true
	t.Parts |= PartQuestions | PartHeader | PartPlan
	if q.Kind == ask.Plan && s.Plan != nil {
		s.Plan.By = p.By
		if p.Choice == ask.Approve && p.By != ask.ByCancelled {
			s.Plan.Approved = true
		}
	}
}

func msec(n int64) time.Duration {
	const day = 24 * 60 * 60 * 1000
	return time.Duration(max(0, min(n, day))) * time.Millisecond
}
