package acp

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/coderrr/coderrr/internal/event"
)

// The modes that an editor sees. modeWork is shown and never chosen: only the
// answer to a plan's question leads there.
const (
	modePlan = "planning"
	modeAsk  = "ask"
	modeWork = "execution"
)

func modes(current string) *sessionModeState {
	return &sessionModeState{CurrentModeID: current, AvailableModes: []sessionMode{
		{ID: modePlan, Name: "Plan", Description: "A request becomes a plan, which you are asked to approve."},
		{ID: modeAsk, Name: "Ask", Description: "Answers questions; plans and changes nothing."},
		{ID: modeWork, Name: "Work", Description: "An approved plan is carried out. It begins when you approve a plan and cannot be chosen."},
	}}
}

// newID is a session id as all of Coderrr makes them.
func newID() string {
	return time.Now().UTC().Format("20060102-150405") + "-" + strings.ToLower(rand.Text()[:6])
}

// talk is a conversation: what the protocol calls a session. Each prompt is a
// session of ours, which goes on with what was said in the one before.
type talk struct {
	server  *server
	id, dir string
	offered int // MCP servers that the editor named

	mu   sync.Mutex
	mode string   // of the next prompt
	last string   // the newest session of ours, "" before the first
	busy bool     // a prompt is being answered
	run  *running // a session that has not ended
}

// running is a session and what was told of it.
type running struct {
	Run
	desk  *desk
	tell  *teller
	seq   int64 // of the last event that was told
	ended chan struct{}
	fin   event.SessionFinished // valid once ended
	err   error
}

// over reports whether the session ended, as one can while it waits for words.
func (r *running) over() bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

func (t *talk) update(u any) {
	t.server.wire.notify("session/update", sessionNotification{t.id, u})
}

func (t *talk) active() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.busy || t.run != nil
}

// stop cancels what runs; the prompt that waits for it is answered as cancelled.
func (t *talk) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.run != nil {
		t.run.Stop()
	}
}

func (s *server) setMode(raw json.RawMessage) (any, error) {
	var p setModeParams
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, fault(codeInvalidParams, "the parameters cannot be read: %v", err)
	}
	t, err := s.talk(p.SessionID)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case p.ModeID == modeWork:
		return nil, fault(codeInvalidParams, "work begins when you approve a plan; it cannot be chosen as a mode")
	case p.ModeID != modePlan && p.ModeID != modeAsk:
		return nil, fault(codeInvalidParams, "there is no mode %q", visible(p.ModeID))
	case t.busy || t.run != nil:
		return nil, fault(codeInvalidRequest, "a request is being worked on: stop it first")
	}
	t.mode = p.ModeID
	return struct{}{}, nil
}

// prompt answers session/prompt when the session ends, or when it waits for what
// the person says next.
func (s *server) prompt(m incoming) {
	var p promptParams
	if err := json.Unmarshal(m.Params, &p); err != nil {
		s.wire.reply(m.ID, nil, fault(codeInvalidParams, "the parameters cannot be read: %v", err))
		return
	}
	t, err := s.talk(p.SessionID)
	if err == nil {
		err = t.take()
	}
	if err != nil {
		s.wire.reply(m.ID, nil, err)
		return
	}
	s.later(func() {
		result, err := t.answer(s.base, p.Prompt)
		t.mu.Lock()
		t.busy = false
		t.mu.Unlock()
		s.wire.reply(m.ID, result, err)
	})
}

// take claims the conversation for one prompt.
func (t *talk) take() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.busy {
		return fault(codeInvalidRequest, "a request is being worked on: wait for it, or cancel it")
	}
	t.busy = true
	return nil
}

func (t *talk) answer(ctx context.Context, prompt []contentBlock) (any, error) {
	request, err := requestOf(prompt)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	r := t.run
	t.mu.Unlock()
	if r != nil && r.over() {
		if _, err := t.follow(ctx, r); err != nil {
			return nil, err
		}
		r = nil
	}
	switch {
	case r == nil:
		r, err = t.begin(ctx, request)
	case !r.desk.reply(request):
		err = r.Say(request)
	}
	if err != nil {
		return nil, err
	}
	return t.follow(ctx, r)
}

