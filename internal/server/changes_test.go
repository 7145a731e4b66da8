package server_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/diff"
	"github.com/coderrr/coderrr/internal/event"
)

// numbered is a text of n lines.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

// edited logs an edit of a.txt and keeps both contents.
func edited(l *live, before, after string) {
	hunks := diff.Compute([]byte(before), []byte(after))
	text, cut := diff.Unified("a/a.txt", "b/a.txt", hunks, 64<<10)
	added, removed := diff.Stats(hunks)
	l.mu.Lock()
	l.contents = map[string]string{"h0": before, "h1": after}
	l.mu.Unlock()
	l.log.Append(event.FileChanged{
		Path: "a.txt", Op: "edit", Before: "h0", After: "h1", Added: added, Removed: removed, Diff: text, DiffTruncated: cut, Task: "T001",
	})
}

// TestPicture: a picture is kept, and its path comes back; one that is refused says
// why. A page without a token sends nothing as large.
func TestPicture(t *testing.T) {
	st := start(t)
	tb, _ := st.open(nil)
	a, _ := tb.do("picture", map[string]any{"data": []byte("picture")})
	require.True(t, a.OK)
	require.Equal(t, []string{"pictures/p.png"}, a.Files)
	a, _ = tb.do("picture", map[string]any{"data": make([]byte, 5<<20)})
	require.False(t, a.OK)
	require.Equal(t, "No picture.", a.Why)

	ws := st.dial()
	require.NoError(t, ws.Write(t.Context(), websocket.MessageText, make([]byte, 8<<10)))
	_, _, err := ws.Read(t.Context())
	require.Equal(t, websocket.StatusMessageTooBig, websocket.CloseStatus(err))
}

func TestUndoOfOneHunk(t *testing.T) {
	st := start(t)
	l := st.b.add("s1", "r")
	before := numbered(60)
	edited(l, before, strings.NewReplacer("line 2\n", "two\n", "line 50\n", "fifty\n").Replace(before))
	tb, first := st.open(nil)
	require.Contains(t, first.html(), "Undo hunk 2")
	m, _ := tb.do("undo_hunk", map[string]any{"session": "s1", "path": "a.txt", "after": "h1", "n": 1})
	require.True(t, m.OK, m.Why)
	require.Equal(t, []string{"undo hunk of a.txt at 47, h1"}, l.did())

	for name, bad := range map[string]map[string]any{
		"another content": {"path": "a.txt", "after": "h0", "n": 1}, "no such hunk": {"path": "a.txt", "after": "h1", "n": 2},
		"below": {"path": "a.txt", "after": "h1", "n": -1}, "another file": {"path": "b.txt", "after": "h1"},
	} {
		bad["session"] = "s1"
		m, _ := tb.do("undo_hunk", bad)
		require.False(t, m.OK, name)
		require.Contains(t, m.Why, "has changed since it was shown", name)
	}
	require.Len(t, l.did(), 1)
	m, _ = tb.do("undo_hunk", map[string]any{"session": "other", "path": "a.txt", "after": "h1"})
	require.False(t, m.OK)
}

func TestTheOnlyHunkIsTheFile(t *testing.T) {
	st := start(t)
	l := st.b.add("s1", "r")
	edited(l, "a\n", "b\n")
	tb, _ := st.open(nil)
	m, _ := tb.do("undo_hunk", map[string]any{"session": "s1", "path": "a.txt", "after": "h1", "n": 0})
	require.True(t, m.OK, m.Why)
	require.Equal(t, []string{"undo a.txt"}, l.did())
}

