package llm_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/anthropic"
	"github.com/coderrr/coderrr/internal/llm/google"
	"github.com/coderrr/coderrr/internal/llm/openai"
	"github.com/coderrr/coderrr/internal/llm/wire"
)

// sequence answers each request with the next of its answers, then with the last.
type sequence struct {
	answers []*played
	bodies  []string
}

func (s *sequence) RoundTrip(req *http.Request) (*http.Response, error) {
	p := s.answers[min(len(s.bodies), len(s.answers)-1)]
	resp, err := p.RoundTrip(req)
	s.bodies = append(s.bodies, string(p.bodies[len(p.bodies)-1]))
	return resp, err
}

func refuse(message string) *played {
	return &played{status: 400, header: http.Header{}, body: []byte(`{"error":{"message":` + string(rawOf(message)) + `,"type":"invalid_request_error"}}`)}
}

// goodBody is a good answer of a format.
func goodBody(name string) string {
	return map[string]string{
		"openai":           good,
		"anthropic":        "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
		"google":           "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hello\"}]},\"finishReason\":\"STOP\"}]}\n\n",
		"openai-responses": "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[]}}\n\n",
	}[name]
}

func fine(name string) *played {
	return &played{status: 200, header: http.Header{}, body: []byte(goodBody(name))}
}