// begin starts the session of a prompt. It runs until it ends, whatever becomes of
// the prompt.
func (t *talk) begin(ctx context.Context, request string) (*running, error) {
	t.mu.Lock()
	o := Start{Continues: t.last}
	mode, first := t.mode, t.last == ""
	t.mu.Unlock()
	var err error
	if o.Request, o.ReadOnly, err = command(request, mode == modeAsk); err != nil {
		return nil, err
	}
	if first {
		o.ID = t.id
	}
	r := &running{ended: make(chan struct{}), tell: newTeller(t.update, t.dir)}
	r.desk = newDesk(ctx, t)
	o.Asker = r.desk
	run, err := t.server.o.Backend.Start(ctx, t.dir, o)
	if err != nil {
		return nil, err
	}
	if r.Run = run; first && t.offered > 0 {
		t.update(chunk{thinking, text(fmt.Sprintf("The editor offers %d MCP servers. Coderrr starts only those that you added to it yourself: coderrr mcp add.\n", t.offered))})
	}
	t.mu.Lock()
	t.run, t.last = r, run.ID()
	t.mu.Unlock()
	t.server.tasks.Go(func() {
		r.fin, r.err = run.Run(ctx)
		close(r.ended)
	})
	return r, nil
}

// follow tells the editor what the session logs, until it ends or waits for words.
func (t *talk) follow(ctx context.Context, r *running) (any, error) {
	turn, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	r.desk.attend(stop)
	for e := range r.Log().Follow(turn, r.seq) {
		r.seq = e.Seq
		r.tell.event(e)
		r.desk.event(e)
	}
	if turn.Err() != nil {
		return promptResponse{StopReason: "end_turn", Meta: map[string]any{"coderrr/waits": true}}, nil
	}
	<-r.ended
	r.desk.close()
	t.mu.Lock()
	t.run = nil
	if r.tell.mode == modeWork {
		defer t.update(modeUpdate{"current_mode_update", t.mode})
	}
	t.mu.Unlock()
	if r.err != nil {
		return nil, fmt.Errorf("the session could not be kept: %w", r.err)
	}
	return ending(r.fin)
}

// ending is how the protocol says that a session ended. It has no word for a
// failure but an error.
func ending(fin event.SessionFinished) (any, error) {
	reason := "end_turn"
	switch fin.Status {
	case "cancelled":
		reason = "cancelled"
	case "budget":
		reason = "max_turn_requests"
	case "error":
		return nil, fault(codeInternal, "%s", visible(cmp.Or(fin.Summary, "the session failed")))
	}
	return promptResponse{StopReason: reason, Meta: map[string]any{"coderrr/status": fin.Status, "coderrr/exitCode": fin.ExitCode}}, nil
}

// maxResource bounds the text of one resource in a prompt, in bytes.
const maxResource = 256 << 10

// requestOf is the text of a prompt. What the editor attaches is data: it is marked
// as such.
func requestOf(prompt []contentBlock) (string, error) {
	var parts []string
	for _, b := range prompt {
		switch {
		case b.Type == "text":
			parts = append(parts, b.Text)
		case b.Type == "resource_link":
			parts = append(parts, fmt.Sprintf("[%s](%s)", cmp.Or(b.Name, b.URI), b.URI))
		case b.Type == "resource" && b.Resource != nil && b.Resource.Text != nil:
			body, uri := *b.Resource.Text, b.Resource.URI
			note := ""
			if len(body) > maxResource {
				body = strings.ToValidUTF8(body[:maxResource], "")
				note = fmt.Sprintf("\n[It goes on: %d of its %d bytes are given here.]", len(body), len(*b.Resource.Text))
			}
			fence := "~~~"
			for strings.Contains(body, fence) { // what is attached cannot end its own block
				fence += "~"
			}
			parts = append(parts, fmt.Sprintf("Attached by the editor, %s:\n%s\n%s\n%s%s", uri, fence, body, fence, note))
		default:
			return "", fault(codeInvalidParams, "a prompt can hold text, links and text resources, not %q", visible(b.Type))
		}
	}
	out := strings.TrimSpace(strings.Join(parts, "\n\n"))
	if out == "" {
		return "", fault(codeInvalidParams, "the prompt is empty")
	}
	return out, nil
}
