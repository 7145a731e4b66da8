package wire

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// read is the message of a request.
func read(r *http.Request) message {
	var m message
	_ = json.NewDecoder(r.Body).Decode(&m)
	return m
}

func reply(w http.ResponseWriter, m message, result string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// legacyHTTP answers the handshake and hands the rest to fn; fn is false for what
// it leaves to the default.
func legacyHTTP(fn func(w http.ResponseWriter, r *http.Request, m message) bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		m := read(r)
		switch {
		case fn != nil && fn(w, r, m):
		case r.Method == http.MethodGet:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case r.Method == http.MethodDelete:
		case m.Method == "server/discover":
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Server not initialized"}}`)
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", "s1")
			reply(w, m, hello)
		case m.kind() == notification || m.kind() == response:
			w.WriteHeader(http.StatusAccepted)
		case m.Method == "tools/list":
			reply(w, m, `{"tools":[{"name":"x","inputSchema":{"type":"object"}}]}`)
		default:
			reply(w, m, text("default"))
		}
	}
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// serveJSON answers methods with fixed results.
func serveJSON(t *testing.T, results map[string]string) string {
	t.Helper()
	return serve(t, legacyHTTP(func(w http.ResponseWriter, _ *http.Request, m message) bool {
		result, ok := results[m.Method]
		if ok {
			reply(w, m, result)
		}
		return ok
	}))
}

func dialHTTP(t *testing.T, url string, change func(o *Options)) *Client {
	t.Helper()
	o := Options{URL: url, Client: Implementation{Name: "test", Version: "1"}, Handshake: 10 * time.Second}
	if change != nil {
		change(&o)
	}
	c, err := Connect(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { closeNow(t, c) })
	return c
}

func TestHTTPHeaders(t *testing.T) {
	var mu sync.Mutex
	var seen []http.Header
	c := dialHTTP(t, serve(t, legacyHTTP(func(_ http.ResponseWriter, r *http.Request, _ message) bool {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Header.Clone())
		return false
	})), func(o *Options) { o.Headers = map[string]string{"X-Key": "k"} })
	require.Equal(t, "default", said(t, c, "x", ""))
	mu.Lock()
	defer mu.Unlock()
	last := seen[len(seen)-1]
	require.Equal(t, "s1", last.Get("Mcp-Session-Id"))
	require.Equal(t, Latest, last.Get("MCP-Protocol-Version"))
	require.Equal(t, "application/json, text/event-stream", last.Get("Accept"))
	require.Equal(t, "k", last.Get("X-Key"))
	require.Empty(t, last.Get("Origin"))
}

