package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/mcp/wire"
	"github.com/coderrr/coderrr/internal/secret"
)

func TestSignIn(t *testing.T) {
	w, p := newWorld(t), &person{}
	s := w.source(t, p, nil)
	require.Empty(t, signed(t, s, w.URL+"/mcp"))
	require.NoError(t, s.Refused(t.Context(), refuse(401, "Bearer")))
	require.Equal(t, "Bearer t1", signed(t, s, w.URL+"/mcp"), "row 43: the scheme is ours, whatever token_type was spelled like")
	require.Equal(t, w.URL+"/mcp", p.asked("resource"))
	require.Equal(t, "S256", p.asked("code_challenge_method"))
	require.Equal(t, w.URL+"/mcp", w.forms[0].Get("resource"))
	require.Equal(t, p.asked("redirect_uri"), w.forms[0].Get("redirect_uri"), "row 46: one address, everywhere")
	require.Equal(t, []any{p.asked("redirect_uri")}, w.regs[0]["redirect_uris"])
	require.Equal(t, "native", w.regs[0]["application_type"])

	// Row 55: another process finds it again.
	other := w.source(t, nil, func(o *Options) { o.Vault = s.o.Vault })
	require.Equal(t, "Bearer t1", signed(t, other, w.URL+"/mcp"))
	in, until, err := other.Status()
	require.NoError(t, err)
	require.True(t, in)
	require.WithinDuration(t, time.Now().Add(time.Hour), until, time.Minute)
}

// M26: in a run there is nobody to open a browser; the error names the command.
func TestM26NoBrowserInARun(t *testing.T) {
	w := newWorld(t)
	s := w.source(t, nil, nil)
	var login *LoginError
	err := s.Refused(t.Context(), refuse(401, "Bearer"))
	require.ErrorAs(t, err, &login)
	require.ErrorContains(t, err, "`coderrr mcp login srv`")
	w.put(t, s, func(cur *session) { cur.Expiry = time.Time{} })
	err = s.Refused(t.Context(), refuse(403, `Bearer error="insufficient_scope", scope="files:write"`))
	require.ErrorContains(t, err, "`coderrr mcp login srv --scopes files:write,a`", "row 51: the scope is named")
	require.False(t, w.saw("/authorize"))
}

// M15: an address that a server names is not fetched where it must not be.
func TestM15SSRF(t *testing.T) {
	public, err := New(Options{Name: "srv", URL: "https://mcp.example/mcp", Vault: &vault{}})
	require.NoError(t, err)
	for _, bad := range []string{
		"http://169.254.169.254/latest", "https://169.254.169.254/latest", "http://127.0.0.1:22/", "https://127.0.0.1:22/", "https://[::1]/",
		"https://10.0.0.1/", "https://192.168.1.1/", "https://100.64.0.1/", "https://[fe80::1]/", "https://0.0.0.0/", "https://[::ffff:127.0.0.1]/",
		"file:///etc/passwd", "ftp://x.example/", "http://plain.example/", "https://user:pw@x.example/", "https:///x", "https://x.example/\n", "javascript:alert(1)",
		"https://x.example/" + strings.Repeat("a", 9000),
	} {
		err := public.Refused(t.Context(), refuse(401, fmt.Sprintf("Bearer resource_metadata=%q", bad)))
		require.Error(t, err, bad)
		_, err = public.http.allow(bad)
		require.Error(t, err, bad)
	}
	// A name that leads to this machine is found out when it is dialled.
	err = public.http.control(t.Context(), "tcp", "127.0.0.1:443", nil)
	require.ErrorIs(t, err, ErrPrivate)
	require.NoError(t, public.http.control(t.Context(), "tcp", "93.184.216.34:443", nil))
	for _, a := range []string{"10.1.2.3", "172.16.0.1", "224.0.0.1", "::", "fc00::1"} {
		require.True(t, private(netip.MustParseAddr(a)), a)
	}
	require.False(t, private(netip.MustParseAddr("1.1.1.1")))
}

