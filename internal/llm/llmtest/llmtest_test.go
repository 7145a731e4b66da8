package llmtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/llmtest"
)

func TestScriptPlaysAndRecords(t *testing.T) {
	s := llmtest.NewScript(
		llmtest.Use("read_file", map[string]string{"path": "a"}),
		llmtest.Turn{Func: func(a llmtest.Ask) llmtest.Turn { return llmtest.Say("saw " + a.Last) }},
	).Always(llmtest.NoTools("verdict"))
	tools := []llm.ToolSpec{{Name: "read_file"}}
	ask := func(req llm.Request) llm.Done {
		done, err := llm.Collect(s.Stream(t.Context(), req), nil)
		require.NoError(t, err)
		return done
	}
	done := ask(llm.Request{Tools: tools})
	require.Equal(t, llm.StopToolUse, done.Stop)
	require.JSONEq(t, `{"path":"a"}`, string(llm.ToolUses(done.Message)[0].Input))
	require.Equal(t, "verdict", llm.TextOf(ask(llm.Request{}).Message))
	done = ask(llm.Request{Tools: tools, Messages: []llm.Message{{Role: llm.User, Blocks: llm.Blocks{llm.ToolResult{Content: "x"}}}}})
	require.Equal(t, "saw x", llm.TextOf(done.Message))
	require.Zero(t, s.Left())
	require.Len(t, s.Requests(), 3)
	_, err := llm.Collect(s.Stream(t.Context(), llm.Request{Tools: tools}), nil)
	require.ErrorContains(t, err, "one more")
}
