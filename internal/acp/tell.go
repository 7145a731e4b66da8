package acp

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/view"
)

// The kinds of text.
const (
	message  = "agent_message_chunk"
	thinking = "agent_thought_chunk"
	person   = "user_message_chunk"
)

// outputEvery is how often the running output of a command is sent anew.
const outputEvery = 150 * time.Millisecond

// teller turns a session's events into session/update notifications. One goroutine
// uses it.
type teller struct {
	send   func(update any)
	dir    string
	replay bool // a stored session: the person's own words are sent too
	mode   string

	words map[string]string // what was streamed of the open block, by kind of update
	said  string            // the last whole text of the model
	open  bool              // the last update was text of the model
	plan  []event.PlanTask
	state map[string]planState
	calls map[string]*call
}

type planState struct {
	status string
	proved bool
}

// call is a tool call that has not finished.
type call struct {
	diffs  []any
	output string
	sent   time.Time
}

func newTeller(send func(any), dir string) *teller {
	return &teller{send: send, dir: dir, mode: modePlan, words: map[string]string{}, state: map[string]planState{}, calls: map[string]*call{}}
}

func (t *teller) event(e event.Event) {
	switch d := e.Data.(type) {
	case event.TextDelta:
		t.stream(message, d.Text)
	case event.TextDone:
		t.whole(message, d.Text)
		t.said = d.Text
	case event.ThinkingDelta:
		t.stream(thinking, d.Text)
	case event.ThinkingDone:
		t.whole(thinking, d.Text)
	case event.UserMessage:
		if t.replay {
			t.chunk(person, d.Text)
		}
	case event.Notice:
		t.notice(d)
	case event.RetryScheduled:
		t.thought(fmt.Sprintf("The model is asked again in %d s: %s", d.InMS/1000, d.Reason))
	case event.PhaseChanged:
		t.phase(d.Phase)
	case event.PlanReady:
		t.planReady(d)
	case event.TaskUpdated:
		t.state[d.ID] = planState{d.Status, d.Evidence != nil}
		t.entries()
	case event.UsageAdded:
		t.usage(d)
	case event.SessionFinished:
		if d.Status != "error" && strings.TrimSpace(d.Summary) != strings.TrimSpace(t.said) {
			t.say(d.Summary)
		}
	default:
		t.tool(e)
	}
}

// chunk sends text; what hides in it is made visible.
func (t *teller) chunk(kind, s string) {
	if s == "" {
		return
	}
	t.open = kind == message
	t.send(chunk{kind, text(visible(s))})
}

// stream sends a part of a block. Editors join texts that follow each other, so
// that a new one begins with a gap.
func (t *teller) stream(kind, s string) {
	if t.words[kind] == "" && t.open && kind == message {
		t.chunk(kind, "\n\n")
	}
	t.words[kind] += s
	t.chunk(kind, s)
}

// whole sends what of a block was not streamed: a reader that was slow finds only
// the whole.
func (t *teller) whole(kind, s string) {
	rest, ok := strings.CutPrefix(s, t.words[kind])
	if !ok {
		rest = "\n\n" + s
	}
	if rest != "" {
		t.stream(kind, rest)
	}
	delete(t.words, kind)
}

// say says something of our own.
func (t *teller) say(s string) {
	if s = strings.TrimSpace(s); s == "" {
		return
	}
	t.whole(message, s)
}

func (t *teller) thought(s string) { t.chunk(thinking, s+"\n") }

func (t *teller) notice(d event.Notice) {
	if d.Level == "info" {
		t.thought(d.Text)
		return
	}
	t.say("**" + strings.ToUpper(d.Level[:1]) + d.Level[1:] + ":** " + d.Text)
}

func (t *teller) phase(p event.Phase) {
	mode := modePlan
	if p == event.Execute {
		mode = modeWork
	}
	if p == event.Finished || mode == t.mode {
		return
	}
	t.mode = mode
	if !t.replay {
		t.send(modeUpdate{"current_mode_update", mode})
	}
}

// planReady shows what is to be approved: the whole of it, or what changed.
func (t *teller) planReady(d event.PlanReady) {
	var b strings.Builder
	fmt.Fprintf(&b, "## Plan: %s\n\n`%s`, in .coderrr/specs/%s\n", d.Title, d.Hash, d.Spec)
	if d.Diff != "" {
		fmt.Fprintf(&b, "\nWhat changed since it was last shown:\n\n~~~~diff\n%s\n~~~~\n", strings.TrimRight(d.Diff, "\n"))
	} else {
		for _, name := range []string{"requirements", "design", "tasks"} {
			if doc := strings.TrimSpace(d.Documents[name]); doc != "" {
				fmt.Fprintf(&b, "\n%s\n", doc)
			}
		}
	}
	t.say(b.String())
	t.plan = d.Tasks
	for _, task := range d.Tasks {
		if _, known := t.state[task.ID]; !known {
			t.state[task.ID] = planState{status: task.Status}
		}
	}
	t.entries()
}

