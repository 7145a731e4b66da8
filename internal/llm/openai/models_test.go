package openai_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/openai"
	"github.com/coderrr/coderrr/internal/llm/wire"
)

// OpenRouter lists its models for everybody, so the key is checked apart; prices
// come as dollars for one token.
func TestOpenRouterModels(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/v1/models":
			_, _ = io.WriteString(w, `{"data":[
				{"id":"a/b","context_length":1000,"pricing":{"prompt":"0.000003","completion":"0.000015","input_cache_read":"0.0000003"}},
				{"id":"free","pricing":{"prompt":"0","completion":"0"}},
				{"id":"auto","pricing":{"prompt":"-1","completion":"-1"}}]}`)
		case r.Header.Get("Authorization") != "Bearer good":
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"error":{"message":"No auth credentials found","code":401}}`)
		default:
			_, _ = io.WriteString(w, `{"data":{}}`)
		}
	}))
	defer server.Close()
	list := func(key string) ([]llm.ModelInfo, error) {
		p, err := openai.New(openai.Options{Options: wire.Options{Name: "openrouter", Endpoint: server.URL, Key: key}, Dialect: openai.OpenRouter()})
		require.NoError(t, err)
		return p.Models(t.Context())
	}
	_, err := list("bad")
	var e *llm.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, llm.KindAuth, e.Kind)
	models, err := list("good")
	require.NoError(t, err)
	require.InDelta(t, 3, models[0].Prices.Input, 1e-9)
	require.InDelta(t, 15, models[0].Prices.Output, 1e-9)
	require.InDelta(t, 0.3, models[0].Prices.CacheRead, 1e-9)
	require.Zero(t, models[1].Prices.Input, "free is a price")
	require.Nil(t, models[2].Prices, "the router's price depends on what it chooses")
}
