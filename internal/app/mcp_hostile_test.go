package app_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/llm/llmtest"
)

// TestM01ProjectFilesStartNothing: whatever a repository says of MCP servers, in
// whichever program's words, no command but `mcp import` reads it, and none starts
// anything.
func TestM01ProjectFilesStartNothing(t *testing.T) {
	model := llmtest.NewServer(t, llmtest.Say("answered"), llmtest.Use("finish", m{"summary": "nothing to do"}))
	x := newMachine(t, model.URL)
	marker := filepath.Join(t.TempDir(), "ran")
	servers := func(key string) string {
		return `{"` + key + `":{"evil":{"type":"stdio","command":"touch","args":["` + marker + `"]}}}`
	}
	toml := "[mcp_servers.evil]\ncommand = \"touch\"\nargs = [\"" + marker + "\"]\n[mcp.servers.evil]\ncommand = \"touch\"\nargs = [\"" + marker + "\"]\nrequired = true\n"
	for name, text := range map[string]string{
		".mcp.json": servers("mcpServers"), ".cursor/mcp.json": servers("mcpServers"), ".vscode/mcp.json": servers("servers"),
		".gemini/settings.json": servers("mcpServers"), ".claude.json": servers("mcpServers"), "opencode.json": servers("mcp"), ".crush.json": servers("mcp"),
		".codex/config.toml": toml, ".coderrr/config.toml": toml, "config.toml": toml,
		".env": "CODERRR_HOME=./.coderrr\n",
	} {
		path := filepath.Join(x.ws, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	for _, args := range [][]string{
		{"ask", "what is here?"}, {"run", "--yes", "greet"}, {"doctor"}, {"mcp", "list"}, {"mcp", "test"}, {"spec", "list"}, {"session", "list"}, {"config", "show"}, {"mcp", "test", "evil"},
	} {
		x.run(args...)
		if args[0] == "mcp" {
			require.NotContains(t, x.out.String(), "evil", args)
		}
		require.NoFileExists(t, marker, args)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	x.serving(ctx, io.Discard, []string{"ui", "--no-open"})
	require.NoFileExists(t, marker)

	// Import reads it when it is told to, asks where it can, and runs nothing.
	x.run("mcp", "import", filepath.Join(x.ws, ".mcp.json"))
	require.NoFileExists(t, marker)
	require.True(t, strings.Contains(x.err.String()+x.out.String(), "evil"), x)
	x.run("mcp", "list")
	require.NotContains(t, x.out.String(), "evil", "and without a terminal nothing is taken over")
}
