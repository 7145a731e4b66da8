//go:build npm

package app_test

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/llm/llmtest"
)

// realServers is a machine with real servers from npm (scripts/mcp-real installs them):
// server-everything over three transports, filesystem, memory behind a script that
// kills it once, and a browser's.
func realServers(t *testing.T) (x *machine, configure func(model string), crash string) {
	t.Helper()
	dir := os.Getenv("MCP_SERVERS")
	require.NotEmpty(t, dir, "run it with `make mcp-real`")
	node, err := exec.LookPath("node")
	require.NoError(t, err)
	chromium := cmp.Or(os.Getenv("CODERRR_CHROMIUM"), "chromium")
	chromium, err = exec.LookPath(chromium)
	require.NoError(t, err, "it needs Chromium: CODERRR_CHROMIUM names it")
	script := func(name string) string {
		return filepath.Join(dir, "node_modules", "@modelcontextprotocol", "server-"+name, "dist", "index.js")
	}
	data, err := os.MkdirTemp("/tmp", "coderrr-real-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(data)) })
	x = newMachine(t, "")
	// It ends in the middle: as soon as the run has written its file, once.
	crash = filepath.Join(data, "crash.sh")
	require.NoError(t, os.WriteFile(crash, []byte("#!/bin/sh\nif [ ! -e \"$0.once\" ]; then (while [ ! -e '"+filepath.Join(x.ws, "hello.txt")+
		"' ]; do sleep 0.1; done; touch \"$0.once\"; kill -9 $$) & fi\nexec \"$@\"\n"), 0o700))
	list := func(args ...string) string {
		for i := range args {
			args[i] = strconv.Quote(args[i])
		}
		return "[" + strings.Join(args, ", ") + "]"
	}
	config := ""
	add := func(name, body string) {
		config += fmt.Sprintf("[mcp.servers.%s]\nrequired = true\n%s\n", name, body)
	}
	add("everything", fmt.Sprintf("command = %q\nargs = %s", node, list(script("everything"))))
	add("files", fmt.Sprintf("command = %q\nargs = %s", node, list(script("filesystem"), data)))
	add("memory", fmt.Sprintf("command = %q\nargs = %s\nenv = { MEMORY_FILE_PATH = %q }", crash, list(node, script("memory")), filepath.Join(data, "m.json")))
	add("browser", fmt.Sprintf("command = %q\nargs = %s", node, list(filepath.Join(dir, "node_modules", "@playwright", "mcp", "cli.js"),
		"--headless", "--isolated", "--no-sandbox", "--executable-path", chromium)))
	add("remote", fmt.Sprintf("url = %q", listening(t, node, script("everything"), "streamableHttp", "/mcp")))
	add("old", fmt.Sprintf("url = %q", listening(t, node, script("everything"), "sse", "/sse")))
	return x, func(model string) {
		x.config(fmt.Sprintf("[provider]\nname = \"compatible\"\nmodel = \"scripted\"\nendpoint = %q\n[sandbox]\ntier = \"scratch\"\n", model) + config)
	}, crash
}

// allowed are the flags that allow tools of servers.
func allowed(names ...string) (flags []string) {
	for _, n := range names {
		flags = append(flags, "--allow-tool", n)
	}
	return flags
}

// TestRealServersInARun drives the servers through a whole run with a scripted
// model, before and after its plan is approved: three transports, a result of 5 MB, a
// picture, and a server that crashes and is started again.
func TestRealServersInARun(t *testing.T) {
	x, configure, crash := realServers(t)
	// The server takes the workspace, which it is told of, in place of its arguments.
	big := filepath.Join(x.ws, "big.txt")
	require.NoError(t, os.WriteFile(big, []byte(strings.Repeat("0123456789abcde\n", 5<<16)), 0o600))
	script := slices.Concat(
		[]llmtest.Turn{
			llmtest.Use("mcp__everything__echo", m{"message": "over stdio"}),
			llmtest.Use("mcp__remote__echo", m{"message": "over http"}),
			llmtest.Use("mcp__old__echo", m{"message": "over sse"}),
			llmtest.Use("mcp__files__read_text_file", m{"path": big}),
		},
		[]llmtest.Turn{
			llmtest.Use("mcp__memory__create_entities", m{"entities": []m{{"name": "a", "entityType": "b", "observations": []string{"c"}}}}),
		},
		turns()[:6], // the plan, and hello.txt is written
		[]llmtest.Turn{
			llmtest.Use("mcp__everything__trigger-long-running-operation", m{"duration": 4, "steps": 4}),
			llmtest.Use("mcp__memory__read_graph", m{}),
			llmtest.Use("mcp__browser__browser_navigate", m{"url": "data:text/html,<h1>hello</h1>"}),
			llmtest.Use("mcp__browser__browser_take_screenshot", m{}),
		},
		turns()[6:],
	)
	configure(llmtest.NewServer(t, script...).Always(accepting()).URL)
	require.Zero(t, x.run(append([]string{"run", "--yes", "use them all"}, allowed(
		"everything/echo", "everything/trigger-long-running-operation", "remote/echo", "old/echo", "files/read_text_file",
		"memory/create_entities", "memory/read_graph", "browser/browser_navigate", "browser/browser_take_screenshot")...)...), x)
	for name, want := range map[string]string{
		"mcp__everything__echo":                 "over stdio",
		"mcp__remote__echo":                     "over http",
		"mcp__old__echo":                        "over sse",
		"mcp__files__read_text_file":            "more bytes were not kept",
		"mcp__memory__create_entities":          "external MCP server memory",
		"mcp__memory__read_graph":               `"a"`, // after the crash
		"mcp__browser__browser_take_screenshot": "[image 1, image/png, ",
	} {
		got := x.results(name)
		require.Len(t, got, 1, name)
		require.True(t, got[0].OK, "%s: %s", name, got[0].Content)
		require.Contains(t, got[0].Content, want)
		require.Less(t, len(got[0].Content), 70_000)
	}
	require.Equal(t, "hello\n", x.read("hello.txt"))
	require.FileExists(t, crash+".once", "the memory server was killed in the middle")
	require.Empty(t, children(t), "no server is left")
}

// TestRealCancelInTheMiddle: Ctrl-C while a server works ends the run, and every
// server with it.
func TestRealCancelInTheMiddle(t *testing.T) {
	x, configure, _ := realServers(t)
	configure(llmtest.NewServer(t, llmtest.Use("mcp__everything__trigger-long-running-operation", m{"duration": 60, "steps": 60})).URL)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	ended := make(chan int, 1)
	out := &safeBuffer{}
	go func() {
		ended <- x.serving(ctx, out, append([]string{"ask", "--json", "wait for it"}, allowed("everything/trigger-long-running-operation")...))
	}()
	require.Eventually(t, func() bool { return strings.Contains(out.String(), `"tool.started"`) }, 30*time.Second, 20*time.Millisecond)
	time.Sleep(time.Second) // the server is at work
	require.NotEmpty(t, children(t))
	began := time.Now()
	interrupt()
	require.Equal(t, 130, <-ended, out.String())
	require.Less(t, time.Since(began), 10*time.Second)
	require.Empty(t, children(t), "no server is left")
}

// children are the command lines of the servers on stdio that this process started.
func children(t *testing.T) (found []string) {
	t.Helper()
	list, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	for _, path := range list {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it ended meanwhile
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if fields[1] == strconv.Itoa(os.Getpid()) && fields[0] != "Z" && strings.Contains(string(line), "mcp") &&
			!strings.Contains(string(line), "streamableHttp") && !strings.HasSuffix(string(line), "sse\x00") {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
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
