package acp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/llm/llmtest"
)

const tasksDoc = "# Tasks: Greet\n\n## T001: Greet the world\n- **status**: pending\n- **files**: `hello.txt`\n- **acceptance**: the file is there\n"

func planning() []llmtest.Turn {
	return []llmtest.Turn{
		{Text: "I will look around first.", Calls: []llmtest.Call{{Name: "list_dir", Input: m{}}}},
		llmtest.Use("create_spec", m{"title": "Greet", "size": "quick"}),
		llmtest.Use("write_spec", m{"document": "tasks", "content": tasksDoc}),
		llmtest.Use("finish", m{"summary": "planned"}),
	}
}

func working() []llmtest.Turn {
	return []llmtest.Turn{
		llmtest.Use("update_task", m{"task_id": "T001", "status": "in_progress"}),
		llmtest.Use("write_file", m{"path": "hello.txt", "content": "hello\n"}),
		llmtest.Use("run_in_sandbox", m{"command": "cat hello.txt"}),
		llmtest.Use("update_task", m{"task_id": "T001", "status": "done"}),
		llmtest.Use("finish", m{"summary": "greeted"}),
	}
}

func (e *editor) hello() string {
	data, err := os.ReadFile(filepath.Join(e.ws, "hello.txt"))
	if os.IsNotExist(err) {
		return ""
	}
	require.NoError(e.t, err)
	return string(data)
}

func TestPlanApproveWork(t *testing.T) {
	e := newEditor(t, append(planning(), working()...)...)
	id := e.begin()
	got, fail := e.prompt(id, "greet the world")
	require.Nil(t, fail)
	require.Equal(t, "end_turn", got["stopReason"])
	require.Equal(t, "ok", got["_meta"].(m)["coderrr/status"])
	require.Equal(t, "hello\n", e.hello())

	said := e.said("agent_message_chunk")
	for _, want := range []string{"I will look around first.", "## Plan: Greet", "Greet the world", "greeted"} {
		require.Equal(t, 1, strings.Count(strings.ReplaceAll(said, "T001: Greet the world", "Greet the world"), want), "%s in %s", want, said)
	}
	require.Empty(t, e.said("user_message_chunk"), "the editor shows the prompt itself")

	require.Len(t, e.asked, 1)
	var options []string
	for _, o := range e.asked[0]["options"].([]any) {
		options = append(options, o.(m)["optionId"].(string)+" "+o.(m)["kind"].(string))
	}
	require.Equal(t, []string{"approve allow_once", "comment reject_once", "discard reject_once"}, options)
	require.Equal(t, "switch_mode", e.asked[0]["toolCall"].(m)["kind"])

	var statuses []string
	for _, p := range e.seen("plan") {
		entry := p["entries"].([]any)[0].(m)
		require.Contains(t, entry["content"], "T001 Greet the world")
		statuses = append(statuses, entry["status"].(string))
	}
	require.Equal(t, "pending", statuses[0])
	require.Contains(t, statuses, "in_progress")
	require.Equal(t, "completed", statuses[len(statuses)-1])

	var modes []string
	for _, u := range e.seen("current_mode_update") {
		modes = append(modes, u["currentModeId"].(string))
	}
	require.Equal(t, []string{"execution", "planning"}, modes)

	var diffs []m
	status := map[string]any{}
	for _, u := range append(e.seen("tool_call"), e.seen("tool_call_update")...) {
		if u["status"] != nil {
			status[u["toolCallId"].(string)] = u["status"]
		}
		list, _ := u["content"].([]any)
		for _, c := range list {
			if c.(m)["type"] == "diff" {
				diffs = append(diffs, c.(m))
			}
		}
	}
	require.NotEmpty(t, diffs)
	require.Equal(t, m{"type": "diff", "path": filepath.Join(e.ws, "hello.txt"), "oldText": nil, "newText": "hello\n"}, diffs[0])
	for call, s := range status {
		require.Equal(t, "completed", s, call)
	}
}