// M15: redirects are not followed, to wherever they lead.
func TestM15Redirect(t *testing.T) {
	sink := newWorld(t)
	w := newWorld(t)
	w.prm = nil
	w.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, sink.URL+r.URL.Path, http.StatusFound)
	})
	p := &person{}
	err := w.source(t, p, nil).Refused(t.Context(), refuse(401, ""))
	require.Error(t, err)
	require.Empty(t, sink.seen)
}

// M17 and row 40: the document must be about this server.
func TestM17Resource(t *testing.T) {
	for id, ok := range map[string]bool{
		"https://h.example/a/b": true, "https://h.example/a": true, "https://h.example": true, "https://h.example/": true, "https://h.example/a/": true,
		"https://other.example": false, "https://h.example.evil/": false, "https://h.example:444/": false, "http://h.example/": false,
		"https://h.example/a/bc": false, "https://h.example/a/b/c": false, "https://h.example/ab": false, "": false, "https://h.example/#x": false,
	} {
		at, err := url.Parse("https://h.example/a/b")
		require.NoError(t, err)
		require.Equal(t, ok, covers(id, at), id)
	}
	w, p := newWorld(t), &person{}
	w.prm["resource"] = "https://other.example/mcp"
	require.ErrorIs(t, w.source(t, p, nil).Refused(t.Context(), refuse(401, "")), ErrResource)
	require.False(t, w.saw("/authorize"))
	require.False(t, w.saw("/token"))
}

// Row 39: the resource is sent byte for byte.
func TestRow39ResourceAsItIs(t *testing.T) {
	w, p := newWorld(t), &person{}
	w.prm["resource"] = w.URL
	require.NoError(t, w.source(t, p, nil).Refused(t.Context(), refuse(401, "")))
	require.Equal(t, w.URL, p.asked("resource"))
	require.Equal(t, w.URL, w.forms[0].Get("resource"))
}

// M18: metadata by another issuer is not used, not even with a slash more.
func TestM18Issuer(t *testing.T) {
	for _, issuer := range []string{"https://evil.example", "", "/", "slash"} {
		w, p := newWorld(t), &person{}
		switch issuer {
		case "/":
			w.as["issuer"] = w.URL + "/"
		case "slash":
			w.prm["authorization_servers"] = []string{w.URL + "/"}
		default:
			w.as["issuer"] = issuer
		}
		require.ErrorIs(t, w.source(t, p, nil).Refused(t.Context(), refuse(401, "")), ErrIssuer, issuer)
		require.Zero(t, len(w.regs))
	}
}

// M19: the table of RFC 9207; what a wrong one says is not shown.
func TestM19Issuer(t *testing.T) {
	for _, tt := range []struct {
		name             string
		advertised, noIs bool
		iss              string
		fails            bool
	}{
		{"advertised and right", true, false, "right", false},
		{"advertised and absent", true, false, "", true},
		{"row 50: advertised, absent, accepted by choice", true, true, "", false},
		{"not advertised and absent", false, false, "", false},
		{"not advertised and right", false, false, "right", false},
		{"not advertised and wrong", false, false, "https://evil.example", true},
		{"normalised", true, false, "right/", true},
	} {
		for _, fault := range []bool{false, true} {
			w := newWorld(t)
			w.as["authorization_response_iss_parameter_supported"] = tt.advertised
			p := &person{answer: func(q url.Values) url.Values {
				if tt.iss != "" {
					q.Set("iss", strings.Replace(tt.iss, "right", w.URL, 1))
				}
				if fault {
					q.Del("code")
					q.Set("error", "access_denied")
					q.Set("error_description", "CANARY")
				}
				return q
			}}
			err := w.source(t, p, func(o *Options) { o.NoIssuer = tt.noIs }).Refused(t.Context(), refuse(401, ""))
			switch {
			case tt.fails:
				require.ErrorIs(t, err, ErrIssuer, tt.name)
				require.NotContains(t, err.Error(), "CANARY", tt.name)
				require.False(t, w.saw("/token"), tt.name)
			case fault:
				require.ErrorContains(t, err, "CANARY", tt.name)
			default:
				require.NoError(t, err, tt.name)
			}
		}
	}
}

