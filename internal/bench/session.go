package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/coderrr/coderrr/internal/approval"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm"
)

// many is how many events a long session has.
const many = 50_000

// longSession writes such a session into the workspace of h, as one that stopped in
// the middle of its work.
func (h *home) longSession(id string) error {
	dir := filepath.Join(h.ws, ".coderrr", "session")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of sessions: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, id+".jsonl"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("write a long session: %w", err)
	}
	w := bufio.NewWriter(f)
	for i, p := range history(id, h.ws, many) {
		if err := (event.Writer{W: w}).Print(event.Event{Seq: int64(i + 1), Time: time.Now(), Data: p}); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		return fmt.Errorf("write a long session: %w", err)
	}
	return approval.Open(h.settings, h.ws).Register(id)
}

// history is what a session of n events says: turns with a call each, an edit every
// tenth turn, and a summary in place of the beginning every 400 turns, as a model's
// window demands.
func history(id, ws string, n int) []event.Payload {
	out := make([]event.Payload, 0, n+16)
	out = append(out,
		event.SessionStarted{Version: event.Version, SessionID: id, Workspace: ws, Provider: "compatible", Model: "scripted", Request: "count up"},
		event.PhaseChanged{Phase: event.Planning}, event.UserMessage{Text: "count up"},
		event.MessageAdded{Role: llm.User, Blocks: llm.Blocks{llm.Text{Text: "count up"}}},
	)
	content := strings.Repeat("12\tfunc handler(w http.ResponseWriter, r *http.Request) { // \"quoted\"\n", 8)
	for turn := 1; len(out) < n; turn++ {
		call := fmt.Sprintf("call_%d", turn)
		input := json.RawMessage(fmt.Sprintf(`{"path":"file%d.go","limit":20}`, turn%source))
		text := fmt.Sprintf("Turn %d: I look at the next file and **count** its `handlers`.", turn)
		out = append(out,
			event.TurnStarted{Turn: turn}, event.TextDone{Text: text},
			event.MessageAdded{Role: llm.Assistant, Provider: "compatible", Model: "scripted", Blocks: llm.Blocks{llm.Text{Text: text}, llm.ToolUse{ID: call, Name: "read_file", Input: input}}},
			event.UsageAdded{Input: 1000, Output: 50, Total: event.Usage{Input: int64(turn) * 1000, Output: int64(turn) * 50}},
			event.TurnFinished{Turn: turn, StopReason: llm.StopToolUse},
			event.ToolStarted{ID: call, Name: "read_file", Class: "READ", Input: input},
			event.ToolFinished{ID: call, Name: "read_file", OK: true, Display: "20 lines", Content: content},
			event.MessageAdded{Role: llm.User, Blocks: llm.Blocks{llm.ToolResult{ToolUseID: call, Name: "read_file", Content: content}}},
		)
		if turn%10 == 0 {
			out = append(out, event.FileChanged{
				Path: fmt.Sprintf("file%d.go", turn%source), Op: "edit", Before: hash(turn), After: hash(turn + source), Added: 1, Removed: 1,
				Diff: "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n", Call: call,
			})
		}
		if turn%400 == 0 {
			out = append(out, event.ContextChanged{What: "compaction", Name: "summary", Summary: "The beginning, in short.", Kept: 6, Detail: "a summary"})
		}
	}
	return out[:n]
}

func hash(n int) string { return fmt.Sprintf("%064x", n) }

