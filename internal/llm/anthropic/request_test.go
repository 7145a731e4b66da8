package anthropic

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/wire"
)

func TestGeneration(t *testing.T) {
	for model, want := range map[string]int{
		"claude-sonnet-4-6": 406, "claude-sonnet-4-20250514": 400, "claude-opus-4-8": 408, "claude-opus-5": 500,
		"claude-haiku-4-5-20251001": 405, "claude-3-7-sonnet-20250219": 307, "claude-3-5-haiku-latest": 305,
		"anthropic/claude-haiku-4.5": 405, "us.anthropic.claude-sonnet-4-5-20250929-v1:0": 405, "kimi-k2": 0, "claude": 0,
	} {
		require.Equal(t, want, generation(model), model)
	}
}

// The limit, the thinking and the temperature depend on each other and on the
// model: newer ones think adaptively and refuse a temperature, older ones take a
// budget that counts against the limit.
func TestLimits(t *testing.T) {
	warm := 0.5
	lookup := func(string) (llm.ModelInfo, bool) { return llm.ModelInfo{MaxOutputTokens: 20_000, Images: true}, true }
	p, err := New(wire.Options{Name: "anthropic", Lookup: lookup})
	require.NoError(t, err)
	tests := []struct{ model, effort, want string }{
		{"claude-sonnet-4-6", "high", `{"max_tokens":8000,"thinking":{"type":"adaptive"},"output_config":{"effort":"high"}}`},
		{"claude-sonnet-4-6", "", `{"max_tokens":8000,"temperature":0.5}`},
		{"claude-opus-4-8", "", `{"max_tokens":8000}`},
		{"claude-haiku-4-5", "low", `{"max_tokens":10048,"thinking":{"type":"enabled","budget_tokens":2048}}`},
		{"claude-haiku-4-5", "high", `{"max_tokens":20000,"thinking":{"type":"enabled","budget_tokens":16384}}`},
		{"claude-3-5-haiku-latest", "high", `{"max_tokens":8000,"temperature":0.5}`},
		{"claude-opus-5", "none", `{"max_tokens":8000}`},
	}
	for _, tt := range tests {
		var out request
		p.limits(llm.Request{Model: tt.model, Effort: tt.effort, MaxTokens: 8000, Temperature: &warm}, &out)
		data, err := json.Marshal(out)
		require.NoError(t, err)
		var got map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(data, &got))
		for _, key := range []string{"model", "messages", "stream"} {
			delete(got, key)
		}
		data, err = json.Marshal(got)
		require.NoError(t, err)
		require.JSONEq(t, tt.want, string(data), "%s %s", tt.model, tt.effort)
	}
}

// The prefix of the next request is the request before it, byte for byte, apart from
// where the last cache mark stands: otherwise the cache would never be read.
func TestCachePrefixIsStable(t *testing.T) {
	p, err := New(wire.Options{Name: "anthropic"})
	require.NoError(t, err)
	req := llm.Request{
		Model: "claude-sonnet-4-6", System: "s",
		Tools:    []llm.ToolSpec{{Name: "b", Schema: json.RawMessage(`{"type":"object","properties":{"z":{},"a":{}}}`)}, {Name: "a"}},
		Messages: []llm.Message{{Role: llm.User, Blocks: llm.Blocks{llm.Text{Text: "one"}}}},
	}
	build := func() string {
		body, err := p.build(req)
		require.NoError(t, err)
		require.LessOrEqual(t, strings.Count(string(body), "cache_control"), 4)
		tools := string(body[strings.Index(string(body), `"tools"`):])
		text := strings.ReplaceAll(string(body), `,"cache_control":{"type":"ephemeral"}`, "")
		require.Contains(t, tools, `{"z":{},"a":{}}`)
		return text[strings.Index(text, `"messages":[`):strings.Index(text, `],"tools"`)]
	}
	first := build()
	req.Messages = append(req.Messages,
		llm.Message{Role: llm.Assistant, Blocks: llm.Blocks{llm.ToolUse{ID: "t", Name: "b", Input: json.RawMessage(`{"z":1, "a":"<&>"}`)}}},
		llm.Message{Role: llm.User, Blocks: llm.Blocks{llm.ToolResult{ToolUseID: "t", Content: "r"}}})
	second := build()
	require.True(t, strings.HasPrefix(second, first), "%s\n%s", first, second)
	require.Contains(t, second, `"a":"<&>"`, "no HTML escaping")
	require.Equal(t, second, build())
}

// A second message_start is a proxy's retry in the same stream: what came before it
// is void.
func TestSecondStart(t *testing.T) {
	p, err := New(wire.Options{Name: "anthropic"})
	require.NoError(t, err)
	a := p.newAnswer(llm.Request{Model: "m"})
	var deltas []llm.Delta
	for _, ev := range []string{
		`{"type":"message_start","message":{"usage":{"input_tokens":5}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"void"}}`,
		`{"type":"message_start","message":{"usage":{"input_tokens":6}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"real"}}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`,
	} {
		_, err := a.Event([]byte(ev), func(d llm.Delta) bool { deltas = append(deltas, d); return true })
		require.NoError(t, err)
	}
	done, err := a.Done()
	require.NoError(t, err)
	require.Equal(t, "real", llm.TextOf(done.Message))
	require.EqualValues(t, 6, done.Usage.Input)
	require.Contains(t, deltas, llm.Delta(llm.Retry{Attempt: 2, Reason: "the server began its answer anew"}))
}
