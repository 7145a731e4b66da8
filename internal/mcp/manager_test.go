package mcp

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/mcp/wire"
)

type rawTool = wire.Tool

// M13 and row 11: a server gets an allow-list and what is configured for it, no
// key; PATH without the workspace; and it does not run in the workspace.
func TestM13Environment(t *testing.T) {
	t.Parallel()
	var ws string
	r := start(t, map[string]Server{"srv": {Command: exe(t), Env: map[string]string{"MCP_FAKE": "env", "TOKEN": "${SET}", "FALL": "${UNSET:-back}", "A": ""}}}, func(o *Options) {
		ws = o.Workspace
		get := o.Getenv
		o.Getenv = func(k string) string {
			if k == "PATH" {
				return strings.Join([]string{"bin", ".", filepath.Join(ws, "node_modules", ".bin"), "/usr/bin"}, string(os.PathListSeparator))
			}
			return get(k)
		}
	})
	res := r.tool(t, "env").Run(t.Context(), nil)
	require.False(t, res.IsError, res.Content)
	require.NotContains(t, res.Content, "CANARY")
	require.NotContains(t, res.Content, "ANTHROPIC")
	require.NotContains(t, res.Content, "CODERRR_HOME")
	require.Contains(t, res.Content, "\nTOKEN=value\n")
	require.Contains(t, res.Content, "\nFALL=back\n")
	require.Contains(t, res.Content, "\nPATH=/usr/bin\n")
	require.Contains(t, res.Content, "\nHOME="+os.TempDir())
	require.NotContains(t, res.Content, ws)
}

// Row 58 and M01: what cannot be filled in stops that server alone, and names the
// field.
func TestRow58MissingVariable(t *testing.T) {
	f := newFake(t, oneTool)
	r := start(t, map[string]Server{
		"bad":  {URL: f.URL, Headers: map[string]string{"Authorization": "Bearer ${MY_TOKEN}"}},
		"good": {URL: f.URL},
	}, nil)
	require.Equal(t, []string{"mcp__good__look"}, r.names())
	require.Contains(t, r.notices(), "MCP server bad: headers.Authorization needs the environment variable MY_TOKEN, which is not set")
}

func TestStoredSecret(t *testing.T) {
	f := newFake(t, oneTool)
	f.auth = "Bearer CANARY-TOKEN"
	v := &vault{}
	_, _ = v.Set("mcp.srv.header.Authorization", "Bearer CANARY-TOKEN")
	cfg := map[string]Server{"srv": {URL: f.URL, Headers: map[string]string{"Authorization": Secret("mcp.srv.header.Authorization")}}}
	r := start(t, cfg, func(o *Options) { o.Vault = v })
	require.Len(t, r.Tools(), 1)
	require.NotContains(t, r.tool(t, "look").Card()+r.notices(), "CANARY")
	r = start(t, cfg, nil)
	require.Contains(t, r.notices(), "needs the stored secret mcp.srv.header.Authorization")
}

// Row 53: a configured header means that no sign-in is looked for.
func TestRow53StaticHeader(t *testing.T) {
	f := newFake(t, oneTool)
	f.auth = "Bearer right"
	r := start(t, map[string]Server{"srv": {URL: f.URL, Headers: map[string]string{"authorization": "Bearer wrong"}}}, nil)
	st := r.Status()[0]
	require.Equal(t, Failed, st.State)
	require.Contains(t, st.Error, "HTTP 401")
	require.NotContains(t, st.Error, "login")
}

// M26 and M11: a server that wants a sign-in says which command helps, and opens
// nothing.
func TestM26NeedsLogin(t *testing.T) {
	f := newFake(t, oneTool)
	f.auth = "Bearer x"
	r := start(t, map[string]Server{"srv": {URL: f.URL}}, nil)
	st := r.Status()[0]
	require.Equal(t, NeedsLogin, st.State)
	require.Contains(t, st.Error, "coderrr mcp login srv")
	_, err := r.Connect(t.Context(), "srv")
	require.ErrorContains(t, err, "coderrr mcp login srv")
}

