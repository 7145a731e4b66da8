package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/server"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

func TestSnapshotThenDenseFrames(t *testing.T) {
	st := start(t)
	l := st.b.add("s1", "do something")
	tb, first := st.open(nil)
	require.Equal(t, "snapshot", first.Type)
	require.Equal(t, "s1", first.Session, "the running session is shown first")
	require.Contains(t, first.html(), "do something")
	l.log.Append(event.PhaseChanged{Phase: event.Planning})
	for i := range 20 {
		l.log.Append(event.Notice{Level: "info", Text: fmt.Sprintf("note %d.", i)})
	}
	at := first.Frame
	for {
		m := tb.read()
		require.Equal(t, "patch", m.Type)
		require.Equal(t, at+1, m.Frame)
		require.Equal(t, first.Epoch, m.Epoch)
		at = m.Frame
		if strings.Contains(m.html(), "note 19.") {
			break
		}
	}
}

func TestTextStreamsInParts(t *testing.T) {
	st := start(t)
	l := st.b.add("s1", "r")
	tb, _ := st.open(nil)
	say := func(text string) { l.log.Append(event.TextDelta{Text: text}) }
	say("# Head\n\n")
	require.Contains(t, tb.until("Head").html(), "<h2>Head</h2>")
	say("One **two** three.\n\n- a\n")
	m := tb.until("<li>a</li>")
	require.Contains(t, m.html(), "<strong>two</strong>")
	say("- b")
	m = tb.until("<li>b")
	require.NotContains(t, m.html(), "<h2>", "frozen parts are not sent again")
	require.NotContains(t, m.html(), "<strong>")
	l.log.Append(event.TextDone{Text: "# Head\n\nOne **two** three.\n\n- a\n- b"})
	require.Contains(t, tb.until("<h2>Head</h2>").html(), "<strong>two</strong>")
}

// TestW28Reconnect: a page that comes back gets exactly what it missed; one of
// another epoch, or with a number that makes no sense, gets the whole.
func TestW28Reconnect(t *testing.T) {
	st := start(t)
	l := st.b.add("s1", "r")
	tb, first := st.open(nil)
	l.log.Append(event.Notice{Text: "one."})
	seen := tb.until("one.")
	require.NoError(t, tb.ws.CloseNow())
	other, _ := st.open(nil) // keeps the hub as a second tab would
	l.log.Append(event.Notice{Text: "two."})
	other.until("two.")
	back, m := st.open(map[string]any{"epoch": first.Epoch, "after": seen.Frame, "session": "s1"})
	require.Equal(t, "resumed", m.Type)
	next := back.read()
	require.Equal(t, seen.Frame+1, next.Frame)
	require.Contains(t, next.html(), "two.")
	require.NotContains(t, next.html(), "one.")
	for name, hello := range map[string]map[string]any{
		"other epoch": {"epoch": "0000", "after": seen.Frame, "session": "s1"},
		"future":      {"epoch": first.Epoch, "after": 1 << 40, "session": "s1"},
		"negative":    {"epoch": first.Epoch, "after": -5, "session": "s1"},
		"fresh":       {"session": "s1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, m := st.open(hello)
			require.Equal(t, "snapshot", m.Type)
			require.Contains(t, m.html(), "two.")
		})
	}
	_, m = st.open(map[string]any{"session": "gone"})
	require.Equal(t, "", m.Session, "a session that is gone shows the start page")
}

// TestSlowTab: a page that does not read cannot slow the others, and gets a
// snapshot when it reads again, or when it comes back after it was given up.
func TestSlowTab(t *testing.T) {
	st := start(t)
	l := st.b.add("s1", "r")
	slow, _ := st.open(nil)
	fast, _ := st.open(nil)
	big := strings.Repeat("x", 20_000)
	began := time.Now()
	for i := range 600 {
		l.log.Append(event.Notice{Text: fmt.Sprintf("%d %s", i, big)})
	}
	l.log.Append(event.Notice{Text: "the end."})
	require.Less(t, time.Since(began), 5*time.Second, "the session must not wait for a page")
	fast.until("the end.")
	for {
		m, err := slow.next()
		if err != nil {
			_, m = st.open(nil)
			require.Contains(t, m.html(), "the end.")
		}
		if strings.Contains(m.html(), "the end.") {
			break
		}
	}
}

