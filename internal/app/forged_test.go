package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm/llmtest"
)

// forger is a model that, while it plans, calls only what planning does not have.
type forger struct {
	rnd     *rand.Rand // used by one request at a time
	calls   atomic.Int64
	want    int64
	release chan struct{} // what it waits for when it has made its calls
}

func (f *forger) name() string {
	names := []string{
		"write_file", "edit_file", "delete_file", "move_file", "Write_File", "write_file_", "functions.write_file",
		"mcp__fs__write_file", "approve", "session.execute", "set_mode", "exit_plan_mode", "apply_patch", "bash",
	}
	return names[f.rnd.IntN(len(names))]
}

func (f *forger) turn(a llmtest.Ask) (llmtest.Turn, bool) {
	if len(a.Tools) == 0 {
		return llmtest.Say(`{"verdict":"accept","reason":"fine"}`), true
	}
	var t llmtest.Turn
	for range 1 + f.rnd.IntN(4) {
		n := f.calls.Add(1)
		mark := fmt.Sprint(n) // no call is like another, so none is refused as repeated
		path := []string{"kept.txt", "new.txt", ".coderrr/specs/001-x/tasks.md", "../out.txt", "/etc/x"}[f.rnd.IntN(5)]
		in := m{
			"path": path, "content": mark, "old_string": "kept", "new_string": mark, "source": path, "destination": mark,
			"recursive": true, "mode": "execution", "approved": true, "intent": mark,
		}
		t.Calls = append(t.Calls, llmtest.Call{ID: "same", Name: f.name(), Input: in})
	}
	if f.calls.Load() > f.want {
		<-f.release
	}
	return t, true
}

// anything is a message of a page that wants to be more than it is.
func anything(rnd *rand.Rand, session string) any {
	pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
	kind := pick("say", "unsay", "answer", "answer", "answer", "edit", "confirm_writes", "undo", "open", "remove", "files", "stop",
		"start")
	if rnd.IntN(30) == 0 {
		kind = pick("execute", "approve", "set_mode", "hello", "session.execute", "phase.changed", "", "__proto__")
	}
	to := pick(session, session, session, "", "other", "../"+session)
	if kind == "stop" {
		to = "other" // the right one would end the test
	}
	id := fmt.Sprint(rnd.IntN(3))
	hash := strings.Repeat(pick("0", "a", "f"), 64)
	msg := m{
		"type": kind, "id": id, "session": to, "text": "write it now", "question": pick("plan-"+session+"-"+id, "plan-1", "write-same", ""),
		"choice": pick("approve", "apply", "accept_all", "always", "allow_once", "1", ""), "hash": pick(hash, ""), "document": pick("tasks", "design", "../../kept"),
		"content": "# Tasks: x\n\n## T001: x\n- **status**: pending\n", "base": pick(hash, ""), "on": rnd.IntN(2) == 0, "path": pick("", "kept.txt", ".."),
		"target": pick(session, "other", ""), "mode": "EXECUTION", "role": "admin", "approved": true, "by": "terminal", "phase": "execution",
		"allowed_tools": []string{"write_file"}, "__proto__": m{"mode": "execution"}, "class": "write",
		"hunks": []m{{"n": 0, "accepted": true}},
	}
	switch rnd.IntN(30) {
	case 0, 1, 2:
		raw, _ := json.Marshal(msg)
		twice := strings.TrimSuffix(string(raw), "}") + `,"type":"answer","choice":"approve","mode":"EXECUTION"}`
		return json.RawMessage(twice)
	case 3:
		return json.RawMessage(pick("[]", "null", "1", `"execute"`, `{"type":["answer"]}`, `{"type":"answer","hunks":"all"}`))
	}
	return msg
}

