package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/diff"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/server"
)

// backend is a fake with sessions that tests drive by hand.
type backend struct {
	mu   sync.Mutex
	list []*live

	titles map[string]string // given to sessions
	listed func()            // called with each list that is made, before it is given
}

func (b *backend) Info() server.Info {
	return server.Info{Project: "sample", Workspace: "/ws/sample", Provider: "fake", Model: "fake-1"}
}

func (b *backend) Sessions(context.Context) ([]server.SessionInfo, error) {
	b.mu.Lock()
	var out []server.SessionInfo
	for i := len(b.list) - 1; i >= 0; i-- {
		title := "SECRET-TITLE"
		if t, ok := b.titles[b.list[i].id]; ok {
			title = t
		}
		out = append(out, server.SessionInfo{ID: b.list[i].id, Title: title, Running: b.list[i].Running()})
	}
	listed := b.listed
	b.mu.Unlock()
	if listed != nil {
		listed()
	}
	return out, nil
}

func (b *backend) Start(_ context.Context, request string, _ server.StartOptions) (server.Live, error) {
	return b.add("new", request), nil
}

func (b *backend) Open(_ context.Context, id string) (server.Live, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.list {
		if l.id == id {
			return l, nil
		}
	}
	return nil, server.ErrNoSession
}

func (b *backend) Resume(_ context.Context, id string, _ server.StartOptions) (server.Live, error) {
	b.mu.Lock()
	b.list = slices.DeleteFunc(b.list, func(l *live) bool { return l.id == id })
	b.mu.Unlock()
	return b.add(id, "RESUMED"), nil
}

func (b *backend) Rename(_ context.Context, id, title string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.titles == nil {
		b.titles = map[string]string{}
	}
	b.titles[id] = title
	return nil
}

func (b *backend) Remove(_ context.Context, id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.list)
	b.list = slices.DeleteFunc(b.list, func(l *live) bool { return l.id == id && !l.Running() })
	if len(b.list) == n {
		return errors.New("the session is running; stop it first")
	}
	return nil
}

func (b *backend) Files(_ context.Context, query string) ([]string, error) {
	return []string{query + ".go"}, nil
}

func (b *backend) Picture(_ context.Context, data []byte) (string, error) {
	if string(data) != "picture" {
		return "", errors.New("no picture")
	}
	return "pictures/p.png", nil
}

func (b *backend) Models(context.Context) ([]server.ModelChoice, error) {
	return []server.ModelChoice{{Name: "big", Ref: "x/big", Context: "1000 tokens", Price: "unknown"}}, nil
}

func (b *backend) add(id, request string) *live {
	l := &live{id: id, log: event.NewLog(nil, nil)}
	l.log.Append(event.SessionStarted{SessionID: id, Request: request})
	b.mu.Lock()
	b.list = append(b.list, l)
	b.mu.Unlock()
	return l
}

// live keeps what reached it.
type live struct {
	id  string
	log *event.Log
	in  ask.Inbox

	mu      sync.Mutex
	calls   []string
	answers []ask.Answer
	over    bool
	block   chan struct{} // EditSpec waits for it when set

	contents map[string]string // by hash
}

func (l *live) ID() string      { return l.id }
func (l *live) Log() *event.Log { return l.log }

func (l *live) Running() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.over
}

func (l *live) note(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, s)
}

func (l *live) did() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.calls...)
}

func (l *live) Answer(id string, a ask.Answer) error { return l.in.Answer(id, a) }
func (l *live) Say(text string) error                { l.note("say " + text); return nil }
func (l *live) Compact() error                       { l.note("compact"); return nil }

func (l *live) SetModel(_ context.Context, ref string) error {
	l.note("model " + ref)
	return nil
}

func (l *live) Unsay(text string) error {
	if text == "late" {
		return server.ErrDelivered
	}
	l.note("unsay " + text)
	return nil
}
func (l *live) Stop() { l.note("stop") }
func (l *live) SetConfirmWrites(on bool) {
	l.note(map[bool]string{true: "confirm on", false: "confirm off"}[on])
}

