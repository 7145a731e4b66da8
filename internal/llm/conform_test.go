package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/anthropic"
	"github.com/coderrr/coderrr/internal/llm/google"
	"github.com/coderrr/coderrr/internal/llm/openai"
	"github.com/coderrr/coderrr/internal/llm/wire"
)

// fixture is one recorded or crafted answer and what it must give.
type fixture struct {
	ID       string `json:"id"`
	Adapter  string `json:"adapter"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
	HTTP     struct {
		Status      int    `json:"status"`
		ContentType string `json:"content_type"`
	} `json:"http"`
	Expect expected `json:"expect"`
	body   []byte
}

type expected struct {
	Text     string  `json:"text"`
	Refusal  *string `json:"refusal"`
	Thinking struct {
		Present   bool   `json:"present"`
		Text      string `json:"text"`
		Redacted  int    `json:"redacted_blocks"`
		Signature bool   `json:"signature"`
		Opaque    bool   `json:"opaque"`
	} `json:"thinking"`
	Calls []struct {
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Args      json.RawMessage `json:"args"`
		Signature bool            `json:"signature"`
	} `json:"tool_calls"`
	Incomplete []struct {
		ID   string `json:"id"`
		Name string `json:"name"`
		Raw  string `json:"raw_args"`
	} `json:"incomplete_tool_calls"`
	Stop    string `json:"stop_reason"`
	RawStop string `json:"raw_stop"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error"`
	Usage *struct {
		Input      int64 `json:"input"`
		CacheRead  int64 `json:"cache_read"`
		CacheWrite int64 `json:"cache_write"`
		Output     int64 `json:"output"`
		Reasoning  int64 `json:"reasoning"`
	} `json:"usage"`
}

// fixtures reads every case below testdata; more can be dropped in.
func fixtures(t testing.TB) []fixture {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "*", "*.sse"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	var out []fixture
	for _, path := range paths {
		body, err := os.ReadFile(path)
		require.NoError(t, err)
		meta, err := os.ReadFile(strings.TrimSuffix(path, ".sse") + ".json")
		require.NoError(t, err)
		fx := fixture{body: body}
		require.NoError(t, json.Unmarshal(meta, &fx), path)
		out = append(out, fx)
	}
	return out
}

// adapter builds the provider that a fixture was recorded for.
func adapter(t testing.TB, fx fixture, rt http.RoundTripper) llm.Provider {
	t.Helper()
	o := wire.Options{Name: fx.Adapter, Endpoint: "https://llm.test", Key: "CANARY-KEY", Transport: rt}
	var p llm.Provider
	var err error
	switch fx.Adapter {
	case "openai":
		p, err = openai.New(openai.Options{Options: o, Dialect: openai.DialectFor("compatible", "")})
	case "openai-responses":
		p, err = openai.New(openai.Options{Options: o, Dialect: openai.OpenAI(), API: openai.Responses})
	case "anthropic":
		p, err = anthropic.New(o)
	case "google":
		p, err = google.New(o)
	default:
		t.Fatalf("no adapter %q", fx.Adapter)
	}
	require.NoError(t, err)
	return p
}

// outcome is everything a stream gave.
type outcome struct {
	done     llm.Done
	err      error
	text     string // of the deltas
	thinking string
}

func run(ctx context.Context, p llm.Provider, req llm.Request) outcome {
	var out outcome
	out.done, out.err = llm.Collect(p.Stream(ctx, req), func(d llm.Delta) error {
		switch d := d.(type) {
		case llm.TextDelta:
			out.text += d.Text
		case llm.ThinkingDelta:
			out.thinking += d.Text
		case llm.Retry:
			out.text, out.thinking = "", ""
		}
		return nil
	})
	return out
}

func ask(model string) llm.Request {
	return llm.Request{
		Model: model, System: "s", MaxTokens: 1000,
		Messages: []llm.Message{{Role: llm.User, Blocks: llm.Blocks{llm.Text{Text: "hello"}}}},
	}
}

// TestFixtures is the one table: every recorded answer, under every mutation, in
// pieces of 1, 7 and 1024 bytes and whole, gives what its expect says (R08). With
// the race detector the lines of 2 MiB are tried on a part of the answers only.
func TestFixtures(t *testing.T) {
	for i, fx := range fixtures(t) {
		t.Run(fx.ID, func(t *testing.T) {
			t.Parallel()
			for _, m := range mutations() {
				if m.large && raceOn && !everyByte && i%6 != 0 {
					continue
				}
				body := m.body(fx, fx.body)
				for _, size := range []int{1, 7, 1024, 0} {
					synctest.Test(t, func(t *testing.T) {
						rt := &played{status: fx.HTTP.Status, header: http.Header{"Content-Type": {fx.HTTP.ContentType}}, body: body, size: size, m: m}
						out := run(t.Context(), adapter(t, fx, rt), ask(fx.Model))
						if why := differs(fx, out); why != "" {
							t.Fatalf("%s, pieces of %d: %s", m.name, size, why)
						}
					})
				}
			}
		})
	}
}

