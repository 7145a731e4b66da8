package llm_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/llm"
)

// finishAt is the offset of the event that says the turn is over, len(body) if
// none does.
func finishAt(fx fixture) int {
	signs := map[string][]string{
		"openai":           {`"finish_reason":"`, `"finish_reason": "`, "data: [DONE]"},
		"anthropic":        {`"stop_reason":"`, `"stop_reason": "`},
		"google":           {`"finishReason":`, `"finishReason": `, `"blockReason"`},
		"openai-responses": {`"type":"response.completed"`, `"type":"response.incomplete"`, `"type":"response.failed"`, `"type":"error"`},
	}[fx.Adapter]
	at := len(fx.body)
	for _, s := range append(signs, `"error":{"message"`, `"error":{"code"`, `"object": "error"`, `"type": "error"`) {
		if i := bytes.Index(fx.body, []byte(s)); i >= 0 {
			// Only the whole line says it: a part of it is not JSON.
			if end := bytes.IndexAny(fx.body[i:], "\r\n"); end >= 0 {
				at = min(at, i+end)
			}
		}
	}
	return at
}

// offsets are where a body is cut: everywhere in a small one, at line borders and
// at random in a large one (all with -tags soak).
func offsets(fx fixture, end int) []int {
	if everyByte || end < 1200 {
		out := make([]int, end)
		for i := range out {
			out[i] = i
		}
		return out
	}
	rng := rand.New(rand.NewPCG(1, uint64(len(fx.body))))
	var out []int
	for range 40 {
		out = append(out, rng.IntN(end))
	}
	for i, b := range fx.body[:end] {
		if b == '\n' && rng.IntN(1+bytes.Count(fx.body, []byte("\n"))/20) == 0 {
			out = append(out, i, i+1)
		}
	}
	return out
}

// TestCut: a stream that ends, cleanly or by a reset, before its finish reason is
// an error that can be repeated; the text that came is kept, no call is there to
// execute (R08).
func TestCut(t *testing.T) {
	for _, fx := range fixtures(t) {
		if fx.Expect.Stop == "error" {
			continue
		}
		t.Run(fx.ID, func(t *testing.T) {
			t.Parallel()
			for i, n := range offsets(fx, finishAt(fx)) {
				end := []error{nil, io.ErrUnexpectedEOF, syscall.ECONNRESET}[i%3]
				synctest.Test(t, func(t *testing.T) {
					rt := &played{status: 200, header: http.Header{"Content-Type": {fx.HTTP.ContentType}}, body: fx.body[:n], end: end}
					out := run(t.Context(), adapter(t, fx, rt), ask(fx.Model))
					var e *llm.Error
					require.ErrorAs(t, out.err, &e, "cut at %d", n)
					require.Contains(t, []llm.Kind{llm.KindTruncated, llm.KindNetwork}, e.Kind, "cut at %d: %v", n, e)
					require.True(t, e.Temporary())
					require.Empty(t, llm.ToolUses(e.Partial))
					require.Equal(t, out.text, llm.TextOf(e.Partial), "cut at %d", n)
					want := fx.Expect.Text
					if fx.Expect.Refusal != nil {
						want = *fx.Expect.Refusal
					}
					require.True(t, strings.HasPrefix(want, out.text), "cut at %d: %q", n, out.text)
				})
			}
		})
	}
}

// A connection that breaks after the finish reason changes nothing.
func TestBrokenAfterFinish(t *testing.T) {
	for _, fx := range fixtures(t) {
		if fx.Expect.Stop == "error" || fx.Adapter == "openai-responses" || strings.Contains(fx.ID, "two-finish") || strings.Contains(fx.ID, "refusal") {
			continue
		}
		at := finishAt(fx)
		if at == len(fx.body) {
			continue
		}
		rest := bytes.Index(fx.body[at:], []byte("\n"))
		rt := &played{status: 200, header: http.Header{"Content-Type": {fx.HTTP.ContentType}}, body: fx.body[:at+rest+1], end: syscall.ECONNRESET}
		out := run(t.Context(), adapter(t, fx, rt), ask(fx.Model))
		require.NoError(t, out.err, fx.ID)
		require.Equal(t, len(fx.Expect.Calls), len(llm.ToolUses(out.done.Message)), fx.ID)
		require.False(t, errors.Is(out.err, syscall.ECONNRESET))
	}
}
