package app_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm/llmtest"
)

// serverEnv makes the test binary an MCP server on stdio with one tool, greet.
const serverEnv = "CODERRR_TEST_MCP_SERVER"

// mcpServer speaks just enough of the protocol (2025-06-18) for one tool.
func mcpServer() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var req struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(in.Bytes(), &req) != nil || req.ID == nil {
			continue
		}
		var result string
		switch req.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}`
		case "tools/list":
			result = `{"tools":[{"name":"greet","description":"says hello","inputSchema":{"type":"object","properties":{"name":{"type":"string"}}},"annotations":{"readOnlyHint":true}}]}`
		case "tools/call":
			result = `{"content":[{"type":"text","text":"hello from the server"}]}`
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", req.ID)
			continue
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", req.ID, result)
	}
}

func (x *machine) withServer(extra string) {
	x.t.Helper()
	self, err := os.Executable()
	require.NoError(x.t, err)
	text, err := os.ReadFile(x.home + "/config.toml")
	require.NoError(x.t, err)
	x.config(string(text) + "[mcp.servers.t]\ncommand = " + strconv.Quote(self) + "\nenv = { " + serverEnv + " = \"1\" }\n" + extra)
}

func (x *machine) results(name string) []event.ToolFinished {
	var out []event.ToolFinished
	for _, e := range x.log() {
		if f, ok := e.Data.(event.ToolFinished); ok && f.Name == name {
			out = append(out, f)
		}
	}
	return out
}

// An MCP tool is asked for whatever its server says of it: without a person it is
// refused and the run is not "done"; --allow-tool and a person's answer let it run.
func TestMCPToolsAreAskedFor(t *testing.T) {
	const tool = "mcp__t__greet"
	script := func() string {
		return llmtest.NewServer(t, llmtest.Use(tool, m{"name": "x"}), llmtest.Say("done")).URL
	}
	x := newMachine(t, script())
	x.withServer("")
	require.Equal(t, 4, x.run("ask", "greet"), x)
	require.False(t, x.results(tool)[0].OK)

	x = newMachine(t, script())
	x.withServer("")
	require.Zero(t, x.run("ask", "--allow-tool", "t/greet", "greet"), x)
	require.Contains(t, x.results(tool)[0].Content, "hello from the server")

	x = newMachine(t, script())
	x.withServer("denied_tools = [\"greet\"]\n")
	require.Zero(t, x.run("ask", "greet"), x)
	require.Contains(t, x.results(tool)[0].Content, "no tool named")
}

func TestARequiredServerThatIsDown(t *testing.T) {
	x := newMachine(t, llmtest.NewServer(t).URL)
	text, err := os.ReadFile(x.home + "/config.toml")
	require.NoError(t, err)
	x.config(string(text) + "[mcp.servers.gone]\ncommand = \"/does/not/exist\"\nrequired = true\n")
	require.Equal(t, 3, x.run("run", "--yes", "go"), x)
	require.Contains(t, x.err.String()+x.out.String(), "gone")
}