// TestInvariant1SetMode: no mode that an editor sets leads out of planning.
func TestInvariant1SetMode(t *testing.T) {
	e := newEditor(t, llmtest.Use("write_file", m{"path": "hello.txt", "content": "x"}), llmtest.Say("There is no such tool."), llmtest.Say("An answer."))
	id := e.begin()
	for _, mode := range []string{"execution", "bypassPermissions", ""} {
		_, fail := e.call("session/set_mode", m{"sessionId": id, "modeId": mode})
		require.EqualValues(t, -32602, fail["code"], mode)
	}
	got, fail := e.call("session/set_mode", m{"sessionId": id, "modeId": "ask"})
	require.Nil(t, fail)
	require.Empty(t, got)
	_, fail = e.prompt(id, "write it")
	require.Nil(t, fail)
	require.Empty(t, e.hello())
	require.Empty(t, e.asked)
	require.Empty(t, e.seen("current_mode_update"))
}

// TestComment: words about a plan are the next prompt, and the plan is asked anew.
func TestComment(t *testing.T) {
	turns := append(planning(), llmtest.Use("write_spec", m{"document": "tasks", "content": strings.ReplaceAll(tasksDoc, "Greet the world", "Greet all")}), llmtest.Use("finish", m{"summary": "changed"}))
	e := newEditor(t, append(turns, working()...)...)
	id := e.begin()
	e.decide = func(m) string { return "comment" }
	got, fail := e.prompt(id, "greet the world")
	require.Nil(t, fail)
	require.Equal(t, "end_turn", got["stopReason"])
	require.Equal(t, true, got["_meta"].(m)["coderrr/waits"])
	require.Empty(t, e.hello())
	e.forget()
	e.mu.Lock()
	e.decide = func(m) string { return "approve" }
	e.mu.Unlock()
	got, fail = e.prompt(id, "greet all")
	require.Nil(t, fail)
	require.Equal(t, "ok", got["_meta"].(m)["coderrr/status"])
	require.Equal(t, "hello\n", e.hello())
	require.Contains(t, e.said("agent_message_chunk"), "+## T001: Greet all")
}

func TestDiscardAndCancelled(t *testing.T) {
	for choice, status := range map[string]string{"discard": "declined", "": "needs_approval", "no such option": "needs_approval"} {
		t.Run(status+" "+choice, func(t *testing.T) {
			e := newEditor(t, planning()...)
			e.decide = func(m) string { return choice }
			got, fail := e.prompt(e.begin(), "greet the world")
			require.Nil(t, fail)
			require.Equal(t, status, got["_meta"].(m)["coderrr/status"])
			require.Empty(t, e.hello())
		})
	}
}

// TestR20Cancel: session/cancel ends the prompt as cancelled, also while a question
// is open, and the next prompt works.
func TestR20Cancel(t *testing.T) {
	e := newEditor(t, append(planning(), llmtest.Say("Hello."))...)
	id := e.begin()
	asked := make(chan struct{})
	e.decide = func(m) string { close(asked); return "never" }
	e.ask("session/prompt", m{"sessionId": id, "prompt": []m{{"type": "text", "text": "greet the world"}}})
	<-asked
	_, fail := e.prompt(id, "and more")
	require.EqualValues(t, -32600, fail["code"], "one prompt at a time")
	e.send(m{"jsonrpc": "2.0", "method": "session/cancel", "params": m{"sessionId": id}}, "")
	got, fail := e.wait()
	require.Nil(t, fail)
	require.Equal(t, "cancelled", got["stopReason"])
	got, fail = e.call("session/set_mode", m{"sessionId": id, "modeId": "ask"})
	require.Nil(t, fail)
	require.Empty(t, got)
	got, fail = e.prompt(id, "hello")
	require.Nil(t, fail)
	require.Equal(t, "end_turn", got["stopReason"])
}

// TestR20EditorGoes: a session does not outlive the editor that it asks.
func TestR20EditorGoes(t *testing.T) {
	e := newEditor(t, planning()...)
	id := e.begin()
	asked := make(chan struct{})
	e.decide = func(m) string { close(asked); return "never" }
	e.ask("session/prompt", m{"sessionId": id, "prompt": []m{{"type": "text", "text": "greet the world"}}})
	<-asked
	e.close()
	require.Empty(t, e.hello())
}

