package llm_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/anthropic"
	"github.com/coderrr/coderrr/internal/llm/google"
	"github.com/coderrr/coderrr/internal/llm/openai"
	"github.com/coderrr/coderrr/internal/llm/wire"
)

type object = map[string]any

// accepted is a request that the real server answered with 200.
type accepted struct {
	ID       string `json:"id"`
	Provider string `json:"provider"`
	Path     string `json:"path"`
	Body     object `json:"body"`
}

// TestGoldenRequests takes each accepted request apart into our blocks, has the
// adapter build it again, and compares the two: history, ids, signatures, reasoning
// and tools must come out as the server took them.
func TestGoldenRequests(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("testdata", "requests", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		var a accepted
		require.NoError(t, json.Unmarshal(data, &a))
		t.Run(a.ID, func(t *testing.T) {
			rt := &played{status: 200, header: http.Header{}, body: []byte("data: [DONE]\n\n")}
			p, read, tidy := goldenOf(t, a, rt)
			req := read(t, a.Body, llm.Origin{Provider: p.Name() + "@llm.test", Model: modelOf(a)})
			req.Model = modelOf(a)
			run(t.Context(), p, req)
			require.NotEmpty(t, rt.bodies)
			require.True(t, strings.HasSuffix(strings.ReplaceAll(a.Path, "{model}", req.Model), rt.asked[0].URL.RequestURI()) ||
				strings.HasSuffix(rt.asked[0].URL.Path, strings.TrimPrefix(a.Path, "/api")) || strings.Contains(a.Path, ":generateContent"), rt.asked[0].URL.RequestURI())
			var ours object
			require.NoError(t, json.Unmarshal(rt.bodies[0], &ours))
			if diff := cmp.Diff(tidy(a.Body), tidy(ours)); diff != "" {
				t.Errorf("(-accepted +ours):\n%s", diff)
			}
			checkSettings(t, a, ours)
		})
	}
}

func modelOf(a accepted) string {
	if m, ok := a.Body["model"].(string); ok {
		return m
	}
	return "gemini-3.1-pro-preview"
}

func goldenOf(t *testing.T, a accepted, rt http.RoundTripper) (llm.Provider, func(*testing.T, object, llm.Origin) llm.Request, func(object) object) {
	t.Helper()
	o := wire.Options{Name: a.Provider, Endpoint: "https://llm.test", Key: "k", Transport: rt}
	var p llm.Provider
	var err error
	switch a.Provider {
	case "anthropic":
		p, err = anthropic.New(o)
		require.NoError(t, err)
		return p, readAnthropic, tidyAnthropic
	case "google":
		p, err = google.New(o)
		require.NoError(t, err)
		return p, readGoogle, tidyGoogle
	case "openai-responses":
		p, err = openai.New(openai.Options{Options: o, Dialect: openai.OpenAI(), API: openai.Responses})
		require.NoError(t, err)
		return p, readResponses, tidyResponses
	}
	hosts := map[string]string{"deepseek": "https://api.deepseek.com", "mistral": "https://api.mistral.ai", "ollama": "http://localhost:11434", "openrouter": "https://openrouter.ai", "openai": "https://api.openai.com"}
	p, err = openai.New(openai.Options{Options: o, Dialect: openai.DialectFor("compatible", hosts[a.Provider]), API: openai.Chat})
	require.NoError(t, err)
	return p, readChat, tidyChat
}

// checkSettings compares the few settings that matter, by meaning.
func checkSettings(t *testing.T, a accepted, ours object) {
	t.Helper()
	switch a.ID {
	case "requests/deepseek-reasoning-content-replay":
		require.Equal(t, a.Body["thinking"], ours["thinking"])
		require.Equal(t, a.Body["stream_options"], ours["stream_options"])
	case "requests/anthropic-thinking-tool-result":
		require.Equal(t, "enabled", ours["thinking"].(object)["type"])
	case "requests/openai-responses-reasoning-replay":
		require.Equal(t, a.Body["include"], ours["include"])
		require.Equal(t, false, ours["store"])
	case "requests/anthropic-cache-control":
		data, err := json.Marshal(ours)
		require.NoError(t, err)
		// The last tool, the system text, and the last two user messages.
		require.Equal(t, 4, strings.Count(string(data), "cache_control"))
	case "requests/openai-chat-tool-result":
		require.EqualValues(t, 1000, ours["max_completion_tokens"])
		require.Nil(t, ours["temperature"])
	}
}