// Rows 14 and 15: a session that the server forgot is made anew, once, however
// the server says so.
func TestRow14SessionLost(t *testing.T) {
	for name, forget := range map[string]func(w http.ResponseWriter){
		"404":      func(w http.ResponseWriter) { w.WriteHeader(404) },
		"400 text": func(w http.ResponseWriter) { http.Error(w, "No valid session ID provided", 400) },
		"400 rpc": func(w http.ResponseWriter) {
			w.WriteHeader(400)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`)
		},
		"503":         func(w http.ResponseWriter) { http.Error(w, "session expired", http.StatusServiceUnavailable) },
		"401 session": func(w http.ResponseWriter) { http.Error(w, "unknown session", http.StatusUnauthorized) },
	} {
		t.Run(name, func(t *testing.T) {
			var made, forgot atomic.Int32
			changed := atomic.Int32{}
			c := dialHTTP(t, serve(t, legacyHTTP(func(w http.ResponseWriter, r *http.Request, m message) bool {
				switch {
				case m.Method == "initialize":
					w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", made.Add(1)))
					reply(w, m, hello)
					return true
				case m.Method == "tools/call" && r.Header.Get("Mcp-Session-Id") == "s1":
					forgot.Add(1)
					forget(w)
					return true
				}
				return false
			})), func(o *Options) { o.Auth = refuser{}; o.Notify = func(Notification) { changed.Add(1) } })
			require.Equal(t, "default", said(t, c, "x", ""))
			require.EqualValues(t, 2, made.Load())
			require.EqualValues(t, 1, forgot.Load())
			require.EqualValues(t, 1, changed.Load(), "the tools are listed again")
		})
	}
}

// refuser fails a test that asks for credentials where it should not.
type refuser struct{}

func (refuser) Sign(context.Context, *http.Request) error { return nil }
func (refuser) Refused(context.Context, Refusal) error {
	return errors.New("asked for credentials")
}

// A session that is lost again and again fails the call.
func TestRow14LostForEver(t *testing.T) {
	var calls atomic.Int32
	c := dialHTTP(t, serve(t, legacyHTTP(func(w http.ResponseWriter, _ *http.Request, m message) bool {
		if m.Method == "tools/call" {
			calls.Add(1)
			w.WriteHeader(404)
			return true
		}
		return false
	})), nil)
	_, err := c.Call(t.Context(), Call{Tool: "x"})
	require.ErrorContains(t, err, "404")
	require.EqualValues(t, 2, calls.Load())
}

// Row 16: the stream for what nobody asked is optional.
func TestRow16GetStream(t *testing.T) {
	for _, status := range []int{400, 404, 405, 406, 409, 500} {
		c := dialHTTP(t, serve(t, legacyHTTP(func(w http.ResponseWriter, r *http.Request, _ message) bool {
			if r.Method == http.MethodGet {
				w.WriteHeader(status)
				return true
			}
			return false
		})), nil)
		require.Equal(t, "default", said(t, c, "x", ""), status)
	}
}

// Row 22: a request that the server sends during the first call, on the stream,
// is answered.
func TestRow22EarlyRequest(t *testing.T) {
	ask, answered := make(chan struct{}), make(chan string, 1)
	c := dialHTTP(t, serve(t, legacyHTTP(func(w http.ResponseWriter, r *http.Request, m message) bool {
		switch {
		case r.Method == http.MethodGet:
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(200)
			w.(http.Flusher).Flush()
			select {
			case <-ask:
			case <-r.Context().Done():
				return true
			}
			_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"roots/list\"}\n\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return true
		case m.kind() == response:
			answered <- string(m.ID) + string(m.Result)
			w.WriteHeader(202)
			return true
		case m.Method == "tools/call":
			close(ask)
			reply(w, m, text(<-answered))
			return true
		}
		return false
	})), func(o *Options) { o.Roots = []Root{{URI: "file:///ws"}} })
	require.Equal(t, `0{"roots":[{"uri":"file:///ws"}]}`, said(t, c, "x", ""))
}

// Row 18: losing the stream never fails the server.
func TestRow18StreamLost(t *testing.T) {
	t.Parallel()
	var gets atomic.Int32
	again := make(chan struct{})
	c := dialHTTP(t, serve(t, legacyHTTP(func(w http.ResponseWriter, r *http.Request, _ message) bool {
		if r.Method != http.MethodGet {
			return false
		}
		switch gets.Add(1) {
		case 1:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "retry: 100\nid: 7\ndata:\n\n")
		case 2:
			if r.Header.Get("Last-Event-ID") != "7" {
				t.Error("the stream was not taken up where it ended")
			}
			w.WriteHeader(409)
		case 3:
			close(again)
			w.WriteHeader(405)
		}
		return true
	})), nil)
	<-again
	require.Equal(t, "default", said(t, c, "x", ""))
	require.NoError(t, c.Err())
}

// Row 25: the status is looked at first; a body that is not one of MCP is shown.
func TestRow25ForeignAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		h    http.HandlerFunc
		want string
	}{
		"401 text": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "token expired", http.StatusUnauthorized) }, "HTTP 401 Unauthorized: token expired"},
		"quota": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"code":429,"msg":"quota exceeded"}`)
		}, "quota exceeded"},
		"html": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "<html><script>x</script>", http.StatusBadGateway)
		}, "HTTP 502 Bad Gateway"},
		"no body": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(202) }, "answered nothing"},
		"other's id": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":4711,"result":{}}`)
		}, "another request"},
		"empty":       {func(http.ResponseWriter, *http.Request) {}, "not one of MCP"},
		"dead stream": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/event-stream") }, "ended before the answer"},
	} {
		t.Run(name, func(t *testing.T) {
			c := dialHTTP(t, serve(t, legacyHTTP(func(w http.ResponseWriter, r *http.Request, m message) bool {
				if m.Method == "tools/call" {
					tt.h(w, r)
					return true
				}
				return false
			})), nil)
			_, err := c.Call(t.Context(), Call{Tool: "x"})
			require.ErrorContains(t, err, tt.want)
			require.NotContains(t, err.Error(), "<script>")
		})
	}
}

// Row 2 and 21 over events; a stream that is cut is taken up again.
func TestResumption(t *testing.T) {
	c := dialHTTP(t, serve(t, legacyHTTP(func(w http.ResponseWriter, r *http.Request, m message) bool {
		switch {
		case m.Method == "tools/call":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "id: a%s\nretry: 20\ndata: \n\n", m.ID)
			return true
		case r.Method == http.MethodGet && strings.HasPrefix(r.Header.Get("Last-Event-ID"), "a"):
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", r.Header.Get("Last-Event-ID")[1:], text("resumed"))
			return true
		}
		return false
	})), nil)
	require.Equal(t, "resumed", said(t, c, "x", ""))
}

