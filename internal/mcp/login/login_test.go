package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/coderrr/coderrr/internal/mcp/oauth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type vault struct {
	mu  sync.Mutex
	all map[string]string
}

func (v *vault) Get(a string) (string, bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s, ok := v.all[a]
	return s, ok, nil
}

func (v *vault) Set(a, value string) (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.all[a] = value
	return "memory", nil
}

func (v *vault) Delete(string) (bool, error) { return false, nil }

// server is a resource and its authorization server.
func server(t *testing.T) string {
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		doc := func(v any) { _ = json.NewEncoder(w).Encode(v) }
		switch {
		case strings.HasPrefix(r.URL.Path, "/.well-known/oauth-protected-resource"):
			doc(map[string]any{"resource": s.URL, "authorization_servers": []string{s.URL}})
		case r.URL.Path == "/.well-known/oauth-authorization-server":
			doc(map[string]any{
				"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token",
				"registration_endpoint": s.URL + "/register", "code_challenge_methods_supported": []string{"S256"},
			})
		case r.URL.Path == "/register":
			doc(map[string]any{"client_id": "c"})
		case r.URL.Path == "/token":
			doc(map[string]any{"access_token": "t"})
		default:
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// begin signs in to a server with the given leg.
func begin(t *testing.T, o Options) (*vault, error) {
	t.Helper()
	v := &vault{all: map[string]string{}}
	src, err := oauth.New(oauth.Options{
		Name: "srv", URL: server(t), Vault: v,
		Login: func(ctx context.Context, f *oauth.Flow) error { return Run(ctx, f, o) },
	})
	require.NoError(t, err)
	return v, src.Login(t.Context(), []string{"files"})
}

// get asks the callback and returns what it shows.
func get(t *testing.T, address string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	// A machine without /etc/hosts knows no localhost.
	tr := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if port, ok := strings.CutPrefix(addr, "localhost:"); ok {
			addr = "127.0.0.1:" + port
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}}
	resp, err := (&http.Client{Transport: tr}).Do(req)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp, string(body)
}

// part is a parameter of the address that would be opened.
func part(t *testing.T, address, key string) string {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	return u.Query().Get(key)
}

// The whole leg over loopback, with an opener that is given. M23: the page shows
// nothing of what it was sent. M25: a free port on 127.0.0.1. An answer to another
// request does not end it.
func TestM23LoopbackLeg(t *testing.T) {
	var shown []string
	v, err := begin(t, Options{
		Timeout: 10 * time.Second,
		Show:    func(s string) { shown = append(shown, s) },
		Open: func(_ context.Context, address string) error {
			back := part(t, address, "redirect_uri")
			require.Regexp(t, `^http://127\.0\.0\.1:\d+/callback$`, back)
			for _, wrong := range []string{
				back + "?code=evil&state=guess",
				back + "?error=x&error_description=" + url.QueryEscape("<script>alert(1)</script>"),
			} {
				resp, body := get(t, wrong)
				require.Equal(t, page, body)
				require.Equal(t, "default-src 'none'; frame-ancestors 'none'", resp.Header.Get("Content-Security-Policy"))
				require.Equal(t, "text/html; charset=utf-8", resp.Header.Get("Content-Type"))
				require.Equal(t, "nosniff", resp.Header.Get("X-Content-Type-Options"))
			}
			resp, body := get(t, strings.TrimSuffix(back, "callback")+"<script>")
			require.Equal(t, http.StatusNotFound, resp.StatusCode)
			require.Empty(t, body)
			get(t, back+"?code=ok&state="+part(t, address, "state"))
			return nil
		},
	})
	require.NoError(t, err)
	require.Len(t, v.all, 1)
	require.Contains(t, shown[0], "To use the MCP server srv, sign in at 127.0.0.1")
	require.Contains(t, shown[0], "It will be asked for: files.")
}

// The callback answers to its own name only: a page elsewhere cannot reach it by
// another name that leads here.
func TestM25HostAndInterface(t *testing.T) {
	_, err := begin(t, Options{
		Timeout: 10 * time.Second,
		Open: func(_ context.Context, address string) error {
			back := part(t, address, "redirect_uri")
			u, err := url.Parse(back)
			require.NoError(t, err)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, back+"?code=x&state="+part(t, address, "state"), nil)
			require.NoError(t, err)
			req.Host = "evil.example:" + u.Port()
			resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, http.StatusNotFound, resp.StatusCode)
			conn, err := net.DialTimeout("tcp", net.JoinHostPort("::1", u.Port()), time.Second)
			if err == nil {
				_ = conn.Close()
			}
			require.Error(t, err, "it listens on 127.0.0.1 and nowhere else")
			get(t, back+"?code=ok&state="+part(t, address, "state"))
			return nil
		},
	})
	require.NoError(t, err)
}

func TestM25PortTaken(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	_, err = begin(t, Options{Port: l.Addr().(*net.TCPAddr).Port, Open: func(context.Context, string) error { return errors.New("not reached") }})
	require.ErrorContains(t, err, "is another program using the port?")
}

// Rows 46 and 47: a fixed port and the name localhost are used everywhere alike.
func TestRow47Localhost(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	require.NoError(t, l.Close())
	_, err = begin(t, Options{Port: port, Localhost: true, Timeout: 10 * time.Second, Open: func(_ context.Context, address string) error {
		back := part(t, address, "redirect_uri")
		require.Equal(t, fmt.Sprintf("http://localhost:%d/callback", port), back)
		get(t, back+"?code=ok&state="+part(t, address, "state"))
		return nil
	}})
	require.NoError(t, err)
}

// Without a browser here the person pastes where it ended; nonsense is asked again.
func TestPaste(t *testing.T) {
	var address string
	lines := []string{"nonsense", ""}
	v, err := begin(t, Options{
		Timeout: 10 * time.Second,
		Show:    func(s string) { _, rest, _ := strings.Cut(s, "yourself:\n"); address += rest },
		Paste: func(context.Context) (string, error) {
			if len(lines) > 0 {
				l := lines[0]
				lines = lines[1:]
				return l, nil
			}
			return part(t, address, "redirect_uri") + "?code=ok&state=" + part(t, address, "state") + "\n", nil
		},
	})
	require.NoError(t, err)
	require.Len(t, v.all, 1)
}

func TestTimeout(t *testing.T) {
	v, err := begin(t, Options{Timeout: 50 * time.Millisecond, Open: func(context.Context, string) error { return nil }})
	require.ErrorIs(t, err, ErrTimeout)
	require.Empty(t, v.all)
}
