package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFileCompletion: @ and some letters give files of the workspace.
func TestFileCompletion(t *testing.T) {
	s := startDemo(t)
	p := newTab(t, s.origin)
	p.open(s.url)
	p.waitStatus("Ready")
	p.the("textbox", "Request").click()
	p.write("Look at @note")
	files := p.the("listbox", "Files").wait()
	files.the("option", "lib/notes.sh").wait()
	require.Equal(t, "bin/notes", call[string](p.the("option", "").wait(), `function () { return this.textContent; }`), "the file of that name is first")
	p.screenshot("files")
	require.Empty(t, p.axe())
	p.press("ArrowDown", "ArrowUp", "Enter")
	require.Equal(t, "Look at @bin/notes ", p.the("textbox", "Request").value())
	require.False(t, p.the("listbox", "Files").here())
	p.write("and @zzzz")
	p.press("Escape")
	require.Equal(t, "Look at @bin/notes and @zzzz", p.the("textbox", "Request").value())
}

// TestAfterTheEnd: undo of one task, earlier messages, export and delete.
func TestAfterTheEnd(t *testing.T) {
	s := startDemo(t)
	p := newTab(t, s.origin)
	p.open(s.url)
	readme, command := s.read("README.md"), s.read("bin/notes")
	p.planned()
	p.decide("Approve and start")
	p.waitStatus("Done")
	p.the("region", "Tasks").the("button", "Undo task T003").click()
	p.wait("the README to be back", func() bool { return s.read("README.md") == readme })
	require.NotEqual(t, command, s.read("bin/notes"), "the other tasks' changes stay")
	p.wait("the button to go", func() bool { return !p.the("button", "Undo task T003").here() })
	p.screenshot("undone-task")

	p.the("textbox", "Request").click()
	p.press("ArrowUp")
	require.Equal(t, "Add a search command that ignores case", p.the("textbox", "Request").value())
	p.press("ArrowDown")
	require.Empty(t, p.the("textbox", "Request").value())

	eval[any](p, `globalThis.saved = ""; HTMLAnchorElement.prototype.click = function () { globalThis.saved = this.download; }`)
	sessions := p.the("region", "Sessions")
	sessions.the("button", "Export").click()
	p.wait("the file", func() bool { return strings.HasSuffix(eval[string](p, "saved"), ".jsonl") })
	sessions.the("button", "Delete").click()
	sessions.the("button", "Delete for good?").click()
	p.waitStatus("Ready")
	p.wait("the list to be empty", func() bool { return strings.Contains(sessions.text(), "None yet") })
	logs, err := filepath.Glob(filepath.Join(s.project(), ".coderrr", "session", "*.jsonl"))
	require.NoError(t, err)
	require.Empty(t, logs)
}

// TestW10HostileContent: a stored session whose every text wants to fetch
// something or to run. No request leaves, nothing runs.
func TestW10HostileContent(t *testing.T) {
	evil := newWitness(t, "")
	x := `<img src="` + evil.URL + `/i.png" onerror="hacked=1"><script>hacked=2</script><svg onload="hacked=3"><a href="javascript:hacked=4" id=gate data-act=answer>x</a>` +
		` ![i](` + evil.URL + `/m.png) <style>*{background:url(` + evil.URL + `/s)}</style>`
	path := `a"><img src=` + evil.URL + `//p onerror=hacked=5>.sh`
	s := newServer(t)
	dir := filepath.Join(s.work, ".coderrr", "session")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	var lines []string
	add := func(kind string, fields map[string]any) {
		fields["seq"], fields["time"], fields["type"] = len(lines)+1, "2026-01-02T03:04:05Z", kind
		line, err := json.Marshal(fields)
		require.NoError(t, err)
		lines = append(lines, string(line))
	}
	add("session.started", map[string]any{"version": 1, "session_id": "20260102-030405-evil", "request": x, "model": x, "provider": x})
	add("context.changed", map[string]any{"what": "mcp", "name": x, "detail": x})
	add("text.done", map[string]any{"text": x})
	add("thinking.done", map[string]any{"text": x})
	add("tool.started", map[string]any{"id": "c1", "name": x, "class": "read", "input": map[string]any{"path": path}})
	add("tool.output", map[string]any{"id": "c1", "stream": "stdout", "text": x + "\x1b]8;;" + evil.URL + "\x07link\x1b]8;;\x07"})
	add("tool.finished", map[string]any{"id": "c1", "name": x, "ok": false, "display": x, "content": x})
	add("plan.ready", map[string]any{"spec": x, "hash": "h", "title": x, "size": "full", "tasks": []any{map[string]any{"id": "T001", "title": x, "files": []string{path}}}, "documents": map[string]string{"requirements": x, "design": x, "tasks": x}})
	add("ask.opened", map[string]any{"id": "q", "kind": "question", "prompt": x, "choices": []any{map[string]any{"id": "1", "label": x}}})
	add("ask.closed", map[string]any{"id": "q", "choice": "1", "text": x, "by": "browser"})
	add("file.changed", map[string]any{"path": path, "op": "edit", "before": "a", "after": "b", "added": 1, "removed": 1, "diff": "@@ -1 +1 @@\n-" + x + "\n+" + x + "2\n"})
	add("notice", map[string]any{"level": "error", "kind": "x", "text": x})
	add("session.finished", map[string]any{"status": "error", "exit_code": 1, "summary": x})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "20260102-030405-evil.jsonl"), []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	s.start()

	p := newTab(t, s.origin)
	p.open(s.url)
	p.waitStatus("Ready")
	p.the("region", "Sessions").the("button", "<img").click()
	p.waitStatus("Error")
	eval[any](p, `for (const d of document.querySelectorAll("main details")) d.open = true`)
	for _, view := range []string{"Plan", "Changes"} {
		p.the("group", "Right pane").the("button", view).click()
	}
	p.screenshot("hostile")
	for _, e := range []string{"img", "#items script", "style", "[onerror]", "[onload]", `a[href^="javascript:"]`} {
		require.Zero(t, eval[int](p, fmt.Sprintf("document.querySelectorAll(%q).length", e)), e)
	}
	require.Equal(t, "undefined", eval[string](p, "typeof hacked"))
	require.Contains(t, p.the("region", "Conversation").text(), "onerror", "it is shown as text")
	require.Empty(t, evil.all())
	require.False(t, p.the("button", "Undo all").here(), "a log that came with the folder undoes nothing")
}

// TestCommands: what is typed with a slash, by the same names as in the terminal.
func TestCommands(t *testing.T) {
	s := startDemo(t)
	p := newTab(t, s.origin)
	p.open(s.url)
	p.waitStatus("Ready")
	box := p.the("textbox", "Request")
	box.click()
	p.write("/ne")
	p.the("listbox", "Commands").the("option", "/new").wait()
	p.press("Escape", "/") // the box keeps its text
	box.fill("/help")
	p.press("Enter")
	help := p.the("dialog", "Keys").wait()
	require.Contains(t, help.text(), "/undo")
	p.screenshot("commands")
	require.False(t, help.the("checkbox", "Tell me").checked(), "nobody is notified unasked")
	help.the("button", "Close").click()
	box.fill("/confirm on")
	p.press("Enter")
	p.wait("the switch", func() bool { return p.the("switch", "Review each write").checked() })
	box.fill("/nothing")
	p.press("Enter")
	p.wait("an answer", func() bool { return strings.Contains(p.the("alert", "").text(), "/help") })
	p.planned()
	box.fill("/reject")
	p.press("Enter")
	p.waitStatus("Stopped")
	box.fill("/new")
	p.press("Enter")
	p.waitStatus("Ready")
}
