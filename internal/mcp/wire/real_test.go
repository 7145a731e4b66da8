//go:build npm

package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Real servers from npm, pinned by scripts/mcp-real, seen through our client and
// compared with what the official Go SDK sees.

// modules is where scripts/mcp-real installed them.
func modules(t *testing.T, parts ...string) string {
	t.Helper()
	dir := os.Getenv("MCP_SERVERS")
	require.NotEmpty(t, dir, "run it with `make mcp-real`")
	return filepath.Join(append([]string{dir, "node_modules"}, parts...)...)
}

func node(t *testing.T, env []string, args ...string) *Command {
	t.Helper()
	path, err := exec.LookPath("node")
	require.NoError(t, err)
	return &Command{Path: path, Args: args, Env: append(os.Environ(), env...), Dir: t.TempDir()}
}

// lines are the facts of the anchor that our client must see too.
func anchor(t *testing.T) map[string]string {
	t.Helper()
	raw, err := os.ReadFile("testdata/real/anchor.txt")
	require.NoError(t, err)
	out := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), "=")
		out[k] = v
	}
	return out
}

func kinds(r Result) string {
	var out []string
	for _, c := range r.Content {
		out = append(out, map[string]string{
			"text": "TextContent", "image": "ImageContent", "audio": "AudioContent",
			"resource_link": "ResourceLink", "resource": "EmbeddedResource",
		}[c.Type])
	}
	return fmt.Sprintf("isError=%v structured=%v content=%s", r.IsError, len(r.Structured) > 0, strings.Join(out, ","))
}

type calls [][2]string

func compare(t *testing.T, who string, o Options, list calls) *Client {
	t.Helper()
	want := anchor(t)
	var mu sync.Mutex
	changed := 0
	o.Client = Implementation{Name: "test", Version: "1"}
	o.Roots = []Root{{URI: "file:///tmp", Name: "tmp"}}
	o.Elicit = func(context.Context, Elicitation) ElicitResult {
		return ElicitResult{Action: "decline"} // as the anchor's client does
	}
	o.Notify = func(n Notification) {
		mu.Lock()
		defer mu.Unlock()
		if n.Method == "notifications/tools/list_changed" {
			changed++
		}
	}
	o.Handshake = time.Minute
	c, err := Connect(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() {
		start := time.Now()
		closeNow(t, c)
		require.Less(t, time.Since(start), 4*time.Second)
	})
	require.Equal(t, want[who+" protocol"], c.Info().Protocol)
	resources, err := c.Resources(t.Context())
	require.NoError(t, err)
	require.Equal(t, want[who+" resources"], fmt.Sprint(len(resources)))
	templates, err := c.Templates(t.Context())
	require.NoError(t, err)
	require.Equal(t, want[who+" templates"], fmt.Sprint(len(templates)))
	prompts, err := c.Prompts(t.Context())
	require.NoError(t, err)
	require.Equal(t, want[who+" prompts"], fmt.Sprint(len(prompts)))
	for _, call := range list {
		progress := 0
		r, err := c.Call(t.Context(), Call{Tool: call[0], Arguments: json.RawMessage(call[1]), Progress: func(Progress) { progress++ }})
		require.NoError(t, err, call[0])
		require.Equal(t, want[who+" call."+call[0]], kinds(r), "%s %v", call[0], r)
		if call[0] == "trigger-long-running-operation" {
			require.Equal(t, 4, progress)
		}
	}
	tools, _, err := c.Tools(t.Context())
	require.NoError(t, err)
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	for _, name := range strings.Split(strings.SplitN(want[who+" tools"], " ", 2)[1], ",") {
		if name != "trigger-sampling-request" { // shown only to clients that lend their model
			require.Contains(t, names, name)
		}
	}
	return c
}

var everything = calls{
	{"echo", `{"message":"hi"}`},
	{"get-tiny-image", `{}`},
	{"get-structured-content", `{"location":"New York"}`},
	{"get-resource-links", `{"count":3}`},
	{"get-resource-reference", `{"resourceType":"Text","resourceId":1}`},
	{"get-annotated-message", `{"messageType":"error","includeImage":true}`},
	{"trigger-long-running-operation", `{"duration":1,"steps":4}`},
	{"get-roots-list", `{}`},
	{"trigger-elicitation-request", `{}`},
	{"no-such-tool", `{}`},
}