// differs says how an outcome differs from what the fixture expects.
func differs(fx fixture, out outcome) string {
	x := fx.Expect
	var e *llm.Error
	if x.Stop == "error" {
		if !errors.As(out.err, &e) {
			return fmt.Sprintf("want an error, got %v and %+v", out.err, out.done)
		}
		return differsInError(fx, out, e)
	}
	if out.err != nil {
		return "error: " + out.err.Error()
	}
	d := out.done
	wantText := x.Text
	if x.Refusal != nil {
		wantText += *x.Refusal
	}
	th := thinkingOf(d.Message)
	switch {
	case string(d.Stop) != x.Stop:
		return fmt.Sprintf("stop is %s, want %s", d.Stop, x.Stop)
	case d.RawStop != x.RawStop:
		return fmt.Sprintf("raw stop is %s, want %s", d.RawStop, x.RawStop)
	case llm.TextOf(d.Message) != wantText:
		return fmt.Sprintf("text is %q", llm.TextOf(d.Message))
	case out.text != wantText:
		return fmt.Sprintf("the text deltas give %q", out.text)
	case th.text != x.Thinking.Text || out.thinking != x.Thinking.Text:
		return fmt.Sprintf("thinking is %q, its deltas %q", th.text, out.thinking)
	case th.present != x.Thinking.Present || th.redacted != x.Thinking.Redacted || th.signature != x.Thinking.Signature || th.opaque != x.Thinking.Opaque:
		return fmt.Sprintf("thinking is %+v", th)
	}
	if why := differsInCalls(x, d); why != "" {
		return why
	}
	return differsInUsage(x, d.Usage)
}

func differsInError(fx fixture, out outcome, e *llm.Error) string {
	x := fx.Expect
	switch {
	case len(llm.ToolUses(e.Partial)) > 0 || len(out.done.Message.Blocks) > 0:
		return "a failed turn holds calls"
	case llm.TextOf(e.Partial) != x.Text || out.text != x.Text:
		return fmt.Sprintf("partial text is %q, deltas %q", llm.TextOf(e.Partial), out.text)
	case out.thinking != x.Thinking.Text:
		return fmt.Sprintf("thinking deltas are %q", out.thinking)
	case x.Error != nil && !strings.Contains(e.Message, x.Error.Message):
		return "message is " + e.Message
	}
	return differsInUsage(x, e.Usage)
}

func differsInCalls(x expected, d llm.Done) string {
	uses := llm.ToolUses(d.Message)
	if len(uses) != len(x.Calls) || len(d.Incomplete) != len(x.Incomplete) {
		return fmt.Sprintf("%d calls and %d incomplete, want %d and %d", len(uses), len(d.Incomplete), len(x.Calls), len(x.Incomplete))
	}
	for i, want := range x.Calls {
		got := uses[i]
		if got.Name != want.Name || (want.ID != "" && got.ID != want.ID) || got.ID == "" || !sameJSON(got.Input, want.Args) {
			return fmt.Sprintf("call %d is %+v %s", i, got, got.Input)
		}
		if want.Signature != (got.Signature != "") {
			return fmt.Sprintf("signature of call %d is %q", i, got.Signature)
		}
	}
	for i, want := range x.Incomplete {
		got := d.Incomplete[i]
		var raw string
		if err := json.Unmarshal(got.Input, &raw); err != nil || got.Name != want.Name || raw != want.Raw {
			return fmt.Sprintf("incomplete call %d is %+v %s", i, got, got.Input)
		}
	}
	return ""
}

func differsInUsage(x expected, u llm.Usage) string {
	if x.Usage == nil {
		if u.Known {
			return fmt.Sprintf("usage %+v came from nowhere", u)
		}
		return ""
	}
	want := llm.Usage{
		Input: x.Usage.Input, CacheRead: x.Usage.CacheRead, CacheWrite: x.Usage.CacheWrite,
		Output: x.Usage.Output, Reasoning: x.Usage.Reasoning, Known: true,
	}
	if u != want {
		return fmt.Sprintf("usage is %+v, want %+v", u, want)
	}
	return ""
}

type thought struct {
	present, signature, opaque bool
	redacted                   int
	text                       string
}

// thinkingOf sums up the reasoning of a message as the fixtures describe it.
func thinkingOf(m llm.Message) thought {
	var th thought
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case llm.Thinking:
			th.present = true
			th.text += b.Text
			data := string(b.Data)
			th.signature = th.signature || b.Signature != "" || strings.Contains(data, `"signature"`)
			th.opaque = th.opaque || strings.Contains(data, `"data"`) || strings.Contains(data, `"encrypted_content"`)
			if strings.Contains(data, `"redacted_thinking"`) {
				th.redacted++
			}
		case llm.ToolUse:
			th.signature = th.signature || b.Signature != ""
		case llm.Opaque:
			th.signature = th.signature || strings.Contains(string(b.Data), "thoughtSignature")
		}
	}
	return th
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return fmt.Sprint(x) == fmt.Sprint(y)
}