func (l *live) EditSpec(ctx context.Context, document, content, base string) error {
	if l.block != nil {
		select {
		case <-l.block:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if base == "old" {
		return server.ErrStale
	}
	l.note("edit " + document + " " + content)
	return nil
}

func (l *live) Undo(_ context.Context, path, task string) error {
	l.note("undo " + path + task)
	return nil
}

func (l *live) UndoHunk(_ context.Context, path, after string, lines diff.Hunk) error {
	l.note(fmt.Sprintf("undo hunk of %s at %d, %s", path, lines.NewStart, after))
	return nil
}

func (l *live) Content(_ context.Context, path, hash string) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text, ok := l.contents[hash]
	if !ok {
		return nil, errors.New("no longer kept: " + path)
	}
	return []byte(text), nil
}

// ask opens a question as a session does and waits for its answer in the
// background.
func (l *live) ask(ctx context.Context, q ask.Question) {
	l.log.Append(event.AskOpened{ID: q.ID, Kind: q.Kind, Prompt: q.Prompt, Choices: q.Choices, Hash: q.Hash})
	go func() {
		a, err := l.in.Ask(ctx, q)
		if err != nil {
			a.By = ask.ByCancelled
		}
		l.mu.Lock()
		l.answers = append(l.answers, a)
		l.mu.Unlock()
		l.log.Append(event.AskClosed{ID: q.ID, Choice: a.Choice, Text: a.Text, By: a.By})
	}()
	for len(l.in.Open()) == 0 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
}

func planQuestion(id, hash string) ask.Question {
	return ask.Question{ID: id, Kind: ask.Plan, Hash: hash, Prompt: "Approve?", Choices: []ask.Choice{{ID: ask.Approve}, {ID: ask.Comment}, {ID: ask.Discard}}}
}

// site is a server that runs for one test.
type site struct {
	t     *testing.T
	b     *backend
	s     *server.Server
	host  string
	token string
	stop  func()
}

func start(t *testing.T) *site {
	t.Helper()
	t.Parallel()
	b := &backend{}
	token, err := server.NewToken()
	require.NoError(t, err)
	s, err := server.New(server.Options{Backend: b, Token: token})
	require.NoError(t, err)
	ln, err := server.Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln) }()
	var once sync.Once
	stop := func() {
		once.Do(func() {
			cancel()
			require.NoError(t, <-done)
		})
	}
	t.Cleanup(stop)
	st := &site{t: t, b: b, s: s, host: ln.Addr().String(), token: token, stop: stop}
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", st.host)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}, 5*time.Second, 5*time.Millisecond)
	require.Eventually(t, func() bool { return st.get("/").StatusCode == http.StatusOK }, 5*time.Second, 5*time.Millisecond)
	return st
}

func (st *site) get(path string) *http.Response {
	req, err := http.NewRequestWithContext(st.t.Context(), http.MethodGet, "http://"+st.host+path, nil)
	require.NoError(st.t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(st.t, err)
	require.NoError(st.t, resp.Body.Close())
	return resp
}

// tab is one page.
type tab struct {
	t       *testing.T
	ws      *websocket.Conn
	acks    int
	session string
}

type message struct {
	Type    string               `json:"type"`
	Frame   int64                `json:"frame"`
	Epoch   string               `json:"epoch"`
	Session string               `json:"session"`
	Seq     int64                `json:"seq"`
	ID      string               `json:"id"`
	OK      bool                 `json:"ok"`
	Code    string               `json:"code"`
	Why     string               `json:"why"`
	SHA256  string               `json:"sha256"`
	Files   []string             `json:"files"`
	Models  []server.ModelChoice `json:"models"`
	HTML    string               `json:"html"`
	Total   int                  `json:"total"`
	Patch   []struct {
		ID, In, Op, HTML string
	} `json:"patch"`
}

func (m message) html() string {
	var b strings.Builder
	for _, p := range m.Patch {
		b.WriteString(p.HTML)
	}
	return b.String()
}

func (st *site) dial() *websocket.Conn {
	ws, resp, err := websocket.Dial(st.t.Context(), "ws://"+st.host+"/ws", &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {"http://" + st.host}}})
	require.NoError(st.t, err)
	if resp.Body != nil {
		_ = resp.Body.Close()
	}
	ws.SetReadLimit(32 << 20)
	st.t.Cleanup(func() { _ = ws.CloseNow() })
	return ws
}

// open says hello and returns the first frame.
func (st *site) open(hello map[string]any) (*tab, message) {
	tb := &tab{t: st.t, ws: st.dial()}
	out := map[string]any{"type": "hello", "token": st.token}
	for k, v := range hello {
		out[k] = v
	}
	tb.send(out)
	m := tb.read()
	tb.session = m.Session
	return tb, m
}

func (tb *tab) send(v any) {
	data, err := json.Marshal(v)
	require.NoError(tb.t, err)
	require.NoError(tb.t, tb.ws.Write(tb.t.Context(), websocket.MessageText, data))
}

func (tb *tab) read() message {
	m, err := tb.next()
	require.NoError(tb.t, err)
	return m
}

func (tb *tab) next() (message, error) {
	ctx, cancel := context.WithTimeout(tb.t.Context(), 10*time.Second)
	defer cancel()
	var m message
	_, data, err := tb.ws.Read(ctx)
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(data, &m)
}

// do sends a command and reads on to its ack; it returns the frames before it.
func (tb *tab) do(kind string, fields map[string]any) (message, []message) {
	tb.acks++
	id := "c" + string(rune('0'+tb.acks%10)) + kind
	out := map[string]any{"type": kind, "id": id, "session": tb.session}
	for k, v := range fields {
		out[k] = v
	}
	tb.send(out)
	var before []message
	for {
		m := tb.read()
		if m.Type == "ack" && m.ID == id {
			return m, before
		}
		before = append(before, m)
	}
}

// until reads frames until one holds text.
func (tb *tab) until(text string) message {
	for {
		if m := tb.read(); strings.Contains(m.html(), text) {
			return m
		}
	}
}
