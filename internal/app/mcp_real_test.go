//go:build npm

package app_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/llm/llmtest"
)

// TestRealServersInARun drives real servers from npm (scripts/mcp-real installs
// them) through a whole run with a scripted model: three transports, a result of
// 5 MB, and a server that crashes and is started again.
func TestRealServersInARun(t *testing.T) {
	dir := os.Getenv("MCP_SERVERS")
	require.NotEmpty(t, dir, "run it with `make mcp-real`")
	node, err := exec.LookPath("node")
	require.NoError(t, err)
	script := func(name string) string {
		return filepath.Join(dir, "node_modules", "@modelcontextprotocol", "server-"+name, "dist", "index.js")
	}
	data, err := os.MkdirTemp("/tmp", "coderrr-real-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(data)) })

	crash := filepath.Join(data, "crash.sh")
	require.NoError(t, os.WriteFile(crash, []byte("#!/bin/sh\nif [ ! -e \"$0.once\" ]; then touch \"$0.once\"; sleep 2 & (sleep 3; kill -9 $$) & fi\nexec \"$@\"\n"), 0o700))

	x := newMachine(t, "")
	// The server takes the workspace, which it is told of, in place of its arguments.
	big := filepath.Join(x.ws, "big.txt")
	require.NoError(t, os.WriteFile(big, []byte(strings.Repeat("0123456789abcde\n", 5<<16)), 0o600))
	model := llmtest.NewServer(t,
		llmtest.Use("mcp__everything__echo", m{"message": "over stdio"}),
		llmtest.Use("mcp__remote__echo", m{"message": "over http"}),
		llmtest.Use("mcp__old__echo", m{"message": "over sse"}),
		llmtest.Use("mcp__files__read_text_file", m{"path": big}),
		llmtest.Use("mcp__memory__create_entities", m{"entities": []m{{"name": "a", "entityType": "b", "observations": []string{"c"}}}}),
		llmtest.Use("mcp__everything__trigger-long-running-operation", m{"duration": 4, "steps": 4}),
		llmtest.Use("mcp__memory__read_graph", m{}),
		llmtest.Say("done"),
	)
	list := func(args ...string) string {
		for i := range args {
			args[i] = strconv.Quote(args[i])
		}
		return "[" + strings.Join(args, ", ") + "]"
	}
	config := fmt.Sprintf("[provider]\nname = \"compatible\"\nmodel = \"scripted\"\nendpoint = %q\n[sandbox]\ntier = \"scratch\"\n", model.URL)
	add := func(name, body string) {
		config += fmt.Sprintf("[mcp.servers.%s]\nrequired = true\n%s\n", name, body)
	}
	add("everything", fmt.Sprintf("command = %q\nargs = %s", node, list(script("everything"))))
	add("files", fmt.Sprintf("command = %q\nargs = %s", node, list(script("filesystem"), data)))
	add("memory", fmt.Sprintf("command = %q\nargs = %s\nenv = { MEMORY_FILE_PATH = %q }", crash, list(node, script("memory")), filepath.Join(data, "m.json")))
	add("remote", fmt.Sprintf("url = %q", listening(t, node, script("everything"), "streamableHttp", "/mcp")))
	add("old", fmt.Sprintf("url = %q", listening(t, node, script("everything"), "sse", "/sse")))
	x.config(config)

	args := []string{"ask"}
	for _, tool := range []string{"everything/echo", "everything/trigger-long-running-operation", "remote/echo", "old/echo", "files/read_text_file", "memory/create_entities", "memory/read_graph"} {
		args = append(args, "--allow-tool", tool)
	}
	require.Zero(t, x.run(append(args, "use them all")...), x)
	for name, want := range map[string]string{
		"mcp__everything__echo":        "over stdio",
		"mcp__remote__echo":            "over http",
		"mcp__old__echo":               "over sse",
		"mcp__files__read_text_file":   "more bytes were not kept",
		"mcp__memory__create_entities": "external MCP server memory",
		"mcp__memory__read_graph":      `"a"`, // after the crash
	} {
		got := x.results(name)
		require.Len(t, got, 1, name)
		require.True(t, got[0].OK, "%s: %s", name, got[0].Content)
		require.Contains(t, got[0].Content, want)
		require.Less(t, len(got[0].Content), 70_000)
	}
	require.FileExists(t, crash+".once", "the memory server was killed in the middle")
}

// listening runs a server that listens, and returns its address.
func listening(t *testing.T, node, script, transport, path string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	require.NoError(t, l.Close())
	cmd := exec.Command(node, script, transport)
	cmd.Env = append(os.Environ(), fmt.Sprint("PORT=", port))
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port))
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, 30*time.Second, 50*time.Millisecond)
	return fmt.Sprintf("http://127.0.0.1:%d%s", port, path)
}