func TestRealEverythingStdio(t *testing.T) {
	c := compare(t, "everything stdio", Options{Command: node(t, nil, modules(t, "@modelcontextprotocol/server-everything/dist/index.js"))}, everything)
	values, err := c.Complete(t.Context(), map[string]string{"type": "ref/prompt", "name": "completable-prompt"}, "department", "E")
	require.NoError(t, err)
	require.Equal(t, []string{"Engineering"}, values)

	// Cancelled in the middle; the connection goes on.
	ctx, cancel := context.WithCancel(t.Context())
	start := time.Now()
	_, err = c.Call(ctx, Call{Tool: "trigger-long-running-operation", Arguments: json.RawMessage(`{"duration":30,"steps":60}`), Progress: func(Progress) { cancel() }})
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, time.Since(start), 10*time.Second)
	require.Contains(t, said(t, c, "echo", `{"message":"still here"}`), "still here")
}

// over runs server-everything as an HTTP server.
func over(t *testing.T, transport, path string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	require.NoError(t, l.Close())
	o := node(t, []string{fmt.Sprint("PORT=", port)}, modules(t, "@modelcontextprotocol/server-everything/dist/index.js"), transport)
	cmd := exec.Command(o.Path, o.Args...)
	cmd.Env = o.Env
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port))
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, 30*time.Second, 50*time.Millisecond)
	return fmt.Sprintf("http://127.0.0.1:%d%s", port, path)
}

func TestRealEverythingHTTP(t *testing.T) {
	compare(t, "everything http", Options{URL: over(t, "streamableHttp", "/mcp")}, everything)
}

func TestRealEverythingSSE(t *testing.T) {
	c := compare(t, "everything sse", Options{URL: over(t, "sse", "/sse")}, everything)
	require.Equal(t, "sse", c.Info().Transport)
}

func TestRealFilesystem(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "coderrr-real-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	big := strings.Repeat("0123456789abcde\n", 5<<16)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "big.txt"), []byte(big), 0o600))
	o := Options{Command: node(t, nil, modules(t, "@modelcontextprotocol/server-filesystem/dist/index.js"), dir), MaxText: 16 << 20, MaxBytes: 32 << 20}
	c := compare(t, "filesystem stdio", o, calls{
		{"list_allowed_directories", `{}`},
		{"list_directory", fmt.Sprintf(`{"path":%q}`, dir)},
		{"read_text_file", `{"path":"/etc/passwd"}`},
	})
	r, err := c.Call(t.Context(), Call{Tool: "read_text_file", Arguments: json.RawMessage(fmt.Sprintf(`{"path":%q}`, filepath.Join(dir, "big.txt")))})
	require.NoError(t, err)
	require.Equal(t, big, r.Content[0].Text, "5 MB, whole")
}

func TestRealMemory(t *testing.T) {
	command := node(t, []string{"MEMORY_FILE_PATH=" + filepath.Join(t.TempDir(), "m.json")}, modules(t, "@modelcontextprotocol/server-memory/dist/index.js"))
	compare(t, "memory stdio", Options{Command: command}, calls{
		{"create_entities", `{"entities":[{"name":"a","entityType":"b","observations":["c"]}]}`},
		{"read_graph", `{}`},
	})

	// A crash fails the call, and the same server can be started again.
	c, err := Connect(t.Context(), Options{Command: command, Handshake: time.Minute})
	require.NoError(t, err)
	killGroup(c.t.(*stdio).cmd.Process.Pid)
	<-c.Done()
	_, err = c.Call(t.Context(), Call{Tool: "read_graph"})
	require.ErrorIs(t, err, ErrClosed)
	closeNow(t, c)
	again, err := Connect(t.Context(), Options{Command: command, Handshake: time.Minute})
	require.NoError(t, err)
	require.Contains(t, said(t, again, "read_graph", `{}`), `"a"`)
	closeNow(t, again)
}

func TestRealPlaywright(t *testing.T) {
	chromium := os.Getenv("CODERRR_CHROMIUM")
	if chromium == "" {
		for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
			if path, err := exec.LookPath(name); err == nil {
				chromium = path
				break
			}
		}
	}
	require.NotEmpty(t, chromium, "it needs Chromium: CODERRR_CHROMIUM names it")
	c := compare(t, "playwright stdio", Options{
		Command: node(t, nil, modules(t, "@playwright/mcp/cli.js"), "--headless", "--isolated", "--no-sandbox", "--executable-path", chromium),
	}, calls{
		{"browser_navigate", `{"url":"data:text/html,<h1>hello</h1>"}`},
		{"browser_snapshot", `{}`},
		{"browser_take_screenshot", `{}`},
		{"browser_close", `{}`},
	})
	require.Equal(t, "2025-11-25", c.Info().Protocol)
}
