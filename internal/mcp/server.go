package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/inert"
	"github.com/coderrr/coderrr/internal/mcp/wire"
)

// State is what a server is doing.
type State string

// The states.
const (
	Disabled State = "disabled"
	Starting State = "starting"
	Ready    State = "ready"
	Failed   State = "failed"
	// NeedsLogin: it answers only who is signed in.
	NeedsLogin State = "needs login"
)

// Status describes a server. Everything in it is made harmless to look at.
type Status struct {
	Name      string     `json:"name"`
	State     State      `json:"state"`
	Transport string     `json:"transport"`
	Target    string     `json:"target"` // url, or command line
	Protocol  string     `json:"protocol,omitempty"`
	Server    string     `json:"server,omitempty"` // the name it gives itself
	Tools     []ToolInfo `json:"tools,omitempty"`
	Hidden    []string   `json:"hidden,omitempty"` // tools that are not offered, with reasons
	Error     string     `json:"error,omitempty"`
	Stderr    string     `json:"stderr,omitempty"`
	Log       []string   `json:"log,omitempty"`   // the end of what it logged, oldest first
	Noise     int64      `json:"noise,omitempty"` // lines on stdout that were not messages
	Required  bool       `json:"required,omitempty"`
	// Resources and Prompts are only there where a server was tried (`mcp test`).
	Resources []Offer `json:"resources,omitempty"`
	Prompts   []Offer `json:"prompts,omitempty"`
}

// ToolInfo is one tool of a server.
type ToolInfo struct {
	Name        string `json:"name"` // as the model knows it
	Tool        string `json:"tool"` // as the server calls it
	Description string `json:"description"`
	Approved    bool   `json:"approved"`
}

// coalesce is how long changes of a list are gathered before it is read again:
// servers announce them in bursts.
const coalesce = 100 * time.Millisecond

// The pauses between attempts to reach a server that failed.
const (
	minBackoff = time.Second
	maxBackoff = time.Minute
	retries    = 5 // attempts without being asked
)

type server struct {
	m    *Manager
	name string
	cfg  Server

	settled chan struct{} // closed after the first attempt
	once    sync.Once
	changed chan struct{} // the list changed

	mu      sync.Mutex
	client  *wire.Client
	attempt chan struct{} // closed when the present attempt is over; nil is none
	state   State
	err     error
	tools   []*tool
	hidden  []string
	pins    map[string]string // of --allow-tool: tool to the hash it had when first seen
	backoff time.Duration
	until   time.Time // no attempt before
	stderr  string
	logged  []string // the last maxLogged log messages
}

func newServer(m *Manager, name string, cfg Server) *server {
	s := &server{m: m, name: name, cfg: cfg, settled: make(chan struct{}), changed: make(chan struct{}, 1), state: Starting, pins: map[string]string{}}
	if cfg.Disabled {
		s.state = Disabled
		s.once.Do(func() { close(s.settled) })
	}
	return s
}

// ensure returns a living connection, making one if there is none. Callers that
// come together share one attempt; the context bounds only the waiting.
func (s *server) ensure(ctx context.Context) (*wire.Client, error) {
	for {
		s.mu.Lock()
		switch {
		case s.cfg.Disabled:
			s.mu.Unlock()
			return nil, fmt.Errorf("MCP server %s is disabled: enable it with `coderrr mcp enable %s`", s.name, s.name)
		case s.client != nil && s.client.Err() == nil:
			c := s.client
			s.mu.Unlock()
			return c, nil
		case s.attempt == nil && s.err != nil && time.Now().Before(s.until):
			err := s.err
			s.mu.Unlock()
			return nil, err
		case s.attempt == nil:
			s.attempt = make(chan struct{})
			if s.err == nil { // else it stays failed until it is not
				s.state = Starting
			}
			s.m.work.Go(s.connect)
		}
		wait := s.attempt
		s.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-s.m.life.Done():
			return nil, wire.ErrClosed
		}
		s.mu.Lock()
		err := s.err
		s.mu.Unlock()
		if err != nil {
			return nil, err
		}
	}
}

// connect makes one attempt and records how it ended.
func (s *server) connect() {
	client, list, dropped, err := s.dial(s.m.life)
	if err == nil {
		s.take(list, dropped)
	}
	s.mu.Lock()
	close(s.attempt)
	s.attempt = nil
	old := s.client
	if err != nil {
		s.fail(err)
	} else {
		s.client, s.state, s.err, s.backoff = client, Ready, nil, 0
	}
	s.mu.Unlock()
	if old != nil && old != client && err == nil {
		_ = old.Close(s.m.life) // it is dead already; this waits for its goroutines
	}
	if err == nil {
		s.m.work.Go(func() { s.follow(client) })
		s.m.work.Go(func() { s.offer(client) })
	}
	s.announce()
	s.once.Do(func() { close(s.settled) })
}

// fail records an error; the lock is held.
func (s *server) fail(err error) {
	s.err, s.state = s.explain(err), Failed
	if isLogin(err) {
		s.state = NeedsLogin
	}
	s.backoff = min(max(2*s.backoff, minBackoff), maxBackoff)
	s.until = time.Now().Add(s.backoff)
}

