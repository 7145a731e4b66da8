package acp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/coderrr/coderrr/internal/app"
	"github.com/coderrr/coderrr/internal/cli"
	"github.com/coderrr/coderrr/internal/llm/llmtest"
	"github.com/coderrr/coderrr/internal/sandbox/confined"
	"github.com/coderrr/coderrr/internal/secret"
	"github.com/coderrr/coderrr/internal/term"
)

func TestMain(m *testing.M) {
	confined.Init()
	goleak.VerifyTestMain(m)
}

type m = map[string]any

var schemaOnce = sync.OnceValues(func() (*jsonschema.Compiler, error) {
	f, err := os.Open("testdata/schema.json")
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	doc, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	return c, c.AddResource("acp.json", doc)
})

// valid checks a message, or a part of one, against a definition of the schema.
func valid(t *testing.T, name string, v any) {
	t.Helper()
	c, err := schemaOnce()
	require.NoError(t, err)
	location := "acp.json"
	if name != "" {
		location += "#/$defs/" + name
	}
	s, err := c.Compile(location)
	require.NoError(t, err)
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	require.NoError(t, err)
	require.NoError(t, s.Validate(doc), "%s: %s", name, raw)
}

// editor is a client of the protocol. It checks every message in both directions.
type editor struct {
	t    *testing.T
	ws   string
	home string
	in   *io.PipeWriter
	end  chan int
	log  *strings.Builder

	model *llmtest.Server

	mu      sync.Mutex
	id      int
	sent    map[string]string // method by id
	updates []m
	answers chan m
	decide  func(m) string // the option to choose; "" answers cancelled
	asked   []m
}

// newEditor starts `coderrr acp` over a scripted model.
func newEditor(t *testing.T, turns ...llmtest.Turn) *editor {
	t.Helper()
	e := &editor{
		t: t, home: filepath.Join(t.TempDir(), "home"), ws: filepath.Join(t.TempDir(), "ws"), end: make(chan int, 1), log: &strings.Builder{},
		sent: map[string]string{}, answers: make(chan m, 16), decide: func(m) string { return "approve" },
	}
	require.NoError(t, os.MkdirAll(e.ws, 0o755))
	require.NoError(t, os.MkdirAll(e.home, 0o700))
	model := llmtest.NewServer(t, turns...).Always(llmtest.NoTools(`{"verdict":"accept","reason":"fine"}`))
	e.model = model
	require.NoError(t, os.WriteFile(filepath.Join(e.home, "config.toml"), fmt.Appendf(nil,
		"[provider]\nname = \"compatible\"\nmodel = \"scripted\"\nendpoint = %q\n[sandbox]\ntier = \"scratch\"\n", model.URL), 0o600))
	e.open()
	return e
}

// open starts the program.
func (e *editor) open() {
	in, w := io.Pipe()
	r, out := io.Pipe()
	e.in = w
	env := map[string]string{"CODERRR_HOME": e.home, "HOME": e.t.TempDir(), "PATH": os.Getenv("PATH")}
	go func() {
		code := cli.Main(e.t.Context(), []string{"acp"}, cli.IO{
			In: in, Out: out, Err: io.Discard, Dir: e.ws, Getenv: func(k string) string { return env[k] },
			OpenConsole: func(io.Writer, bool) (*term.Console, error) { return nil, term.ErrNoTerminal },
			Keys:        func(home string) cli.KeyStore { return secret.Vault{File: filepath.Join(home, "credentials.json")} },
		}, "test", app.Build)
		_ = out.Close()
		_ = in.Close()
		e.end <- code
	}()
	go e.read(r)
	e.t.Cleanup(e.close)
}

// close ends the program as an editor does, by closing its input.
func (e *editor) close() {
	if e.in == nil {
		return
	}
	_ = e.in.Close()
	e.in = nil
	select {
	case code := <-e.end:
		require.Zero(e.t, code)
	case <-time.After(30 * time.Second):
		e.t.Error("it does not end")
	}
}

func (e *editor) read(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 32<<20)
	for lines.Scan() {
		var msg m
		if err := json.Unmarshal(lines.Bytes(), &msg); err != nil {
			e.t.Errorf("not JSON: %s", lines.Text())
			return
		}
		e.take(msg)
	}
}