// M19: an answer to another request is not taken.
func TestState(t *testing.T) {
	w := newWorld(t)
	p := &person{answer: func(q url.Values) url.Values { q.Set("state", "guess"); return q }}
	require.ErrorIs(t, w.source(t, p, nil).Refused(t.Context(), refuse(401, "")), ErrState)
	require.False(t, w.saw("/token"))
	require.ErrorIs(t, (&Flow{}).Finish(t.Context(), url.Values{}), ErrState, "nor one before any was made")
}

// M21: silence about PKCE is a no.
func TestM21PKCE(t *testing.T) {
	for _, methods := range []any{nil, []string{}, []string{"plain"}} {
		w, p := newWorld(t), &person{}
		w.as["code_challenge_methods_supported"] = methods
		require.ErrorIs(t, w.source(t, p, nil).Refused(t.Context(), refuse(401, "")), ErrPKCE)
		require.Empty(t, p.address)
	}
}

// M22: only an https address, whole and without tricks, is ever handed on.
func TestM22Endpoints(t *testing.T) {
	for _, bad := range []string{
		"javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "smb://x/y", "app:x", "http://plain.example/a", "-private-window",
		"%USERPROFILE%", "https://x.example/\"&calc&\"", "https://x.example/a\nb", "https://x.example/ a", "https://x.example/" + strings.Repeat("a", 100<<10), "",
	} {
		for _, key := range []string{"authorization_endpoint", "token_endpoint", "registration_endpoint"} {
			w, p := newWorld(t), &person{}
			w.as[key] = bad
			err := w.source(t, p, nil).Refused(t.Context(), refuse(401, ""))
			require.Error(t, err, "%s %q", key, bad)
			if key != "token_endpoint" {
				require.Empty(t, p.address, "%s %q", key, bad)
			}
		}
	}
	w, p := newWorld(t), &person{}
	w.as["authorization_endpoint"] = "https://x.example/$(touch%20m)?keep=1"
	require.NoError(t, w.source(t, p, nil).Refused(t.Context(), refuse(401, "")))
	u, err := url.Parse(p.address)
	require.NoError(t, err)
	require.Equal(t, "https", u.Scheme)
	require.Equal(t, "1", u.Query().Get("keep"))
	require.NotContains(t, p.address, " ")
}

// M27: a token goes to exactly its server.
func TestM27Audience(t *testing.T) {
	w := newWorld(t)
	s := w.source(t, nil, nil)
	w.put(t, s, func(cur *session) { cur.Expiry = time.Time{} })
	require.Equal(t, "Bearer t0", signed(t, s, w.URL+"/mcp"))
	for _, at := range []string{"https://a.example.evil/mcp", strings.Replace(w.URL, "127.0.0.1", "localhost", 1) + "/mcp", "https" + strings.TrimPrefix(w.URL, "http") + "/mcp"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at, nil)
		require.NoError(t, err)
		require.Error(t, s.Sign(t.Context(), req), at)
		require.Empty(t, req.Header.Get("Authorization"))
	}
	seen := map[string]bool{}
	for _, at := range []string{"https://a.example/mcp", "https://a.example.evil/mcp", "https://a.example:444/mcp", "https://a.example/mcp2", "https://a.example/", "http://a.example/mcp"} {
		require.False(t, seen[Account(at)], at)
		seen[Account(at)] = true
	}
}

