package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func env(pairs ...string) func(string) string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(k string) string { return m[k] }
}

// write puts a file into a fresh home directory.
func write(t *testing.T, text string) (home string) {
	t.Helper()
	home = filepath.Join(t.TempDir(), "home")
	require.NoError(t, os.Mkdir(home, 0o700))
	require.NoError(t, os.WriteFile(Path(home), []byte(text), 0o600))
	return home
}

func TestHome(t *testing.T) {
	for _, tt := range []struct {
		name, want, fail string
		env              func(string) string
	}{
		{name: "default", env: env("HOME", "/home/u"), want: "/home/u/.coderrr"},
		{name: "variable", env: env("HOME", "/home/u", "CODERRR_HOME", "/x/../y"), want: "/y"},
		{name: "relative", env: env("HOME", "/home/u", "CODERRR_HOME", "./.coderrr"), fail: "must be an absolute path"},
		{name: "nothing", env: env(), fail: "CODERRR_HOME"},
		{name: "relative home", env: env("HOME", "."), fail: "CODERRR_HOME"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Home(tt.env)
			if tt.fail != "" {
				require.ErrorContains(t, err, tt.fail)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestLoadMissingIsDefault(t *testing.T) {
	c, warnings, err := Load(filepath.Join(t.TempDir(), "none"))
	require.NoError(t, err)
	require.Empty(t, warnings)
	require.Equal(t, Default(), c)
}

// What Coderrr v2 for Python writes: every table, floats where whole numbers
// stand in ours, and keys that mean nothing any more.
func TestLoadFileOfPythonV2(t *testing.T) {
	home := write(t, `[provider]
name = "ollama"
model = "gemma4:31b-cloud"

[agent]
max_iter = 5
max_tool_turns = 50
max_tokens = 8192
temperature = 0.2
max_seconds = 1800.0
confirm_writes = false

[verify]
mode = "writes_only"
model = ""
batch = true

[sandbox]
tier = "auto"
network = false
timeout = 300
image = "python:3.12-slim"

[skills]
registry = "https://raw.githubusercontent.com/Akash-nath29/coderrr-skills/main/registry.json"
ephemeral = true

[ui]
stream = true
show_usage = true

[api_keys]
openai = "sk-1"
`)
	c, warnings, err := Load(home)
	require.NoError(t, err)
	require.Empty(t, warnings)
	require.Equal(t, "gemma4:31b-cloud", c.Provider.Model)
	require.InDelta(t, 0.2, *c.Agent.Temperature, 0)
	require.InDelta(t, 1800, c.Agent.MaxSeconds, 0)
	require.Equal(t, "python:3.12-slim", c.Sandbox.Image)
	require.Equal(t, "sk-1", c.APIKeys["openai"].Reveal())
}

func TestLoadUnknownKeysWarnWithTheLine(t *testing.T) {
	home := write(t, "[provider]\nname = \"ollama\"\nmodle = \"x\"\n\n[nonsense]\na = 1\n\n[mcp.servers.x]\nurl = \"http://h/\"\nfoo = 1\n")
	c, warnings, err := Load(home)
	require.NoError(t, err)
	require.Equal(t, "ollama", c.Provider.Name)
	var text []string
	for _, w := range warnings {
		text = append(text, w.String())
	}
	all := strings.Join(text, "\n")
	require.Contains(t, all, Path(home)+`:3: unknown key "provider.modle" is ignored; did you mean "provider.model"?`)
	require.Contains(t, all, ":5:")
	require.Contains(t, all, ":10:")
	require.Equal(t, "http://h/", c.MCP.Servers["x"].URL)
}

// C12: a broken file stops everything, with file, line and column; it is never
// taken for the defaults and never overwritten.
func TestC12BrokenConfigIsAnError(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"syntax", "[provider]\nname = \n", ":2:"},
		{"no quotes", "[provider]\nname = ollama\n", ":2:8:"},
		{"wrong type", "[agent]\nmax_iter = \"five\"\n", ":2:12: agent.max_iter: it takes a whole number"},
		{"wrong type in a list", "[sandbox]\nenv = [\"A\", 1]\n", ":2:"},
		{"duplicate key", "[ui]\nstream = true\nstream = false\n", ":3:"},
		{"duplicate table", "[ui]\n[agent]\n[ui]\n", ":3:"},
		{"a table where a value belongs", "[ui.stream]\nx = 1\n", ":1:"},
		{"bad enum", "[verify]\n# why\nmode = \"sometimes\"\n", ":3:1: verify.mode: \"sometimes\" is not one of always, writes_only, off"},
		{"bad tier", "[sandbox]\ntier = \"none\"\n", ":2:1: sandbox.tier"},
		{"bad range", "[agent]\nmax_iter = 0\n", ":2:1: agent.max_iter: must be at least 1"},
		{"bad provider", "[provider]\nname = \"gpt\"\n", ":2:1: provider.name"},
		{"bad profile", "[providers.work]\nmodel = \"m\"\n", ":1:1: providers.work.name"},
		{"bad endpoint", "[provider]\nendpoint = \"localhost:80\"\n", ":2:1: provider.endpoint"},
		{"bad server", "[mcp.servers.x]\ntransport = \"carrier pigeon\"\nurl = \"http://h/\"\n", ":2:1: mcp.servers.x.transport"},
		{"server without address", "[mcp.servers.x]\nenabled = true\n", ":1:1: mcp.servers.x.url"},
		{"not text", "\x00\x01\xff", ":1:"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home := write(t, tt.text)
			_, _, err := Load(home)
			require.ErrorContains(t, err, Path(home)+tt.want[:1])
			require.ErrorContains(t, err, tt.want)
			_, err = Set(t.Context(), home, "ui.stream", "false")
			require.Error(t, err, "a broken file is not written to")
			now, readErr := os.ReadFile(Path(home))
			require.NoError(t, readErr)
			require.Equal(t, tt.text, string(now))
		})
	}
}

func TestC12NotAFile(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	require.NoError(t, os.MkdirAll(Path(home), 0o700))
	_, _, err := Load(home)
	require.ErrorContains(t, err, "is not a regular file")

	empty := write(t, "")
	c, _, err := Load(empty)
	require.NoError(t, err)
	require.Equal(t, Default(), c)

	big := write(t, strings.Repeat("# x\n", maxFile/4+1))
	_, _, err = Load(big)
	require.ErrorContains(t, err, "at most")
}

// C08, C09: no way of printing a configuration shows a secret.
func TestC09SecretsAreNeverPrinted(t *testing.T) {
	const canary = "CANARY-KEY"
	c, _, err := Parse("c", []byte(`
[provider]
name = "compatible"
endpoint = "https://user:CANARY-KEY@host/v1?key=CANARY-KEY"
headers = { Authorization = "Bearer CANARY-KEY" }
[providers.openai]
headers = { X = "CANARY-KEY" }
[mcp.servers.a]
command = "x"
env = { TOKEN = "CANARY-KEY" }
[mcp.servers.b]
url = "https://h/?token=CANARY-KEY"
headers = { Authorization = "CANARY-KEY" }
[api_keys]
openai = "CANARY-KEY"
`))
	require.NoError(t, err)
	text, err := c.TOML()
	require.NoError(t, err)
	raw, err := json.Marshal(c.Masked())
	require.NoError(t, err)
	prints := []string{text, string(raw), fmt.Sprintf("%+v", c.APIKeys), fmt.Sprintf("%#v", c.APIKeys["openai"]), fmt.Sprintf("%s %q %x", c.APIKeys["openai"], c.APIKeys["openai"], c.APIKeys["openai"])}
	for _, key := range []string{"api_keys", "api_keys.openai", "provider", "provider.headers", "mcp.servers", "mcp.servers.a.env.TOKEN", "providers"} {
		v, err := c.Get(key)
		require.NoError(t, err, key)
		prints = append(prints, v)
	}
	for _, p := range prints {
		require.NotContains(t, p, canary)
	}
	require.Contains(t, text, "host/v1")
	require.Equal(t, canary, c.APIKeys["openai"].Reveal(), "masking is a copy")
}

func TestGet(t *testing.T) {
	c := Default()
	for key, want := range map[string]string{
		"sandbox.tier": "auto", "agent.max_iter": "5", "ui.stream": "true", "agent.temperature": "", "provider.model": "",
	} {
		got, err := c.Get(key)
		require.NoError(t, err, key)
		require.Equal(t, want, got, key)
	}
	_, err := c.Get("agent.max_itr")
	require.ErrorContains(t, err, `did you mean "agent.max_iter"?`)
	_, err = c.Get("what")
	require.ErrorContains(t, err, "config show")
}