func (s *server) announce() {
	st := s.status()
	if s.m.life.Err() != nil {
		return
	}
	detail := string(st.State)
	if st.State == Ready {
		detail = fmt.Sprintf("ready, %d tools", len(st.Tools))
	}
	s.m.o.Emit(event.ContextChanged{What: "mcp", Name: s.name, Detail: detail})
	if st.Error != "" {
		s.m.notice("warning", st.Error+"; `coderrr mcp test "+s.name+"` shows more")
	}
}

func (s *server) dial(ctx context.Context) (*wire.Client, []wire.Tool, map[string]string, error) {
	o, err := s.options()
	if err != nil {
		return nil, nil, nil, err
	}
	client, err := wire.Connect(ctx, o)
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.Handshake)
	defer cancel()
	list, dropped, err := client.Tools(ctx)
	if err != nil {
		s.mu.Lock()
		s.stderr = client.Stderr()
		s.mu.Unlock()
		done, stop := context.WithTimeout(context.WithoutCancel(ctx), closeWait)
		defer stop()
		_ = client.Close(done)
		return nil, nil, nil, fmt.Errorf("list its tools: %w", err)
	}
	return client, list, dropped, nil
}

// follow reads the list again when it changed, and reaches for the server again
// when it went away.
func (s *server) follow(client *wire.Client) {
	for {
		select {
		case <-s.m.life.Done():
			return
		case <-client.Done():
			s.lost(client)
			return
		case <-s.changed:
		}
		timer := time.NewTimer(coalesce)
		select {
		case <-timer.C:
		case <-s.m.life.Done():
			timer.Stop()
			return
		}
		select {
		case <-s.changed:
		default:
		}
		list, dropped, err := client.Tools(s.m.life)
		if err != nil { // the old list stays
			continue
		}
		s.take(list, dropped)
		s.announce()
	}
}

func (s *server) lost(client *wire.Client) {
	if s.m.life.Err() != nil {
		return
	}
	s.mu.Lock()
	s.stderr = client.Stderr()
	s.fail(client.Err())
	s.mu.Unlock()
	s.announce()
	s.again()
}

// again tries to reach the server a few times without being asked.
func (s *server) again() {
	for range retries {
		s.mu.Lock()
		wait, login := time.Until(s.until), s.state == NeedsLogin
		s.mu.Unlock()
		if login {
			return // only a person can help
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-s.m.life.Done():
			timer.Stop()
			return
		}
		if _, err := s.ensure(s.m.life); err == nil {
			return
		}
	}
}

func (s *server) notify(n wire.Notification) {
	switch n.Method {
	case "notifications/tools/list_changed":
		select {
		case s.changed <- struct{}{}:
		default:
		}
	case "notifications/message":
		s.log(n)
	}
}

// What is kept of the log messages that a server sends: messages, and bytes of each.
const (
	maxLogged  = 20
	maxLogLine = 300
)

func (s *server) log(n wire.Notification) {
	line, _ := inert.Visible(cut(n.Level+": "+n.Text, maxLogLine))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logged = append(s.logged[max(0, len(s.logged)+1-maxLogged):], line)
}

// list are the tools that are offered now.
func (s *server) list() []*tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.tools), func(t *tool) bool { return t.denied.Load() })
}

// current reports whether t is still what the server offers under its name.
func (s *server) current(t *tool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.tools, func(x *tool) bool { return x.raw.Name == t.raw.Name && x.hash == t.hash })
}

func (s *server) status() Status {
	s.mu.Lock()
	st := Status{
		Name: s.name, State: s.state, Transport: s.cfg.kind(), Target: s.cfg.target(), Required: s.cfg.Required,
		Hidden: slices.Clone(s.hidden), Stderr: s.stderr, Log: slices.Clone(s.logged),
	}
	client, err, list := s.client, s.err, slices.Clone(s.tools)
	s.mu.Unlock()
	if err != nil {
		st.Error, _ = inert.Visible(err.Error())
	}
	if client != nil {
		info := client.Info()
		st.Protocol, st.Transport = info.Protocol, info.Transport
		st.Server, _ = inert.Visible(cut(info.Server.Name+" "+info.Server.Version, 200))
		if tail := client.Stderr(); tail != "" {
			st.Stderr = tail
		}
		st.Noise, _ = client.Noise()
	}
	for _, t := range list {
		st.Tools = append(st.Tools, ToolInfo{Name: t.spec.Name, Tool: t.shown, Description: t.about, Approved: t.Approved()})
	}
	return st
}

func (s *server) close(ctx context.Context) error {
	s.mu.Lock()
	wait, client := s.attempt, s.client
	s.mu.Unlock()
	if wait != nil {
		<-wait // the manager's end cancelled it
		s.mu.Lock()
		client = s.client
		s.mu.Unlock()
	}
	if client == nil {
		return nil
	}
	if err := client.Close(ctx); err != nil && !errors.Is(err, wire.ErrClosed) {
		return fmt.Errorf("end the MCP server %s: %w", s.name, err)
	}
	return nil
}
