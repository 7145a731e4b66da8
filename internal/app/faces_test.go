package app_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm/llmtest"
)

// The same scripted session gives the same log in the terminal, in the browser and
// with --json: a front end has no channel of its own to the agent.
func TestOneLogForAllFrontEnds(t *testing.T) {
	logs := map[string][]string{}

	x := newMachine(t, llmtest.NewServer(t, turns()...).Always(accepting()).URL)
	require.Zero(t, x.run("run", "--json", "--yes", "greet the world"), x)
	stored := x.log()
	logs["json"] = masked(t, x, stored)
	var streamed []event.Event
	lines := bufio.NewScanner(strings.NewReader(x.out.String()))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e event.Event
		require.NoError(t, json.Unmarshal(lines.Bytes(), &e), lines.Text())
		if _, transient := e.Data.(event.Transient); !transient {
			streamed = append(streamed, e)
		}
	}
	require.Empty(t, cmp.Diff(stored, streamed), "stdout holds the log, line by line")

	x = newMachine(t, llmtest.NewServer(t, turns()...).Always(accepting()).URL)
	x.atTerminal("y")
	require.Zero(t, x.run("run", "greet the world"), x)
	require.Equal(t, "hello\n", x.read("hello.txt"))
	logs["terminal"] = masked(t, x, x.log())

	x = newMachine(t, llmtest.NewServer(t, turns()...).Always(accepting()).URL)
	browse(t, x, "greet the world")
	logs["browser"] = masked(t, x, x.log())

	x = newMachine(t, llmtest.NewServer(t, turns()...).Always(accepting()).URL)
	edit(t, x, "greet the world")
	logs["editor"] = masked(t, x, x.log())

	require.Empty(t, cmp.Diff(logs["json"], logs["terminal"]))
	require.Empty(t, cmp.Diff(logs["json"], logs["editor"]))
	require.Empty(t, cmp.Diff(logs["json"], logs["browser"]))
}

// browse does the session as the page does, over the websocket.
func browse(t *testing.T, x *machine, request string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	page := x.serve(ctx)
	ws, _, err := websocket.Dial(ctx, "ws://"+page.host+"/ws", &websocket.DialOptions{HTTPHeader: map[string][]string{"Origin": {"http://" + page.host}}})
	require.NoError(t, err)
	defer func() { _ = ws.CloseNow() }()
	ws.SetReadLimit(16 << 20)
	send := func(v any) { require.NoError(t, wsjson.Write(ctx, ws, v)) }
	send(m{"type": "hello", "token": page.token})
	send(m{"type": "start", "id": "1", "request": request})
	var seen strings.Builder
	question := regexp.MustCompile(`data-id=\\?"(plan-([^"\\]+)-\d+)\\?"[^>]*data-hash=\\?"([0-9a-f]{64})|data-hash=\\?"([0-9a-f]{64})\\?"[^>]*data-id=\\?"(plan-([^"\\]+)-\d+)`)
	answered := false
	for !x.finished() {
		_, data, err := ws.Read(ctx)
		require.NoError(t, err, seen.String())
		seen.Write(data)
		if q := question.FindStringSubmatch(seen.String()); q != nil && !answered {
			answered = true
			id, session, hash := q[1], q[2], q[3]
			if id == "" {
				hash, id, session = q[4], q[5], q[6]
			}
			send(m{"type": "answer", "id": "2", "session": session, "question": id, "choice": "approve", "hash": hash})
		}
	}
	require.NoError(t, ws.Close(websocket.StatusNormalClosure, ""))
}

type page struct{ host, token string }

// serve starts the browser UI and returns where it is; it ends with ctx.
func (x *machine) serve(ctx context.Context, args ...string) page {
	x.t.Helper()
	read, write := io.Pipe()
	ended := make(chan int, 1)
	go func() { ended <- x.serving(ctx, write, append([]string{"ui", "--no-open"}, args...)) }()
	line, err := bufio.NewReader(read).ReadString('\n')
	require.NoError(x.t, err)
	go func() { _, _ = io.Copy(io.Discard, read) }()
	x.t.Cleanup(func() {
		require.Zero(x.t, <-ended, x)
		require.NoError(x.t, write.Close())
	})
	address, token, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "Coderrr UI: http://"), "/#token=")
	require.True(x.t, ok, line)
	return page{host: address, token: token}
}

// masked is the log as text, without what differs from run to run: time, ids,
// durations, places, ports, and who answered.
func masked(t *testing.T, x *machine, events []event.Event) []string {
	t.Helper()
	started, ok := events[0].Data.(event.SessionStarted)
	require.True(t, ok)
	swap := strings.NewReplacer(started.SessionID, "SESSION", x.ws, "WORKSPACE", filepath.Base(x.ws), "WORKSPACE")
	spent := regexp.MustCompile(`127\.0\.0\.1:\d+|\d+(\.\d+)? ?(ms|s)\b|"duration_ms":\d+,?`)
	var out []string
	for _, e := range events {
		e.Time = time.Time{}
		e.Seq = 0
		if c, ok := e.Data.(event.AskClosed); ok {
			c.By = "SOMEONE"
			e.Data = c
		}
		raw, err := json.Marshal(e)
		require.NoError(t, err)
		out = append(out, spent.ReplaceAllString(swap.Replace(string(raw)), "TIME"))
	}
	return out
}
