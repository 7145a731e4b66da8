package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/event"
)

// desk is the Asker of one session: it puts questions to the editor as permission
// requests, after all that was logged before them was told. What is answered in
// words is answered by the person's next prompt.
type desk struct {
	base context.Context
	talk *talk

	mu     sync.Mutex
	open   map[string]*pending
	closed map[string]bool
	words  *pending // what the next prompt answers
	leave  func()   // ends the prompt that is being answered
}

// pending is one question.
type pending struct {
	question ask.Question
	answer   chan reply // capacity 1
	over     context.Context
	end      context.CancelFunc
}

type reply struct {
	ask.Answer
	err error
}

func newDesk(ctx context.Context, t *talk) *desk {
	return &desk{base: ctx, talk: t, open: map[string]*pending{}, closed: map[string]bool{}}
}

// attend says how to end the prompt that is being answered.
func (d *desk) attend(leave func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.leave = leave
}

// close ends every request that is open; the session has ended.
func (d *desk) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.open {
		p.end()
	}
}

// pending makes or finds a question, nil if it is closed. The log and the session
// come in any order.
func (d *desk) pending(id string) *pending {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed[id] {
		return nil
	}
	p := d.open[id]
	if p == nil {
		p = &pending{answer: make(chan reply, 1)}
		p.over, p.end = context.WithCancel(d.base)
		d.open[id] = p
	}
	return p
}

// Ask implements ask.Asker.
func (d *desk) Ask(ctx context.Context, q ask.Question) (ask.Answer, error) {
	p := d.pending(q.ID)
	if p == nil {
		return ask.Answer{}, fmt.Errorf("ask %q: a question with this id was asked before", q.ID)
	}
	defer func() {
		p.end()
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.open, q.ID)
		d.closed[q.ID] = true
		if d.words == p {
			d.words = nil
		}
	}()
	select {
	case r := <-p.answer:
		return r.Answer, r.err
	case <-ctx.Done():
		return ask.Answer{}, ctx.Err()
	}
}

// event puts a question to the editor when the log shows it.
func (d *desk) event(e event.Event) {
	o, ok := e.Data.(event.AskOpened)
	if !ok {
		return
	}
	p := d.pending(o.ID)
	if p == nil {
		return
	}
	p.question = ask.Question{ID: o.ID, Kind: o.Kind, Prompt: o.Prompt, Choices: o.Choices, Hash: o.Hash, About: o.About, Detail: o.Detail}
	d.talk.server.tasks.Go(func() { d.request(p) })
}

// request asks the editor. What it does not answer is answered no.
func (d *desk) request(p *pending) {
	var got permissionResponse
	params := permissionRequest{SessionID: d.talk.id, ToolCall: d.card(p.question), Options: options(p.question)}
	err := d.talk.server.wire.call(p.over, "session/request_permission", params, &got)
	id := got.Outcome.OptionID
	switch {
	case p.over.Err() != nil:
	case err != nil, got.Outcome.Outcome != "selected", !p.question.Has(id):
		p.answer <- reply{err: ask.ErrNobody}
	case id == ask.Comment || id == ask.FreeText:
		d.wait(p)
	default:
		p.answer <- reply{Answer: ask.Answer{Choice: id, Hash: p.question.Hash, By: ask.ByEditor}}
	}
}

// wait leaves the question open for the next prompt and ends the present one.
func (d *desk) wait(p *pending) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open[p.question.ID] != p {
		return
	}
	d.words = p
	d.leave()
}

// reply answers the question that waits for words; false if there is none.
func (d *desk) reply(words string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.words
	if p == nil {
		return false
	}
	d.words = nil
	choice := ask.FreeText
	if !p.question.Has(choice) {
		choice = ask.Comment
	}
	p.answer <- reply{Answer: ask.Answer{Choice: choice, Text: words, Hash: p.question.Hash, By: ask.ByEditor}}
	return true
}

// card is what the editor shows with a question: the tool call that it is about,
// or one that stands for the question.
func (d *desk) card(q ask.Question) toolCall {
	c := toolCall{ToolCallID: callOf(q.Kind, q.ID, q.About), Title: visible(q.Prompt), Kind: kindOfQuestion(q.Kind), Status: "pending"}
	switch q.Kind {
	case ask.Write:
		var w event.WriteCard
		if json.Unmarshal(q.Detail, &w) != nil {
			break
		}
		c.Locations = []toolCallLocation{{Path: absolute(d.talk.dir, w.Path)}}
		c.Content = diffs(absolute(d.talk.dir, w.Path), w.Before == "", w.After == "", w.Hunks)
		if note := writeNote(w); note != "" {
			c.Content = append([]any{content(note)}, c.Content...)
		}
	case ask.Plan, ask.General:
	default:
		if len(q.Detail) > 0 {
			shown := indented(q.Detail)
			var plain string
			if json.Unmarshal(q.Detail, &plain) == nil {
				shown = plain
			}
			c.Content = []any{content(clip(visible(shown)))}
		}
	}
	return c
}

// writeNote is what a reader of a write's diff must know beside it.
func writeNote(w event.WriteCard) string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, visible(fmt.Sprintf(format, args...))) }
	if w.From != "" {
		add("Moved from %s.", w.From)
	}
	if w.Reason != "" {
		add("Asked because: %s.", w.Reason)
	}
	if len(w.Flags) > 0 {
		add("Careful: %s.", strings.Join(w.Flags, ", "))
	}
	if w.Verdict == "reject" {
		add("The verifier advises against it: %s", w.Why)
	}
	if len(w.Files) > 0 {
		add("Takes away: %s", strings.Join(w.Files, ", "))
	}
	if w.Binary {
		add("The file is not text.")
	}
	return clip(strings.Join(lines, "\n"))
}

func kindOfQuestion(k ask.Kind) string {
	switch k {
	case ask.Plan:
		return "switch_mode"
	case ask.Write:
		return "edit"
	case ask.Read:
		return "read"
	case ask.Network, ask.Image:
		return "fetch"
	default:
		return "other"
	}
}

// callOf is the tool call under which a question is shown.
func callOf(k ask.Kind, id, about string) string {
	switch k {
	case ask.Write, ask.Read, ask.MCPTool, ask.General:
		if about != "" {
			return about
		}
	}
	return id
}

// options are the choices of a question. What needs words is said in the next
// prompt, because a permission request has no room for them.
func options(q ask.Question) []permissionOption {
	out := make([]permissionOption, 0, len(q.Choices))
	for _, c := range q.Choices {
		o := permissionOption{OptionID: c.ID, Name: visible(c.Label), Kind: "allow_once"}
		switch {
		case c.ID == ask.Comment:
			o.Name, o.Kind = "Change it: say how in your next message", "reject_once"
		case c.ID == ask.FreeText:
			o.Name, o.Kind = "Answer in your next message", "reject_once"
		case c.ID == ask.Always || c.ID == ask.AcceptAll:
			o.Kind = "allow_always"
		case refuses(c.ID):
			o.Kind = "reject_once"
		}
		if o.Name == "" {
			o.Name = c.ID
		}
		out = append(out, o)
	}
	return out
}

func refuses(choice string) bool {
	return slices.Contains([]string{ask.DenyIt, ask.Discard, ask.SendBack}, choice)
}