// TestLongDiffComesInParts: the page gets 400 lines, and the rest when it asks.
func TestLongDiffComesInParts(t *testing.T) {
	st := start(t)
	l := st.b.add("s1", "r")
	edited(l, "x\n", numbered(1000))
	tb, first := st.open(nil)
	require.Contains(t, first.html(), "line 399<")
	require.NotContains(t, first.html(), "line 401<")
	m, _ := tb.do("lines", map[string]any{"session": "s1", "path": "a.txt", "after": "h1", "n": 0, "from": 400})
	require.True(t, m.OK, m.Why)
	require.Contains(t, m.HTML, "line 401<")
	require.Contains(t, m.HTML, `data-from="600"`)
	m, _ = tb.do("lines", map[string]any{"session": "s1", "path": "a.txt", "after": "h1", "n": 0, "from": 900})
	require.Contains(t, m.HTML, `"no">1000</span>`)
	require.NotContains(t, m.HTML, "more-lines")
	m, _ = tb.do("lines", map[string]any{"session": "s1", "path": "a.txt", "after": "h1", "n": 0, "from": 99999})
	require.False(t, m.OK)
}

// TestDiffThatTheLogCut: the whole comes from the contents.
func TestDiffThatTheLogCut(t *testing.T) {
	st := start(t)
	l := st.b.add("s1", "r")
	before := numbered(9000)
	edited(l, before, strings.ReplaceAll(before, "0\n", "nil\n"))
	tb, first := st.open(nil)
	require.Contains(t, first.html(), "cut at 64 KiB")
	m, _ := tb.do("hunks", map[string]any{"session": "s1", "path": "a.txt", "after": "h1", "whole": true})
	require.True(t, m.OK, m.Why)
	require.Contains(t, m.HTML, "Hunk 1 of ")
	require.Equal(t, 900, m.Total)
	m, _ = tb.do("hunks", map[string]any{"session": "s1", "path": "a.txt", "after": "h1", "whole": true, "from": 850})
	require.Contains(t, m.HTML, "Hunk 900 of 900")
	m, _ = tb.do("undo_hunk", map[string]any{"session": "s1", "path": "a.txt", "after": "h1", "whole": true, "n": 899})
	require.True(t, m.OK, m.Why)
	require.Contains(t, l.did()[0], "at 8997,")
}

func TestLinesBetweenHunks(t *testing.T) {
	st := start(t)
	l := st.b.add("s1", "r")
	before := numbered(60)
	edited(l, before, strings.NewReplacer("line 2\n", "two\nmore\n", "line 50\n", "fifty\n").Replace(before))
	tb, _ := st.open(nil)
	ask := func(from, to int) message {
		m, _ := tb.do("context", map[string]any{"session": "s1", "path": "a.txt", "after": "h1", "from": from, "to": to, "shift": 1})
		require.True(t, m.OK, m.Why)
		require.Equal(t, 60, m.Total)
		return m
	}
	m := ask(6, 25)
	require.Contains(t, m.HTML, `<span class="no">6</span><span class="no">7</span>`)
	require.Contains(t, m.HTML, "line 25<")
	require.NotContains(t, m.HTML, "line 26<")
	require.Contains(t, ask(54, 0).HTML, "line 60<")
	require.Empty(t, ask(61, 80).HTML)
	require.Contains(t, ask(-4, 2).HTML, `<span class="no">1</span>`)
}

func TestRenameAndDocument(t *testing.T) {
	st := start(t)
	l := st.b.add("s1", "Do <b>it</b>")
	l.log.Append(event.TextDone{Text: "On it."})
	tb, _ := st.open(nil)
	m, _ := tb.do("rename", map[string]any{"session": "s1", "target": "s1", "text": "  A better\n title "})
	require.True(t, m.OK, m.Why)
	st.b.mu.Lock()
	require.Equal(t, map[string]string{"s1": "A better title"}, st.b.titles)
	st.b.mu.Unlock()
	m, _ = tb.do("rename", map[string]any{"session": "s1", "target": "s1", "text": strings.Repeat("x", 201)})
	require.Contains(t, m.Why, "too long")

	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+st.host+"/api/sessions/s1/markdown", nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+st.token)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, errors.Join(err, resp.Body.Close()))
	require.Equal(t, "text/markdown; charset=utf-8", resp.Header.Get("Content-Type"))
	require.Contains(t, string(text), "# Do <b>it</b>")
	require.Contains(t, string(text), "On it.")
}
