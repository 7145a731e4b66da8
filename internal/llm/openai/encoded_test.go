package openai

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coderrr/coderrr/internal/llm/wire"
)

// TestKeptMessagesGiveTheSameBytes: whatever was sent before, a request is what
// encoding it afresh gives.
func TestKeptMessagesGiveTheSameBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var kept encoded
		for range rapid.IntRange(1, 5).Draw(t, "requests") {
			out := chatRequest{Model: rapid.SampledFrom([]string{"m", `"messages":null`}).Draw(t, "model"), Stream: true}
			for range rapid.IntRange(1, 6).Draw(t, "messages") {
				out.Messages = append(out.Messages, anyMessage(t))
			}
			if rapid.Bool().Draw(t, "tools") {
				out.Tools = []tool{{Type: "function", Function: function{Name: "x", Parameters: json.RawMessage(`{"messages":null}`)}}}
			}
			want, err := wire.Marshal(out)
			require.NoError(t, err)
			got, err := kept.body(out)
			require.NoError(t, err)
			require.Equal(t, string(want), string(got))
		}
	})
}

func anyMessage(t *rapid.T) message {
	word := rapid.SampledFrom([]string{"", "a", "<b>", "é\n"})
	m := message{
		Role: word.Draw(t, "role"), ReasoningContent: word.Draw(t, "content"), Reasoning: word.Draw(t, "reasoning"), ToolCallID: word.Draw(t, "id"),
		Content: rapid.SampledFrom([]any{nil, "", "a", []part{{Type: "text", Text: "a"}}, []part{{Type: "text", Text: "b"}}}).Draw(t, "text"),
		Details: rapid.SampledFrom([]json.RawMessage{nil, json.RawMessage(`[1]`), json.RawMessage(`[2]`)}).Draw(t, "details"),
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "calls") {
		m.ToolCalls = append(m.ToolCalls, sentCall{ID: fmt.Sprint(i), Function: sentFunction{Name: word.Draw(t, "name"), Arguments: word.Draw(t, "arguments")}})
	}
	return m
}
