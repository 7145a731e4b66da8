package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/coderrr/coderrr/internal/approval"
	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/policy"
	"github.com/coderrr/coderrr/internal/tools"
)

// TestMain makes the test binary a stdio server too.
func TestMain(m *testing.M) {
	if os.Getenv("MCP_FAKE") != "" {
		stdioFake()
		return
	}
	goleak.VerifyTestMain(m)
}

// stdioFake is a server that shows its environment, after a while if told so.
func stdioFake() {
	wait, _ := time.ParseDuration(os.Getenv("MCP_FAKE_WAIT"))
	time.Sleep(wait)
	if os.Getenv("MCP_FAKE") == "broken" {
		fmt.Fprintln(os.Stderr, "Error: broken on purpose")
		os.Exit(1)
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var m rpc
		if json.Unmarshal(in.Bytes(), &m) != nil || len(m.ID) == 0 {
			continue
		}
		result := `{"content":[{"type":"text","text":"?"}]}`
		switch m.Method {
		case "server/discover":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", m.ID)
			continue
		case "initialize":
			result = initialized
		case "tools/list":
			result = `{"tools":[{"name":"env","inputSchema":{"type":"object","properties":{}}}]}`
		case "tools/call":
			if os.Getenv("MCP_FAKE") == "short" {
				break
			}
			if os.Getenv("MCP_FAKE") == "huge" {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, m.ID)
				for range 1600 {
					fmt.Print(strings.Repeat("x", 1<<16))
				}
				fmt.Println(`"}]}}`)
				continue
			}
			dir, _ := os.Getwd()
			raw, _ := json.Marshal("cwd=" + dir + "\n" + strings.Join(os.Environ(), "\n"))
			result = fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, raw)
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	}
}

const initialized = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{},"prompts":{}},"serverInfo":{"name":"fake","version":"1"}}`

type rpc struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// fakeServer is a Streamable HTTP server whose tools can change.
type fakeServer struct {
	*httptest.Server

	mu     sync.Mutex
	tools  string // JSON array
	call   func(name string, args json.RawMessage) string
	calls  []string
	stream chan string
	other  map[string]string // results of other methods
	auth   string            // what Authorization must be
}

func newFake(t *testing.T, toolList string) *fakeServer {
	f := &fakeServer{tools: toolList, stream: make(chan string, 64), other: map[string]string{}}
	f.Server = httptest.NewServer(http.HandlerFunc(f.handle))
	t.Cleanup(f.Close)
	return f
}

// set replaces the tools and tells clients.
func (f *fakeServer) set(toolList string) {
	f.mu.Lock()
	f.tools = toolList
	f.mu.Unlock()
	for range 5 { // real servers announce in bursts
		f.stream <- `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	}
}

func (f *fakeServer) called() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.calls...)
}

func (f *fakeServer) handle(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	auth := f.auth
	f.mu.Unlock()
	if auth != "" && r.Header.Get("Authorization") != auth {
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if r.Method == http.MethodGet {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		for {
			select {
			case s := <-f.stream:
				_, _ = fmt.Fprintf(w, "data: %s\n\n", s)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}
	var m rpc
	_ = json.NewDecoder(r.Body).Decode(&m)
	if len(m.ID) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	result := f.result(m)
	if result == "" {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}`)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (f *fakeServer) result(m rpc) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if result, ok := f.other[m.Method]; ok {
		return result
	}
	switch m.Method {
	case "initialize":
		return initialized
	case "tools/list":
		return `{"tools":` + f.tools + `}`
	case "tools/call":
		var p struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		}
		_ = json.Unmarshal(m.Params, &p)
		f.calls = append(f.calls, p.Name+string(p.Arguments))
		if f.call != nil {
			return f.call(p.Name, p.Arguments)
		}
		return `{"content":[{"type":"text","text":"did ` + p.Name + `"}]}`
	}
	return ""
}

// rig is a manager and what can be seen of it.
type rig struct {
	*Manager
	home string
	mu   sync.Mutex
	seen []event.Payload
}

func (r *rig) emit(p event.Payload) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, p)
}

func (r *rig) notices() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	for _, p := range r.seen {
		if n, ok := p.(event.Notice); ok {
			b.WriteString(n.Text + "\n")
		}
	}
	return b.String()
}

// start makes a manager and starts it.
func start(t *testing.T, servers map[string]Server, change func(o *Options)) *rig {
	t.Helper()
	r := prepare(t, servers, change)
	require.NoError(t, r.Start(t.Context()))
	return r
}

func prepare(t *testing.T, servers map[string]Server, change func(o *Options)) *rig {
	t.Helper()
	r := &rig{home: t.TempDir()}
	o := Options{
		Servers: servers, Home: r.home, Workspace: t.TempDir(), Emit: r.emit, Version: "test",
		Answers: approval.OpenToolAnswers(r.home), Vault: &vault{},
		Getenv: func(k string) string {
			return map[string]string{"PATH": os.Getenv("PATH"), "HOME": os.TempDir(), "ANTHROPIC_API_KEY": "CANARY-KEY", "SET": "value"}[k]
		},
	}
	if change != nil {
		change(&o)
	}
	if o.Home != r.home {
		r.home = o.Home
	}
	r.Manager = New(o)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// vault is a vault in memory.
type vault struct {
	mu  sync.Mutex
	all map[string]string
}

func (v *vault) Get(account string) (string, bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s, ok := v.all[account]
	return s, ok, nil
}

func (v *vault) Set(account, value string) (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.all == nil {
		v.all = map[string]string{}
	}
	v.all[account] = value
	return "memory", nil
}

func (v *vault) Delete(account string) (bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, ok := v.all[account]
	delete(v.all, account)
	return ok, nil
}

// tool finds a tool by the name that the server gives it.
func (r *rig) tool(t *testing.T, name string) *tool {
	t.Helper()
	for _, x := range r.Tools() {
		if x.(*tool).raw.Name == name {
			return x.(*tool)
		}
	}
	t.Fatalf("no tool %q; notices: %s", name, r.notices())
	return nil
}

func (r *rig) names() []string {
	var out []string
	for _, x := range r.Tools() {
		out = append(out, x.Spec().Name)
	}
	return out
}

// decide is what the gate says of a tool.
func decide(x tools.Tool) policy.Decision {
	d, _ := policy.Rules{}.Decide(policy.Call{Mode: policy.Planning, Class: x.Class(), Name: x.Spec().Name, Approved: x.(tools.Approver).Approved()})
	return d
}

// script answers questions in order; when it has no more, nobody is there.
type script struct {
	mu      sync.Mutex
	answers []ask.Answer
	asked   []ask.Question
}

func (s *script) Ask(ctx context.Context, q ask.Question) (ask.Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, q)
	if len(s.answers) == 0 {
		return ask.Answer{}, ask.ErrNobody
	}
	a := s.answers[0]
	s.answers = s.answers[1:]
	return a, ctx.Err()
}

const oneTool = `[{"name":"look","description":"looks","inputSchema":{"type":"object","properties":{"q":{"type":"string"}}}}]`

func exe(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	return path
}
