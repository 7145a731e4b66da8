package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/approval"
)

// guarded is an MCP server that wants a sign-in, with its authorization server.
func guarded(t *testing.T) string {
	var s *httptest.Server
	revoked := false
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		doc := func(v any) { w.Header().Set("Content-Type", "application/json"); _ = json.NewEncoder(w).Encode(v) }
		switch {
		case strings.HasPrefix(r.URL.Path, "/.well-known/oauth-protected-resource"):
			doc(map[string]any{"resource": s.URL + "/mcp", "authorization_servers": []string{s.URL}, "scopes_supported": []string{"files"}})
		case r.URL.Path == "/.well-known/oauth-authorization-server":
			doc(map[string]any{
				"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token", "revocation_endpoint": s.URL + "/revoke",
				"registration_endpoint": s.URL + "/register", "code_challenge_methods_supported": []string{"S256"},
			})
		case r.URL.Path == "/register":
			doc(map[string]any{"client_id": "c"})
		case r.URL.Path == "/authorize":
			q := r.URL.Query()
			http.Redirect(w, r, q.Get("redirect_uri")+"?code=x&state="+url.QueryEscape(q.Get("state")), http.StatusFound)
		case r.URL.Path == "/token":
			doc(map[string]any{"access_token": "CANARY-TOKEN", "refresh_token": "CANARY-REFRESH", "expires_in": 3600})
		case r.URL.Path == "/revoke":
			revoked = true
		case r.Header.Get("Authorization") != "Bearer CANARY-TOKEN" || revoked:
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		default:
			var m struct {
				ID     json.RawMessage `json:"id"`
				Method string          `json:"method"`
			}
			_ = json.NewDecoder(r.Body).Decode(&m)
			result := map[string]string{
				"server/discover": `{}`,
				"initialize":      `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{},"prompts":{}},"serverInfo":{"name":"guarded","version":"1"}}`,
				"tools/list":      `{"tools":[{"name":"look","description":"looks","inputSchema":{"type":"object"}}]}`,
				"resources/list":  `{"resources":[{"uri":"note://a","name":"A note"}]}`,
				"prompts/list":    `{"prompts":[{"name":"review","arguments":[{"name":"file","required":true}]}]}`,
			}[m.Method]
			if len(m.ID) == 0 {
				w.WriteHeader(http.StatusAccepted)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL + "/mcp"
}

// watcher is a stream in which a test waits for words.
type watcher struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *watcher) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *watcher) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// The whole way: add says that a sign-in is needed, login waits on loopback for
// what a browser brings, test finds the tools, logout ends it. No token is shown
// or written where others read it.
func TestMCPSignIn(t *testing.T) {
	at, home := guarded(t), t.TempDir()
	out := &watcher{}
	run := func(args ...string) int {
		s := IO{
			In: strings.NewReader(""), Out: out, Err: out, Dir: t.TempDir(), Keys: fileKeys, OpenConsole: noConsole,
			Getenv: func(k string) string { return map[string]string{"CODERRR_HOME": home, "HOME": "/nowhere"}[k] },
		}
		return Main(t.Context(), args, s, "v0.0-test", buildFake)
	}
	require.Zero(t, run("mcp", "add", "g", at))
	require.Contains(t, out.String(), "It wants you to sign in: coderrr mcp login g")
	require.Equal(t, 1, run("mcp", "test", "g"))
	require.Contains(t, out.String(), "needs login")

	done := make(chan int, 1)
	go func() { done <- run("mcp", "login", "g", "--timeout", "20s") }()
	var address string
	require.Eventually(t, func() bool {
		_, rest, ok := strings.Cut(out.String(), "open this address yourself:\n")
		line, _, whole := strings.Cut(rest, "\n")
		address = strings.TrimSpace(line)
		return ok && whole
	}, 10*time.Second, 5*time.Millisecond)
	require.Contains(t, out.String(), "It will be asked for: files.")
	resp, err := http.Get(address)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Contains(t, string(body), "Coderrr has received the answer")
	require.Zero(t, <-done)
	require.Zero(t, run("mcp", "test", "g"))
	require.Contains(t, out.String(), "g: ready, 2025-11-25 over http, 1 tools")
	require.Contains(t, out.String(), "resource @g:note://a  A note")
	require.Contains(t, out.String(), "prompt /g:review FILE")
	require.Zero(t, run("mcp", "debug", "g"))
	require.Zero(t, run("mcp", "logout", "g"))
	require.Equal(t, 1, run("mcp", "test", "g"))

	require.NotContains(t, out.String(), "CANARY")
	for _, name := range []string{"config.toml", "credentials.json"} {
		raw, err := os.ReadFile(filepath.Join(home, name))
		require.NoError(t, err)
		require.NotContains(t, string(raw), "CANARY", name)
	}
}

// M07: a server that is removed and added again, under the same name, has no answer
// and no secret of before.
func TestM07RemoveForgets(t *testing.T) {
	at, home := guarded(t), t.TempDir()
	out := &watcher{}
	run := func(args ...string) int {
		s := IO{
			In: strings.NewReader(""), Out: out, Err: out, Dir: t.TempDir(), Keys: fileKeys, OpenConsole: noConsole,
			Getenv: func(k string) string { return map[string]string{"CODERRR_HOME": home, "HOME": "/nowhere"}[k] },
		}
		return Main(t.Context(), args, s, "v0.0-test", buildFake)
	}
	require.Zero(t, run("mcp", "add", "g", at, "-H", "Authorization: Bearer CANARY-TOKEN"), out)
	answers := approval.OpenToolAnswers(home)
	require.NoError(t, answers.Set(t.Context(), "g", "look", approval.ToolAnswer{Hash: "h", Always: true}))
	secrets, err := os.ReadFile(filepath.Join(home, "credentials.json"))
	require.NoError(t, err)
	require.Contains(t, string(secrets), "CANARY-TOKEN")
	require.Zero(t, run("mcp", "remove", "g"), out)
	secrets, err = os.ReadFile(filepath.Join(home, "credentials.json"))
	require.NoError(t, err)
	require.NotContains(t, string(secrets), "CANARY")
	require.Zero(t, run("mcp", "add", "g", at), out)
	_, found, err := answers.Answer("g", "look")
	require.NoError(t, err)
	require.False(t, found)
}