// TestLoad: another process shows the whole conversation again and goes on with it.
func TestLoad(t *testing.T) {
	turns := append(planning(), working()...)
	e := newEditor(t, append(turns, llmtest.Say("As I said."), llmtest.Say("Once more."))...)
	id := e.begin()
	_, fail := e.prompt(id, "greet the world")
	require.Nil(t, fail)
	_, fail = e.call("session/set_mode", m{"sessionId": id, "modeId": "ask"})
	require.Nil(t, fail)
	_, fail = e.prompt(id, "what did you do?")
	require.Nil(t, fail)
	e.close()
	e.forget()

	e.open()
	got, fail := e.call("session/list", m{"cwd": e.ws})
	require.Nil(t, fail)
	require.Len(t, got["sessions"], 1, "two prompts are one conversation")
	require.Equal(t, id, got["sessions"].([]any)[0].(m)["sessionId"])
	require.Equal(t, "greet the world", got["sessions"].([]any)[0].(m)["title"])
	got, fail = e.call("session/list", m{})
	require.Nil(t, fail)
	require.Empty(t, got["sessions"])
	got, fail = e.call("session/load", m{"sessionId": id, "cwd": e.ws, "mcpServers": []any{}})
	require.Nil(t, fail)
	require.Equal(t, "planning", got["modes"].(m)["currentModeId"])
	require.Contains(t, e.said("user_message_chunk"), "greet the world")
	require.Contains(t, e.said("user_message_chunk"), "what did you do?")
	require.Contains(t, e.said("agent_message_chunk"), "As I said.")
	require.Empty(t, e.seen("current_mode_update"))
	require.Empty(t, e.asked, "what was decided is not asked again")
	_, fail = e.call("session/set_mode", m{"sessionId": id, "modeId": "ask"})
	require.Nil(t, fail)
	_, fail = e.prompt(id, "again")
	require.Nil(t, fail)
	require.Contains(t, e.said("agent_message_chunk"), "Once more.")
	sent := e.model.Requests()
	for _, said := range []string{"greet the world", "what did you do?", "As I said.", "again"} {
		require.Contains(t, string(sent[len(sent)-1].Body), said, "the model is sent the whole conversation")
	}
	got, fail = e.call("session/close", m{"sessionId": id})
	require.Nil(t, fail)
	require.Empty(t, got)
	e.forget()
	_, fail = e.call("session/resume", m{"sessionId": id, "cwd": e.ws})
	require.Nil(t, fail)
	require.Empty(t, e.said("user_message_chunk")+e.said("agent_message_chunk"), "a resume shows nothing")
}

// TestC21LoadForeign: a log that came with the folder is not a session to go on with.
func TestC21LoadForeign(t *testing.T) {
	e := newEditor(t)
	e.begin()
	dir := filepath.Join(e.ws, ".coderrr", "session")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	line, err := json.Marshal(m{"seq": 1, "time": "2026-01-01T00:00:00Z", "type": "session.started", "session_id": "planted", "request": "x"})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "planted.jsonl"), append(line, '\n'), 0o644))
	for _, id := range []string{"planted", "../planted", "", strings.Repeat("a", 65), "nothing"} {
		_, fail := e.call("session/load", m{"sessionId": id, "cwd": e.ws, "mcpServers": []any{}})
		require.EqualValues(t, -32002, fail["code"], id)
	}
}

func TestMistakes(t *testing.T) {
	e := newEditor(t)
	id := e.begin()
	for _, tc := range []struct {
		method string
		params m
		code   int
	}{
		{"fs/read_text_file", m{}, -32601},
		{"authenticate", m{"methodId": "x"}, -32602},
		{"session/new", m{"cwd": "relative", "mcpServers": []any{}}, -32602},
		{"session/new", m{"cwd": "/", "mcpServers": []any{}}, -32602},
		{"session/new", m{"cwd": filepath.Join(e.ws, "none"), "mcpServers": []any{}}, -32602},
		{"session/new", m{"cwd": 1}, -32602},
		{"session/prompt", m{"sessionId": "other", "prompt": []m{{"type": "text", "text": "x"}}}, -32002},
		{"session/prompt", m{"sessionId": id, "prompt": []m{}}, -32602},
		{"session/prompt", m{"sessionId": id, "prompt": []m{{"type": "image", "data": "", "mimeType": "image/png"}}}, -32602},
		{"session/set_mode", m{"sessionId": "other", "modeId": "ask"}, -32002},
		{"session/close", m{"sessionId": "other"}, -32002},
	} {
		_, fail := e.call(tc.method, tc.params)
		require.EqualValues(t, tc.code, fail["code"], "%s %v", tc.method, tc.params)
	}
	for _, line := range []string{"{", "[]", `"x"`, `{"id":9,"method":"initialize"}`} {
		_, err := e.in.Write([]byte(line + "\n"))
		require.NoError(t, err)
		_, fail := e.wait()
		require.Negative(t, fail["code"], line)
	}
	e.send(m{"jsonrpc": "2.0", "method": "unknown/notification"}, "")
	e.send(m{"jsonrpc": "2.0", "id": "coderrr-99", "result": m{}}, "")
	_, fail := e.call("session/close", m{"sessionId": id})
	require.Nil(t, fail, "it goes on")
}

