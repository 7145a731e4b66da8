// Package mcp holds the MCP servers of a session: it connects to them, keeps them
// alive, and turns what they offer into tools. Its one rule: what a server says
// is data. It is shown and handed on with the server's name on it; class, name and
// approval of a tool are decided here and by the person, never by the server.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coderrr/coderrr/internal/approval"
	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/mcp/oauth"
	"github.com/coderrr/coderrr/internal/tools"
)

var (
	// ErrRequired is wrapped by Start when a server with required = true is down.
	ErrRequired = errors.New("a required MCP server is down")
	// ErrUnknown is wrapped where a server is named that is not configured.
	ErrUnknown = errors.New("no such MCP server")
)

// firstWait is how long Start waits for servers that are not required. Later ones
// join at the next turn.
const firstWait = 5 * time.Second

// closeWait bounds the polite end of all servers together.
const closeWait = 4 * time.Second

// Server is one configured server (CONTRACT.md, mcp.servers).
type Server struct {
	Transport string // http, stdio, sse or "" to tell by what is set
	URL       string
	Command   string
	Args      []string
	// Env and Headers may hold secrets; ${VAR} in them, and in URL, Command and
	// Args, is read when connecting.
	Env, Headers map[string]string
	Cwd          string
	Disabled     bool
	Timeout      time.Duration // of connecting and of a silent call, 0 is the default
	Auth         string        // auto, none or ""
	ClientID     string
	Scopes       []string
	Required     bool
	AllowedTools []string
	DeniedTools  []string
}

// Options of a Manager. Answers and Getenv are required.
type Options struct {
	Servers map[string]Server
	Answers *approval.ToolAnswers
	// Vault keeps tokens; a nil one means that no server can be signed in to.
	Vault oauth.Vault
	// Home is CODERRR_HOME: locks lie there.
	Home string
	// Workspace is the folder servers are told of, absolute.
	Workspace string
	// Emit is told of what happens to servers; nil drops it. It is called from
	// several goroutines.
	Emit func(event.Payload)
	// Questions asks the person what a server wants to know. Nil declares to
	// servers that nobody can be asked.
	Questions ask.Asker
	// AllowTools are SERVER/TOOL names that are allowed for this session.
	AllowTools []string
	// MaxResultBytes bounds what a model reads of one result, 0 is 64 KiB.
	MaxResultBytes int
	// Offered is told, after each connect, what a server has to read and to ask
	// for; nil asks no server for it. It is called from several goroutines.
	Offered func(server string, resources, prompts []Offer)
	Version string
	Getenv  func(string) string
	// Trace sees each message, with credentials never in it; nil is none.
	Trace func(server, direction string, message []byte)
}

// Manager holds the servers. It is safe for concurrent use, and a tools.Source.
type Manager struct {
	o       Options
	servers []*server // by name
	life    context.Context
	end     context.CancelFunc
	work    sync.WaitGroup
}

var _ tools.Source = (*Manager)(nil)

// New prepares a Manager; nothing is started. It panics when a required option is
// missing, which is a mistake in wiring.
func New(o Options) *Manager {
	if o.Answers == nil || o.Getenv == nil {
		panic("mcp: a Manager needs Answers and Getenv")
	}
	if o.Emit == nil {
		o.Emit = func(event.Payload) {}
	}
	if o.MaxResultBytes <= 0 {
		o.MaxResultBytes = 64 << 10
	}
	m := &Manager{o: o}
	m.life, m.end = context.WithCancel(context.Background())
	for _, name := range slices.Sorted(maps.Keys(o.Servers)) {
		m.servers = append(m.servers, newServer(m, name, o.Servers[name]))
	}
	return m
}

// Start connects to all enabled servers at once and waits: for the required ones
// until each is ready or has failed, for the others a few seconds. The error wraps
// ErrRequired and names each required server that is down, and why.
func (m *Manager) Start(ctx context.Context) error {
	var waits []*server
	for _, s := range m.servers {
		if s.cfg.Disabled {
			continue
		}
		waits = append(waits, s)
		m.work.Go(func() {
			if _, err := s.ensure(m.life); err != nil {
				s.again()
			}
		})
	}
	patience := time.NewTimer(firstWait)
	defer patience.Stop()
	var down []string
	for _, s := range slices.SortedStableFunc(slices.Values(waits), requiredFirst) {
		var limit <-chan time.Time
		if !s.cfg.Required {
			limit = patience.C
		}
		select {
		case <-s.settled:
		case <-limit:
			return required(down)
		case <-ctx.Done():
			return ctx.Err()
		}
		if st := s.status(); s.cfg.Required && st.State != Ready {
			down = append(down, s.name+": "+st.Error)
		}
	}
	return required(down)
}

func requiredFirst(a, b *server) int {
	switch {
	case a.cfg.Required == b.cfg.Required:
		return 0
	case a.cfg.Required:
		return -1
	}
	return 1
}

func required(down []string) error {
	if len(down) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrRequired, strings.Join(down, "; "))
}

// Tools are the tools of all servers that are known, in a stable order. It never
// blocks. A server that went away keeps its tools: calling one tries to reach it,
// and says so when that fails.
func (m *Manager) Tools() []tools.Tool {
	var all []tools.Tool
	for _, s := range m.servers {
		for _, t := range s.list() {
			all = append(all, t)
		}
	}
	return all
}

// Status describes each server, by name.
func (m *Manager) Status() []Status {
	out := make([]Status, len(m.servers))
	for i, s := range m.servers {
		out[i] = s.status()
	}
	return out
}

// Connect reaches one server and describes it; it is how a server is tried. The
// error says what to do.
func (m *Manager) Connect(ctx context.Context, name string) (Status, error) {
	s := m.find(name)
	if s == nil {
		return Status{}, fmt.Errorf("%w: %q", ErrUnknown, name)
	}
	_, err := s.ensure(ctx)
	return s.status(), err
}

func (m *Manager) find(name string) *server {
	for _, s := range m.servers {
		if s.name == name {
			return s
		}
	}
	return nil
}

// Close ends all connections. No process of a server is left when it returns.
func (m *Manager) Close() error {
	m.end()
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	var wg sync.WaitGroup
	errs := make([]error, len(m.servers))
	for i, s := range m.servers {
		wg.Go(func() { errs[i] = s.close(ctx) })
	}
	wg.Wait()
	m.work.Wait()
	return errors.Join(errs...)
}

func (m *Manager) notice(level, text string) {
	m.o.Emit(event.Notice{Level: level, Kind: "mcp", Text: text})
}
