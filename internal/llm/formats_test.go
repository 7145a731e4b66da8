package llm_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/anthropic"
	"github.com/coderrr/coderrr/internal/llm/google"
	"github.com/coderrr/coderrr/internal/llm/llmtest"
	"github.com/coderrr/coderrr/internal/llm/ollama"
	"github.com/coderrr/coderrr/internal/llm/openai"
	"github.com/coderrr/coderrr/internal/llm/wire"
)

// everyFormat builds one provider for each wire format on one server.
func everyFormat(t *testing.T, url string) map[string]llm.Provider {
	t.Helper()
	tr := wire.NewTransport()
	t.Cleanup(tr.CloseIdleConnections)
	o := func(name string) wire.Options {
		return wire.Options{Name: name, Endpoint: url, Key: "CANARY-KEY", Transport: tr}
	}
	chat, err := openai.New(openai.Options{Options: o("chat"), Dialect: openai.DialectFor("compatible", "")})
	require.NoError(t, err)
	responses, err := openai.New(openai.Options{Options: o("responses"), Dialect: openai.OpenAI(), API: openai.Responses})
	require.NoError(t, err)
	claude, err := anthropic.New(o("anthropic"))
	require.NoError(t, err)
	gemini, err := google.New(o("google"))
	require.NoError(t, err)
	local, err := ollama.New(ollama.Options{Options: o("ollama")})
	require.NoError(t, err)
	return map[string]llm.Provider{"chat": chat, "responses": responses, "anthropic": claude, "google": gemini, "ollama": local}
}

func sampleTools() []llm.ToolSpec {
	schema := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"where"},"content":{"type":"string"}},"required":["path"],"additionalProperties":false}`)
	return []llm.ToolSpec{{Name: "read_file", Description: "Read.", Schema: schema}, {Name: "write_file", Description: "Write.", Schema: schema}}
}

// talk runs a small agent: it answers every call and goes on until none comes. It
// returns the conversation without what only the provider understands.
func talk(t *testing.T, p llm.Provider) []string {
	t.Helper()
	req := ask("scripted")
	req.Tools = sampleTools()
	var said []string
	for range 10 {
		out := run(t.Context(), p, req)
		require.NoError(t, out.err, p.Name())
		require.Equal(t, llm.TextOf(out.done.Message), out.text)
		said = append(said, string(out.done.Stop)+" "+out.text)
		require.True(t, out.done.Usage.Known)
		req.Messages = append(req.Messages, out.done.Message)
		var results llm.Blocks
		for _, use := range llm.ToolUses(out.done.Message) {
			var v any
			require.NoError(t, json.Unmarshal(use.Input, &v))
			said = append(said, fmt.Sprint(use.Name, " ", v))
			results = append(results, llm.ToolResult{ToolUseID: use.ID, Name: use.Name, Content: "did " + use.Name})
		}
		if len(results) == 0 {
			return said
		}
		req.Messages = append(req.Messages, llm.Message{Role: llm.User, Blocks: results})
	}
	t.Fatal("no end")
	return nil
}

// TestOneScriptEveryFormat: the same script gives the same conversation through
// every wire format, over real HTTP.
func TestOneScriptEveryFormat(t *testing.T) {
	script := []llmtest.Turn{
		{Thinking: "Let me think, – äöü.", Text: "I read the files.", Calls: []llmtest.Call{
			{Name: "read_file", Input: map[string]string{"path": "a.go"}}, {Name: "read_file", Input: map[string]string{"path": "b <&> é.go"}},
		}},
		llmtest.Use("write_file", map[string]string{"path": "c.go", "content": "package c // \"x\"\n\t\u2028😀"}),
		{Func: func(a llmtest.Ask) llmtest.Turn { return llmtest.Say("Done: " + a.Last) }},
	}
	var first []string
	for _, name := range []string{"chat", "responses", "anthropic", "google", "ollama"} {
		srv := llmtest.NewServer(t, script...)
		got := talk(t, everyFormat(t, srv.URL)[name])
		require.Zero(t, srv.Left())
		require.Len(t, srv.Requests(), 3)
		if first == nil {
			first = got
			require.Contains(t, got[len(got)-1], "did write_file")
			continue
		}
		if diff := cmp.Diff(first, got); diff != "" {
			t.Errorf("%s differs from chat:\n%s", name, diff)
		}
	}
}

// A conversation that one provider began is accepted by every other: foreign
// thinking and signatures are gone, ids fit, every call has its result.
func TestSwitchProvider(t *testing.T) {
	foreign := llm.Origin{Provider: "elsewhere", Model: "kimi"}
	history := []llm.Message{
		{Role: llm.User, Blocks: llm.Blocks{llm.Text{Text: "go"}}},
		{Role: llm.Assistant, Blocks: llm.Blocks{
			llm.Thinking{Text: "secret thought", Signature: "FOREIGN", Origin: foreign},
			llm.ToolUse{ID: "functions.read_file:0", Name: "read_file", Input: json.RawMessage(`{"path":"a"}`), Signature: "FOREIGN", Origin: foreign},
			llm.ToolUse{ID: "functions.read_file:1", Name: "read_file", Input: json.RawMessage(`{"path":"b"}`), Origin: foreign},
			llm.Opaque{Kind: "x", Data: json.RawMessage(`{"type":"FOREIGN"}`), Origin: foreign},
		}},
		{Role: llm.User, Blocks: llm.Blocks{llm.ToolResult{ToolUseID: "functions.read_file:0", Name: "read_file", Content: "A"}, llm.ToolResult{ToolUseID: "nobody", Content: "orphan"}}},
		{Role: llm.Assistant, Blocks: llm.Blocks{llm.Text{Text: "  "}}},
	}
	for name := range everyFormat(t, "http://127.0.0.1:1") {
		srv := llmtest.NewServer(t, llmtest.Say("ok"))
		p := everyFormat(t, srv.URL)[name]
		out := run(t.Context(), p, llm.Request{Model: "scripted", Messages: history, Tools: sampleTools()})
		require.NoError(t, out.err)
		body := string(srv.Requests()[0].Body)
		require.NotContains(t, body, "FOREIGN", name)
		require.NotContains(t, body, "secret thought", name)
		require.NotContains(t, body, "orphan", name)
		require.Contains(t, body, "was interrupted", name)
		if name == "anthropic" || name == "google" {
			require.NotContains(t, body, "functions.read_file:", name)
		}
		if name == "google" {
			require.NotContains(t, body, `"role":"model"}]`, name)
		}
	}
}

// Models is the cheap call that checks a key and an address.
func TestModelsEveryFormat(t *testing.T) {
	srv := llmtest.NewServer(t)
	for name, p := range everyFormat(t, srv.URL+"/") {
		list, err := p.(llm.Lister).Models(t.Context())
		require.NoError(t, err, name)
		require.Len(t, list, 1, name)
		require.Equal(t, "scripted", list[0].ID, name)
	}
}
