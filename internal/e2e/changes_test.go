package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// stored puts a finished session of ours into a workspace: its log, its id among
// those that this user's Coderrr made, the files as it left them and what they held
// before.
type stored struct {
	s     *server
	id    string
	lines []string
}

func newStored(t *testing.T, s *server, request string) *stored {
	t.Helper()
	st := &stored{s: s, id: "20261130-10000" + fmt.Sprint(len(request)%10) + "-e2e" + hex.EncodeToString([]byte(request))[:6]}
	st.add("session.started", map[string]any{"version": 1, "session_id": st.id, "workspace": s.work, "request": request, "model": "m", "provider": "p"})
	return st
}

func (st *stored) add(kind string, fields map[string]any) {
	st.s.t.Helper()
	fields["seq"], fields["time"], fields["type"] = len(st.lines)+1, "2026-11-30T10:00:00Z", kind
	line, err := json.Marshal(fields)
	require.NoError(st.s.t, err)
	st.lines = append(st.lines, string(line))
}

func hashOf(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// workspace is the folder as Coderrr names it: links resolved.
func (s *server) workspace() string {
	dir, err := filepath.EvalSymlinks(s.work)
	require.NoError(s.t, err)
	return dir
}

// keep stores a content where an undo looks for it.
func (st *stored) keep(text string) {
	st.s.t.Helper()
	dir := filepath.Join(st.s.home, ".coderrr", "history", hashOf(st.s.workspace()), hashOf(text)[:2])
	require.NoError(st.s.t, os.MkdirAll(dir, 0o700))
	require.NoError(st.s.t, os.WriteFile(filepath.Join(dir, hashOf(text)[2:]), []byte(text), 0o600))
}

// changed is one file that the session changed; the diff is cut as the log cuts it.
func (st *stored) changed(path, before, after, diff string, more map[string]any) {
	st.s.t.Helper()
	op := "edit"
	if before == "" {
		op = "create"
	} else {
		st.keep(before)
	}
	fields := map[string]any{
		"path": path, "op": op, "before": hashOf(before), "after": hashOf(after), "diff": diff, "call": "c" + fmt.Sprint(len(st.lines)),
		"added": strings.Count(diff, "\n+"), "removed": strings.Count(diff, "\n-"),
	}
	if len(diff) > 64<<10 {
		fields["diff"], fields["diff_truncated"] = diff[:strings.LastIndexByte(diff[:64<<10], '\n')+1], true
	}
	for k, v := range more {
		fields[k] = v
	}
	st.add("file.changed", fields)
	file := filepath.Join(st.s.work, filepath.FromSlash(path))
	require.NoError(st.s.t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(st.s.t, os.WriteFile(file, []byte(after), 0o644))
}

// save ends the session and writes its log.
func (st *stored) save() {
	st.s.t.Helper()
	st.add("session.finished", map[string]any{"status": "ok", "exit_code": 0, "summary": "Finished."})
	st.write()
}

func (st *stored) write() {
	st.s.t.Helper()
	t := st.s.t
	dir := filepath.Join(st.s.work, ".coderrr", "session")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, st.id+".jsonl"), []byte(strings.Join(st.lines, "\n")+"\n"), 0o600))
	known := filepath.Join(st.s.home, ".coderrr", "approvals", hashOf(st.s.workspace()), "sessions")
	require.NoError(t, os.MkdirAll(known, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(known, st.id+".json"), []byte("{}"), 0o600))
}

func (s *server) file(name string) string {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.work, filepath.FromSlash(name)))
	require.NoError(s.t, err)
	return string(data)
}

// number is a text of n lines.
func number(n int, line func(i int) string) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		b.WriteString(line(i) + "\n")
	}
	return b.String()
}

