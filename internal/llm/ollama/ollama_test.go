package ollama_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/llmtest"
	"github.com/coderrr/coderrr/internal/llm/ollama"
	"github.com/coderrr/coderrr/internal/llm/wire"
)

// server is a small Ollama.
type server struct {
	show, ps, chat string
	status         int
	mu             sync.Mutex
	bodies         []string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	switch r.URL.Path {
	case "/api/show":
		if s.show == "" {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error":"model 'm' not found"}`)
			return
		}
		_, _ = io.WriteString(w, s.show)
	case "/api/ps":
		_, _ = io.WriteString(w, s.ps)
	case "/api/version":
		_, _ = io.WriteString(w, `{"version":"0.12.0"}`)
	case "/api/chat":
		s.mu.Lock()
		s.bodies = append(s.bodies, string(body))
		s.mu.Unlock()
		if s.status != 0 {
			w.WriteHeader(s.status)
		}
		_, _ = io.WriteString(w, s.chat)
	default:
		http.NotFound(w, r)
	}
}

func (s *server) provider(t *testing.T, o ollama.Options) *ollama.Provider {
	t.Helper()
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	o.Options = wire.Options{Name: "ollama", Endpoint: srv.URL + "/v1"}
	p, err := ollama.New(o)
	require.NoError(t, err)
	return p
}

const (
	shown = `{"capabilities":["completion","tools","vision","thinking"],"model_info":{"general.architecture":"q","q.context_length":131072}}`
	hello = `{"message":{"role":"assistant","content":"","thinking":"hm"},"done":false}
{"message":{"role":"assistant","content":"hé"},"done":false}
{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}},{"function":{"name":"f","arguments":{}}}]},"done":false}
{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":12,"eval_count":3}
`
)

func ask(p llm.Provider, effort string) (llm.Done, error) {
	return llm.Collect(p.Stream(context.Background(), llm.Request{
		Model: "m", System: "s", MaxTokens: 50, Effort: effort,
		Messages: []llm.Message{{Role: llm.User, Blocks: llm.Blocks{llm.Text{Text: "hi"}}}},
		Tools:    []llm.ToolSpec{{Name: "f", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}},
	}), nil)
}

func TestChat(t *testing.T) {
	s := &server{show: shown, ps: `{"models":[]}`, chat: hello}
	done, err := ask(s.provider(t, ollama.Options{}), "")
	require.NoError(t, err)
	require.Equal(t, llm.StopToolUse, done.Stop)
	require.Equal(t, "hé", llm.TextOf(done.Message))
	require.Equal(t, "hm", done.Message.Blocks[0].(llm.Thinking).Text)
	uses := llm.ToolUses(done.Message)
	require.Len(t, uses, 2)
	require.NotEqual(t, uses[0].ID, uses[1].ID)
	require.Equal(t, llm.Usage{Input: 12, Output: 3, Known: true}, done.Usage)
	var body struct {
		Think    bool
		Truncate *bool
		Options  struct {
			NumCtx     int `json:"num_ctx"`
			NumPredict int `json:"num_predict"`
		}
		KeepAlive string `json:"keep_alive"`
	}
	require.NoError(t, json.Unmarshal([]byte(s.bodies[0]), &body))
	require.Equal(t, 65_536, body.Options.NumCtx)
	require.Equal(t, 50, body.Options.NumPredict)
	require.True(t, body.Think)
	require.False(t, *body.Truncate)
	require.Equal(t, "30m", body.KeepAlive)
}

// The context size: configured, loaded, what the model can do, or none for a model
// that runs elsewhere.
func TestWindow(t *testing.T) {
	small := strings.Replace(shown, "131072", "40960", 1)
	tests := []struct {
		name, show, ps string
		numCtx, want   int
	}{
		{name: "usual", show: shown, want: 65_536},
		{name: "small model", show: small, want: 40_960},
		{name: "configured", show: shown, numCtx: 8192, want: 8192},
		{name: "loaded larger", show: shown, ps: `{"models":[{"name":"m:latest","context_length":100000}]}`, want: 100_000},
		{name: "loaded too small", show: shown, ps: `{"models":[{"name":"m","context_length":4096}]}`, want: 65_536},
		{name: "remote", show: `{"remote_host":"https://ollama.com","capabilities":["tools"],"model_info":{"q.context_length":262144}}`, want: 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := (&server{show: tt.show, ps: tt.ps}).provider(t, ollama.Options{NumCtx: tt.numCtx})
			got, err := p.Window(t.Context(), "m")
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
			info, err := p.Info(t.Context(), "m")
			require.NoError(t, err)
			require.Positive(t, info.ContextTokens)
			require.True(t, info.Tools)
		})
	}
}

// A prompt beyond the window is told before Ollama would cut it in silence.
func TestTooLong(t *testing.T) {
	s := &server{show: shown, chat: hello}
	p := s.provider(t, ollama.Options{NumCtx: 1000})
	_, err := llm.Collect(p.Stream(t.Context(), llm.Request{Model: "m", System: strings.Repeat("word ", 2000)}), nil)
	var e *llm.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, llm.KindContextLength, e.Kind)
	require.EqualValues(t, 1000, e.Limit)
	require.Empty(t, s.bodies)
}

func TestFailures(t *testing.T) {
	var e *llm.Error
	_, err := ask((&server{}).provider(t, ollama.Options{}), "")
	require.ErrorAs(t, err, &e)
	require.Equal(t, llm.KindModelNotFound, e.Kind)
	require.Contains(t, e.Message, "ollama pull m")

	_, err = ask((&server{show: shown, chat: `{"message":{"content":"par"}}` + "\n"}).provider(t, ollama.Options{}), "")
	require.ErrorAs(t, err, &e)
	require.Equal(t, llm.KindTruncated, e.Kind)
	require.Equal(t, "par", llm.TextOf(e.Partial))

	_, err = ask((&server{show: shown, chat: `{"message":{"content":"par"}}` + "\n" + `{"error":"llama runner terminated"}` + "\n"}).provider(t, ollama.Options{}), "")
	require.ErrorAs(t, err, &e)
	require.Equal(t, llm.KindServer, e.Kind)
	require.Contains(t, e.Message, "terminated")

	s := &server{show: shown, status: 400, chat: `{"error":"\"m\" does not support thinking"}`}
	_, err = ask(s.provider(t, ollama.Options{}), "high")
	require.ErrorAs(t, err, &e)
	require.Len(t, s.bodies, 2)
	require.NotContains(t, s.bodies[1], "think")
}

// A server that has only /v1 is used through the fallback.
func TestFallback(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(srv.Close)
	script := llmtest.NewScript(llmtest.Say("one"), llmtest.Say("two"))
	p, err := ollama.New(ollama.Options{Options: wire.Options{Name: "ollama", Endpoint: srv.URL}, Fallback: script})
	require.NoError(t, err)
	require.False(t, p.Native(t.Context()))
	for _, want := range []string{"one", "two"} {
		done, err := ask(p, "")
		require.NoError(t, err)
		require.Equal(t, want, llm.TextOf(done.Message))
	}
	list, err := p.Models(t.Context())
	require.NoError(t, err)
	require.Equal(t, "scripted", list[0].ID)
	require.True(t, (&server{}).provider(t, ollama.Options{}).Native(t.Context()))
}