// TestRepair: what a server refuses and the call can do without is left out once,
// said, and remembered for the next call.
func TestRepair(t *testing.T) {
	own := func(name string) llm.Origin { return llm.Origin{Provider: name + "@llm.test", Model: "m"} }
	thinking := func(name string) func(*llm.Request) {
		return func(r *llm.Request) {
			r.Messages = append(r.Messages,
				llm.Message{Role: llm.Assistant, Blocks: llm.Blocks{
					llm.Thinking{Text: "deep", Signature: "SIG", Origin: own(name)},
					llm.ToolUse{ID: "c", Name: "read_file", Input: json.RawMessage("{}"), Signature: "SIG", Origin: own(name)},
				}})
		}
	}
	warm := func(r *llm.Request) { r.Temperature = half() }
	effort := func(r *llm.Request) { r.Effort = "high" }
	tests := []struct {
		name, adapter, refusal string
		change                 func(*llm.Request)
		before, after          string // in the first body, and gone (after "!") or there in the second
	}{
		{name: "token limit", adapter: "openai", refusal: "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", before: `"max_tokens"`, after: `"max_completion_tokens"`},
		{name: "temperature", adapter: "openai", refusal: "Unsupported value: 'temperature' does not support 0.5 with this model.", change: warm, before: `"temperature"`, after: `!"temperature"`},
		{name: "stream options", adapter: "openai", refusal: "Unrecognized request argument supplied: stream_options", before: "stream_options", after: "!stream_options"},
		{name: "effort", adapter: "openai", refusal: "reasoning_effort is not supported", change: effort, before: "reasoning_effort", after: "!reasoning_effort"},
		{name: "system role", adapter: "openai", refusal: "Unsupported value: 'messages[0].role' does not support 'system' with this model.", before: `"role":"system"`, after: `!"role":"system"`},
		{name: "one tool", adapter: "openai", refusal: "Invalid schema for function 'write_file': tools[1].function.parameters is not supported", before: "write_file", after: "!write_file"},
		{name: "temperature", adapter: "anthropic", refusal: "temperature is deprecated for this model", change: warm, before: `"temperature"`, after: `!"temperature"`},
		{name: "signature", adapter: "anthropic", refusal: "messages.1.content.0: Invalid `signature` in `thinking` block", change: thinking("anthropic"), before: "SIG", after: "!SIG"},
		{name: "effort", adapter: "anthropic", refusal: "output_config.effort: xhigh is not supported", change: func(r *llm.Request) { r.Effort, r.Model = "xhigh", "claude-sonnet-4-6" }, before: "output_config", after: "!output_config"},
		{name: "one tool", adapter: "anthropic", refusal: "tools.1.custom.input_schema: not supported", before: "write_file", after: "!write_file"},
		{name: "schema", adapter: "google", refusal: "Invalid JSON payload received. Unknown name \"parametersJsonSchema\" at 'tools[0].function_declarations[0]': Cannot find field.", before: "parametersJsonSchema", after: `"parameters":`},
		{name: "signature", adapter: "google", refusal: "Corrupted thought signature.", change: thinking("google"), before: "SIG", after: "!SIG"},
		{name: "one tool", adapter: "openai-responses", refusal: "Invalid tools[1].parameters: not supported", before: "write_file", after: "!write_file"},
		{name: "reasoning", adapter: "openai-responses", refusal: "Your organization must be verified to generate reasoning summaries: unsupported value reasoning.summary", change: func(r *llm.Request) { r.Model = "gpt-5" }, before: `"summary"`, after: `!"summary"`},
	}
	for _, tt := range tests {
		t.Run(tt.adapter+" "+tt.name, func(t *testing.T) {
			rt := &sequence{answers: []*played{refuse(tt.refusal), fine(tt.adapter)}}
			p := adapter(t, fixture{Adapter: tt.adapter}, rt)
			req := ask("m")
			req.Tools = sampleTools()
			if tt.change != nil {
				tt.change(&req)
			}
			retries := 0
			_, err := llm.Collect(p.Stream(t.Context(), req), func(d llm.Delta) error {
				if r, ok := d.(llm.Retry); ok {
					retries++
					require.NotEmpty(t, r.Reason)
					require.Zero(t, r.Wait)
				}
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, 1, retries)
			require.Len(t, rt.bodies, 2)
			require.Contains(t, rt.bodies[0], tt.before)
			check := func(body string) {
				if gone, ok := strings.CutPrefix(tt.after, "!"); ok {
					require.NotContains(t, body, gone)
				} else {
					require.Contains(t, body, tt.after)
				}
			}
			check(rt.bodies[1])
			require.NoError(t, run(t.Context(), p, req).err)
			check(rt.bodies[2])
		})
	}
}

// DeepSeek refuses a history without reasoning while it thinks: it is asked not to.
func TestDeepSeekForeignHistory(t *testing.T) {
	rt := &sequence{answers: []*played{refuse("The `reasoning_content` in the thinking mode must be passed back to the API."), fine("openai")}}
	p, err := openai.New(openai.Options{Options: wire.Options{Name: "x", Endpoint: "https://llm.test", Transport: rt}, Dialect: openai.DialectFor("compatible", "https://api.deepseek.com")})
	require.NoError(t, err)
	req := ask("deepseek-v4-pro")
	req.Effort = "high"
	require.NoError(t, run(t.Context(), p, req).err)
	require.Contains(t, rt.bodies[0], `"thinking":{"type":"enabled"}`)
	require.Contains(t, rt.bodies[1], `"thinking":{"type":"disabled"}`)
}

// A refusal that nothing can repair is shown after one call.
func TestNoRepair(t *testing.T) {
	for _, name := range []string{"openai", "anthropic", "google", "openai-responses"} {
		rt := &sequence{answers: []*played{refuse("something else is wrong")}}
		out := run(t.Context(), adapter(t, fixture{Adapter: name}, rt), ask("m"))
		var e *llm.Error
		require.ErrorAs(t, out.err, &e, name)
		require.Equal(t, llm.KindBadRequest, e.Kind)
		require.Len(t, rt.bodies, 1)
	}
}

// Gemini sends an answer without any part now and then: it is asked once more.
func TestGeminiEmptyAnswer(t *testing.T) {
	empty := &played{status: 200, header: http.Header{}, body: []byte("data: {\"candidates\":[{\"content\":{},\"finishReason\":\"STOP\"}]}\n\n")}
	rt := &sequence{answers: []*played{empty, fine("google")}}
	out := run(t.Context(), adapter(t, fixture{Adapter: "google"}, rt), ask("m"))
	require.NoError(t, out.err)
	require.Equal(t, "Hello", out.text)
	rt = &sequence{answers: []*played{empty}}
	out = run(t.Context(), adapter(t, fixture{Adapter: "google"}, rt), ask("m"))
	require.NoError(t, out.err)
	require.Len(t, rt.bodies, 2)
	require.Equal(t, llm.StopEndTurn, out.done.Stop)
}

// LM Studio answers an overlong prompt with an empty stream.
func TestEmptyStream(t *testing.T) {
	for endpoint, want := range map[string]llm.Kind{"http://localhost:1234/v1": llm.KindContextLength, "http://localhost:8000": llm.KindTruncated} {
		rt := &played{status: 200, header: http.Header{"Content-Type": {"text/event-stream"}}}
		p, err := openai.New(openai.Options{Options: wire.Options{Name: "x", Endpoint: endpoint, Transport: rt}, Dialect: openai.DialectFor("compatible", endpoint)})
		require.NoError(t, err)
		var e *llm.Error
		require.ErrorAs(t, run(t.Context(), p, ask("m")).err, &e)
		require.Equal(t, want, e.Kind)
	}
}

// A pause is fine as long as it is below the limit; keep-alives do not count as an
// answer; a slow consumer is not a slow server.
func TestIdleTimers(t *testing.T) {
	limits := wire.Timeouts{Idle: time.Minute, Meaning: 3 * time.Minute}
	body := strings.Repeat(chunkText, 5) + chunkEnd + chunkDone
	tests := []struct {
		name     string
		pause    time.Duration
		consumer time.Duration
		body     string
		kind     llm.Kind
		took     time.Duration
	}{
		{name: "below", pause: 59 * time.Second, body: body, took: 6 * 59 * time.Second},
		{name: "beyond", pause: 61 * time.Second, body: body, kind: llm.KindTimeout, took: time.Minute},
		{name: "slow consumer", consumer: time.Hour, body: body, took: 5 * time.Hour},
		{name: "keep-alives", pause: 50 * time.Second, body: chunkText + strings.Repeat("data: {\"choices\":[]}\n\n", 100), kind: llm.KindTimeout, took: 50*time.Second + 3*time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rt := &played{status: 200, header: http.Header{}, body: []byte(tt.body), m: mutation{pause: tt.pause}}
				p, err := openai.New(openai.Options{Options: wire.Options{Name: "x", Endpoint: "https://llm.test", Transport: rt, Timeouts: limits}})
				require.NoError(t, err)
				start := time.Now()
				_, err = llm.Collect(p.Stream(t.Context(), ask("m")), func(d llm.Delta) error {
					if _, ok := d.(llm.TextDelta); ok {
						time.Sleep(tt.consumer)
					}
					return nil
				})
				took := time.Since(start)
				if tt.kind == "" {
					require.NoError(t, err)
				} else {
					var e *llm.Error
					require.ErrorAs(t, err, &e)
					require.Equal(t, tt.kind, e.Kind)
				}
				require.InDelta(t, tt.took.Seconds(), took.Seconds(), 62)
			})
		})
	}
}