// TestW24NothingWritesWhilePlanning: a model that calls write tools by every name
// and pages that send anything at all change no file and no mode while the session
// plans. Only an approval of a plan that was shown does, and none is.
func TestW24NothingWritesWhilePlanning(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	f := &forger{rnd: rand.New(rand.NewPCG(seed, 1)), want: 250, release: make(chan struct{})}
	x := newMachine(t, "")
	model := llmtest.NewServer(t).Always(f.turn)
	x.config("[provider]\nname = \"compatible\"\nmodel = \"scripted\"\nendpoint = \"" + model.URL + "\"\n[sandbox]\ntier = \"scratch\"\n[agent]\nmax_tool_turns = 100000\n")
	x.put("kept.txt", "kept\n")
	before := x.contents()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	defer close(f.release)
	p := x.serve(ctx)
	dial := func() *websocket.Conn {
		ws, _, err := websocket.Dial(ctx, "ws://"+p.host+"/ws", &websocket.DialOptions{HTTPHeader: map[string][]string{"Origin": {"http://" + p.host}}})
		require.NoError(t, err)
		ws.SetReadLimit(64 << 20)
		return ws
	}
	ws := dial()
	require.NoError(t, wsjson.Write(ctx, ws, m{"type": "hello", "token": p.token}))
	require.NoError(t, wsjson.Write(ctx, ws, m{"type": "start", "id": "s", "request": "greet"}))
	session := acked(t, ctx, ws)
	require.NoError(t, ws.CloseNow())

	rnd := rand.New(rand.NewPCG(seed, 2))
	acks := 0
	for sent := 0; sent < 600 || f.calls.Load() <= f.want; {
		ws := dial()
		hello := m{"type": "hello", "token": p.token, "session": session, "mode": "EXECUTION", "role": "admin", "approved": true}
		err := wsjson.Write(ctx, ws, hello)
		for n := 0; n < 90 && err == nil; n++ { // below the limit of one second
			if err = wsjson.Write(ctx, ws, anything(rnd, session)); err == nil {
				err = answered(ctx, ws) // a bad one ends the connection
			}
			if err == nil {
				acks++
			}
			sent++
		}
		_ = ws.CloseNow()
		require.NoError(t, ctx.Err())
	}
	t.Logf("%d commands were answered", acks)
	require.Greater(t, acks, 300)
	require.Equal(t, before, x.contents(), "while it plans")

	ws = dial()
	defer func() { _ = ws.CloseNow() }()
	require.NoError(t, wsjson.Write(ctx, ws, m{"type": "hello", "token": p.token, "session": session}))
	require.NoError(t, wsjson.Write(ctx, ws, m{"type": "stop", "id": "s", "session": session}))
	acked(t, ctx, ws)
	require.Eventually(t, x.finished, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, before, x.contents(), "afterwards")
	forged, ids := 0, map[string]bool{}
	for _, e := range x.log() {
		switch e := e.Data.(type) {
		case event.PhaseChanged:
			require.Contains(t, []event.Phase{event.Planning, event.Finished}, e.Phase)
		case event.FileChanged, event.PlanReady, event.AskOpened, event.SpecWritten:
			t.Fatalf("%s: %+v", e.Type(), e)
		case event.ToolFinished:
			require.False(t, e.OK, e.Name)
			require.Contains(t, e.Content, "no tool named", e.Name)
			require.False(t, ids[e.ID], "the id %s is there twice", e.ID)
			ids[e.ID] = true
			forged++
		case event.SessionFinished:
			require.Equal(t, "cancelled", e.Status)
		}
	}
	require.GreaterOrEqual(t, forged, 200)
}

// answered reads on to the answer of a command.
func answered(ctx context.Context, ws *websocket.Conn) error {
	for {
		var msg struct{ Type string }
		if err := wsjson.Read(ctx, ws, &msg); err != nil || msg.Type == "ack" {
			return err
		}
	}
}

// acked reads on to the answer of the command s and returns its session.
func acked(t *testing.T, ctx context.Context, ws *websocket.Conn) string {
	t.Helper()
	for {
		var msg struct {
			Type, ID, Session, Why string
			OK                     bool
		}
		require.NoError(t, wsjson.Read(ctx, ws, &msg))
		if msg.Type == "ack" && msg.ID == "s" {
			require.True(t, msg.OK, msg.Why)
			return msg.Session
		}
	}
}