// session measures a session of 50,000 events: opened again, and joined late.
func (b *bench) session(ctx context.Context) ([]row, error) {
	const id = "20260101-000000-bench1"
	var first []time.Duration
	var resumed, joined []int64
	var late []time.Duration
	for i := range 3 {
		r, m, err := b.resume(ctx, fmt.Sprintf("resume%d", i), id)
		if err != nil {
			return nil, err
		}
		first, resumed = append(first, m.first.Sub(r.started)), append(resumed, r.resident)
		took, rss, err := b.join(ctx, fmt.Sprintf("join%d", i), id)
		if err != nil {
			return nil, err
		}
		late, joined = append(late, took), append(joined, rss)
	}
	_, idle, err := b.join(ctx, "idle", "")
	if err != nil {
		return nil, err
	}
	return []row{
		{what: "50k events: launch to the first request of a resumed session", value: millis(middle(first)), unit: "ms", limit: 300},
		{what: "50k events: resident memory, resumed", value: float64(middle(resumed)) / 1e6, unit: "MB", limit: 150},
		{what: "50k events: join in the browser", value: millis(middle(late)), unit: "ms", limit: 500, note: "websocket hello to the whole page"},
		{what: "50k events: resident memory, browser UI", value: float64(middle(joined)) / 1e6, unit: "MB", limit: 150},
		{what: "resident memory of an idle coderrr ui", value: float64(idle) / 1e6, unit: "MB", limit: 40},
	}, nil
}

// resume goes on with the long session; its model ends the run at once.
func (b *bench) resume(ctx context.Context, name, id string) (ran, *model, error) {
	m := newModel([]step{{tool: "finish", input: args{"summary": "done"}}})
	defer m.close()
	h, err := b.newHome(name, m.srv.URL+"/v1")
	if err != nil {
		return ran{}, nil, err
	}
	if err := h.longSession(id); err != nil {
		return ran{}, nil, err
	}
	cmd := h.command(ctx, "run", "--yes", "--quiet", "--resume", id)
	r, err := watch(cmd)
	if err == nil && m.first.IsZero() {
		err = fmt.Errorf("the resumed session asked no model: %s", r.said)
	}
	return r, m, err // how such a run ends is not what is measured
}

// join starts the browser UI and opens one page: of the session, or the start page
// for "". It returns how long the page took and what memory the server has.
func (b *bench) join(ctx context.Context, name, id string) (_ time.Duration, _ int64, err error) {
	h, err := b.newHome(name, "http://127.0.0.1:1/v1")
	if err != nil {
		return 0, 0, err
	}
	if id != "" {
		if err := h.longSession(id); err != nil {
			return 0, 0, err
		}
	}
	cmd := h.command(ctx, "ui", "--no-open")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, 0, fmt.Errorf("run %s: %w", cmd, err)
	}
	if err := cmd.Start(); err != nil {
		return 0, 0, fmt.Errorf("run %s: %w", cmd, err)
	}
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait() // it was interrupted
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	address, token, ok := strings.Cut(strings.TrimSpace(line), "/#token=")
	_, host, found := strings.Cut(address, "http://")
	if err != nil || !ok || !found {
		return 0, 0, fmt.Errorf("read the address of the browser UI: %w: %q", err, line)
	}
	began := time.Now()
	ws, err := page(ctx, host, token, id)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = ws.CloseNow() }()
	_, r, err := ws.Reader(ctx)
	if err == nil {
		_, err = io.Copy(io.Discard, r)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("join the session: %w", err)
	}
	took := time.Since(began)
	if id == "" {
		time.Sleep(time.Second) // idle is what it comes to rest at
	}
	return took, resident(cmd.Process.Pid), nil
}

// page connects as a tab does.
func page(ctx context.Context, host, token, session string) (*websocket.Conn, error) {
	ws, resp, err := websocket.Dial(ctx, "ws://"+host+"/ws", &websocket.DialOptions{HTTPHeader: map[string][]string{"Origin": {"http://" + host}}})
	if err != nil {
		return nil, fmt.Errorf("open a page: %w", err)
	}
	if resp.Body != nil {
		_ = resp.Body.Close() // the connection is the websocket's
	}
	ws.SetReadLimit(256 << 20)
	data, err := json.Marshal(args{"type": "hello", "token": token, "session": session})
	if err == nil {
		err = ws.Write(ctx, websocket.MessageText, data)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("say hello: %w", err), ws.CloseNow())
	}
	return ws, nil
}