// Images go where the model takes them; where it is known not to, a person is told
// before anything is sent, and older ones become a line of text.
func TestImages(t *testing.T) {
	blind := func(string) (llm.ModelInfo, bool) { return llm.ModelInfo{}, true }
	picture := llm.Message{Role: llm.User, Blocks: llm.Blocks{llm.Text{Text: "look"}, llm.Image{MediaType: "image/png", Data: []byte("PNG")}}}
	build := map[string]func(wire.Options) (llm.Provider, error){
		"openai": func(o wire.Options) (llm.Provider, error) { return openai.New(openai.Options{Options: o}) },
		"openai-responses": func(o wire.Options) (llm.Provider, error) {
			return openai.New(openai.Options{Options: o, API: openai.Responses})
		},
		"anthropic": func(o wire.Options) (llm.Provider, error) { return anthropic.New(o) },
		"google":    func(o wire.Options) (llm.Provider, error) { return google.New(o) },
	}
	for name, fn := range build {
		rt := fine(name)
		p, err := fn(wire.Options{Name: name, Endpoint: "https://llm.test", Transport: rt, Lookup: blind})
		require.NoError(t, err)
		var e *llm.Error
		require.ErrorAs(t, run(t.Context(), p, llm.Request{Model: "m", Messages: []llm.Message{picture}}).err, &e)
		require.Equal(t, llm.KindUnsupported, e.Kind)
		require.Contains(t, e.Message, "does not take images")
		require.Empty(t, rt.bodies)
		later := []llm.Message{picture, {Role: llm.Assistant, Blocks: llm.Blocks{llm.Text{Text: "ok"}}}, {Role: llm.User, Blocks: llm.Blocks{llm.Text{Text: "go on"}}}}
		require.NoError(t, run(t.Context(), p, llm.Request{Model: "m", Messages: later}).err)
		require.Contains(t, string(rt.bodies[0]), "cannot see")
		require.NotContains(t, string(rt.bodies[0]), "UE5H")

		p, err = fn(wire.Options{Name: name, Endpoint: "https://llm.test", Transport: rt})
		require.NoError(t, err)
		require.NoError(t, run(t.Context(), p, llm.Request{Model: "m", Messages: []llm.Message{picture}}).err)
		require.Contains(t, string(rt.bodies[1]), "UE5H")
	}
}
