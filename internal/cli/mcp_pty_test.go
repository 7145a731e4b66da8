//go:build linux

package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// tinyServer is an MCP server for sh. It leaves a mark when it runs.
const tinyServer = `touch "$0"; while read -r line; do case "$line" in
*server/discover*) echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}';;
*'"initialize"'*) echo '{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"tiny","version":"1"}}}';;
*tools/list*) echo '{"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"look","inputSchema":{"type":"object"}}]}}';;
esac; done`

// A command is shown and asked about before it runs; "no" runs and saves nothing.
func TestMCPAddAsks(t *testing.T) {
	for _, tt := range []struct {
		answer string
		code   int
	}{{"n\n", ExitDeclined}, {"y\n", ExitOK}} {
		mark := filepath.Join(t.TempDir(), "mark")
		s := start(t, nil, "mcp", "add", "tiny", "--", "sh", "-c", tinyServer, mark)
		s.expect("This command will run with your rights")
		s.expect("touch \"$0\"")
		s.expect("Run it?")
		_, err := os.Stat(mark)
		require.ErrorIs(t, err, os.ErrNotExist, "it runs only after the answer")
		s.types(tt.answer)
		require.Equal(t, tt.code, s.code(), s.shown())
		_, err = os.Stat(mark)
		saved, readErr := os.ReadFile(filepath.Join(s.home, "config.toml"))
		require.NoError(t, readErr)
		if tt.code == ExitOK {
			require.NoError(t, err)
			require.Contains(t, s.shown(), ": ready, 2025-11-25 over stdio, 1 tools")
			require.Contains(t, string(saved), "[mcp.servers.tiny]")
		} else {
			require.ErrorIs(t, err, os.ErrNotExist)
			require.NotContains(t, string(saved), "mcp")
		}
	}
}

// Import asks about each entry, showing the whole command, and runs none.
func TestMCPImportAsks(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	file := filepath.Join(t.TempDir(), "mcp.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"mcpServers":{"a":{"command":"touch","args":["`+mark+`"]},"b":{"url":"https://b.example/mcp"}}}`), 0o600))
	s := start(t, nil, "mcp", "import", file)
	s.expect("touch " + filepath.Dir(mark)[:8])
	s.expect("Take it over?")
	s.types("n\n")
	s.expect("https://b.example/mcp")
	s.expect("Take it over?")
	s.types("y\n")
	s.expect("Took 1 of 2 over")
	require.Zero(t, s.code())
	saved, err := os.ReadFile(filepath.Join(s.home, "config.toml"))
	require.NoError(t, err)
	require.Contains(t, string(saved), "[mcp.servers.b]")
	require.NotContains(t, string(saved), "touch")
	_, err = os.Stat(mark)
	require.ErrorIs(t, err, os.ErrNotExist)
}