// M09 over HTTP: large JSON is cut, endless events and compressed bombs end.
func TestM09HTTP(t *testing.T) {
	t.Parallel()
	part := strings.Repeat("x", 1<<16)
	big := func(w io.Writer, id string, n int) {
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+id+`,"result":{"content":[{"type":"text","text":"`)
		for range n {
			if _, err := io.WriteString(w, part); err != nil {
				return
			}
		}
		_, _ = io.WriteString(w, `"}]}}`)
	}
	url := serve(t, legacyHTTP(func(w http.ResponseWriter, r *http.Request, m message) bool {
		var p struct{ Name string }
		_ = json.Unmarshal(m.Params, &p)
		switch p.Name {
		case "json":
			w.Header().Set("Content-Type", "application/json")
			big(w, string(m.ID), 1600)
		case "gzip":
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			big(z, string(m.ID), 1600)
			_ = z.Close()
		case "event":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "id: 1\ndata: ")
			big(w, string(m.ID), 1600)
		case "endless":
			w.Header().Set("Content-Type", "text/event-stream")
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, ": nothing\ndata: {}\n\n"); err != nil {
					break
				}
			}
		default:
			return false
		}
		return true
	}))
	c := dialHTTP(t, url, nil)
	for _, name := range []string{"json", "gzip"} {
		r, err := c.Call(t.Context(), Call{Tool: name})
		require.NoError(t, err, name)
		require.Len(t, r.Content[0].Text, 1<<20)
		require.EqualValues(t, 99<<20, r.Cut)
	}
	_, err := c.Call(t.Context(), Call{Tool: "event"})
	require.ErrorIs(t, err, ErrTooLarge)
	c = dialHTTP(t, url, func(o *Options) { o.Idle = 300 * time.Millisecond })
	_, err = c.Call(t.Context(), Call{Tool: "endless"})
	require.ErrorIs(t, err, ErrTimeout)
}

// M14: redirects never take a request, or what it carries, elsewhere.
func TestM14Redirects(t *testing.T) {
	var hits atomic.Int32
	sink := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	for _, status := range []int{301, 302, 303, 307, 308} {
		url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, sink+"/x", status) }))
		_, err := Connect(t.Context(), Options{URL: url, Headers: map[string]string{"Authorization": "Bearer CANARY"}, Handshake: 5 * time.Second})
		require.ErrorIs(t, err, ErrRedirect, status)
		require.NotContains(t, err.Error(), "CANARY")
	}
	require.Zero(t, hits.Load())

	h := legacyHTTP(nil)
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp" {
			http.Redirect(w, r, "/mcp/", http.StatusTemporaryRedirect)
			return
		}
		h(w, r)
	}))
	c := dialHTTP(t, url+"/mcp", nil)
	require.Equal(t, "default", said(t, c, "x", ""), "within the origin a 307 is followed, body and all")
}

// M31: nothing secret over plain http.
func TestM31PlainHTTP(t *testing.T) {
	_, err := Connect(t.Context(), Options{URL: "http://mcp.example/mcp", Headers: map[string]string{"Authorization": "Bearer x"}})
	require.ErrorIs(t, err, ErrPlainHTTP)
	for _, bad := range []string{"", "mcp.example", "file:///etc/passwd", "ws://x/y", "http://"} {
		_, err := Connect(t.Context(), Options{URL: bad})
		require.Error(t, err, bad)
	}
}

// Row 16 of the real servers: the older transport is found by itself; its address
// may be relative, and must be of the same origin.
func TestOldSSE(t *testing.T) {
	var mu sync.Mutex
	var stream chan string
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/sse" && r.Method == http.MethodGet:
			ch := make(chan string, 16)
			mu.Lock()
			stream = ch
			mu.Unlock()
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "event: endpoint\ndata: /message?sessionId=1\n\n")
			w.(http.Flusher).Flush()
			for {
				select {
				case s := <-ch:
					_, _ = fmt.Fprintf(w, "event: message\ndata: %s\n\n", s)
					w.(http.Flusher).Flush()
				case <-r.Context().Done():
					return
				}
			}
		case r.URL.Path == "/message":
			m := read(r)
			rec := httptest.NewRecorder()
			body, _ := json.Marshal(m)
			legacyHTTP(nil)(rec, httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body)))
			w.WriteHeader(202)
			if rec.Body.Len() > 0 {
				mu.Lock()
				stream <- rec.Body.String()
				mu.Unlock()
			}
		default:
			http.Error(w, "<html>Cannot POST /sse", 404)
		}
	}))
	c := dialHTTP(t, url+"/sse", nil)
	require.Equal(t, "sse", c.Info().Transport)
	require.Equal(t, "default", said(t, c, "x", ""))

	evil := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			w.WriteHeader(405)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: endpoint\ndata: http://evil.example/message\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	_, err := Connect(t.Context(), Options{URL: evil, Handshake: 5 * time.Second})
	require.ErrorIs(t, err, ErrRedirect)
}