// replaced is the diff of a text in which some lines, far from each other, are
// others: each with three lines around it.
func replaced(text string, lines map[int]string) (after, diff string) {
	old := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	out := append([]string{}, old...)
	var b strings.Builder
	b.WriteString("--- a/x\n+++ b/x\n")
	for n := 1; n <= len(old); n++ {
		fresh, ok := lines[n]
		if !ok {
			continue
		}
		out[n-1] = fresh
		from, to := max(1, n-3), min(len(old), n+3)
		fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n", from, to-from+1, from, to-from+1)
		for i := from; i <= to; i++ {
			if i == n {
				b.WriteString("-" + old[i-1] + "\n+" + fresh + "\n")
			} else {
				b.WriteString(" " + old[i-1] + "\n")
			}
		}
	}
	return strings.Join(out, "\n") + "\n", b.String()
}

// TestKeepAndUndoByHunk: afterwards, each hunk is kept or undone by itself, with
// lines around it and without white space; an undo refuses where somebody wrote
// meanwhile, and works after a restart.
func TestKeepAndUndoByHunk(t *testing.T) {
	s := newServer(t)
	st := newStored(t, s, "Change some lines")
	before := number(80, func(i int) string { return fmt.Sprintf("value%d = %d", i, i) })
	after, diff := replaced(before, map[int]string{10: "value10 = 1000", 40: "\tvalue40  =  40", 70: "value70 = 7000"})
	st.add("task.updated", map[string]any{"id": "T001", "status": "in_progress", "evidence": nil})
	st.changed("conf/app.ini", before, after, diff, map[string]any{"task": "T001"})
	st.changed("other.txt", "a\n", "b\n", "@@ -1 +1 @@\n-a\n+b\n", map[string]any{"mode": "0755"})
	st.changed("bom.txt", "x\ny\n", "x\u202e\r\ny\r\n", "@@ -1,2 +1,2 @@\n-x\n-y\n+x\u202e\r\n+y\r\n", nil)
	st.add("task.updated", map[string]any{"id": "T001", "status": "done", "evidence": nil})
	st.save()
	s.start()
	p := newTab(t, s.origin)
	p.open(s.url)
	p.the("region", "Sessions").the("button", "Change some lines").wait().click()
	p.waitStatus("Done")
	changes := p.the("region", "Changes")
	file := changes.the("region", "Diff of conf/app.ini").wait()
	require.Contains(t, changes.text(), "executable (mode 0755)")
	require.Contains(t, changes.text(), "line ends change: LF → CRLF")
	require.Contains(t, changes.text(), "hidden characters (1)")
	p.the("group", "Right pane").the("button", "Changes").click()
	p.inspect("hunks")

	// Lines between.
	require.NotContains(t, file.text(), "value25")
	file.the("button", "Show 20 lines after line 13").click()
	p.wait("20 lines more", func() bool { return strings.Contains(file.text(), "value33 = 33") })
	require.NotContains(t, file.text(), "value34")
	file.the("button", "Show all 3 lines between").click()
	p.wait("the rest", func() bool { return strings.Contains(file.text(), "value36 = 36") })
	file.the("button", "Show 20 lines before line 7").click()
	p.wait("the beginning", func() bool { return strings.Contains(file.text(), "value6 = 6") })
	p.wait("nothing to be left above", func() bool { return !file.the("button", "Show 20 lines before line 7").here() })
	file.the("button", "Show all lines after line 73").click()
	p.wait("the end", func() bool { return strings.Contains(file.text(), "value80 = 80") })
	p.inspect("hunks-context")

	// White space.
	changes.the("button", "Ignore white space").click()
	p.wait("the hunk to fold", func() bool {
		return strings.Contains(file.text(), "white space only") && !strings.Contains(file.text(), "value40")
	})
	p.inspect("hunks-no-space")
	p.the("button", "Split").click()
	p.screenshot("hunks-split-no-space")
	p.the("button", "Unified").click()
	changes.the("button", "Ignore white space").click()

	// Keep, and it stays kept.
	file.the("button", "Keep hunk 1").click()
	p.wait("the hunk to fold", func() bool { return !strings.Contains(file.text(), "value10 = 1000") })
	changes.the("region", "Diff of other.txt").the("button", "Keep file").click()
	p.reload()
	p.waitStatus("Done")
	file.wait()
	p.wait("what was kept", func() bool { return !strings.Contains(file.text(), "value10 = 1000") })
	p.inspect("hunks-kept")

	// Undo, and only that.
	file.the("button", "Undo hunk 3").click()
	p.wait("the hunk on disk", func() bool { return strings.Contains(s.file("conf/app.ini"), "value70 = 70\n") })
	require.Contains(t, s.file("conf/app.ini"), "value10 = 1000")
	p.wait("the page to say so", func() bool { return file.the("button", "Undo hunk").count() == 2 })

	// Somebody writes to the file: nothing is lost.
	mine := s.file("conf/app.ini") + "mine\n"
	require.NoError(t, os.WriteFile(filepath.Join(s.work, "conf/app.ini"), []byte(mine), 0o644))
	file.the("button", "Undo hunk 2").click()
	p.wait("a reason", func() bool { return strings.Contains(p.the("alert", "").text(), "changed since") })
	require.Equal(t, mine, s.file("conf/app.ini"))
	p.screenshot("hunks-refused")
	require.NoError(t, os.WriteFile(filepath.Join(s.work, "conf/app.ini"), []byte(strings.TrimSuffix(mine, "mine\n")), 0o644))

	// After a restart.
	p.expect("WebSocket connection", "ERR_CONNECTION_REFUSED")
	s.stop()
	next := s.again()
	q := newTab(t, next.origin)
	q.open(next.url)
	q.the("region", "Sessions").the("button", "Change some lines").wait().click()
	q.waitStatus("Done")
	again := q.the("region", "Diff of conf/app.ini").wait()
	again.the("button", "Undo hunk 2").click()
	q.wait("the second hunk on disk", func() bool { return strings.Contains(s.file("conf/app.ini"), "\nvalue40 = 40\n") })
	q.the("button", "Undo task T001").click()
	q.wait("the file as before", func() bool { return s.file("conf/app.ini") == before })
	q.the("region", "Diff of other.txt").the("button", "Undo hunk 1").click()
	q.wait("the only hunk", func() bool { return s.file("other.txt") == "a\n" })
}

