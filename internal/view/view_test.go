package view_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/diff"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/view"
)

func fold(payloads ...event.Payload) *view.State {
	s := &view.State{}
	at := time.Unix(1_700_000_000, 0)
	for i, p := range payloads {
		s.Apply(event.Event{Seq: int64(i + 1), Time: at.Add(time.Duration(i) * time.Second), Data: p})
	}
	return s
}

func TestStatusFollowsTheSession(t *testing.T) {
	plan := event.AskOpened{ID: "p", Kind: ask.Plan, Hash: "h"}
	tests := []struct {
		name string
		in   []event.Payload
		want string
	}{
		{"nothing", nil, "Ready"},
		{"started", []event.Payload{event.SessionStarted{SessionID: "s"}}, "Planning"},
		{"plan question", []event.Payload{event.PhaseChanged{Phase: event.Awaiting}, plan}, "Plan ready"},
		{"execution", []event.Payload{event.PhaseChanged{Phase: event.Execute}}, "Working"},
		{"write", []event.Payload{event.PhaseChanged{Phase: event.Execute}, event.AskOpened{ID: "w", Kind: ask.Write}}, "Waiting for you"},
		{"question", []event.Payload{event.AskOpened{ID: "q", Kind: ask.General}}, "Question"},
		{"answered", []event.Payload{event.PhaseChanged{Phase: event.Planning}, plan, event.AskClosed{ID: "p", Choice: "comment"}}, "Planning"},
		{"ok", []event.Payload{plan, event.SessionFinished{Status: "ok"}}, "Done"},
		{"unmet", []event.Payload{event.SessionFinished{Status: "unmet", TasksDone: 1, TasksTotal: 2}}, "Done · 1 of 2 tasks"},
		{"error", []event.Payload{event.SessionFinished{Status: "error"}}, "Error"},
		{"cancelled", []event.Payload{event.SessionFinished{Status: "cancelled"}}, "Stopped"},
		{"resumed", []event.Payload{event.SessionFinished{Status: "cancelled"}, event.SessionStarted{SessionID: "s", Resumed: true}, event.PhaseChanged{Phase: event.Execute}}, "Working"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, got := fold(tt.in...).Status()
			require.Equal(t, tt.want, got)
		})
	}
}

func TestStreamedTextEqualsDone(t *testing.T) {
	s := fold(event.TextDelta{Text: "Hel"}, event.TextDelta{Text: "lo"})
	require.Equal(t, "Hello", s.Items[0].Body)
	require.False(t, s.Items[0].Done)
	s.Apply(event.Event{Seq: 3, Data: event.TextDone{Text: "Hello"}})
	require.Len(t, s.Items, 1)
	require.True(t, s.Items[0].Done)
	require.Equal(t, fold(event.TextDone{Text: "Hello"}).Items[0].Body, s.Items[0].Body)
}

func TestRequestIsShownOnce(t *testing.T) {
	s := fold(event.SessionStarted{SessionID: "s", Request: "do it"}, event.UserMessage{Text: "do it"}, event.UserMessage{Text: "do it"})
	require.Len(t, s.Items, 2, "the request, and the same words said later")
}

func TestToolCallIsOneItem(t *testing.T) {
	s := fold(
		event.ToolStarted{ID: "c1", Name: "run_in_sandbox", Class: "system", Input: json.RawMessage(`{"command":"make test\n  now"}`)},
		event.ToolOutput{ID: "c1", Stream: "stdout", Text: "ok 1\nok"},
		event.ToolOutput{ID: "c1", Stream: "stdout", Text: " 2\n"},
		event.ToolFinished{ID: "c1", Name: "run_in_sandbox", OK: true, Display: "exit 0"},
	)
	require.Len(t, s.Items, 1)
	tool := s.Items[0].Tool
	require.Equal(t, "make test now", tool.Arg)
	require.Equal(t, "ok 1\nok 2\n", tool.Output.String())
	require.Equal(t, 3*time.Second, tool.Took)
	require.True(t, tool.OK)
}

func TestOutputKeepsTheLast500Lines(t *testing.T) {
	var o view.Output
	o.Add(strings.Repeat("x\n", 100_000))
	o.Add(strings.Repeat("y", 1<<20))
	require.Equal(t, 100_001-500, o.Dropped)
	require.LessOrEqual(t, len(o.String()), 500*4001)
}