// Row 21: an address that is never finished ends with the time limit.
func TestRow21UnfinishedEndpoint(t *testing.T) {
	t.Parallel()
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			w.WriteHeader(405)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: endpoint\ndata: /m")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	_, err := Connect(t.Context(), Options{URL: url, Handshake: 400 * time.Millisecond})
	require.ErrorIs(t, err, ErrTimeout)
}

// Row 32: all pages are read; an empty cursor is a cursor, a circle ends.
func TestRow32Pages(t *testing.T) {
	page := 0
	c := dialHTTP(t, serve(t, legacyHTTP(func(w http.ResponseWriter, _ *http.Request, m message) bool {
		if m.Method != "tools/list" {
			return false
		}
		page++
		next := map[int]string{1: `,"nextCursor":""`, 2: `,"nextCursor":"c"`, 3: `,"nextCursor":null`}[page]
		if page > 3 {
			next = `,"nextCursor":"c"`
		}
		reply(w, m, fmt.Sprintf(`{"tools":[{"name":"t%d","inputSchema":{}},17,{"name":"u%d","inputSchema":{}}]%s}`, page, page, next))
		return true
	})), nil)
	list, _, err := c.Tools(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 6)
	_, _, err = c.Tools(t.Context())
	require.ErrorContains(t, err, "circle")
}

// Cancelling tells a server of the older era; nothing is said about a handshake.
func TestCancelled(t *testing.T) {
	told := make(chan string, 1)
	started := make(chan struct{})
	c := dialHTTP(t, serve(t, legacyHTTP(func(w http.ResponseWriter, r *http.Request, m message) bool {
		switch m.Method {
		case "tools/call":
			close(started)
			<-r.Context().Done()
			return true
		case "notifications/cancelled":
			told <- string(m.Params)
		}
		return false
	})), nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	_, err := c.Call(ctx, Call{Tool: "x"})
	require.ErrorIs(t, err, context.Canceled)
	require.Contains(t, <-told, `"requestId":`)
}

// The newer era over HTTP: metadata, headers, and arguments mirrored into headers.
func TestModernHTTP(t *testing.T) {
	var got http.Header
	mismatch := true
	c := dialHTTP(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m := read(r)
		switch m.Method {
		case "server/discover":
			reply(w, m, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"n","version":"1"}}`)
		case "tools/list":
			reply(w, m, `{"tools":[{"name":"ok","inputSchema":{"type":"object","properties":{"q":{"type":"string","x-mcp-header":"Q"},"n":{"type":"object","properties":{"deep":{"type":"integer","x-mcp-header":"Deep"}}}}}},
				{"name":"bad","inputSchema":{"type":"object","properties":{"q":{"type":"number","x-mcp-header":"Q"}}}}]}`)
		case "tools/call":
			if mismatch {
				mismatch = false
				w.WriteHeader(400)
				_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32020,"message":"header mismatch"}}`, m.ID)
				return
			}
			got = r.Header.Clone()
			reply(w, m, text("ok"))
		}
	})), nil)
	require.True(t, c.Info().Modern)
	list, dropped, err := c.Tools(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Contains(t, dropped["bad"], "not a string")
	require.Equal(t, "ok", said(t, c, "ok", `{"q":"zwölf","n":{"deep":3}}`))
	require.Equal(t, "tools/call", got.Get("Mcp-Method"))
	require.Equal(t, "ok", got.Get("Mcp-Name"))
	require.Equal(t, "=?base64?enfDtmxm?=", got.Get("Mcp-Param-Q"))
	require.Equal(t, "3", got.Get("Mcp-Param-Deep"))
	require.Equal(t, Modern, got.Get("MCP-Protocol-Version"))
}

func TestRefusedConnectionSaysWhy(t *testing.T) {
	s := httptest.NewServer(nil)
	url := s.URL
	s.Close()
	_, err := Connect(t.Context(), Options{URL: url})
	require.ErrorContains(t, err, "nothing listens there")
}
