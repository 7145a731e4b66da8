package app_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm/llmtest"
)

// testKey must show up in requests and nowhere else.
const testKey = "sk-test-9f8e7d6c5b4a39281706"

// way is one way to reach a model.
type way struct {
	name, kind string
	extra      string // lines of [provider]
	keyVar     string
	keyHeader  string
	path       string // of the model calls
	window     int64  // that the meter shows; 0 is unknown
}

func ways() []way {
	return []way{
		{name: "ollama", kind: "ollama", keyVar: "OLLAMA_API_KEY", keyHeader: "Authorization", path: "/api/chat", window: 65_536},
		{name: "anthropic", kind: "anthropic", keyVar: "ANTHROPIC_API_KEY", keyHeader: "X-Api-Key", path: "/v1/messages"},
		{name: "openai chat", kind: "openai", keyVar: "OPENAI_API_KEY", keyHeader: "Authorization", path: "/v1/chat/completions"},
		{name: "openai responses", kind: "openai", extra: "api = \"responses\"\n", keyVar: "OPENAI_API_KEY", keyHeader: "Authorization", path: "/v1/responses"},
		{name: "google", kind: "google", keyVar: "GEMINI_API_KEY", keyHeader: "X-Goog-Api-Key", path: "/v1beta/models/scripted:streamGenerateContent?alt=sse", window: 131_072},
		{name: "openrouter", kind: "openrouter", keyVar: "OPENROUTER_API_KEY", keyHeader: "Authorization", path: "/v1/chat/completions", window: 131_072},
		{name: "compatible", kind: "compatible", keyVar: "CODERRR_API_KEY", keyHeader: "Authorization", path: "/v1/chat/completions", window: 131_072},
	}
}

// at is a machine whose provider is reached in one way.
func at(t *testing.T, w way, endpoint string) *machine {
	t.Helper()
	x := newMachine(t, "")
	x.config("[provider]\nname = \"" + w.kind + "\"\nmodel = \"scripted\"\nendpoint = \"" + endpoint + "\"\n" + w.extra +
		"headers = { \"X-Team\" = \"${TEAM}\" }\n[sandbox]\ntier = \"scratch\"\n")
	x.env[w.keyVar], x.env["TEAM"] = testKey, "blue"
	return x
}

// tree is every file of the workspace with its content, less the logs of Coderrr.
func (x *machine) tree() map[string]string {
	x.t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(x.ws, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(x.ws, p)
		if err != nil || d.IsDir() || strings.HasPrefix(rel, ".coderrr/session") {
			return err
		}
		data, err := os.ReadFile(p)
		out[rel] = string(data)
		return err
	})
	require.NoError(x.t, err)
	return out
}

// The scripted session of one server gives the same files whichever wire format
// carries it, and the same again when it is recorded and played back.
func TestOneSessionThroughAllWireFormats(t *testing.T) {
	var want map[string]string
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			server := llmtest.NewServer(t, turns()...).Always(accepting())
			x := at(t, w, server.URL)
			tape := filepath.Join(t.TempDir(), "tape.jsonl")
			require.Zero(t, x.run("run", "--yes", "--record", tape, "greet the world"), x)
			require.Zero(t, server.Left())
			files := x.tree()
			require.Equal(t, "hello\n", files["hello.txt"])
			if want == nil {
				want = files
			}
			require.Empty(t, cmp.Diff(want, files))
			for _, r := range server.Requests() {
				require.Equal(t, w.path, r.Path)
				require.Contains(t, r.Header.Get(w.keyHeader), testKey)
				require.Equal(t, "blue", r.Header.Get("X-Team"))
			}
			meter(t, x, w)
			silent(t, x, tape)

			again := at(t, w, "http://127.0.0.1:9")
			delete(again.env, w.keyVar)
			require.Zero(t, again.run("run", "--yes", "--replay", tape, "greet the world"), again)
			require.Empty(t, cmp.Diff(want, again.tree()))
		})
	}
}

