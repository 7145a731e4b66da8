package llm_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/llm"
)

// FuzzChatAssembler feeds any bytes to the chat adapter, whole and in pieces.
func FuzzChatAssembler(f *testing.F) { fuzz(f, "openai") }

// FuzzGeminiParts feeds any bytes to the Gemini adapter.
func FuzzGeminiParts(f *testing.F) { fuzz(f, "google") }

// FuzzAnthropicBlocks feeds any bytes to the Anthropic adapter.
func FuzzAnthropicBlocks(f *testing.F) { fuzz(f, "anthropic") }

// FuzzResponseItems feeds any bytes to the Responses adapter.
func FuzzResponseItems(f *testing.F) { fuzz(f, "openai-responses") }

// fuzz checks what must hold for any bytes: no panic, the same result however the
// bytes are cut, deltas that add up to the result, calls that are objects, and
// memory bounded by the input.
func fuzz(f *testing.F, name string) {
	for _, fx := range fixtures(f) {
		if fx.Adapter == name {
			f.Add(fx.body, uint8(7))
		}
	}
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":1e9,\"function\":{\"arguments\":[1]}}]}}]}\n\ndata: [DONE]\n\n"), uint8(1))
	f.Add([]byte("{\"error\":[]}"), uint8(1))
	f.Fuzz(func(t *testing.T, body []byte, size uint8) {
		get := func(size int) outcome {
			rt := &played{status: 200, header: http.Header{}, body: body, size: size}
			return run(t.Context(), adapter(t, fixture{Adapter: name}, rt), ask("m"))
		}
		whole, parts := get(0), get(int(size)+1)
		require.Equal(t, whole.done, parts.done)
		require.Equal(t, whole.text, parts.text)
		require.Equal(t, whole.err == nil, parts.err == nil)
		// JSON escapes grow at most six-fold; nothing else does.
		require.LessOrEqual(t, len(whole.text)+len(whole.thinking), 6*len(body))
		if whole.err != nil {
			var e *llm.Error
			require.True(t, errors.As(whole.err, &e), "%v", whole.err)
			require.Empty(t, llm.ToolUses(e.Partial))
			return
		}
		require.Equal(t, llm.TextOf(whole.done.Message), whole.text)
		ids := map[string]bool{}
		for _, use := range llm.ToolUses(whole.done.Message) {
			require.False(t, ids[use.ID], "the id %q is there twice", use.ID)
			ids[use.ID] = true
			require.NotEmpty(t, use.Name)
			var object map[string]json.RawMessage
			require.NoError(t, json.Unmarshal(use.Input, &object))
		}
		data, err := json.Marshal(whole.done.Message)
		require.NoError(t, err)
		var back llm.Message
		require.NoError(t, json.Unmarshal(data, &back))
		require.False(t, strings.HasSuffix(string(whole.done.Stop), "error"))
	})
}
