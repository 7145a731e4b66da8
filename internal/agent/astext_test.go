package agent_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/agent"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm"
)

// A call that was written as text is not run; the model is told once, and its text
// does not stay as an example.
func TestCallsWrittenAsText(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"qwen":     "Let me look.\n<tool_call>\n{\"name\": \"echo\", \"arguments\": {\"text\": \"hi\"}}\n</tool_call>",
		"function": "<function=echo><parameter=text>hi</parameter></function>",
		"invoke":   "Sure.\n<invoke name=\"echo\">\n<parameter name=\"text\">hi</parameter>\n</invoke>",
		"mistral":  "[TOOL_CALLS][{\"name\":\"echo\",\"arguments\":{}}]",
		"kimi":     "<|tool_calls_section_begin|><|tool_call_begin|>functions.echo:0",
		"json":     "```json\n{\"name\":\"echo\",\"parameters\":{\"text\":\"hi\"}}\n```",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(say(text), call("echo", `{"text":"hi"}`), say("bye"))
			require.Equal(t, "bye", r.run(t).Text)
			require.EqualValues(t, 1, r.calls.Load(), "only the real call ran")
			valid(t, r.talk.Messages())
			sent := fmt.Sprint(r.model.requests[1].Messages)
			require.Contains(t, sent, "written as text")
			require.NotContains(t, sent, text)
			rebuilt, _ := agent.Rebuild(r.log.Events(0), func(llm.ToolUse) string { return "lost" })
			require.Equal(t, r.talk.Messages(), rebuilt)

			r = newRig(say(text), say(text), say("never asked"))
			r.run(t)
			require.Len(t, r.model.requests, 2, "one re-ask")
			require.Zero(t, r.calls.Load())
			warned := false
			for _, e := range r.log.Events(0) {
				n, ok := e.Data.(event.Notice)
				warned = warned || ok && n.Kind == "model"
			}
			require.True(t, warned)
		})
	}
}

// Talk about calls is not a call.
func TestTextThatOnlyLooksLikeACall(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"Models write <tool_call> when they mean a tool.",
		`{"name":"somebody","arguments":{}}`, `{"name":"echo"}`, "echo is a tool", "<invoke name=\"other\">",
	} {
		r := newRig(say(text))
		require.Equal(t, text, r.run(t).Text)
	}
}
