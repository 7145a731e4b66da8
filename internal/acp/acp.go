// Package acp lets an editor be the front end: it speaks the Agent Client Protocol
// (JSON-RPC 2.0, one message a line) over two streams. A prompt of the editor is a
// session; what the session logs becomes session/update notifications, and what it
// asks becomes session/request_permission. Its one rule: an editor answers
// questions and nothing else. No mode that it sets, and no file that it offers,
// gets around the plan's approval or the workspace.
package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/event"
)

// ErrNoSession is what a Backend's Stored wraps for an id it does not know.
var ErrNoSession = errors.New("there is no such session")

// Backend runs the sessions that an editor asks for. All methods are safe for
// concurrent use.
type Backend interface {
	// Check says why dir, an absolute path, cannot be worked in; nil if it can.
	Check(ctx context.Context, dir string) error
	// Start prepares a session in dir; nothing is sent before its Run.
	Start(ctx context.Context, dir string, s Start) (Run, error)
	// List returns the conversations of dir that Stored can return, newest first.
	List(ctx context.Context, dir string) ([]Conversation, error)
	// Stored returns the events of the conversation that began with the session of
	// this id: session by session, oldest first.
	Stored(ctx context.Context, dir, id string) ([][]event.Event, error)
}

// Conversation is one that is stored: the sessions that go on with each other.
type Conversation struct {
	ID      string    // of its first session
	Request string    // of the first session
	Started time.Time // of the last session
}

// Start says what a session is to do.
type Start struct {
	ID        string // of the new session, "" makes one
	Request   string
	Continues string // the session whose conversation this one goes on with
	ReadOnly  bool   // talk only: nothing is planned or written
	Asker     ask.Asker
}

// Run is one session. The log is closed when Run returns.
type Run interface {
	ID() string
	Log() *event.Log
	Run(ctx context.Context) (event.SessionFinished, error)
	// Say queues text for the model; while a plan waits it is a comment on it.
	Say(text string) error
	// Stop ends the session as cancelled.
	Stop()
}

// Options are what Serve needs. All are required.
type Options struct {
	In      io.Reader
	Out     io.Writer
	Backend Backend
	Version string
}

// Serve speaks with one editor until In or ctx ends; then it stops what runs and
// waits for it. A reader that does not end with ctx is left behind.
func Serve(ctx context.Context, o Options) error {
	if o.In == nil || o.Out == nil || o.Backend == nil {
		return errors.New("acp: a required option is missing")
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &server{o: o, wire: newWire(o.In, o.Out), base: ctx, talks: map[string]*talk{}}
	ended := make(chan error, 1)
	go func() { ended <- s.listen() }()
	var err error
	select {
	case <-ctx.Done():
	case err = <-ended:
	}
	cancel()
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.tasks.Wait()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) {
		err = nil
	}
	return errors.Join(err, s.wire.failed())
}

// server is one connection.
type server struct {
	o     Options
	wire  *wire
	base  context.Context // of what outlives a message
	tasks sync.WaitGroup  // prompts and sessions

	mu      sync.Mutex
	talks   map[string]*talk
	closing bool // no prompt is begun any more
}

// later runs fn beside the reader, unless the connection ends.
func (s *server) later(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing {
		s.tasks.Go(fn)
	}
}

// listen reads and dispatches messages. Only prompts run beside it.
func (s *server) listen() error {
	for {
		line, err := s.wire.read()
		if errors.Is(err, errTooLong) {
			s.wire.reply(json.RawMessage("null"), nil, fault(codeInvalidRequest, "a message is longer than %d MiB", maxMessage>>20))
			continue
		}
		if err != nil {
			return err
		}
		var m incoming
		if err := json.Unmarshal(line, &m); err != nil {
			s.wire.reply(json.RawMessage("null"), nil, fault(codeParse, "a message is not a JSON object: %v", err))
			continue
		}
		switch {
		case m.Method == "" && m.ID != nil:
			s.wire.answered(m)
		case m.ID == nil:
			s.notified(m)
		default:
			s.requested(m)
		}
	}
}

// notified handles a notification; unknown ones are ignored, as JSON-RPC has it.
func (s *server) notified(m incoming) {
	var p struct {
		SessionID string `json:"sessionId"`
	}
	if m.Method != "session/cancel" || json.Unmarshal(m.Params, &p) != nil {
		return
	}
	if t, err := s.talk(p.SessionID); err == nil {
		t.stop()
	}
}

func (s *server) requested(m incoming) {
	if m.JSONRPC != "2.0" {
		s.wire.reply(m.ID, nil, fault(codeInvalidRequest, `"jsonrpc" is not "2.0"`))
		return
	}
	if m.Method == "session/prompt" {
		s.prompt(m)
		return
	}
	result, err := s.handle(m)
	s.wire.reply(m.ID, result, err)
	if opened, ok := result.(sessionResponse); ok && err == nil {
		opened.talk.update(commandsUpdate{"available_commands_update", commands()})
	}
}

