package event_test

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm"
)

func payloads() []event.Payload {
	cost := 0.25
	return []event.Payload{
		event.SessionStarted{Version: 1, SessionID: "s", Workspace: "/w", Sandbox: event.Sandbox{Tier: "scratch"}},
		event.PhaseChanged{Phase: event.Planning},
		event.TurnStarted{Turn: 1},
		event.TurnFinished{Turn: 1, StopReason: llm.StopToolUse},
		event.UserMessage{Text: "hé <b>"},
		event.TextDelta{Text: "a"},
		event.ThinkingDelta{Text: "b"},
		event.TextDone{Text: "a"},
		event.ThinkingDone{Text: "b"},
		event.MessageAdded{Role: llm.Assistant, Provider: "p", Model: "m", Blocks: llm.Blocks{
			llm.Text{Text: "t"},
			llm.Image{MediaType: "image/png", Data: []byte{1}},
			llm.Thinking{Text: "x", Signature: "sig", Origin: llm.Origin{Provider: "p", Model: "m"}},
			llm.ToolUse{ID: "1", Name: "n", Input: json.RawMessage(`{"a":1}`)},
			llm.ToolResult{ToolUseID: "1", Name: "n", Content: "c", IsError: true},
			llm.Opaque{Kind: "k", Data: json.RawMessage(`[1]`)},
		}},
		event.ToolStarted{ID: "1", Name: "n", Class: "read", Input: json.RawMessage(`{}`)},
		event.ToolOutput{ID: "1", Stream: "stdout", Text: "o"},
		event.ToolFinished{ID: "1", Name: "n", OK: true, Display: "d", Content: "c"},
		event.SpecWritten{Spec: "001-x", Document: "tasks", SHA256: "00"},
		event.PlanReady{Spec: "001-x", Hash: "h", Tasks: []event.PlanTask{{ID: "T001", Files: []string{"a"}}}, Documents: map[string]string{"tasks": "x"}},
		event.AskOpened{ID: "q", Kind: ask.Plan, Choices: []ask.Choice{{ID: "approve", Label: "Approve"}}},
		event.AskClosed{ID: "q", Choice: "approve", Hunks: []ask.HunkDecision{{N: 1, Accepted: true}}, By: ask.ByBrowser},
		event.FileChanged{Path: "a", Op: "edit", Before: "1", After: "2", Added: 1, Diff: "@@"},
		event.TaskUpdated{ID: "T001", Status: "done", Evidence: &event.Evidence{Command: "true", Tree: "t"}},
		event.VerifyFinished{Path: "a", Verdict: "accept"},
		event.UsageAdded{Input: 1, CostUSD: &cost, Total: event.Usage{Input: 1, CostUSD: &cost}},
		event.RetryScheduled{InMS: 5, Attempt: 2, Reason: "overloaded"},
		event.ContextChanged{What: "guidance", Name: "AGENTS.md"},
		event.Notice{Level: "info", Kind: "k", Text: "t"},
		event.SessionFinished{Status: "ok", Files: []string{"a"}},
	}
}

// Every payload keeps its content through JSON, and every field has a public name
// in snake_case.
func TestPayloadsRoundTrip(t *testing.T) {
	t.Parallel()
	snake := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	seen := map[string]bool{}
	for i, p := range payloads() {
		e := event.Event{Seq: int64(i + 1), Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Data: p}
		raw, err := json.Marshal(e)
		require.NoError(t, err)
		var fields map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(raw, &fields))
		for name := range fields {
			require.Regexp(t, snake, name, p.Type())
		}
		var back event.Event
		require.NoError(t, json.Unmarshal(raw, &back))
		require.Empty(t, cmp.Diff(e, back), p.Type())
		require.False(t, seen[p.Type()], "two payloads named %s", p.Type())
		seen[p.Type()] = true
		walkTags(t, reflect.TypeOf(p), snake)
	}
	require.Len(t, seen, 25, "a payload is missing from this test")
}

func walkTags(t *testing.T, typ reflect.Type, snake *regexp.Regexp) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || typ.PkgPath() != reflect.TypeFor[event.Event]().PkgPath() {
		return
	}
	for f := range typ.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		require.Regexp(t, snake, name, "%s.%s", typ.Name(), f.Name)
		walkTags(t, f.Type, snake)
	}
}

// An event of a later version survives a reader that does not know it.
func TestUnknownEventIsKept(t *testing.T) {
	t.Parallel()
	const line = `{"seq":7,"time":"2026-01-02T03:04:05Z","type":"future.thing","answer":42}`
	var e event.Event
	require.NoError(t, json.Unmarshal([]byte(line), &e))
	require.Equal(t, "future.thing", e.Data.Type())
	back, err := json.Marshal(e)
	require.NoError(t, err)
	require.JSONEq(t, line, string(back))
}

func TestDamagedEvents(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"", "{", `{"seq":"x"}`, `{"seq":1,"type":"turn.started","turn":"one"}`, `{"seq":1,"type":"message.added","blocks":[{"type":"nonsense"}]}`} {
		var e event.Event
		require.Error(t, json.Unmarshal([]byte(line), &e), line)
	}
}
