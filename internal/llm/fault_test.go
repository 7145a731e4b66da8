package llm_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/openai"
	"github.com/coderrr/coderrr/internal/llm/wire"
)

// Pieces of a chat stream.
const (
	chunkText = `data: {"choices":[{"index":0,"delta":{"content":"Hello"}}]}` + "\n\n"
	chunkCall = `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read_file","arguments":"{\"path\":"}}]}}]}` + "\n\n"
	chunkRest = `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"a\"}"}}]}}]}` + "\n\n"
	chunkEnd  = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	chunkDone = "data: [DONE]\n\n"
	good      = chunkText + chunkEnd + chunkDone
)

// fault is a handler with the number of the request, from 1.
type fault func(w http.ResponseWriter, r *http.Request, n int)

func send(w http.ResponseWriter, s string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, s)
	_ = http.NewResponseController(w).Flush()
}

// reset breaks the connection with a RST.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// raw writes a whole HTTP response without end, then breaks.
func raw(w http.ResponseWriter, body string) {
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	_, _ = fmt.Fprintf(buf, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 100000\r\n\r\n%s", body)
	_ = buf.Flush()
	time.Sleep(5 * time.Millisecond) // a reset overtakes what was just written
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

func stall(r *http.Request) { <-r.Context().Done() }

// client is a provider with the retries of a session. Its patience is short only
// where that is what is tested: a busy machine is slow too.
func client(t *testing.T, url string, tr http.RoundTripper, attempts int, patience time.Duration) llm.Provider {
	t.Helper()
	p, err := openai.New(openai.Options{Options: wire.Options{
		Name: "fault", Endpoint: url, Key: "CANARY-KEY", Transport: tr,
		Timeouts: wire.Timeouts{Header: patience, Idle: patience, Meaning: 2 * patience, Grace: 50 * time.Millisecond},
	}})
	require.NoError(t, err)
	return llm.WithRetry(p, llm.RetryPolicy{Attempts: attempts, Jitter: func() float64 { return 0 }})
}

// R08, R10: a server that does what servers do. For each fault: the right outcome,
// in bounded time, and nothing left behind.
func TestR08Faults(t *testing.T) {
	tests := []struct {
		name     string
		do       fault
		attempts int // 0 means 1
		kind     llm.Kind
		text     string // of the answer, or of what came before the failure
		calls    int
		requests int32 // 0 means 1
	}{
		{name: "reset before headers", do: func(w http.ResponseWriter, _ *http.Request, _ int) { reset(w) }, kind: llm.KindNetwork},
		{name: "reset after headers", do: func(w http.ResponseWriter, _ *http.Request, _ int) { raw(w, "") }, kind: llm.KindTruncated},
		{name: "reset after half a call", do: func(w http.ResponseWriter, _ *http.Request, _ int) { raw(w, chunkText+chunkCall) }, kind: llm.KindTruncated, text: "Hello"},
		{name: "reset after the finish reason", do: func(w http.ResponseWriter, _ *http.Request, _ int) { raw(w, chunkText+chunkCall+chunkRest+chunkEnd) }, text: "Hello", calls: 1},
		{name: "clean end after half a call", do: func(w http.ResponseWriter, _ *http.Request, _ int) { send(w, chunkText+chunkCall) }, kind: llm.KindTruncated, text: "Hello"},
		{name: "stall before headers", do: func(_ http.ResponseWriter, r *http.Request, _ int) { stall(r) }, kind: llm.KindTimeout},
		{name: "stall after headers", do: func(w http.ResponseWriter, r *http.Request, _ int) { send(w, chunkText); stall(r) }, kind: llm.KindTimeout, text: "Hello"},
		{name: "stall with keep-alives", do: keepAlive, kind: llm.KindTimeout, text: "Hello"},
		{name: "stall after the finish reason", do: func(w http.ResponseWriter, r *http.Request, _ int) { send(w, chunkText+chunkEnd); stall(r) }, text: "Hello"},
		{name: "stall after [DONE]", do: func(w http.ResponseWriter, r *http.Request, _ int) { send(w, good); stall(r) }, text: "Hello"},
		{name: "429 then good", do: status(429, 1, "Retry-After-Ms", "20"), attempts: 4, text: "Hello", requests: 2},
		{name: "529 three times then good", do: status(529, 3, "", ""), attempts: 4, text: "Hello", requests: 4},
		{name: "529 for ever", do: status(529, 99, "", ""), attempts: 3, kind: llm.KindOverloaded, requests: 3},
		{name: "429 with a wait too long", do: status(429, 99, "Retry-After", "3600"), attempts: 4, kind: llm.KindRateLimit},
		{name: "401 once", do: status(401, 99, "", ""), attempts: 4, kind: llm.KindAuth},
		{name: "truncated then good", do: func(w http.ResponseWriter, _ *http.Request, n int) {
			send(w, []string{chunkText + chunkCall, good}[min(n, 2)-1])
		}, attempts: 4, text: "Hello", requests: 2},
		{name: "200 with a page", do: page, kind: llm.KindBadResponse},
		{name: "200 with an error", do: func(w http.ResponseWriter, _ *http.Request, _ int) {
			_, _ = io.WriteString(w, `{"error":{"message":"Insufficient credits","code":402}}`)
		}, attempts: 4, kind: llm.KindQuota},
		{name: "200 with a whole answer", do: func(w http.ResponseWriter, _ *http.Request, _ int) {
			_, _ = io.WriteString(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`)
		}, text: "Hello"},
		{name: "a line of 2 MiB", do: func(w http.ResponseWriter, _ *http.Request, _ int) {
			send(w, strings.TrimSuffix(chunkText, "\n\n")+strings.Repeat(" ", 2<<20)+"\n\n"+chunkEnd+chunkDone)
		}, text: "Hello"},
		{name: "a line of 20 MiB", do: func(w http.ResponseWriter, _ *http.Request, _ int) {
			send(w, strings.Replace(chunkText, "Hello", strings.Repeat("x", 20<<20), 1)+chunkEnd)
		}, text: strings.Repeat("x", 20<<20)},
		{name: "writes of one byte", do: func(w http.ResponseWriter, _ *http.Request, _ int) {
			for i := range good {
				send(w, good[i:i+1])
			}
		}, text: "Hello"},
		{name: "gzip unasked", do: zipped, text: "Hello"},
		{name: "gzip broken off", do: brokenZip, kind: llm.KindTruncated},
		{name: "not JSON", do: func(w http.ResponseWriter, _ *http.Request, _ int) { send(w, chunkText+"data: {nope}\n\n"+chunkEnd) }, kind: llm.KindBadResponse, text: "Hello"},
		{name: "words for payloads", do: func(w http.ResponseWriter, _ *http.Request, _ int) { send(w, "data: ping\n\ndata:\n\n"+good) }, text: "Hello"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var requests atomic.Int32
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				tt.do(w, r, int(requests.Add(1)))
			}))
			tr := wire.NewTransport()
			defer leaks(t)()
			defer tr.CloseIdleConnections()
			defer srv.Close()
			patience := 20 * time.Second
			if tt.kind == llm.KindTimeout {
				patience = 150 * time.Millisecond
			}
			start := time.Now()
			out := run(t.Context(), client(t, srv.URL, tr, max(tt.attempts, 1), patience), ask("m"))
			require.Less(t, time.Since(start), 10*time.Second)
			require.Equal(t, max(tt.requests, 1), requests.Load())
			if tt.kind == "" {
				require.NoError(t, out.err)
				require.Equal(t, tt.text, llm.TextOf(out.done.Message))
				require.Len(t, llm.ToolUses(out.done.Message), tt.calls)
				return
			}
			var e *llm.Error
			require.ErrorAs(t, out.err, &e)
			require.Equal(t, tt.kind, e.Kind, e.Error())
			require.Equal(t, tt.text, llm.TextOf(e.Partial))
			require.NotContains(t, e.Error(), "CANARY")
		})
	}
}

// leaks returns the check that no goroutine is there that was not at the call.
func leaks(t *testing.T) func() {
	t.Helper()
	before := goleak.IgnoreCurrent()
	return func() { goleak.VerifyNone(t, before) }
}

func keepAlive(w http.ResponseWriter, r *http.Request, _ int) {
	send(w, chunkText)
	for r.Context().Err() == nil {
		send(w, ": keep-alive\n\n")
		time.Sleep(10 * time.Millisecond)
	}
}

// status fails the first times, then is good.
func status(code, times int, name, value string) fault {
	return func(w http.ResponseWriter, _ *http.Request, n int) {
		if n > times {
			send(w, good)
			return
		}
		if name != "" {
			w.Header().Set(name, value)
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, `{"error":{"message":"busy, your key CANARY-KEY is sk-CANARY-1234567890"}}`)
	}
}

func page(w http.ResponseWriter, _ *http.Request, _ int) {
	w.Header().Set("Content-Type", "text/html")
	_, _ = io.WriteString(w, "<!doctype html><title>Log in</title>")
}

func zip(s string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, s)
	_ = z.Close()
	return b.Bytes()
}

func zipped(w http.ResponseWriter, _ *http.Request, _ int) {
	w.Header().Set("Content-Encoding", "gzip")
	send(w, string(zip(good)))
}

func brokenZip(w http.ResponseWriter, _ *http.Request, _ int) {
	w.Header().Set("Content-Encoding", "gzip")
	send(w, string(zip(good)[:20]))
}

// Cancelling returns at once and closes the connection, so that the server stops
// working; so does leaving the loop.
func TestCancelAndBreak(t *testing.T) {
	closed := make(chan struct{}, 2)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		send(w, chunkText)
		stall(r)
		closed <- struct{}{}
	}))
	tr := wire.NewTransport()
	defer leaks(t)()
	defer tr.CloseIdleConnections()
	defer srv.Close()
	p, err := openai.New(openai.Options{Options: wire.Options{Name: "x", Endpoint: srv.URL, Transport: tr}})
	require.NoError(t, err)

	ctx, cancel := context.WithCancel(t.Context())
	var at time.Time
	_, err = llm.Collect(p.Stream(ctx, ask("m")), func(llm.Delta) error {
		at = time.Now()
		cancel()
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, time.Since(at), 200*time.Millisecond)
	<-closed

	for _, err := range p.Stream(t.Context(), ask("m")) {
		require.NoError(t, err)
		break
	}
	<-closed
}

// C07: a redirect is not followed: neither key nor prompt reach another host.
func TestC07Redirect(t *testing.T) {
	var hits atomic.Int32
	sink := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer sink.Close()
	for _, code := range []int{301, 302, 303, 307, 308} {
		srv := httptest.NewServer(http.RedirectHandler(sink.URL+"/v1/messages", code))
		for name, p := range everyFormat(t, srv.URL) {
			out := run(t.Context(), p, ask("m"))
			var e *llm.Error
			require.ErrorAs(t, out.err, &e, name)
			require.Equal(t, llm.KindBadResponse, e.Kind, name)
			require.Contains(t, e.Message, "redirects to "+sink.URL)
			_, err := p.(llm.Lister).Models(t.Context())
			require.Error(t, err)
		}
		srv.Close()
	}
	require.Zero(t, hits.Load())
}

// C08, C09: the key is in its header and nowhere else: not in the address, and not
// in an error, even if the provider echoes it.
func TestC09KeyStaysOut(t *testing.T) {
	var seen []*http.Request
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r)
		w.WriteHeader(401)
		_, _ = io.WriteString(w, `{"error":{"message":"key CANARY-KEY is bad","code":"CANARY-KEY"}}`)
	}))
	defer srv.Close()
	headers := map[string]string{"chat": "Authorization", "responses": "Authorization", "anthropic": "X-Api-Key", "google": "X-Goog-Api-Key", "ollama": "Authorization"}
	for name, p := range everyFormat(t, srv.URL) {
		seen = nil
		out := run(t.Context(), p, ask("m"))
		require.Error(t, out.err)
		require.NotContains(t, fmt.Sprintf("%v %+v %#v", out.err, out.err, out.err), "CANARY", name)
		require.NotEmpty(t, seen)
		require.NotContains(t, seen[0].URL.String(), "CANARY", name)
		require.Contains(t, seen[0].Header.Get(headers[name]), "CANARY-KEY", name)
		for h, values := range seen[0].Header {
			if h != headers[name] {
				require.NotContains(t, strings.Join(values, " "), "CANARY", "%s: %s", name, h)
			}
		}
	}
}

// A dead address is named, with what to do; the key and the path are not.
func TestNothingListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	require.NoError(t, l.Close())
	p, err := openai.New(openai.Options{Options: wire.Options{Name: "x", Endpoint: "http://user:CANARY@" + addr + "/v1?key=CANARY"}})
	require.NoError(t, err)
	out := run(t.Context(), p, ask("m"))
	var e *llm.Error
	require.ErrorAs(t, out.err, &e)
	require.Equal(t, llm.KindNetwork, e.Kind)
	require.False(t, e.Temporary(), "a local server that is not there does not appear by itself")
	require.Contains(t, e.Error(), addr)
	require.Contains(t, e.Error(), "start the server")
	require.NotContains(t, e.Error(), "CANARY")
}