func TestM26InTheMiddle(t *testing.T) {
	f := newFake(t, oneTool)
	r := start(t, map[string]Server{"srv": {URL: f.URL}}, nil)
	x := r.tool(t, "look")
	f.mu.Lock()
	f.auth = "Bearer x"
	f.mu.Unlock()
	res := x.Run(t.Context(), nil)
	require.True(t, res.IsError)
	require.Contains(t, res.Content, "sign in with `coderrr mcp login srv`")
}

// M11, row 9: one dead server holds up nobody; required ones end the start.
func TestRequired(t *testing.T) {
	t.Parallel()
	f := newFake(t, oneTool)
	servers := map[string]Server{
		"dead":  {Command: exe(t), Env: map[string]string{"MCP_FAKE": "broken"}},
		"never": {Command: exe(t), Env: map[string]string{"MCP_FAKE": "env", "MCP_FAKE_WAIT": "1m"}, Timeout: 400 * time.Millisecond},
		"off":   {Command: "/does/not/exist", Disabled: true, Required: true},
		"good":  {URL: f.URL},
	}
	began := time.Now()
	r := start(t, servers, nil)
	require.Less(t, time.Since(began), 5*time.Second)
	require.Equal(t, []string{"mcp__good__look"}, r.names())
	for _, st := range r.Status() {
		switch st.Name {
		case "dead":
			require.Equal(t, Failed, st.State)
			require.Contains(t, st.Error, "broken on purpose")
		case "never":
			require.Contains(t, st.Error, "did not answer in time")
		case "off":
			require.Equal(t, Disabled, st.State)
		}
	}
	s := servers["dead"]
	s.Required = true
	servers["dead"] = s
	r = prepare(t, servers, nil)
	err := r.Start(t.Context())
	require.ErrorIs(t, err, ErrRequired)
	require.ErrorContains(t, err, "dead: MCP server dead: ")
	require.NotContains(t, err.Error(), "good")
}

// Row 9: a slow server joins later and blocks no turn.
func TestLateServerJoins(t *testing.T) {
	t.Parallel()
	r := prepare(t, map[string]Server{"slow": {Command: exe(t), Env: map[string]string{"MCP_FAKE": "env", "MCP_FAKE_WAIT": "300ms"}}}, nil)
	done := make(chan error, 1)
	go func() { done <- r.Start(t.Context()) }()
	require.Empty(t, r.Tools(), "Tools never waits")
	require.NoError(t, <-done)
	require.Eventually(t, func() bool { return len(r.Tools()) == 1 }, 10*time.Second, 10*time.Millisecond)
}

// A server that ends in the middle is reached again, and its tools say what
// happened.
func TestCrashAndRestart(t *testing.T) {
	t.Parallel()
	r := start(t, map[string]Server{"srv": {Command: exe(t), Env: map[string]string{"MCP_FAKE": "env"}}}, nil)
	x := r.tool(t, "env")
	s := r.find("srv")
	s.mu.Lock()
	old := s.client
	s.mu.Unlock()
	require.NoError(t, old.Close(t.Context()))
	require.Eventually(t, func() bool { return strings.Contains(r.notices(), "the server's process ended") }, 5*time.Second, 10*time.Millisecond)
	require.Len(t, r.Tools(), 1, "its tools stay")
	require.Eventually(t, func() bool { return !x.Run(t.Context(), nil).IsError }, 10*time.Second, 50*time.Millisecond)
}

// Row 8: a start that fails is tried again without being asked, and the tools join.
func TestRow8StartsAtTheSecondTry(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "mark")
	script := `if [ ! -e "$0" ]; then touch "$0"; echo "Error: not yet" >&2; exit 1; fi; exec "$1"`
	r := start(t, map[string]Server{"srv": {Command: "sh", Args: []string{"-c", script, mark + "2", exe(t)}, Env: map[string]string{"MCP_FAKE": "env"}}}, nil)
	require.Eventually(t, func() bool { return len(r.Tools()) == 1 }, 10*time.Second, 20*time.Millisecond)
}