func TestPlanIsShownWhileItIsWritten(t *testing.T) {
	s := fold(
		event.ToolStarted{ID: "a", Name: "create_spec", Input: json.RawMessage(`{"title":"Limits"}`)},
		event.ToolFinished{ID: "a", OK: true},
		event.ToolStarted{ID: "b", Name: "write_spec", Input: json.RawMessage(`{"document":"design","content":"# D"}`)},
	)
	require.Equal(t, "design", s.Plan.Writing)
	s.Apply(event.Event{Seq: 9, Data: event.ToolFinished{ID: "b", OK: true}})
	require.Equal(t, "# D", s.Plan.Document("design"))
	s.Apply(event.Event{Seq: 10, Data: event.PlanReady{Hash: "1", Documents: map[string]string{"design": "# D1"}}})
	s.Apply(event.Event{Seq: 11, Data: event.PlanReady{Hash: "2", Documents: map[string]string{"design": "# D2"}}})
	require.Equal(t, 2, s.Plan.Revision)
	require.Equal(t, "# D2", s.Plan.Document("design"))
}

func TestChangesAddUp(t *testing.T) {
	v := []string{"a\nb\nc\nd\ne\nf\ng\nh\n", "a\nB\nc\nd\ne\nf\ng\nh\n", "a\nB\nc\nd\ne\nf\ng\nH\ni\n"}
	change := func(from, to int) event.FileChanged {
		text, _ := diff.Unified("a/x", "b/x", diff.Compute([]byte(v[from]), []byte(v[to])), 0)
		added, removed := diff.Stats(diff.Compute([]byte(v[from]), []byte(v[to])))
		return event.FileChanged{Path: "x", Op: "edit", Before: v[from], After: v[to], Diff: text, Added: added, Removed: removed}
	}
	s := fold(change(0, 1), change(1, 2))
	require.Len(t, s.Files, 1)
	f := s.Files[0]
	require.False(t, f.Partial)
	require.Equal(t, []int{3, 2}, []int{f.Added, f.Removed})
	require.Equal(t, v[2], string(diff.Apply([]byte(v[0]), f.Hunks, func(int) bool { return true })))
	s.Apply(event.Event{Seq: 9, Data: change(2, 0)})
	require.True(t, s.Files[0].Undone)
	files, _, _ := s.Changed()
	require.Empty(t, files)
}

func TestMoveKeepsOneFile(t *testing.T) {
	s := fold(
		event.FileChanged{Path: "a", Op: "edit", Before: "1", After: "2"},
		event.FileChanged{Path: "b", From: "a", Op: "move", Before: "2", After: "2"},
	)
	require.Len(t, s.Files, 1)
	require.Equal(t, "move", s.Files[0].Op)
	require.Equal(t, "a", s.Files[0].From)
	s.Apply(event.Event{Seq: 3, Data: event.FileChanged{Path: "a", From: "b", Op: "move", Before: "2", After: "1"}})
	require.True(t, s.Files[0].Undone)
}

// TestComposeIsApplyTwice: what the sum of two diffs makes is what both make.
func TestComposeIsApplyTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		a := text(r, 30)
		b, c := mutate(r, a), []byte(nil)
		c = mutate(r, b)
		first, second := reparse(a, b), reparse(b, c)
		sum, ok := view.Compose(first, second)
		if !ok {
			t.Fatal("does not compose")
		}
		got := apply(a, sum)
		if string(got) != string(c) {
			t.Fatalf("a %q\nb %q\nc %q\ngot %q", a, b, c, got)
		}
	})
}

// reparse goes through the unified text, as the log does.
func reparse(a, b []byte) []diff.Hunk {
	text, _ := diff.Unified("a/f", "b/f", diff.Compute(a, b), 0)
	var out []diff.Hunk
	for _, f := range view.ParseUnified(text) {
		out = append(out, f.Hunks...)
	}
	return out
}