// entries sends the tasks as the protocol's plan. It has no word for blocked, nor
// for done without proof, so the text says it.
func (t *teller) entries() {
	if len(t.plan) == 0 {
		return
	}
	u := planUpdate{SessionUpdate: "plan"}
	for _, task := range t.plan {
		s := t.state[task.ID]
		e := planEntry{Content: visible(task.ID + " " + task.Title), Priority: "medium", Status: "pending"}
		switch s.status {
		case "in_progress":
			e.Status = "in_progress"
		case "done":
			if e.Status = "completed"; !s.proved {
				e.Content += " (not proved by a run)"
			}
		case "blocked":
			e.Content += " (blocked)"
		}
		u.Entries = append(u.Entries, e)
	}
	t.send(u)
}

func (t *teller) usage(d event.UsageAdded) {
	if d.Window <= 0 || d.Purpose != "" || t.replay {
		return
	}
	u := usageUpdate{SessionUpdate: "usage_update", Used: d.Context, Size: d.Window}
	if d.Total.CostUSD != nil {
		u.Cost = &cost{*d.Total.CostUSD, "USD"}
	}
	t.send(u)
}

// tool tells of tool calls and of the questions that stand as such.
func (t *teller) tool(e event.Event) {
	switch d := e.Data.(type) {
	case event.ToolStarted:
		t.calls[d.ID] = &call{}
		t.open = false
		t.send(toolCall{
			SessionUpdate: "tool_call", ToolCallID: d.ID, Title: title(d.Name, d.Input), Kind: kindOf(d.Name), Status: "in_progress",
			Locations: locations(t.dir, d.Input), RawInput: rawInput(d.Input),
		})
	case event.ToolOutput:
		t.output(e.Time, d)
	case event.FileChanged:
		t.changed(d)
	case event.ToolFinished:
		t.finished(d)
	case event.AskOpened:
		if id := callOf(d.Kind, d.ID, d.About); id == d.ID {
			t.open = false
			t.send(toolCall{SessionUpdate: "tool_call", ToolCallID: id, Title: visible(d.Prompt), Kind: kindOfQuestion(d.Kind), Status: "pending"})
			t.calls[id] = &call{}
		}
	case event.AskClosed:
		if t.calls[d.ID] == nil {
			return
		}
		delete(t.calls, d.ID)
		status := "completed"
		if d.Choice == "" || refuses(d.Choice) {
			status = "failed"
		}
		t.send(toolCall{SessionUpdate: "tool_call_update", ToolCallID: d.ID, Status: status, Content: []any{content(decided(d))}})
	}
}

func decided(d event.AskClosed) string {
	switch {
	case d.By == ask.ByCancelled:
		return "No longer asked."
	case d.Choice == "":
		return "Nobody answered: taken as no."
	default:
		return "Decided: " + visible(d.Choice) + ", by " + string(d.By) + "."
	}
}

// output sends the tail of a running command's output, not at each line.
func (t *teller) output(now time.Time, d event.ToolOutput) {
	c := t.calls[d.ID]
	if c == nil {
		return
	}
	c.output = tail(c.output + d.Text)
	if now.Sub(c.sent) < outputEvery {
		return
	}
	c.sent = now
	t.send(toolCall{SessionUpdate: "tool_call_update", ToolCallID: d.ID, Content: append(c.diffs, content(visible(c.output)))})
}

// changed shows what a call did to a file, as it was logged.
func (t *teller) changed(d event.FileChanged) {
	c := t.calls[d.Call]
	if c == nil || d.Failed != "" {
		return
	}
	path := absolute(t.dir, d.Path)
	for _, f := range view.ParseUnified(d.Diff) {
		c.diffs = append(c.diffs, diffs(path, d.Before == "", d.After == "", f.Hunks)...)
	}
	if d.DiffTruncated {
		c.diffs = append(c.diffs, content("The diff is longer than is shown here."))
	}
	t.send(toolCall{SessionUpdate: "tool_call_update", ToolCallID: d.Call, Content: c.diffs, Locations: []toolCallLocation{{Path: path}}})
}

func (t *teller) finished(d event.ToolFinished) {
	c := t.calls[d.ID]
	delete(t.calls, d.ID)
	u := toolCall{SessionUpdate: "tool_call_update", ToolCallID: d.ID, Status: "completed"}
	if c != nil {
		u.Content = append(u.Content, c.diffs...)
	}
	if !d.OK {
		u.Status = "failed"
	}
	if s := clip(visible(d.Content)); s != "" && (len(u.Content) == 0 || !d.OK) {
		u.Content = append(u.Content, content(s))
	}
	t.send(u)
}

// rawInput is a call's input where it is JSON.
func rawInput(raw json.RawMessage) json.RawMessage {
	if !json.Valid(raw) {
		return nil
	}
	return raw
}