// TestLongDiff: the first lines at once, the rest as it is looked for.
func TestLongDiff(t *testing.T) {
	s := newServer(t)
	st := newStored(t, s, "Write a long file")
	text := number(5000, func(i int) string { return fmt.Sprintf("var value%d = compute(%d, \"some text\") // line", i, i) })
	st.changed("long.js", "", text, "--- /dev/null\n+++ b/long.js\n@@ -0,0 +1,5000 @@\n+"+strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n+")+"\n", nil)
	st.save()
	s.start()
	p := newTab(t, s.origin)
	p.open(s.url)
	p.the("region", "Sessions").the("button", "Write a long file").wait().click()
	p.waitStatus("Done")
	file := p.the("region", "Diff of long.js").wait()
	p.wait("the first lines", func() bool { return eval[int](p, `document.querySelectorAll("#diffs .l").length`) >= 400 })
	p.screenshot("long-diff")
	require.Empty(t, p.axe())
	p.wait("all lines", func() bool {
		return eval[int](p, `(() => { const r = document.getElementById("review"); r.scrollTop = r.scrollHeight; return document.querySelectorAll("#diffs .l").length; })()`) >= 5000
	})
	require.Equal(t, 5000, eval[int](p, `document.querySelectorAll("#diffs .l").length`))
	file.the("button", "Undo hunk 1").click()
	p.wait("the file to go", func() bool { _, err := os.Stat(filepath.Join(s.work, "long.js")); return os.IsNotExist(err) })
}