// Row 24: a question that nobody can answer is over at once.
func TestRow24NobodyToAsk(t *testing.T) {
	r := prepare(t, map[string]Server{"srv": {URL: "http://127.0.0.1:1"}}, func(o *Options) { o.Questions = ask.Policy{} })
	began := time.Now()
	got := r.find("srv").elicit(t.Context(), wire.Elicitation{Message: "Name?", Schema: json.RawMessage(`{"properties":{"name":{"type":"string"}}}`)})
	require.Equal(t, wire.ElicitResult{Action: "cancel"}, got)
	require.Less(t, time.Since(began), time.Second)
}

// What a server logs is kept to be looked at, its end only, and made harmless.
func TestServersLog(t *testing.T) {
	f := newFake(t, oneTool)
	r := start(t, map[string]Server{"srv": {URL: f.URL}}, nil)
	for i := range maxLogged + 2 {
		f.stream <- fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"step %d\u001b[2J"}}`, i)
	}
	f.stream <- `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":{"code":7}}}`
	var log []string
	require.Eventually(t, func() bool {
		log = r.Status()[0].Log
		return len(log) > 0 && log[len(log)-1] == `error: {"code":7}`
	}, 5*time.Second, 5*time.Millisecond)
	require.Len(t, log, maxLogged)
	require.Equal(t, "info: step 3⟨U+001B⟩[2J", log[0])
}

func TestTimeoutOfACall(t *testing.T) {
	t.Parallel()
	f := newFake(t, oneTool)
	f.call = func(string, json.RawMessage) string {
		time.Sleep(600 * time.Millisecond)
		return `{"content":[]}`
	}
	r := start(t, map[string]Server{"srv": {URL: f.URL, Timeout: 300 * time.Millisecond}}, nil)
	res := r.tool(t, "look").Run(t.Context(), nil)
	require.True(t, res.IsError)
	require.Contains(t, res.Content, "MCP server srv")
	require.Contains(t, res.Content, "It may have carried the call out")
}

// PATH never leads into the workspace, not through a link either.
func TestM01PathOutsideTheWorkspace(t *testing.T) {
	r := prepare(t, nil, nil)
	ws := r.o.Workspace
	bin := filepath.Join(ws, "bin")
	require.NoError(t, os.MkdirAll(bin, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "npx"), []byte("#!/bin/sh\n"), 0o755))
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(bin, link))
	for _, path := range []string{bin, "bin", ".", "", link} {
		_, err := r.lookup("npx", path+string(os.PathListSeparator)+"/nowhere")
		require.ErrorContains(t, err, "there is no program npx on PATH", path)
	}
	_, err := r.lookup("./npx", "")
	require.ErrorContains(t, err, "is relative")
	_, err = r.lookup(filepath.Join(ws, "none"), "")
	require.ErrorContains(t, err, "is not a program")
}

// M30 and row 24: a form is put to the person; a secret is never asked for; an
// address is shown and not opened.
func TestM30Elicitation(t *testing.T) {
	q := &script{}
	r := prepare(t, map[string]Server{"srv": {URL: "http://127.0.0.1:1"}}, func(o *Options) { o.Questions = q })
	s := r.find("srv")
	form := func(props string) wire.Elicitation {
		return wire.Elicitation{Message: "Please", Schema: json.RawMessage(`{"type":"object","properties":` + props + `,"required":["a"]}`)}
	}
	q.answers = []ask.Answer{{Choice: ask.FreeText, Text: " 7 "}, {Choice: "v1"}, {Choice: ask.FreeText, Text: ""}}
	got := s.elicit(t.Context(), form(`{"a":{"type":"integer"},"b":{"type":"string","enum":["x","y"]},"c":{"type":"string","default":"d"}}`))
	require.Equal(t, wire.ElicitResult{Action: "accept", Content: map[string]any{"a": int64(7), "b": "y", "c": "d"}}, got)
	require.Contains(t, q.asked[0].Prompt, "The MCP server srv asks: Please")

	require.Equal(t, "cancel", s.elicit(t.Context(), form(`{"a":{"type":"string"}}`)).Action, "nobody there")
	q.answers = []ask.Answer{{Choice: ask.DenyIt}}
	require.Equal(t, "decline", s.elicit(t.Context(), form(`{"a":{"type":"string"}}`)).Action)
	n := len(q.asked)
	for _, props := range []string{`{"password":{"type":"string"}}`, `{"a":{"type":"string","title":"API key"}}`, `{"a":{"type":"string","format":"password"}}`, `{"a":{"description":"your card number"}}`} {
		require.Equal(t, "decline", s.elicit(t.Context(), form(props)).Action, props)
	}
	for _, u := range []string{"http://evil.example/x", "javascript:alert(1)", "file:///etc/passwd", "https://user:pw@x.example/", "https://" + strings.Repeat("a", 5000)} {
		require.Equal(t, "decline", s.elicit(t.Context(), wire.Elicitation{Mode: "url", URL: u}).Action, u)
	}
	require.Len(t, q.asked, n, "none of these was asked")
	q.answers = []ask.Answer{{Choice: "accept"}}
	require.Equal(t, "accept", s.elicit(t.Context(), wire.Elicitation{Mode: "url", URL: "https://pay.example/x", Message: "Pay"}).Action)
	require.Contains(t, q.asked[n].Prompt, "on pay.example yourself")
}

