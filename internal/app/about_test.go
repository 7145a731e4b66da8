package app_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/doctor"
	"github.com/coderrr/coderrr/internal/llm/llmtest"
)

// models, config and doctor say the same of what is in force, for every way to
// reach a model, and never the key.
func TestModelsConfigAndDoctorAgree(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			server := llmtest.NewServer(t)
			x := at(t, w, server.URL)
			seen := map[string]doctor.About{}
			for _, cmd := range []string{"models", "config", "doctor"} {
				x.run(cmd, "--json") // doctor's code is about the whole machine
				var out struct {
					doctor.About
					Provider json.RawMessage `json:"provider"`
				}
				require.NoError(t, json.Unmarshal([]byte(x.out.String()), &out), x)
				about := out.About
				if cmd == "config" {
					require.NoError(t, json.Unmarshal(out.Provider, &about.Provider))
				} else {
					require.NoError(t, json.Unmarshal(out.Provider, &about), x)
				}
				seen[cmd] = about
				require.NotContains(t, x.String(), testKey)
			}
			a := seen["models"]
			require.Equal(t, a, seen["config"])
			require.Equal(t, a, seen["doctor"])
			require.Equal(t, w.kind, a.Provider)
			require.Equal(t, server.URL, a.Endpoint)
			require.Equal(t, "$"+w.keyVar, a.Key)
			require.Equal(t, "scripted", a.Model)
			require.True(t, a.Reachable, a)
			require.Equal(t, w.kind == "anthropic", a.ContextTokens == nil, "its list tells no size")
			require.Nil(t, a.InputUSD, "unknown is not zero")
			require.Zero(t, x.run("models"), x)
			require.Contains(t, x.out.String(), server.URL)
			require.Contains(t, x.out.String(), "price     unknown")
			require.NotContains(t, x.String(), testKey)
		})
	}
}

// A model that Ollama has not pulled is named with what gets it; a server that is
// not there, with what starts it.
func TestOllamaHints(t *testing.T) {
	x := at(t, ways()[0], llmtest.NewServer(t).URL)
	require.Zero(t, x.run("models", "-m", "ollama/missing"), x)
	require.Contains(t, x.out.String(), "ollama pull missing")
	x.run("doctor", "-m", "ollama/missing")
	require.Contains(t, x.out.String(), "ollama pull missing")
	x = at(t, ways()[0], "http://127.0.0.1:9")
	require.Equal(t, 9, x.run("models"), x)
	require.Contains(t, x.out.String(), "ollama serve")
}

// doctor warns where the context size cannot be set.
func TestDoctorWarnsOfV1Only(t *testing.T) {
	server := llmtest.NewServer(t)
	next := server.Config.Handler
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/") {
			http.Error(w, "404 page not found", http.StatusNotFound)
			return
		}
		next.ServeHTTP(w, r)
	})
	x := at(t, ways()[0], server.URL)
	x.run("doctor")
	require.Contains(t, x.out.String(), "only /v1")
}

// What the catalogue knows is shown for a provider at its own address, without any
// call; without a key the cause is said.
func TestCatalogueAnswersWithoutACall(t *testing.T) {
	x := newMachine(t, "")
	x.config("[provider]\nname = \"anthropic\"\nmodel = \"claude-sonnet-4-6\"\n")
	require.Equal(t, 9, x.run("models", "--json"), x)
	require.Contains(t, x.err.String(), "ANTHROPIC_API_KEY")
	require.Zero(t, x.run("config", "--json"), x)
	var a doctor.About
	require.NoError(t, json.Unmarshal([]byte(x.out.String()), &a))
	require.False(t, a.Reachable)
	require.EqualValues(t, 200_000, *a.ContextTokens)
	require.Equal(t, 3.0, *a.InputUSD)
	require.Equal(t, "https://api.anthropic.com", a.Endpoint)
}