// M07: a server that is pointed elsewhere, under the same name, has no token there.
func TestM07Repointed(t *testing.T) {
	w := newWorld(t)
	s := w.source(t, nil, nil)
	w.put(t, s, func(cur *session) { cur.Expiry = time.Time{} })
	moved := w.source(t, nil, func(o *Options) { o.Vault, o.URL = s.o.Vault, w.URL+"/other" })
	require.Empty(t, signed(t, moved, w.URL+"/other"))
	require.Equal(t, "Bearer t0", signed(t, s, w.URL+"/mcp"))
}

// M29 and row 52: only what was named is asked for.
func TestM29Scopes(t *testing.T) {
	for _, tt := range []struct {
		name, challenge string
		prm, as         []string
		own             []string
		want            string
	}{
		{"challenge first", `Bearer scope="files:read"`, []string{"all"}, []string{"admin"}, nil, "files:read"},
		{"then the resource's", "Bearer", []string{"a", "b"}, []string{"admin"}, nil, "a b"},
		{"else none", "Bearer", nil, []string{"admin"}, nil, ""},
		{"the person's", `Bearer scope="files:read"`, nil, nil, []string{"mine"}, "mine"},
		{"offline only where offered", `Bearer scope="a"`, nil, []string{"offline_access"}, nil, "a offline_access"},
	} {
		w, p := newWorld(t), &person{}
		w.prm["scopes_supported"], w.as["scopes_supported"] = tt.prm, tt.as
		require.NoError(t, w.source(t, p, func(o *Options) { o.Scopes = tt.own }).Refused(t.Context(), refuse(401, tt.challenge)), tt.name)
		require.Equal(t, tt.want, p.asked("scope"), tt.name)
	}
}

// Row 51: more permissions are asked for with those there are; only so often.
func TestRow51StepUp(t *testing.T) {
	w, p := newWorld(t), &person{}
	s := w.source(t, p, nil)
	require.NoError(t, s.Refused(t.Context(), refuse(401, `Bearer scope="a"`)))
	n := 1
	w.token = func(url.Values, http.Header) (int, string) {
		n++
		return 200, fmt.Sprintf(`{"access_token":"t%d"}`, n)
	}
	more := refuse(403, `Bearer error="insufficient_scope", scope="b"`)
	require.NoError(t, s.Refused(t.Context(), more))
	require.Equal(t, "b a", p.asked("scope"))
	require.NoError(t, s.Refused(t.Context(), more))
	require.ErrorContains(t, s.Refused(t.Context(), more), "still refuses after 3")
	require.Equal(t, 3, p.flows)
	err := s.Refused(t.Context(), refuse(403, `Bearer error="access_denied", error_description="not yours"`))
	require.ErrorContains(t, err, "HTTP 403 Forbidden: not yours")
}

// Rows 37 and 38: where metadata is looked for, and in which order.
func TestRow37Order(t *testing.T) {
	w, p := newWorld(t), &person{}
	w.prm["authorization_servers"] = []string{w.URL + "/github"}
	w.as = nil
	require.Error(t, w.source(t, p, nil).Refused(t.Context(), refuse(401, "")))
	require.Equal(t, []string{
		"GET /.well-known/oauth-protected-resource/mcp",
		"GET /.well-known/oauth-authorization-server/github", "GET /.well-known/openid-configuration/github", "GET /github/.well-known/openid-configuration",
	}, w.seen)
	w.seen = nil
	require.ErrorContains(t, w.source(t, p, nil).Refused(t.Context(), refuse(401, fmt.Sprintf("Bearer resource_metadata=%q", w.URL+"/named"))), "/named")
	require.Equal(t, []string{"GET /named"}, w.seen, "the one that is named wins")
}

// Row 56: without any metadata the endpoints of 2025-03-26 are tried; where there
// are none it says so.
func TestRow56NoMetadata(t *testing.T) {
	w, p := newWorld(t), &person{}
	w.prm, w.as = nil, nil
	require.NoError(t, w.source(t, p, nil).Refused(t.Context(), refuse(401, "")))
	require.True(t, strings.HasPrefix(p.address, w.URL+"/authorize?"))
	require.Empty(t, p.asked("resource"))

	// Row 53: {} is not metadata.
	w, p = newWorld(t), &person{}
	w.prm, w.as = map[string]any{}, map[string]any{}
	require.NoError(t, w.source(t, p, nil).Refused(t.Context(), refuse(401, "")))
	require.True(t, strings.HasPrefix(p.address, w.URL+"/authorize?"))
}