// M30: without anybody to ask, nothing of the kind is declared.
func TestM30Headless(t *testing.T) {
	r := prepare(t, map[string]Server{"srv": {URL: "http://127.0.0.1:1"}}, nil)
	o, err := r.find("srv").options()
	require.NoError(t, err)
	require.Nil(t, o.Elicit)
	require.Len(t, o.Roots, 1)
	require.Equal(t, "file://"+r.o.Workspace, o.Roots[0].URI)
}

func TestUnknownServer(t *testing.T) {
	r := prepare(t, nil, nil)
	_, err := r.Connect(t.Context(), "x")
	require.ErrorIs(t, err, ErrUnknown)
}

// Row 58 and the forms of other programs.
func TestForeign(t *testing.T) {
	read := func(s string) (map[string]Server, []string) {
		var doc map[string]any
		require.NoError(t, json.Unmarshal([]byte(s), &doc))
		return Foreign(doc)
	}
	got, notes := read(`{"mcpServers":{
		"files":{"command":"npx","args":["-y","x"],"env":{"A":"1"},"autoApprove":["all"],"disabled":true},
		"my server":{"type":"streamable-http","url":"https://a.example/mcp","headers":{"X":"${Y}"},"timeout":5000},
		"gem":{"httpUrl":"https://g.example"}, "nested":{"transport":{"type":"http","url":"https://n.example"}},
		"code":{"command":"npx","args":["${workspaceFolder}","${input:key}"]}, "empty":{}}}`)
	require.Equal(t, "npx", got["files"].Command)
	require.True(t, got["files"].Disabled)
	require.Empty(t, got["files"].AllowedTools, "what others allow is not allowed here")
	require.Equal(t, "https://a.example/mcp", got["my-server"].URL)
	require.Equal(t, 5*time.Second, got["my-server"].Timeout)
	require.Equal(t, "https://g.example", got["gem"].URL)
	require.Equal(t, "https://n.example", got["nested"].URL)
	all := strings.Join(notes, "\n")
	require.Contains(t, all, "files: autoApprove is not taken over")
	require.Contains(t, all, "${input:… cannot be filled in")
	require.Contains(t, all, "empty: is not a server")

	got, _ = read(`{"mcp":{"oc":{"type":"local","command":["bun","x"],"environment":{"B":"2"},"enabled":false}}}`)
	require.Equal(t, Server{Command: "bun", Args: []string{"x"}, Env: map[string]string{"B": "2"}, Headers: map[string]string{}, Disabled: true}, got["oc"])
	got, _ = read(`{"mcp_servers":{"cx":{"url":"https://c.example","bearer_token_env_var":"TOK","env_http_headers":{"X-Org":"ORG"}}}}`)
	require.Equal(t, map[string]string{"Authorization": "Bearer ${TOK}", "X-Org": "${ORG}"}, got["cx"].Headers)
}
