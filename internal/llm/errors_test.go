package llm_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/llm"
)

// refusal is one error answer and what it must be sorted as.
type refusal struct {
	ID       string            `json:"id"`
	Provider string            `json:"provider"`
	Status   int               `json:"status"`
	Headers  map[string]string `json:"headers"`
	Body     string            `json:"body"`
	Expect   struct {
		Kind       string `json:"kind"`
		Retryable  bool   `json:"retryable"`
		Message    string `json:"message"`
		Contains   string `json:"message_contains"`
		RetryAfter *int64 `json:"retry_after_ms"`
		Tokens     int64  `json:"tokens"`
		Limit      int64  `json:"limit"`
		Param      string `json:"param"`
	} `json:"expect"`
}

// TestErrors: every recorded refusal gives its kind, whether it may be repeated,
// when, and a message fit for a person.
func TestErrors(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("testdata", "errors", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	kinds := map[string]llm.Kind{"invalid_request": llm.KindBadRequest, "unsupported_parameter": llm.KindUnsupported}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		var r refusal
		require.NoError(t, json.Unmarshal(data, &r))
		t.Run(r.ID, func(t *testing.T) {
			h := http.Header{}
			for name, value := range r.Headers {
				h.Set(name, value)
			}
			name := map[string]string{"anthropic": "anthropic", "google": "google"}[r.Provider]
			if name == "" {
				name = "openai"
			}
			rt := &played{status: r.Status, header: h, body: []byte(r.Body)}
			out := run(t.Context(), adapter(t, fixture{Adapter: name}, rt), ask("m"))
			var e *llm.Error
			require.ErrorAs(t, out.err, &e)
			want := llm.Kind(r.Expect.Kind)
			if k, ok := kinds[r.Expect.Kind]; ok {
				want = k
			}
			require.Equal(t, want, e.Kind)
			require.Equal(t, r.Expect.Retryable, e.Temporary())
			require.Contains(t, e.Message, strings.Join(strings.Fields(r.Expect.Message), " "))
			require.Contains(t, e.Message, r.Expect.Contains)
			require.NotContains(t, e.Message, "<")
			if at := r.Expect.RetryAfter; at != nil && *at > 0 {
				require.Equal(t, time.Duration(*at)*time.Millisecond, e.RetryAfter)
			}
			require.Equal(t, r.Expect.Tokens, e.Tokens)
			require.Equal(t, r.Expect.Limit, e.Limit)
			if r.Expect.Param != "" {
				require.Equal(t, r.Expect.Param, e.Param)
			}
		})
	}
}

// R10: every form of Retry-After; absurd and negative ones are as none.
func TestR10RetryAfterForms(t *testing.T) {
	date := "Wed, 21 Oct 2026 07:28:00 GMT"
	tests := []struct {
		name    string
		headers map[string]string
		body    string
		want    time.Duration
	}{
		{name: "seconds", headers: map[string]string{"Retry-After": "17"}, want: 17 * time.Second},
		{name: "fraction", headers: map[string]string{"Retry-After": "0.5"}, want: 500 * time.Millisecond},
		{name: "milliseconds win", headers: map[string]string{"Retry-After": "17", "Retry-After-Ms": "250"}, want: 250 * time.Millisecond},
		{name: "date", headers: map[string]string{"Retry-After": "Wed, 21 Oct 2026 07:28:30 GMT", "Date": date}, want: 30 * time.Second},
		{name: "past date", headers: map[string]string{"Retry-After": "Wed, 21 Oct 2020 07:28:30 GMT", "Date": date}},
		{name: "absurd", headers: map[string]string{"Retry-After": "1e9"}},
		{name: "absurd integer", headers: map[string]string{"Retry-After": "1000000000"}},
		{name: "negative", headers: map[string]string{"Retry-After": "-5"}},
		{name: "nonsense", headers: map[string]string{"Retry-After": "soon"}},
		{name: "text", body: `{"error":{"message":"Rate limit reached. Please try again in 1.2s. Visit us."}}`, want: 1200 * time.Millisecond},
		{name: "text in words", body: `{"error":{"message":"Please retry after 20 seconds."}}`, want: 20 * time.Second},
		{name: "google", body: `[{"error":{"message":"m","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"48s"}]}}]`, want: 48 * time.Second},
		{name: "openai reset", headers: map[string]string{"X-Ratelimit-Reset-Tokens": "6m0s", "X-Ratelimit-Remaining-Tokens": "0", "X-Ratelimit-Reset-Requests": "12ms", "X-Ratelimit-Remaining-Requests": "9"}, want: 6 * time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{}
			for name, value := range tt.headers {
				h.Set(name, value)
			}
			if tt.body == "" {
				tt.body = `{"error":{"message":"slow down"}}`
			}
			rt := &played{status: 429, header: h, body: []byte(tt.body)}
			out := run(t.Context(), adapter(t, fixture{Adapter: "openai"}, rt), ask("m"))
			var e *llm.Error
			require.ErrorAs(t, out.err, &e)
			require.Equal(t, llm.KindRateLimit, e.Kind)
			require.Equal(t, tt.want, e.RetryAfter)
		})
	}
}

// More dialects of failure than the recordings have.
func TestErrorKinds(t *testing.T) {
	tests := []struct {
		status int
		body   string
		want   llm.Kind
	}{
		{429, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`, llm.KindQuota},
		{400, `{"error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, llm.KindQuota},
		{429, `{"error":{"message":"Request too large for gpt-x on tokens per min (TPM): Limit 30000, Requested 50000."}}`, llm.KindContextLength},
		{429, `{"error":{"message":"q","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProject"}]}]}}`, llm.KindQuota},
		{500, `{"error":{"message":"tools param requires --jinja flag"}}`, llm.KindUnsupported},
		{501, `{"error":{"message":"this model does not support images; mmproj missing"}}`, llm.KindUnsupported},
		{503, `{"error":{"message":"Loading model"}}`, llm.KindOverloaded},
		{408, `{"message":"timeout"}`, llm.KindServer},
		{400, `{"error":"Incorrect API key provided"}`, llm.KindAuth},
		{403, `{"error":{"message":"no"}}`, llm.KindAuth},
		{400, `{"message":"Invalid model: x","object":"error"}`, llm.KindModelNotFound},
		{404, `<html>no</html>`, llm.KindBadResponse},
		{404, `404 page not found`, llm.KindBadResponse},
		{400, `{"error":{"message":"messages.3: Invalid signature in thinking block"}}`, llm.KindHistory},
		{400, `{"error":{"message":"An assistant message with 'tool_calls' must be followed by tool messages"}}`, llm.KindHistory},
		{400, `{"error":{"message":"Cannot truncate prompt with n_keep 5 >= n_ctx 4"}}`, llm.KindContextLength},
		{413, ``, llm.KindContextLength},
		{502, ``, llm.KindServer},
		{307, ``, llm.KindBadResponse},
	}
	for _, tt := range tests {
		rt := &played{status: tt.status, header: http.Header{"Location": {"https://evil.test/x?key=1"}}, body: []byte(tt.body)}
		out := run(t.Context(), adapter(t, fixture{Adapter: "openai"}, rt), ask("m"))
		var e *llm.Error
		require.True(t, errors.As(out.err, &e), tt.body)
		require.Equal(t, tt.want, e.Kind, "%d %s: %v", tt.status, tt.body, e)
		require.NotEmpty(t, e.Message)
		require.NotContains(t, e.Message, "<")
	}
}