// Row 54 and M27: discovery carries no credentials.
func TestRow54DiscoveryIsBare(t *testing.T) {
	w, p := newWorld(t), &person{}
	s := w.source(t, p, nil)
	w.put(t, s, func(cur *session) { cur.Refresh, cur.Expiry = "", time.Time{} })
	require.NoError(t, s.Refused(t.Context(), wire.Refusal{Status: 401, Header: http.Header{}, Authorization: "Bearer t0"}))
	for _, h := range w.headers {
		require.Empty(t, h.Get("Authorization"))
		require.Empty(t, h.Get("Cookie"))
	}
}

// Row 42: answers in a form are read; JSON is asked for.
func TestRow42FormAnswer(t *testing.T) {
	w, p := newWorld(t), &person{}
	w.token = func(_ url.Values, h http.Header) (int, string) {
		require.Equal(t, "application/json", h.Get("Accept"))
		return 200, "access_token=gho_x&scope=repo&token_type=bearer&expires_in=60"
	}
	s := w.source(t, p, nil)
	require.NoError(t, s.Refused(t.Context(), refuse(401, "")))
	require.Equal(t, "gho_x", s.session.Token)
	require.False(t, s.session.Expiry.IsZero())
}

// Row 57: what a token endpoint says about a failure is shown.
func TestRow57TokenErrors(t *testing.T) {
	for body, want := range map[string]string{
		`{"message":"app is suspended"}`:                                "HTTP 400: app is suspended",
		`{"error":"invalid_scope","error_description":"no such scope"}`: "HTTP 400 invalid_scope: no such scope",
		`error=bad_verification_code&error_description=expired`:         "bad_verification_code: expired",
	} {
		w, p := newWorld(t), &person{}
		w.token = func(url.Values, http.Header) (int, string) { return 400, body }
		require.ErrorContains(t, w.source(t, p, nil).Refused(t.Context(), refuse(401, "")), want)
	}
	for _, body := range []string{`{"message":"x"}`, `{"access_token":"a b"}`, `{"access_token":"x","token_type":"mac"}`, `[]`} {
		w, p := newWorld(t), &person{}
		w.token = func(url.Values, http.Header) (int, string) { return 200, body }
		require.Error(t, w.source(t, p, nil).Refused(t.Context(), refuse(401, "")), body)
	}
}

// Row 45: the registration's answer decides how a secret is shown; one way only.
func TestRow45AuthMethod(t *testing.T) {
	for _, tt := range []struct {
		reg     map[string]any
		methods []string
		basic   bool
		post    bool
	}{
		{map[string]any{"client_id": "c", "client_secret": "s p", "token_endpoint_auth_method": "client_secret_post"}, nil, false, true},
		{map[string]any{"client_id": "c", "client_secret": "s p", "token_endpoint_auth_method": "client_secret_basic"}, nil, true, false},
		{map[string]any{"client_id": "c", "client_secret": "s p"}, nil, true, false},
		{map[string]any{"client_id": "c", "client_secret": "s p"}, []string{"client_secret_post"}, false, true},
		{map[string]any{"client_id": "c"}, nil, false, false},
		{map[string]any{"client_id": "c", "token_endpoint_auth_method": "client_secret_basic"}, nil, false, false},
	} {
		w, p := newWorld(t), &person{}
		w.reg, w.as["token_endpoint_auth_methods_supported"] = tt.reg, tt.methods
		var header http.Header
		w.token = func(_ url.Values, h http.Header) (int, string) {
			header = h.Clone()
			return 200, `{"access_token":"t"}`
		}
		require.NoError(t, w.source(t, p, nil).Refused(t.Context(), refuse(401, "")))
		require.Equal(t, tt.basic, header.Get("Authorization") == "Basic YzpzK3A=", "c:s+p, form-encoded")
		require.Equal(t, tt.post, w.forms[0].Get("client_secret") == "s p")
		require.Equal(t, !tt.basic, w.forms[0].Get("client_id") == "c")
	}
	w, p := newWorld(t), &person{}
	delete(w.as, "registration_endpoint")
	require.ErrorIs(t, w.source(t, p, nil).Refused(t.Context(), refuse(401, "")), ErrNoClient)
	require.NoError(t, w.source(t, p, func(o *Options) { o.ClientID = "mine" }).Refused(t.Context(), refuse(401, "")))
	require.Equal(t, "mine", p.asked("client_id"))
	w.as["client_id_metadata_document_supported"] = true
	require.NoError(t, w.source(t, p, func(o *Options) { o.MetadataURL = "https://x.example/c.json" }).Refused(t.Context(), refuse(401, "")))
	require.Equal(t, "https://x.example/c.json", p.asked("client_id"))
}

