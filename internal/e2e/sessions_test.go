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

// TestSessionsAreFoundNamedAndFollowed: search, rename, both exports, and a session
// whose log another process writes.
func TestSessionsAreFoundNamedAndFollowed(t *testing.T) {
	s := newServer(t)
	var running *stored
	for i, request := range []string{"Fix the login", "Add a cache!", "Write some docs", "Remove old code here"} {
		st := newStored(t, s, request)
		st.id = fmt.Sprintf("20261130-10000%d-abcdef", i)
		st.add("user.message", map[string]any{"text": request})
		if i == 3 {
			st.write()
			running = st
			continue
		}
		st.save()
	}
	s.start()
	p := newTab(t, s.origin)
	p.open(s.url)
	p.waitStatus("Ready")
	list := p.the("region", "Sessions")
	search := list.the("searchbox", "Search sessions").wait()
	search.fill("CACHE add")
	p.wait("only one to be left", func() bool {
		return list.the("button", "Add a cache!").here() && !list.the("button", "Fix the login").here()
	})
	search.fill("nothing like it")
	p.wait("a word about it", func() bool { return strings.Contains(list.text(), "No title fits") })
	search.fill("cache")
	list.the("button", "Add a cache!").wait().click()
	p.waitStatus("Done")
	require.Equal(t, "cache", search.value(), "a patch leaves the search alone")
	p.inspect("sessions-search")
	search.fill("")

	list.the("button", "Rename").click()
	box := list.the("textbox", "Title of this session").wait()
	require.Equal(t, "Add a cache!", box.value())
	p.screenshot("sessions-rename")
	require.Empty(t, p.axe())
	box.fill("Cache of  pages <b>")
	p.press("Enter")
	list.the("button", "Cache of pages <b>").wait()
	p.reload()
	p.waitStatus("Done")
	list.the("button", "Cache of pages <b>").wait()
	require.Contains(t, s.file(".coderrr/session/20261130-100001-abcdef.jsonl"), `"what":"title","name":"Cache of pages`)

	eval[any](p, `globalThis.saved = ""; HTMLAnchorElement.prototype.click = function () { globalThis.saved = this.download; }`)
	list.the("button", "Markdown export").click()
	p.wait("the file", func() bool { return strings.HasSuffix(eval[string](p, "saved"), ".md") })
	code, text := s.request("GET", "/api/sessions/20261130-100001-abcdef/markdown", map[string]string{"Authorization": "Bearer " + s.token}, "")
	require.Equal(t, 200, code)
	require.True(t, strings.HasPrefix(text, "# Add a cache!\n"), text)
	code, _ = s.request("GET", "/api/sessions/20261130-100001-abcdef/markdown", nil, "")
	require.Equal(t, 401, code)

	// Another process goes on with a session.
	list.the("button", "Remove old code here").click()
	p.waitStatus("Stopped")
	running.add("text.done", map[string]any{"text": "I am still here."})
	log, err := os.OpenFile(filepath.Join(s.work, ".coderrr", "session", running.id+".jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = log.WriteString(running.lines[len(running.lines)-1] + "\n" + `{"seq":99,"time":"2026-11-30T1`)
	require.NoError(t, err)
	p.wait("what it says", func() bool { return strings.Contains(p.the("region", "Conversation").text(), "I am still here.") })
	_, err = log.WriteString(`0:00:00Z","type":"session.finished","status":"ok","exit_code":0,"summary":"All is gone."}` + "\n")
	require.NoError(t, err)
	require.NoError(t, log.Close())
	p.waitStatus("Done")
	require.Equal(t, 1, strings.Count(p.the("region", "Conversation").text(), "I am still here."))
}

// TestReadingIsOneLine: six files read in a row are one line that opens; a call that
// failed is seen without opening it.
func TestReadingIsOneLine(t *testing.T) {
	s := newServer(t)
	st := newStored(t, s, "Look around")
	call := func(id, name, class, input string, ok bool) {
		st.add("tool.started", map[string]any{"id": id, "name": name, "class": class, "input": json.RawMessage(input)})
		st.add("tool.finished", map[string]any{"id": id, "name": name, "ok": ok, "display": "display of " + id, "content": "content"})
	}
	for i := range 6 {
		call(fmt.Sprintf("r%d", i), "read_file", "read", fmt.Sprintf(`{"path":"file%d.go"}`, i), true)
	}
	call("g", "grep", "read", `{"pattern":"x"}`, true)
	call("bad", "read_file", "read", `{"path":"missing.go"}`, false)
	call("w", "write_file", "write", `{"path":"file1.go"}`, true)
	call("alone", "read_file", "read", `{"path":"alone.go"}`, true)
	st.save()
	s.start()
	p := newTab(t, s.origin)
	p.open(s.url)
	p.the("region", "Sessions").the("button", "Look around").wait().click()
	p.waitStatus("Done")
	talk := p.the("region", "Conversation")
	line := talk.the("button", "Read 7 files, ran 1 search").wait()
	require.False(t, talk.the("article", "read_file file3.go").here())
	require.True(t, talk.the("article", "read_file missing.go").here(), "what failed is not hidden")
	require.True(t, talk.the("article", "read_file alone.go").here(), "one alone is no run")
	require.True(t, talk.the("article", "write_file file1.go").here())
	p.inspect("runs")
	line.click()
	talk.the("article", "read_file file3.go").wait()
	p.inspect("runs-open")
	line.click()
	p.wait("the line to close", func() bool { return !talk.the("article", "read_file file3.go").here() })
}
