package openai_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/llmtest"
	"github.com/coderrr/coderrr/internal/llm/openai"
	"github.com/coderrr/coderrr/internal/llm/wire"
)

// Every spelling of an endpoint leads to the same path.
func TestEndpoint(t *testing.T) {
	for suffix, want := range map[string]string{
		"": "/v1/chat/completions", "/": "/v1/chat/completions", "/v1": "/v1/chat/completions", "/v1/": "/v1/chat/completions",
		"/v1/chat/completions": "/v1/chat/completions", "/openai": "/openai/v1/chat/completions", "/openai/v1": "/openai/v1/chat/completions",
		"/api/paas/v4": "/api/paas/v4/chat/completions", "/v1beta/openai": "/v1beta/openai/chat/completions",
	} {
		srv := llmtest.NewServer(t, llmtest.Say("hi"))
		p, err := openai.New(openai.Options{Options: wire.Options{Name: "x", Endpoint: srv.URL + suffix}})
		require.NoError(t, err)
		_, err = llm.Collect(p.Stream(t.Context(), llm.Request{Model: "m"}), nil)
		require.NoError(t, err)
		require.Equal(t, want, srv.Requests()[0].Path)
	}
	for _, bad := range []string{"ftp://x", "http://", "::", ""} {
		_, err := openai.New(openai.Options{Options: wire.Options{Name: "x", Endpoint: bad}})
		require.Error(t, err, bad)
	}
	_, err := openai.New(openai.Options{})
	require.Error(t, err, "a provider needs a name")
}

func TestDialectFor(t *testing.T) {
	for _, tt := range []struct{ name, endpoint, want string }{
		{"openai", "", "openai"},
		{"openai", "http://127.0.0.1:9999", "openai"},
		{"openrouter", "", "openrouter"},
		{"compatible", "https://api.deepseek.com/v1", "deepseek"},
		{"compatible", "https://my.openai.azure.com/openai/v1", "azure"},
		{"compatible", "https://api.mistral.ai", "mistral"},
		{"compatible", "http://localhost:1234/v1", "lmstudio"},
		{"compatible", "localhost:8080", "llama.cpp"},
		{"compatible", "http://10.0.0.3:11434", "ollama"},
		{"compatible", "https://notapi.deepseek.com.evil.test", "compatible"},
		{"compatible", "", "compatible"},
	} {
		require.Equal(t, tt.want, openai.DialectFor(tt.name, tt.endpoint).Name, "%s %s", tt.name, tt.endpoint)
	}
}

// A key goes into the header that the dialect names; none is sent without a key.
func TestKeyHeader(t *testing.T) {
	var got http.Header
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header }))
	defer srv.Close()
	ask := func(d openai.Dialect, key string, headers map[string]string) {
		p, err := openai.New(openai.Options{Options: wire.Options{Name: "x", Endpoint: srv.URL, Key: key, Headers: headers}, Dialect: d})
		require.NoError(t, err)
		_, err = llm.Collect(p.Stream(t.Context(), llm.Request{Model: "m"}), nil)
		require.Error(t, err)
	}
	ask(openai.OpenAI(), "k", map[string]string{"X-Title": "t"})
	require.Equal(t, "Bearer k", got.Get("Authorization"))
	require.Equal(t, "t", got.Get("X-Title"))
	require.Equal(t, "identity", got.Get("Accept-Encoding"))
	require.Equal(t, "text/event-stream", got.Get("Accept"))
	ask(openai.DialectFor("compatible", "https://x.openai.azure.com"), "k", nil)
	require.Equal(t, "k", got.Get("Api-Key"))
	require.Empty(t, got.Get("Authorization"))
	ask(openai.Dialect{}, "", nil)
	require.Empty(t, got.Get("Authorization"))
}
