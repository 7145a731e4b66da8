package oauth

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/mcp/wire"
	"github.com/coderrr/coderrr/internal/secret"
)

// TestMain makes the test binary a second process that refreshes: see
// TestRefreshOnceForAllProcesses.
func TestMain(m *testing.M) {
	if at := os.Getenv("OAUTH_REFRESH"); at != "" {
		s, err := New(Options{Name: "srv", URL: at, Vault: secret.Vault{File: os.Getenv("OAUTH_FILE")}, Home: os.Getenv("OAUTH_HOME")})
		if err == nil {
			req, _ := http.NewRequest(http.MethodPost, at, nil)
			err = s.Sign(context.Background(), req)
			fmt.Println("SIGNED", req.Header.Get("Authorization"), err)
		}
		return
	}
	os.Exit(m.Run())
}

// world is a resource server and an authorization server in one, both scripted.
type world struct {
	*httptest.Server

	mu      sync.Mutex
	prm     map[string]any // nil: none
	as      map[string]any // nil: none
	reg     map[string]any // answer of the registration endpoint
	token   func(form url.Values, h http.Header) (status int, body string)
	seen    []string // METHOD PATH
	forms   []url.Values
	regs    []map[string]any
	headers []http.Header // of requests to anything but the resource
	accept  string        // the access token the resource takes
}

func newWorld(t *testing.T) *world {
	w := &world{}
	w.Server = httptest.NewServer(http.HandlerFunc(w.handle))
	t.Cleanup(w.Close)
	w.prm = map[string]any{"resource": w.URL + "/mcp", "authorization_servers": []string{w.URL}}
	w.as = w.metadata(w.URL)
	w.reg = map[string]any{"client_id": "c1", "token_endpoint_auth_method": "none"}
	w.token = func(form url.Values, _ http.Header) (int, string) {
		return 200, `{"access_token":"t1","token_type":"bearer","expires_in":3600,"refresh_token":"r1"}`
	}
	return w
}

func (w *world) metadata(issuer string) map[string]any {
	return map[string]any{
		"issuer": issuer, "authorization_endpoint": w.URL + "/authorize", "token_endpoint": w.URL + "/token",
		"registration_endpoint": w.URL + "/register", "revocation_endpoint": w.URL + "/revoke",
		"code_challenge_methods_supported": []string{"S256"},
	}
}

func (w *world) handle(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, r.Method+" "+r.URL.Path)
	if r.URL.Path != "/mcp" {
		w.headers = append(w.headers, r.Header.Clone())
	}
	doc := func(m map[string]any) {
		if m == nil {
			rw.WriteHeader(http.StatusNotFound)
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(m)
	}
	switch {
	case strings.HasPrefix(r.URL.Path, "/.well-known/oauth-protected-resource"):
		doc(w.prm)
	case r.URL.Path == "/.well-known/oauth-authorization-server":
		doc(w.as)
	case r.URL.Path == "/register":
		var m map[string]any
		_ = json.NewDecoder(r.Body).Decode(&m)
		w.regs = append(w.regs, m)
		rw.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(rw).Encode(w.reg)
	case r.URL.Path == "/token" || r.URL.Path == "/revoke":
		_ = r.ParseForm()
		w.forms = append(w.forms, r.PostForm)
		status, body := w.token(r.PostForm, r.Header)
		if !strings.HasPrefix(body, "{") {
			rw.Header().Set("Content-Type", "application/x-www-form-urlencoded")
		}
		rw.WriteHeader(status)
		_, _ = rw.Write([]byte(body))
	case r.URL.Path == "/mcp":
		if r.Header.Get("Authorization") != "Bearer "+w.accept || w.accept == "" {
			rw.Header().Set("WWW-Authenticate", "Bearer")
			rw.WriteHeader(http.StatusUnauthorized)
		}
	default:
		rw.WriteHeader(http.StatusNotFound)
	}
}

func (w *world) saw(what string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.seen {
		if strings.Contains(s, what) {
			return true
		}
	}
	return false
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

// person is the interactive leg without a browser: it reads what would be opened,
// and answers with what the test says.
type person struct {
	address string
	answer  func(q url.Values) url.Values
	flows   int
}

func (p *person) login(ctx context.Context, f *Flow) error {
	p.flows++
	address, err := f.Begin(ctx, "http://127.0.0.1:1234/callback")
	if err != nil {
		return err
	}
	p.address = address
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	q := url.Values{"code": {"code1"}, "state": {u.Query().Get("state")}}
	if p.answer != nil {
		q = p.answer(q)
	}
	return f.Finish(ctx, q)
}

func (p *person) asked(key string) string {
	u, _ := url.Parse(p.address)
	return u.Query().Get(key)
}

// source makes the credentials of the world's resource.
func (w *world) source(t *testing.T, p *person, change func(o *Options)) *Source {
	t.Helper()
	o := Options{Name: "srv", URL: w.URL + "/mcp", Vault: &vault{}, Home: t.TempDir()}
	if p != nil {
		o.Login = p.login
	}
	if change != nil {
		change(&o)
	}
	s, err := New(o)
	require.NoError(t, err)
	return s
}

// refuse is an answer 401 or 403 with a challenge.
func refuse(status int, challenge string) wire.Refusal {
	h := http.Header{}
	if challenge != "" {
		h.Set("WWW-Authenticate", challenge)
	}
	return wire.Refusal{Status: status, Header: h}
}

// signed is the Authorization that a request to the server would carry.
func signed(t *testing.T, s *Source, at string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at, nil)
	require.NoError(t, err)
	require.NoError(t, s.Sign(t.Context(), req))
	return req.Header.Get("Authorization")
}

// put stores a sign-in as if it had been made before.
func (w *world) put(t *testing.T, s *Source, change func(cur *session)) {
	t.Helper()
	cur := &session{
		Server: w.URL + "/mcp", Issuer: w.URL, Resource: w.URL + "/mcp", Endpoint: w.URL + "/token", Revocation: w.URL + "/revoke",
		ClientID: "c1", Method: methodNone, Token: "t0", Refresh: "r0", Expiry: time.Now().Add(-time.Minute), Scopes: []string{"a"},
	}
	if change != nil {
		change(cur)
	}
	require.NoError(t, s.save(cur))
}
