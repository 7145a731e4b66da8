package app_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/app"
	"github.com/coderrr/coderrr/internal/cli"
)

// edit does the session as an editor does, over the Agent Client Protocol.
func edit(t *testing.T, x *machine, request string) {
	t.Helper()
	in, typed := io.Pipe()
	shown, out := io.Pipe()
	x.out, x.err = &safeBuffer{}, &safeBuffer{}
	ended := make(chan int, 1)
	go func() {
		s := x.io(out)
		s.In = in
		code := cli.Main(t.Context(), []string{"acp"}, s, "test", app.Build)
		_ = out.Close() // the reader's end
		ended <- code
	}()
	send := func(v m) {
		raw, err := json.Marshal(v)
		require.NoError(t, err)
		_, err = typed.Write(append(raw, '\n'))
		require.NoError(t, err)
	}
	// An editor reads on while it writes.
	lines := make(chan []byte, 1000)
	go func() {
		defer close(lines)
		read := bufio.NewScanner(shown)
		read.Buffer(nil, 1<<20)
		for read.Scan() {
			lines <- bytes.Clone(read.Bytes())
		}
	}()
	// next is the result of our request, with each question of a plan approved.
	next := func() m {
		for line := range lines {
			var msg m
			require.NoError(t, json.Unmarshal(line, &msg), string(line))
			switch {
			case msg["method"] == "session/request_permission":
				send(m{"jsonrpc": "2.0", "id": msg["id"], "result": m{"outcome": m{"outcome": "selected", "optionId": "approve"}}})
			case msg["method"] == nil:
				require.NotContains(t, msg, "error")
				return msg["result"].(m)
			}
		}
		require.FailNow(t, "it ended", x)
		return nil
	}
	send(m{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": m{"protocolVersion": 1}})
	next()
	send(m{"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": m{"cwd": x.ws, "mcpServers": []any{}}})
	id := next()["sessionId"]
	send(m{"jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": m{"sessionId": id, "prompt": []m{{"type": "text", "text": request}}}})
	require.Equal(t, "end_turn", next()["stopReason"])
	require.NoError(t, typed.Close())
	require.Zero(t, <-ended, x)
}
