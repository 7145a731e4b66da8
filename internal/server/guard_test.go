package server_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/server"
)

// TestGuard has a row for every branch (W01, W02, W03, W06).
func TestGuard(t *testing.T) {
	st := start(t)
	st.b.add("s1", "SECRET-REQUEST")
	ours := "http://" + st.host
	port := st.host[strings.LastIndex(st.host, ":"):]
	bearer := "Bearer " + st.token
	ws := map[string]string{"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}
	with := func(base map[string]string, more ...string) map[string]string {
		out := map[string]string{}
		for k, v := range base {
			out[k] = v
		}
		for i := 0; i < len(more); i += 2 {
			out[more[i]] = more[i+1]
		}
		return out
	}
	tests := []struct {
		name, method, path string
		header             map[string]string
		want               int
	}{
		{"shell", "GET", "/", nil, 200},
		{"W01 list", "GET", "/api/sessions", nil, 401},
		{"W01 empty token", "GET", "/api/sessions", map[string]string{"Authorization": "Bearer "}, 401},
		{"W01 wrong token", "GET", "/api/sessions", map[string]string{"Authorization": "Bearer x" + st.token}, 401},
		{"W01 cut token", "GET", "/api/sessions", map[string]string{"Authorization": "Bearer " + st.token[:20]}, 401},
		{"W01 token in the query", "GET", "/api/sessions?token=" + st.token, nil, 401},
		{"W01 token as a cookie", "GET", "/api/sessions", map[string]string{"Cookie": "token=" + st.token}, 401},
		{"W01 right token", "GET", "/api/sessions", map[string]string{"Authorization": bearer}, 200},
		{"W01 log", "GET", "/api/sessions/s1/events", nil, 401},
		{"W01 log with token", "GET", "/api/sessions/s1/events", map[string]string{"Authorization": bearer}, 200},
		{"W01 unknown path", "GET", "/anything", nil, 401},
		{"W01 unknown path with token", "GET", "/anything", map[string]string{"Authorization": bearer}, 404},
		{"W01 unknown asset", "GET", "/static/0/app.js", nil, 401},
		{"W01 ws without upgrade", "GET", "/ws", map[string]string{"Origin": ours}, 401},
		{"W02 ws without origin", "GET", "/ws", ws, 403},
		{"W02 evil origin", "GET", "/ws", with(ws, "Origin", "http://evil.test"), 403},
		{"W02 null origin", "GET", "/ws", with(ws, "Origin", "null"), 403},
		{"W02 file origin", "GET", "/ws", with(ws, "Origin", "file://"), 403},
		{"W02 extension", "GET", "/ws", with(ws, "Origin", "chrome-extension://abc"), 403},
		{"W02 other port", "GET", "/ws", with(ws, "Origin", "http://127.0.0.1:1"), 403},
		{"W02 other name", "GET", "/ws", with(ws, "Origin", "http://localhost"+port), 403},
		{"W02 https", "GET", "/ws", with(ws, "Origin", "https://"+st.host), 403},
		{"W02 shell", "GET", "/", map[string]string{"Origin": "http://evil.test"}, 403},
		{"W03 rebinding", "GET", "/", map[string]string{"Host": "evil.test" + port}, 403},
		{"W03 rebinding the socket", "GET", "/ws", with(ws, "Host", "evil.test"+port, "Origin", "http://evil.test"+port), 403},
		{"W03 with token", "GET", "/api/sessions", map[string]string{"Host": "evil.test" + port, "Authorization": bearer}, 403},
		{"W03 localhost", "GET", "/", map[string]string{"Host": "localhost" + port}, 403},
		{"W03 no port", "GET", "/", map[string]string{"Host": "127.0.0.1"}, 403},
		{"cross-site image", "GET", "/", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}, 403},
		{"same-site script of another port", "GET", "/api/sessions", map[string]string{"Sec-Fetch-Site": "same-site", "Authorization": bearer}, 403},
		{"link from a file", "GET", "/", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 200},
		{"frame", "GET", "/", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, 403},
		{"W06 form", "POST", "/api/sessions", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, 403},
		{"W06 text of ours", "POST", "/api/sessions", map[string]string{"Content-Type": "text/plain", "Origin": ours}, 415},
		{"W06 multipart", "POST", "/", map[string]string{"Content-Type": "multipart/form-data; boundary=x", "Origin": ours}, 415},
		{"W06 no type", "POST", "/", map[string]string{"Origin": ours}, 415},
		{"W06 json without token", "POST", "/api/sessions", map[string]string{"Content-Type": "application/json", "Origin": ours}, 401},
		{"W06 json with token", "POST", "/api/sessions", map[string]string{"Content-Type": "application/json", "Origin": ours, "Authorization": bearer}, 405},
		{"W06 delete", "DELETE", "/api/sessions/s1", map[string]string{"Origin": "http://evil.test"}, 403},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, body, h := request(t, st, tt.method, tt.path, tt.header)
			require.Equal(t, tt.want, code, body)
			if tt.want != 200 || tt.path == "/" {
				require.NotContains(t, body, "SECRET")
			}
			require.Contains(t, h.Get("Content-Security-Policy"), "require-trusted-types-for 'script'")
			require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"))
			require.Equal(t, "DENY", h.Get("X-Frame-Options"))
			require.Empty(t, h.Get("Set-Cookie"))
			require.Empty(t, h.Get("Access-Control-Allow-Origin"))
		})
	}
}