func (e *editor) take(msg m) {
	valid(e.t, "", msg)
	method, _ := msg["method"].(string)
	switch {
	case method == "session/update":
		valid(e.t, "SessionNotification", msg["params"])
		e.mu.Lock()
		e.updates = append(e.updates, msg["params"].(m)["update"].(m))
		e.mu.Unlock()
	case method == "session/request_permission":
		valid(e.t, "RequestPermissionRequest", msg["params"])
		e.mu.Lock()
		e.asked = append(e.asked, msg["params"].(m))
		decide := e.decide
		e.mu.Unlock()
		go func() {
			choice := decide(msg["params"].(m))
			if choice == "never" {
				return
			}
			outcome := m{"outcome": "selected", "optionId": choice}
			if choice == "" {
				outcome = m{"outcome": "cancelled"}
			}
			e.send(m{"jsonrpc": "2.0", "id": msg["id"], "result": m{"outcome": outcome}}, "RequestPermissionResponse")
		}()
	case method == "$/cancel_request":
		valid(e.t, "CancelRequestNotification", msg["params"])
	case method != "":
		e.t.Errorf("the agent called %s", method) // its own door to files, and no other
	default:
		e.answers <- msg
	}
}

func (e *editor) send(msg m, def string) {
	if def != "" {
		valid(e.t, def, msg["result"])
	}
	raw, err := json.Marshal(msg)
	if err != nil {
		e.t.Error(err)
		return
	}
	_, _ = e.in.Write(append(raw, '\n')) // a closed program is noticed elsewhere
}

// ask sends a request without waiting.
func (e *editor) ask(method string, params m) string {
	e.id++
	id := fmt.Sprint(e.id)
	e.sent[id] = method
	e.send(m{"jsonrpc": "2.0", "id": e.id, "method": method, "params": params}, "")
	return id
}

// call sends a request and returns its result or its error.
func (e *editor) call(method string, params m) (result, fail m) {
	e.t.Helper()
	e.ask(method, params)
	return e.wait()
}

func (e *editor) wait() (result, fail m) {
	e.t.Helper()
	select {
	case msg := <-e.answers:
		if f, ok := msg["error"].(m); ok {
			valid(e.t, "Error", f)
			return nil, f
		}
		id := fmt.Sprint(msg["id"])
		defs := map[string]string{
			"initialize": "InitializeResponse", "session/new": "NewSessionResponse", "session/load": "LoadSessionResponse", "session/list": "ListSessionsResponse", "session/prompt": "PromptResponse",
			"session/set_mode": "SetSessionModeResponse", "session/resume": "ResumeSessionResponse", "session/close": "CloseSessionResponse",
		}
		valid(e.t, defs[e.sent[id]], msg["result"])
		return msg["result"].(m), nil
	case <-time.After(time.Minute):
		require.FailNow(e.t, "no answer")
		return nil, nil
	}
}

// begin does what an editor does first and returns the session's id.
func (e *editor) begin() string {
	e.t.Helper()
	got, fail := e.call("initialize", m{"protocolVersion": 1, "clientCapabilities": m{"fs": m{"readTextFile": true, "writeTextFile": true}, "terminal": true}})
	require.Nil(e.t, fail)
	require.EqualValues(e.t, 1, got["protocolVersion"])
	got, fail = e.call("session/new", m{"cwd": e.ws, "mcpServers": []any{}})
	require.Nil(e.t, fail)
	return got["sessionId"].(string)
}

func (e *editor) prompt(id, text string) (result, fail m) {
	e.t.Helper()
	return e.call("session/prompt", m{"sessionId": id, "prompt": []m{{"type": "text", "text": text}}})
}

// seen returns the updates of one kind, and forgets none.
func (e *editor) seen(kind string) []m {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []m
	for _, u := range e.updates {
		if u["sessionUpdate"] == kind {
			out = append(out, u)
		}
	}
	return out
}

// said is the text of all chunks of one kind.
func (e *editor) said(kind string) string {
	var b strings.Builder
	for _, u := range e.seen(kind) {
		b.WriteString(u["content"].(m)["text"].(string))
	}
	return b.String()
}

func (e *editor) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.updates, e.asked = nil, nil
}