func list(v any) []any     { l, _ := v.([]any); return l }
func obj(v any) object     { o, _ := v.(object); return o }
func text(v any) string    { s, _ := v.(string); return s }
func rawOf(v any) []byte   { data, _ := json.Marshal(v); return data }
func decoded(s any) []byte { data, _ := base64.StdEncoding.DecodeString(text(s)); return data }
func half() *float64       { f := 0.5; return &f }
func canonical() llm.Request {
	return llm.Request{MaxTokens: 1000, Temperature: half(), Effort: "high"}
}

// add appends blocks to a conversation, merging turns of one role.
func add(req *llm.Request, role llm.Role, blocks ...llm.Block) {
	if n := len(req.Messages); n > 0 && req.Messages[n-1].Role == role {
		req.Messages[n-1].Blocks = append(req.Messages[n-1].Blocks, blocks...)
		return
	}
	req.Messages = append(req.Messages, llm.Message{Role: role, Blocks: blocks})
}

func dataURI(s string) llm.Image {
	head, data, _ := strings.Cut(s, ";base64,")
	return llm.Image{MediaType: strings.TrimPrefix(head, "data:"), Data: decoded(data)}
}

func readChat(t *testing.T, body object, origin llm.Origin) llm.Request {
	req := canonical()
	for _, m := range list(body["messages"]) {
		m := obj(m)
		switch m["role"] {
		case "system":
			req.System = text(m["content"])
		case "tool":
			add(&req, llm.User, llm.ToolResult{ToolUseID: text(m["tool_call_id"]), Content: text(m["content"])})
		case "user":
			if s := text(m["content"]); s != "" {
				add(&req, llm.User, llm.Text{Text: s})
			}
			for _, p := range list(m["content"]) {
				if s := text(obj(p)["text"]); s != "" {
					add(&req, llm.User, llm.Text{Text: s})
				} else {
					add(&req, llm.User, dataURI(text(obj(obj(p)["image_url"])["url"])))
				}
			}
		case "assistant":
			th := llm.Thinking{Text: text(m["reasoning_content"]), Origin: origin}
			if d := list(m["reasoning_details"]); d != nil {
				th.Data = rawOf(d)
			}
			if th.Text != "" || th.Data != nil {
				add(&req, llm.Assistant, th)
			}
			if s := text(m["content"]); s != "" {
				add(&req, llm.Assistant, llm.Text{Text: s})
			}
			for _, c := range list(m["tool_calls"]) {
				f := obj(obj(c)["function"])
				add(&req, llm.Assistant, llm.ToolUse{ID: text(obj(c)["id"]), Name: text(f["name"]), Input: json.RawMessage(text(f["arguments"])), Origin: origin})
			}
		default:
			t.Fatalf("role %v", m["role"])
		}
	}
	for _, tl := range list(body["tools"]) {
		f := obj(obj(tl)["function"])
		req.Tools = append(req.Tools, llm.ToolSpec{Name: text(f["name"]), Description: text(f["description"]), Schema: rawOf(f["parameters"])})
	}
	return req
}

// tidyChat keeps what is compared and levels what servers take either way.
func tidyChat(body object) object {
	var msgs []any
	for _, m := range list(body["messages"]) {
		m := obj(clone(m))
		if m["role"] == "developer" {
			m["role"] = "system"
		}
		if m["content"] == "" {
			delete(m, "content")
		}
		if m["reasoning"] != nil {
			delete(m, "reasoning_content")
		}
		for _, c := range list(m["tool_calls"]) {
			delete(obj(c), "index")
		}
		if p := list(m["content"]); len(p) == 1 && text(obj(p[0])["text"]) != "" {
			m["content"] = obj(p[0])["text"]
		}
		msgs = append(msgs, m)
	}
	var tools []any
	for _, tl := range list(body["tools"]) {
		f := obj(clone(obj(tl)["function"]))
		delete(f, "strict")
		tools = append(tools, f)
	}
	return object{"model": body["model"], "messages": msgs, "tools": tools, "stream": body["stream"]}
}

// clone copies JSON.
func clone(v any) any {
	var out any
	_ = json.Unmarshal(rawOf(v), &out)
	return out
}

// without removes keys everywhere, and nulls.
func without(v any, keys ...string) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = without(v[i], keys...)
		}
	case object:
		for _, k := range keys {
			delete(v, k)
		}
		for k, e := range v {
			if e == nil {
				delete(v, k)
			} else {
				v[k] = without(e, keys...)
			}
		}
	}
	return v
}