// meter checks what the log says of tokens and money: a server that only speaks a
// provider's protocol has no known price.
func meter(t *testing.T, x *machine, w way) {
	t.Helper()
	n := 0
	for _, e := range x.log() {
		u, ok := e.Data.(event.UsageAdded)
		if !ok {
			continue
		}
		n++
		require.EqualValues(t, 100, u.Input)
		require.EqualValues(t, 20, u.Output)
		require.Nil(t, u.CostUSD, "unknown is not zero")
		if u.Purpose == "" {
			require.Equal(t, w.window, u.Window)
		}
	}
	require.Equal(t, 10, n, "nine turns and one verdict")
}

// silent checks that the key is in no file and on no stream.
func silent(t *testing.T, x *machine, tape string) {
	t.Helper()
	require.NotContains(t, x.String(), testKey)
	for _, dir := range []string{x.home, x.ws, filepath.Dir(tape)} {
		err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(p)
			require.NotContains(t, string(data), testKey, p)
			return err
		})
		require.NoError(t, err)
	}
}

// A key that the server echoes in a refusal is not shown, and the run ends with 9.
func TestRefusedKeysAreNotRepeated(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			server := llmtest.NewServer(t, llmtest.Turn{Status: http.StatusUnauthorized, Body: `{"error":{"message":"Incorrect API key provided: ` + testKey + `"}}`})
			x := at(t, w, server.URL)
			require.Equal(t, 9, x.run("run", "--yes", "greet"), x)
			silent(t, x, filepath.Join(t.TempDir(), "none"))
		})
	}
}

// verify.model names another model, and may name another provider.
func TestVerifierOfItsOwn(t *testing.T) {
	judge := llmtest.NewServer(t).Always(accepting())
	server := llmtest.NewServer(t, turns()...)
	x := newMachine(t, "")
	x.config("[provider]\nname = \"compatible\"\nmodel = \"scripted\"\nendpoint = \"" + server.URL + "\"\ninput_usd = 1.0\noutput_usd = 2.0\n" +
		"[verify]\nmodel = \"judge/small\"\n[providers.judge]\nname = \"anthropic\"\nendpoint = \"" + judge.URL + "\"\n[sandbox]\ntier = \"scratch\"\n")
	require.Zero(t, x.run("run", "--yes", "greet the world"), x)
	require.Len(t, judge.Requests(), 1)
	require.Equal(t, "/v1/messages", judge.Requests()[0].Path)
	require.Contains(t, string(judge.Requests()[0].Body), `"small"`)
	priced := 0
	for _, e := range x.log() {
		u, ok := e.Data.(event.UsageAdded)
		if ok && u.Purpose == "" {
			require.InDelta(t, (100*1.0+20*2.0)/1e6, *u.CostUSD, 1e-12)
			priced++
		}
		if ok && u.Purpose == "verify" {
			require.Nil(t, u.CostUSD)
		}
	}
	require.Equal(t, 9, priced)
}

// Without a key nothing is sent to a provider that needs one.
func TestNoKey(t *testing.T) {
	x := newMachine(t, "")
	x.config("[provider]\nname = \"anthropic\"\nmodel = \"claude-sonnet-4-6\"\n[sandbox]\ntier = \"scratch\"\n")
	require.Equal(t, 9, x.run("run", "--yes", "greet"), x)
	require.Contains(t, x.err.String(), "ANTHROPIC_API_KEY")
}

// Where the same server only has /v1, the fallback answers and the log warns.
func TestOllamaWithoutItsOwnAPI(t *testing.T) {
	server := llmtest.NewServer(t, llmtest.Say("hello"))
	next := server.Config.Handler
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/") {
			http.Error(w, "404 page not found", http.StatusNotFound)
			return
		}
		next.ServeHTTP(w, r)
	})
	x := at(t, ways()[0], server.URL)
	require.Zero(t, x.run("ask", "hello?"), x)
	require.Equal(t, "/v1/chat/completions", server.Requests()[0].Path)
	warned := false
	for _, e := range x.log() {
		if n, ok := e.Data.(event.Notice); ok && n.Kind == "model" {
			warned = strings.Contains(n.Text, "only /v1")
		}
	}
	require.True(t, warned, x)
}