// TestAttached: what an editor attaches is marked as such, and bounded.
func TestAttached(t *testing.T) {
	e := newEditor(t, llmtest.Say("Read."))
	id := e.begin()
	_, fail := e.call("session/set_mode", m{"sessionId": id, "modeId": "ask"})
	require.Nil(t, fail)
	_, fail = e.call("session/prompt", m{"sessionId": id, "prompt": []m{
		{"type": "text", "text": "look at"},
		{"type": "resource_link", "name": "a.go", "uri": "file:///x/a.go"},
		{"type": "resource", "resource": m{"uri": "file:///x/b.txt", "text": strings.Repeat("b", 300<<10)}},
	}})
	require.Nil(t, fail)
	files, err := filepath.Glob(filepath.Join(e.ws, ".coderrr", "session", "*.jsonl"))
	require.NoError(t, err)
	data, err := os.ReadFile(files[0])
	require.NoError(t, err)
	for _, want := range []string{"[a.go](file:///x/a.go)", "Attached by the editor, file:///x/b.txt", "262144 of its 307200 bytes"} {
		require.Contains(t, string(data), want)
	}
}

// TestWriteByEditor: a write that is asked for shows its diff, and a no is a no.
func TestWriteByEditor(t *testing.T) {
	for choice, want := range map[string]string{"apply": "hello\n", "send_back": "", "": ""} {
		e := newEditor(t, append(planning(), working()...)...)
		f, err := os.OpenFile(filepath.Join(e.home, "config.toml"), os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = f.WriteString("[agent]\nmax_iter = 1\nconfirm_writes = true\n")
		require.NoError(t, err)
		require.NoError(t, f.Close())
		e.decide = func(q m) string {
			if q["toolCall"].(m)["kind"] == "switch_mode" {
				return "approve"
			}
			return choice
		}
		e.close()
		e.open()
		_, fail := e.prompt(e.begin(), "greet the world")
		require.Nil(t, fail)
		require.Equal(t, want, e.hello(), choice)
		require.Len(t, e.asked, 2)
		card := e.asked[1]["toolCall"].(m)
		var shown m
		for _, c := range card["content"].([]any) {
			if c.(m)["type"] == "diff" {
				shown = c.(m)
			}
		}
		require.Equal(t, "hello\n", shown["newText"])
		require.Nil(t, shown["oldText"])
		e.close()
	}
}

// TestCommands: what an editor may offer with a slash. /ask plans nothing whatever the
// mode, /init is a request as any other, and a word that is no command is a request.
func TestCommands(t *testing.T) {
	e := newEditor(t, llmtest.Use("create_spec", m{"title": "x"}), llmtest.Say("It is a test."), llmtest.Say("Drafted."), llmtest.Say("Hm."))
	id := e.begin()
	require.Eventually(t, func() bool { return len(e.seen("available_commands_update")) == 1 }, 10*time.Second, time.Millisecond)
	offered := e.seen("available_commands_update")[0]
	valid(t, "AvailableCommandsUpdate", offered)
	var names []string
	for _, c := range offered["availableCommands"].([]any) {
		names = append(names, c.(m)["name"].(string))
	}
	require.Equal(t, []string{"ask", "init"}, names)

	_, fail := e.prompt(id, "/ask")
	require.EqualValues(t, -32602, fail["code"])
	_, fail = e.prompt(id, "/ask what is this?")
	require.Nil(t, fail)
	require.Contains(t, e.said("agent_message_chunk"), "It is a test.")
	require.NoDirExists(t, filepath.Join(e.ws, ".coderrr", "specs"), "nothing is planned")
	_, fail = e.call("session/set_mode", m{"sessionId": id, "modeId": "ask"})
	require.Nil(t, fail)
	for _, words := range []string{"/init", "/execute"} {
		_, fail = e.prompt(id, words)
		require.Nil(t, fail)
	}
	sent := e.model.Requests()
	require.Contains(t, string(sent[len(sent)-2].Body), "AGENTS.md at the root")
	require.Contains(t, string(sent[len(sent)-1].Body), "/execute")
	require.Empty(t, e.asked)
}