// Row 49: a token that has ended is renewed before it is used, and the new refresh
// token is stored.
func TestRow49RefreshFirst(t *testing.T) {
	w := newWorld(t)
	s := w.source(t, nil, nil)
	w.put(t, s, nil)
	w.token = func(form url.Values, _ http.Header) (int, string) {
		require.Equal(t, "r0", form.Get("refresh_token"))
		require.Equal(t, w.URL+"/mcp", form.Get("resource"))
		return 200, `{"access_token":"t1","expires_in":"3600","refresh_token":"r1"}`
	}
	require.Equal(t, "Bearer t1", signed(t, s, w.URL+"/mcp"))
	cur, err := s.reread()
	require.NoError(t, err)
	require.Equal(t, "r1", cur.Refresh)
	require.Equal(t, []string{"a"}, cur.Scopes)

	// A 401 to a token that another one replaced meanwhile is simply sent again.
	require.NoError(t, s.Refused(t.Context(), wire.Refusal{Status: 401, Header: http.Header{}, Authorization: "Bearer t0"}))
	require.Len(t, w.forms, 1)
}

// A refresh that fails deletes nothing; one that the server refuses says how to
// sign in.
func TestFailedRefreshKeepsAll(t *testing.T) {
	for status, wantLogin := range map[int]bool{500: false, 503: false, 429: false, 400: true, 401: true} {
		w := newWorld(t)
		s := w.source(t, nil, nil)
		w.put(t, s, nil)
		w.token = func(url.Values, http.Header) (int, string) { return status, `{"error":"invalid_grant"}` }
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.URL+"/mcp", nil)
		require.NoError(t, err)
		err = s.Sign(t.Context(), req)
		var login *LoginError
		require.Equal(t, wantLogin, errors.As(err, &login), "%d: %v", status, err)
		require.NotContains(t, err.Error(), "r0")
		cur, err := s.reread()
		require.NoError(t, err)
		require.Equal(t, "r0", cur.Refresh)
	}
}

// A server that revokes everything when a refresh token is used twice sees it used
// once, however many goroutines come together.
func TestRefreshOnceForAllGoroutines(t *testing.T) {
	w := newWorld(t)
	s := w.source(t, nil, nil)
	w.put(t, s, nil)
	w.token = once(t)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, w.URL+"/mcp", nil)
			if err := s.Sign(t.Context(), req); err != nil || req.Header.Get("Authorization") != "Bearer t-of-r0" {
				t.Errorf("%v %q", err, req.Header.Get("Authorization"))
			}
		})
	}
	wg.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Len(t, w.forms, 1)
}