// TestW20WrongHash: only an answer to what is shown is taken.
func TestW20WrongHash(t *testing.T) {
	st := start(t)
	l := st.b.add("s1", "r")
	l.ask(t.Context(), planQuestion("p1", "hash-of-what-is-shown"))
	tb, m := st.open(nil)
	require.Contains(t, m.html(), `data-hash="hash-of-what-is-shown"`)
	for _, hash := range []string{"", "other", "hash-of-what-is-show"} {
		a, _ := tb.do("answer", map[string]any{"question": "p1", "choice": "approve", "hash": hash})
		require.False(t, a.OK)
		require.Equal(t, "stale", a.Code)
	}
	a, _ := tb.do("answer", map[string]any{"question": "p1", "choice": "start_now", "hash": "hash-of-what-is-shown"})
	require.Equal(t, "choice", a.Code)
	require.Len(t, l.in.Open(), 1)
	a, _ = tb.do("answer", map[string]any{"question": "p1", "choice": "approve", "hash": "hash-of-what-is-shown"})
	require.True(t, a.OK, a.Why)
}

// TestW22Replay: one decision, the first; every tab sees it; an answer reaches no
// other session.
func TestW22Replay(t *testing.T) {
	st := start(t)
	other := st.b.add("s0", "other")
	l := st.b.add("s1", "r")
	other.ask(t.Context(), planQuestion("p1", "h"))
	l.ask(t.Context(), planQuestion("p1", "h"))
	one, _ := st.open(map[string]any{"session": "s1"})
	two, _ := st.open(map[string]any{"session": "s1"})
	answer := map[string]any{"question": "p1", "choice": "comment", "hash": "h", "text": "no"}
	a, _ := one.do("answer", answer)
	require.True(t, a.OK, a.Why)
	a, _ = one.do("answer", answer)
	require.Equal(t, "closed", a.Code)
	a, before := two.do("answer", map[string]any{"question": "p1", "choice": "approve", "hash": "h"})
	require.Equal(t, "closed", a.Code)
	if !anyHTML(before, "decided in the browser") {
		two.until("decided in the browser")
	}
	a, _ = two.do("answer", map[string]any{"question": "unknown", "choice": "approve", "hash": "h"})
	require.Equal(t, "closed", a.Code)
	a, _ = two.do("answer", map[string]any{"question": "p1", "choice": "approve", "hash": "h", "session": "s0"})
	require.False(t, a.OK, "the page shows s1")
	require.Len(t, other.in.Open(), 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	require.Len(t, l.answers, 1)
	require.Equal(t, ask.ByBrowser, l.answers[0].By)
}

func anyHTML(list []message, text string) bool {
	for _, m := range list {
		if strings.Contains(m.html(), text) {
			return true
		}
	}
	return false
}

// TestW23PrivilegesAreIgnored: what a page says about itself changes nothing.
func TestW23PrivilegesAreIgnored(t *testing.T) {
	st := start(t)
	l := st.b.add("s1", "r")
	l.log.Append(event.PhaseChanged{Phase: event.Planning})
	tb, m := st.open(map[string]any{"mode": "EXECUTION", "role": "admin", "approved": true, "allowed_tools": []string{"*"}, "__proto__": map[string]any{"a": 1}, "by": "flag"})
	require.Contains(t, m.html(), "Planning")
	require.NoError(t, tb.ws.Write(t.Context(), websocket.MessageText,
		[]byte(`{"type":"say","id":"x","session":"s1","text":"a","text":"b","mode":"EXECUTION","approved":true,"by":"terminal","__proto__":{"x":1}}`)))
	for m = tb.read(); m.Type != "ack"; m = tb.read() {
	}
	require.True(t, m.OK)
	require.Equal(t, []string{"say b"}, l.did())
	l.ask(t.Context(), planQuestion("p", "h"))
	a, _ := tb.do("answer", map[string]any{"question": "p", "choice": "comment", "text": "x", "hash": "h", "by": "flag"})
	require.True(t, a.OK)
	require.Eventually(t, func() bool { l.mu.Lock(); defer l.mu.Unlock(); return len(l.answers) == 1 }, time.Second, time.Millisecond)
	require.Equal(t, ask.ByBrowser, l.answers[0].By)
}

func TestCommandsReachTheSession(t *testing.T) {
	st := start(t)
	tb, m := st.open(nil)
	require.Equal(t, "", m.Session)
	require.Contains(t, m.html(), "What should change in")
	a, _ := tb.do("start", map[string]any{"request": "  "})
	require.False(t, a.OK)
	a, _ = tb.do("say", map[string]any{"text": "x"})
	require.False(t, a.OK)
	a, before := tb.do("start", map[string]any{"request": "do it"})
	require.True(t, a.OK, a.Why)
	require.Equal(t, "new", a.Session)
	require.True(t, anyHTML(before, "do it"))
	tb.session = "new"
	for _, c := range []struct {
		kind   string
		fields map[string]any
	}{
		{"confirm_writes", map[string]any{"on": true}},
		{"say", map[string]any{"text": "more"}},
		{"unsay", map[string]any{"text": "more"}},
		{"edit", map[string]any{"document": "design", "content": "# D", "base": "x"}},
		{"undo", map[string]any{"path": "a.go"}},
		{"undo", nil},
		{"undo", map[string]any{"task": "T001"}},
		{"compact", nil},
		{"model", map[string]any{"text": "openai/gpt"}},
		{"stop", nil},
	} {
		a, _ := tb.do(c.kind, c.fields)
		require.True(t, a.OK, a.Why)
	}
	l := st.b.list[0]
	require.Equal(t, []string{"confirm on", "say more", "unsay more", "edit design # D", "undo a.go", "undo ", "undo T001", "compact", "model openai/gpt", "stop"}, l.did())
	a, _ = tb.do("edit", map[string]any{"document": "design", "content": "x", "base": "old"})
	require.Equal(t, "stale", a.Code)
	a, _ = tb.do("unsay", map[string]any{"text": "late"})
	require.Equal(t, "delivered", a.Code)
	a, _ = tb.do("files", map[string]any{"text": "ma"})
	require.Equal(t, []string{"ma.go"}, a.Files)
	a, _ = tb.do("models", nil)
	require.Equal(t, []server.ModelChoice{{Name: "big", Ref: "x/big", Context: "1000 tokens", Price: "unknown"}}, a.Models)
	a, _ = tb.do("remove", map[string]any{"target": "new"})
	require.False(t, a.OK, "it runs")
	a, _ = tb.do("open", map[string]any{"target": "nowhere"})
	require.Equal(t, "no_session", a.Code)
	a, before = tb.do("open", map[string]any{"target": ""})
	require.True(t, a.OK)
	require.True(t, anyHTML(before, "What should change in"))
}

// TestStopIsNotBehindAnEdit: a command that takes its time does not hold up Stop.
func TestStopIsNotBehindAnEdit(t *testing.T) {
	st := start(t)
	l := st.b.add("s1", "r")
	l.block = make(chan struct{})
	tb, _ := st.open(nil)
	tb.send(map[string]any{"type": "edit", "id": "e", "session": "s1", "document": "design", "content": "x"})
	a, _ := tb.do("stop", nil)
	require.True(t, a.OK)
	require.Equal(t, []string{"stop"}, l.did())
	close(l.block)
	for m := tb.read(); m.ID != "e"; m = tb.read() {
	}
}

// TestW19MalformedFrames: each closes its own connection with a code, and no other.
func TestW19MalformedFrames(t *testing.T) {
	st := start(t)
	l := st.b.add("s1", "r")
	good, _ := st.open(nil)
	deep := []byte(`{"type":"say","id":"x","hunks":` + strings.Repeat("[", 100_000))
	for name, tt := range map[string]struct {
		kind websocket.MessageType
		data []byte
		code websocket.StatusCode
	}{
		"huge":          {websocket.MessageText, []byte(strings.Repeat("x", 9<<20)), websocket.StatusMessageTooBig},
		"not json":      {websocket.MessageText, []byte("{"), 4400},
		"unknown type":  {websocket.MessageText, []byte(`{"type":"become_root","id":"1"}`), 4400},
		"no type":       {websocket.MessageText, []byte(`{}`), 4400},
		"array":         {websocket.MessageText, []byte(`[1]`), 4400},
		"second hello":  {websocket.MessageText, []byte(`{"type":"hello","token":"x"}`), 4400},
		"wrong kind":    {websocket.MessageText, []byte(`{"type":"say","id":"1","text":7}`), 4400},
		"deep":          {websocket.MessageText, deep, 4400},
		"binary":        {websocket.MessageBinary, []byte(`{"type":"stop","id":"1","session":"s1"}`), 4400},
		"invalid utf-8": {websocket.MessageText, []byte("{\"type\":\"say\",\"id\":\"\xff\xfe\"}"), 4400},
		"long id":       {websocket.MessageText, []byte(`{"type":"stop","id":"` + strings.Repeat("i", 5000) + `"}`), 4400},
	} {
		t.Run(name, func(t *testing.T) {
			tb, _ := st.open(nil)
			_ = tb.ws.Write(t.Context(), tt.kind, tt.data) // may fail when it is cut off
			for {
				if _, _, err := tb.ws.Read(t.Context()); err != nil {
					require.Equal(t, tt.code, websocket.CloseStatus(err))
					return
				}
			}
		})
	}
	flood, _ := st.open(nil)
	for range 10_000 {
		if flood.ws.Write(t.Context(), websocket.MessageText, []byte(`{"type":"answer","id":"a","session":"s1"}`)) != nil {
			break
		}
	}
	for {
		if _, _, err := flood.ws.Read(t.Context()); err != nil {
			break
		}
	}
	l.log.Append(event.Notice{Text: "still here."})
	good.until("still here.")
	require.Empty(t, l.did())
}

// TestHelloHasADeadline: a socket that says nothing is closed.
func TestHelloHasADeadline(t *testing.T) {
	st := start(t)
	ws := st.dial()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, _, err := ws.Read(ctx)
	require.Error(t, err)
	require.NoError(t, ctx.Err())
}

func TestStoredSessionIsReadOnly(t *testing.T) {
	st := start(t)
	l := st.b.add("s1", "r")
	l.log.Append(event.AskOpened{ID: "p", Kind: ask.Plan, Choices: []ask.Choice{{ID: ask.Approve}}})
	l.over = true
	require.NoError(t, l.log.Close())
	_, m := st.open(map[string]any{"session": "s1"})
	require.Contains(t, m.html(), "Stopped")
	require.NotContains(t, m.html(), `data-choice="approve"`, "a question nobody waits for is not shown as one")
}

func TestExplainIsPlain(t *testing.T) {
	st := start(t)
	l := st.b.add("s1", "r")
	tb, _ := st.open(nil)
	l.ask(t.Context(), planQuestion("p", "h"))
	a, _ := tb.do("answer", map[string]any{"question": "zzz", "choice": "approve", "hash": "h"})
	require.Contains(t, a.Why, "decided already")
}

// TestAPI gives scripts with the token the list and the log.
func TestAPI(t *testing.T) {
	st := start(t)
	st.b.add("s1", "hello")
	auth := map[string]string{"Authorization": "Bearer " + st.token}
	_, body, h := request(t, st, "GET", "/api/sessions", auth)
	require.Contains(t, h.Get("Content-Type"), "application/json")
	var out struct {
		Sessions []server.SessionInfo `json:"sessions"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &out))
	require.Len(t, out.Sessions, 1)
	_, body, _ = request(t, st, "GET", "/api/sessions/s1/events", auth)
	require.Contains(t, body, `"type":"session.started"`)
	code, _, _ := request(t, st, "GET", "/api/sessions/nope/events", auth)
	require.Equal(t, 404, code)
}

// TestConfirmSwitch: the log says whether each write is reviewed, so that every
// page shows the same; before a session it is the choice of the start page.
func TestConfirmSwitch(t *testing.T) {
	st := start(t)
	tb, m := st.open(nil)
	require.NotContains(t, m.html(), "data-confirm")
	a, _ := tb.do("confirm_writes", map[string]any{"on": true})
	require.True(t, a.OK)
	require.NoError(t, tb.ws.CloseNow())
	_, m = st.open(nil)
	require.Contains(t, m.html(), "data-confirm", "a page that is loaded again shows the choice")

	l := st.b.add("s1", "r")
	tb, m = st.open(map[string]any{"session": "s1"})
	require.NotContains(t, m.html(), "data-confirm")
	on := true
	l.log.Append(event.Notice{Level: "info", Kind: "confirm_writes", Text: "shown.", On: &on})
	tb.until("data-confirm")
	_, m = st.open(map[string]any{"session": "s1"})
	require.Contains(t, m.html(), "data-confirm")
}

// TestRemoveLeavesNoPageBehind: a page that shows a session that is deleted goes
// to the start page.
func TestRemoveLeavesNoPageBehind(t *testing.T) {
	st := start(t)
	l := st.b.add("s1", "r")
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	l.log.Append(event.SessionFinished{Status: "ok"})
	one, _ := st.open(map[string]any{"session": "s1"})
	two, _ := st.open(map[string]any{"session": "s1"})
	one.session = "s1"
	a, _ := one.do("remove", map[string]any{"target": "s1"})
	require.True(t, a.OK, a.Why)
	two.until("What should change in")
	_, m := st.open(map[string]any{"session": "s1"})
	require.Equal(t, "", m.Session)
}

// TestNewestListStays: a list of sessions that was made before a change, and comes
// after the one made then, does not take its place.
func TestNewestListStays(t *testing.T) {
	st := start(t)
	st.b.add("s1", "r")
	st.open(map[string]any{"session": "s1"})
	old, release := make(chan struct{}), make(chan struct{})
	var later atomic.Bool
	st.b.mu.Lock()
	st.b.listed = func() {
		if !later.Swap(true) {
			close(old)
			<-release
		}
	}
	st.b.mu.Unlock()
	var both sync.WaitGroup
	both.Go(st.s.Changed)
	<-old
	require.NoError(t, st.b.Rename(t.Context(), "s1", "Renamed"))
	both.Go(st.s.Changed)
	time.Sleep(50 * time.Millisecond) // for the newer one to overtake, if it can
	close(release)
	both.Wait()
	_, m := st.open(map[string]any{"session": "s1"})
	require.Contains(t, m.html(), "Renamed")
}