// apply is written here by the line numbers, so that they are tested too.
func apply(before []byte, hunks []diff.Hunk) []byte {
	lines := strings.SplitAfter(string(before), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	var out strings.Builder
	at := 1
	for _, h := range hunks {
		start := h.OldStart
		if h.OldLines == 0 {
			start++
		}
		for ; at < start; at++ {
			out.WriteString(lines[at-1])
		}
		for _, l := range h.Lines {
			if l.Op != diff.Delete {
				out.WriteString(l.Text + l.EOL)
			}
			if l.Op != diff.Insert {
				at++
			}
		}
	}
	for ; at <= len(lines); at++ {
		out.WriteString(lines[at-1])
	}
	return []byte(out.String())
}

func text(r *rand.Rand, n int) []byte {
	var b strings.Builder
	for range r.IntN(n) {
		b.WriteString(string(rune('a'+r.IntN(6))) + "\n")
	}
	return []byte(b.String())
}

func mutate(r *rand.Rand, in []byte) []byte {
	lines := strings.SplitAfter(string(in), "\n")
	lines = lines[:len(lines)-1]
	for range 1 + r.IntN(4) {
		at := r.IntN(len(lines) + 1)
		switch {
		case r.IntN(2) == 0 && at < len(lines):
			lines = append(append([]string(nil), lines[:at]...), lines[at+1:]...)
		default:
			lines = append(append(append([]string(nil), lines[:at]...), string(rune('a'+r.IntN(8)))+"\n"), lines[at:]...)
		}
	}
	return []byte(strings.Join(lines, ""))
}

// FuzzApply: no sequence of events makes a fold panic, whatever they hold.
func FuzzApply(f *testing.F) {
	f.Add([]byte(`{"type":"tool.finished","id":"x"}` + "\n" + `{"type":"ask.closed","id":"y"}`))
	f.Add([]byte(`{"type":"session.finished","status":"ok"}` + "\n" + `{"type":"task.updated","id":"T1","status":"done"}`))
	f.Add([]byte(`{"type":"file.changed","path":"a","op":"move","from":"b","diff":"@@ -1 +1 @@\n-a\n+b\n"}`))
	f.Add([]byte(`{"type":"plan.ready","diff":"@@ -9,9 +9,9 @@\n x"}` + "\n" + `{"type":"ask.opened","kind":"write","detail":[1]}`))
	f.Fuzz(func(_ *testing.T, data []byte) {
		s := &view.State{}
		for _, line := range strings.Split(string(data), "\n") {
			var e event.Event
			if json.Unmarshal([]byte(line), &e) != nil {
				continue
			}
			s.Apply(e)
			s.Status()
			s.Changed()
			s.TasksDone()
		}
	})
}

// TestConfirmFollowsTheLog: a page that is opened later shows the same switch.
func TestConfirmFollowsTheLog(t *testing.T) {
	on, off := true, false
	start := event.SessionStarted{SessionID: "s"}
	require.Nil(t, fold(start).Confirm, "nobody changed it")
	require.True(t, *fold(start, event.Notice{Kind: "confirm_writes", Text: "on", On: &on}).Confirm)
	s := fold(start, event.Notice{Kind: "confirm_writes", Text: "on", On: &on}, event.Notice{Kind: "confirm_writes", Text: "off", On: &off})
	require.False(t, *s.Confirm)
	require.Empty(t, s.Context, "it is not something the model was given")
	require.Nil(t, fold(start, event.Notice{Kind: "other", Text: "x", On: &on}).Confirm)
	resumed := event.SessionStarted{SessionID: "s", Resumed: true}
	require.Nil(t, fold(start, event.Notice{Kind: "confirm_writes", Text: "on", On: &on}, resumed).Confirm, "as configured again")
}

func TestQueueIsEmptiedByWhatWasDelivered(t *testing.T) {
	queue := func(text string) event.ContextChanged {
		return event.ContextChanged{What: "queue", Name: "message", Detail: text}
	}
	require.Equal(t, []string{"b"}, fold(queue("a"), queue("b"), event.UserMessage{Text: "a"}).Queue)
	require.Empty(t, fold(queue("a"), queue("b"), event.UserMessage{Text: "a\n\nb"}).Queue, "sent as one comment on the plan")
	require.Equal(t, []string{"b"}, fold(queue("a"), queue("b"), event.ContextChanged{What: "queue", Name: "removed", Detail: "a"}).Queue)
	require.Equal(t, []string{"a"}, fold(queue("a"), event.UserMessage{Text: "else"}).Queue)
}