// once refuses a refresh token that was used before.
func once(t *testing.T) func(url.Values, http.Header) (int, string) {
	used := map[string]bool{}
	return func(form url.Values, _ http.Header) (int, string) {
		r := form.Get("refresh_token")
		if used[r] {
			t.Errorf("%s was used twice: everything is revoked", r)
			return 400, `{"error":"invalid_grant"}`
		}
		used[r] = true
		time.Sleep(50 * time.Millisecond)
		return 200, fmt.Sprintf(`{"access_token":"t-of-%s","expires_in":3600,"refresh_token":"next-%s"}`, r, r)
	}
}

// And however many processes.
func TestRefreshOnceForAllProcesses(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	s := w.source(t, nil, func(o *Options) {
		o.Home, o.Vault = dir, secret.Vault{File: filepath.Join(dir, "credentials.json")}
	})
	w.put(t, s, nil)
	w.mu.Lock() // other processes come to it: nothing else orders their requests
	w.token = once(t)
	w.mu.Unlock()
	var good atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), "OAUTH_REFRESH="+w.URL+"/mcp", "OAUTH_FILE="+filepath.Join(dir, "credentials.json"), "OAUTH_HOME="+dir)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "SIGNED Bearer t-of-r0 <nil>") {
				t.Errorf("%v: %s", err, out)
				return
			}
			good.Add(1)
		})
	}
	wg.Wait()
	require.EqualValues(t, 4, good.Load())
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Len(t, w.forms, 1)

	// M32: the file is its owner's only.
	info, err := os.Stat(filepath.Join(dir, "credentials.json"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

// M32: signing out forgets here and asks the server to forget too.
func TestM32Logout(t *testing.T) {
	w := newWorld(t)
	s := w.source(t, nil, nil)
	w.put(t, s, nil)
	found, err := s.Logout(t.Context())
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, "r0", w.forms[0].Get("token"))
	require.Equal(t, "t0", w.forms[1].Get("token"))
	require.Empty(t, s.o.Vault.(*vault).all)

	w.put(t, s, nil)
	w.token = func(url.Values, http.Header) (int, string) { return 500, "{}" }
	found, err = s.Logout(t.Context())
	require.Error(t, err, "it says when the server did not")
	require.True(t, found)
	require.Empty(t, s.o.Vault.(*vault).all, "and forgets here all the same")
}

// M31: no token over plain http.
func TestM31PlainHTTP(t *testing.T) {
	s, err := New(Options{Name: "srv", URL: "http://mcp.example/mcp", Vault: &vault{}})
	require.NoError(t, err)
	require.NoError(t, s.save(&session{Server: "http://mcp.example/mcp", Token: "t"}))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://mcp.example/mcp", nil)
	require.NoError(t, err)
	require.ErrorIs(t, s.Sign(t.Context(), req), wire.ErrPlainHTTP)
	require.Empty(t, req.Header.Get("Authorization"))
}

// The authorization server of a resource can change: the old one's client is not
// shown to the new one, and its refresh token is not sent anywhere.
func TestMigration(t *testing.T) {
	w, p := newWorld(t), &person{}
	s := w.source(t, p, nil)
	require.NoError(t, s.Refused(t.Context(), refuse(401, "")))
	next := newWorld(t)
	next.reg = map[string]any{"client_id": "c2"}
	next.token = func(url.Values, http.Header) (int, string) { return 200, `{"access_token":"new"}` }
	w.prm["authorization_servers"] = []string{next.URL}
	require.NoError(t, s.Refused(t.Context(), wire.Refusal{Status: 401, Header: http.Header{}, Authorization: "Bearer t1"}))
	require.Equal(t, "c2", p.asked("client_id"))
	require.Len(t, w.forms, 1, "nothing was refreshed at the old one")
	require.Equal(t, "Bearer new", signed(t, s, w.URL+"/mcp"))
}

func TestMachines(t *testing.T) {
	w := newWorld(t)
	s := w.source(t, nil, func(o *Options) { o.Grant = ClientCredentials{ClientID: "m", ClientSecret: "s"} })
	require.NoError(t, s.Refused(t.Context(), refuse(401, `Bearer scope="x"`)))
	require.Equal(t, "client_credentials", w.forms[0].Get("grant_type"))
	require.Equal(t, "x", w.forms[0].Get("scope"))
	cur := *s.session
	cur.Refresh, cur.Expiry = "", time.Now().Add(-time.Hour)
	require.NoError(t, s.save(&cur))
	w.token = func(url.Values, http.Header) (int, string) { return 200, `{"access_token":"t2"}` }
	require.Equal(t, "Bearer t2", signed(t, s, w.URL+"/mcp"), "when it ends, another one is asked for")

	w = newWorld(t)
	s = w.source(t, nil, func(o *Options) { o.Grant = Workload{ClientID: "m", JWT: "j"} })
	w.token = func(url.Values, http.Header) (int, string) { return 400, `{"error":"invalid_grant"}` }
	require.ErrorContains(t, s.Refused(t.Context(), refuse(401, "")), "invalid_grant")
	require.Len(t, w.forms, 1, "a refusal is final")

	w = newWorld(t)
	s = w.source(t, nil, func(o *Options) { o.Grant = ClientCredentials{ClientID: "m", PrivateKey: "nonsense"} })
	require.ErrorContains(t, s.Refused(t.Context(), refuse(401, "")), "must be PEM")
}

func TestDPoP(t *testing.T) {
	w, p := newWorld(t), &person{}
	w.as["dpop_signing_alg_values_supported"] = []string{"ES256"}
	tries := 0
	w.token = func(_ url.Values, h http.Header) (int, string) {
		tries++
		require.NotEmpty(t, h.Get("DPoP"))
		return 200, `{"access_token":"b1","token_type":"DPoP","expires_in":60,"refresh_token":"r1"}`
	}
	s := w.source(t, p, nil)
	require.NoError(t, s.Refused(t.Context(), refuse(401, "")))
	require.Equal(t, "DPoP b1", signed(t, s, w.URL+"/mcp"))
	h := http.Header{"Dpop-Nonce": {"n1"}, "Www-Authenticate": {`DPoP error="use_dpop_nonce"`}}
	require.NoError(t, s.Refused(t.Context(), wire.Refusal{Status: 401, Header: h, Authorization: "DPoP b1"}))
	require.Equal(t, "n1", s.nonce(s.at))
	require.NoError(t, s.renew(t.Context(), "b1"))
	require.NotEmpty(t, s.session.Key, "the key stays with a renewed token")
	require.Equal(t, 2, tries)
}

func TestChallenge(t *testing.T) {
	for in, want := range map[string]challenge{
		`Bearer`: {},
		`Bearer resource_metadata="https://x/y", scope="a b"`:                          {Metadata: "https://x/y", Scope: "a b"},
		`Bearer realm="q\"uote, scope=no", scope=plain, error=invalid_token`:           {Scope: "plain", Error: "invalid_token"},
		`Basic realm="x", scope="no", Bearer error="insufficient_scope",scope="files"`: {Error: "insufficient_scope", Scope: "files"},
		`Digest scope="no"`:               {},
		`Bearer scope="unfinished`:        {Scope: "unfinished"},
		`bearer error_description="text"`: {text: "text"},
	} {
		require.Equal(t, want, parseChallenge(http.Header{"Www-Authenticate": {in}}), in)
	}
}

func FuzzChallenge(f *testing.F) {
	f.Add(`Bearer resource_metadata="https://x/y", scope="a b"`)
	f.Add(`Bearer a="\`)
	f.Fuzz(func(_ *testing.T, in string) { parseChallenge(http.Header{"Www-Authenticate": {in}}) })
}

func TestLoginAsksFirst(t *testing.T) {
	w, p := newWorld(t), &person{}
	s := w.source(t, p, nil)
	require.NoError(t, s.Login(context.WithoutCancel(t.Context()), []string{"x", "y"}))
	require.Equal(t, "x y", p.asked("scope"))
	require.Equal(t, "POST /mcp", w.seen[0])
}