func request(t *testing.T, st *site, method, path string, header map[string]string) (int, string, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+st.host+path, strings.NewReader("{}"))
	require.NoError(t, err)
	if method == http.MethodGet {
		req.Body, req.ContentLength = http.NoBody, 0
	}
	for k, v := range header {
		if k == "Host" {
			req.Host = v
		} else {
			req.Header.Set(k, v)
		}
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { require.NoError(t, resp.Body.Close()) }()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(body), resp.Header
}

// TestW01SocketNeedsItsToken: without it the socket closes before any event.
func TestW01SocketNeedsItsToken(t *testing.T) {
	st := start(t)
	st.b.add("s1", "SECRET-REQUEST")
	for name, first := range map[string]string{
		"none": `{"type":"hello"}`, "empty": `{"type":"hello","token":""}`, "wrong": `{"type":"hello","token":"` + strings.Repeat("x", 43) + `"}`,
		"cut": `{"type":"hello","token":"` + st.token[:30] + `"}`, "no hello": `{"type":"start","token":"` + st.token + `"}`, "not json": `hello`,
		"other type": `{"type":"hello","token":["` + st.token + `"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			ws := st.dial()
			require.NoError(t, ws.Write(t.Context(), websocket.MessageText, []byte(first)))
			_, data, err := ws.Read(t.Context())
			require.Empty(t, data)
			require.Equal(t, websocket.StatusCode(4401), websocket.CloseStatus(err))
		})
	}
}

// TestW17OnlyLoopback: nothing but loopback ever listens.
func TestW17OnlyLoopback(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", "[::]:0", ":0", "192.168.1.4:8080", "example.org:80", "10.0.0.1:0", "127.0.0.1"} {
		ln, err := server.Listen(t.Context(), addr)
		require.Error(t, err, addr)
		require.Nil(t, ln)
		if addr != "127.0.0.1" {
			require.ErrorIs(t, err, server.ErrNotLoopback, addr)
			require.Contains(t, err.Error(), "ssh -L")
		}
	}
	for _, addr := range []string{"127.0.0.1:0", "127.3.4.5:0", "localhost:0"} {
		ln, err := server.Listen(t.Context(), addr)
		require.NoError(t, err, addr)
		require.NoError(t, ln.Close())
	}
}

func TestNewRefusesBadOptions(t *testing.T) {
	_, err := server.New(server.Options{})
	require.ErrorContains(t, err, "backend")
	_, err = server.New(server.Options{Backend: &backend{}, Token: "short"})
	require.ErrorContains(t, err, "too short")
}

// TestPageIsSmallAndStrict: nothing inline, nothing from elsewhere, under 150 KB.
func TestPageIsSmallAndStrict(t *testing.T) {
	st := start(t)
	_, body, _ := request(t, st, "GET", "/", nil)
	require.NotRegexp(t, `(?i)<script(?:[^>]*)>[^<]`, body)
	require.NotRegexp(t, `(?i)\s(style|on[a-z]+)=`, body)
	require.NotContains(t, body, "<style")
	require.NotRegexp(t, `(src|href)="https?:`, body)
}

// TestW25OldToken: a restart makes every older address worthless, and closes the
// sockets of the old one with 1012.
func TestW25OldToken(t *testing.T) {
	old := start(t)
	old.b.add("s1", "r")
	tb, _ := old.open(nil)
	old.stop()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	for {
		if _, _, err := tb.ws.Read(ctx); err != nil {
			require.Equal(t, websocket.StatusServiceRestart, websocket.CloseStatus(err))
			break
		}
	}
	t.Run("after a restart", func(t *testing.T) {
		fresh := start(t)
		code, _, _ := request(t, fresh, "GET", "/api/sessions", map[string]string{"Authorization": "Bearer " + old.token})
		require.Equal(t, 401, code)
	})
}