func (s *server) handle(m incoming) (any, error) {
	switch m.Method {
	case "initialize":
		return s.initialize(), nil
	case "authenticate":
		return nil, fault(codeInvalidParams, "Coderrr signs in nowhere for an editor. Keys are set up with: coderrr config")
	case "session/new":
		return s.newTalk(m.Params)
	case "session/list":
		return s.list(m.Params)
	case "session/load":
		return s.loadTalk(m.Params, true)
	case "session/resume":
		return s.loadTalk(m.Params, false)
	case "session/close":
		return s.closeTalk(m.Params)
	case "session/set_mode":
		return s.setMode(m.Params)
	default:
		return nil, fault(codeNoMethod, "there is no method %q", visible(m.Method))
	}
}

func (s *server) initialize() initializeResponse {
	return initializeResponse{
		ProtocolVersion: ProtocolVersion,
		AgentCapabilities: agentCapabilities{
			LoadSession:         true,
			PromptCapabilities:  promptCapabilities{EmbeddedContext: true},
			SessionCapabilities: sessionCapabilities{List: &struct{}{}, Close: &struct{}{}, Resume: &struct{}{}},
		},
		AgentInfo:   implementation{Name: "coderrr", Title: "Coderrr", Version: s.o.Version},
		AuthMethods: []any{},
	}
}

// open reads the parameters that say where a conversation is.
func (s *server) open(raw json.RawMessage) (sessionParams, error) {
	var p sessionParams
	if err := json.Unmarshal(raw, &p); err != nil {
		return p, fault(codeInvalidParams, "the parameters cannot be read: %v", err)
	}
	if !filepath.IsAbs(p.Cwd) {
		return p, fault(codeInvalidParams, "cwd must be an absolute path, not %q", visible(p.Cwd))
	}
	p.Cwd = filepath.Clean(p.Cwd)
	if err := s.o.Backend.Check(s.base, p.Cwd); err != nil {
		return p, fault(codeInvalidParams, "%s", visible(err.Error()))
	}
	return p, nil
}

func (s *server) newTalk(raw json.RawMessage) (any, error) {
	p, err := s.open(raw)
	if err != nil {
		return nil, err
	}
	t := &talk{server: s, id: newID(), dir: p.Cwd, mode: modePlan, offered: len(p.McpServers)}
	s.mu.Lock()
	s.talks[t.id] = t
	s.mu.Unlock()
	return sessionResponse{SessionID: t.id, Modes: modes(modePlan), talk: t}, nil
}

// list answers session/list: the conversations of one folder. Without a folder there
// is nothing to list, because each keeps its own.
func (s *server) list(raw json.RawMessage) (any, error) {
	var p sessionParams
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, fault(codeInvalidParams, "the parameters cannot be read: %v", err)
	}
	out := listResponse{Sessions: []sessionInfo{}}
	if p.Cwd == "" {
		return out, nil
	}
	p, err := s.open(raw)
	if err != nil {
		return nil, err
	}
	all, err := s.o.Backend.List(s.base, p.Cwd)
	if err != nil {
		return nil, fmt.Errorf("list the sessions: %w", err)
	}
	for _, c := range all {
		out.Sessions = append(out.Sessions, sessionInfo{SessionID: c.ID, Cwd: p.Cwd, Title: visible(c.Request), UpdatedAt: c.Started.UTC().Format(time.RFC3339)})
	}
	return out, nil
}

var idPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z-]{0,63}$`) })

// loadTalk goes on with a stored conversation. shown sends the editor all that was
// said in it first.
func (s *server) loadTalk(raw json.RawMessage, shown bool) (any, error) {
	p, err := s.open(raw)
	if err != nil {
		return nil, err
	}
	if !idPattern().MatchString(p.SessionID) {
		return nil, fault(codeNotFound, "%q is not the id of a session", visible(p.SessionID))
	}
	if t, err := s.talk(p.SessionID); err == nil && t.active() {
		return nil, fault(codeInvalidRequest, "session %s is open already", p.SessionID)
	}
	stored, err := s.o.Backend.Stored(s.base, p.Cwd, p.SessionID)
	if errors.Is(err, ErrNoSession) {
		return nil, fault(codeNotFound, "%s", visible(err.Error()))
	}
	if err != nil {
		return nil, fmt.Errorf("load session %s: %w", p.SessionID, err)
	}
	t := &talk{server: s, id: p.SessionID, dir: p.Cwd, mode: modePlan, offered: len(p.McpServers), last: p.SessionID}
	tell := newTeller(t.update, t.dir)
	tell.replay = true
	for _, events := range stored {
		for _, e := range events {
			if d, ok := e.Data.(event.SessionStarted); ok {
				t.last = d.SessionID
			}
			if shown {
				tell.event(e)
			}
		}
	}
	s.mu.Lock()
	s.talks[t.id] = t
	s.mu.Unlock()
	return sessionResponse{Modes: modes(modePlan), talk: t}, nil
}

func (s *server) closeTalk(raw json.RawMessage) (any, error) {
	var p setModeParams
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, fault(codeInvalidParams, "the parameters cannot be read: %v", err)
	}
	t, err := s.talk(p.SessionID)
	if err != nil {
		return nil, err
	}
	t.stop()
	s.mu.Lock()
	delete(s.talks, p.SessionID)
	s.mu.Unlock()
	return struct{}{}, nil
}

func (s *server) talk(id string) (*talk, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.talks[id]
	if !ok {
		return nil, fault(codeNotFound, "there is no session %q here: open it with session/new or session/load", visible(id))
	}
	return t, nil
}
