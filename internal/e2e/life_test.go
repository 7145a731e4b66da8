package e2e

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReviewSwitchIsTheSameEverywhere: in a second tab and after a reload.
func TestReviewSwitchIsTheSameEverywhere(t *testing.T) {
	s := startDemo(t)
	p := newTab(t, s.origin)
	p.open(s.url)
	p.waitStatus("Ready")
	p.the("switch", "Review each write").click()
	p.wait("the switch", func() bool { return p.the("switch", "Review each write").checked() })
	p.reload()
	p.waitStatus("Ready")
	require.True(t, p.the("switch", "Review each write").checked(), "the choice for the next session stays")
	p.planned()
	other := p.second()
	other.open(s.url)
	other.waitStatus("Plan ready")
	require.True(t, other.the("switch", "Review each write").checked())
	other.the("switch", "Review each write").click()
	p.wait("the switch in the first tab", func() bool { return !p.the("switch", "Review each write").checked() })
	p.reload()
	p.waitStatus("Plan ready")
	require.False(t, p.the("switch", "Review each write").checked())
	require.NotContains(t, p.the("complementary", "Overview").text(), "confirm_writes")
	other.decide("Discard plan")
	p.waitStatus("Stopped")
	require.Contains(t, p.the("region", "Conversation").text(), "decided in the browser", "the other tab sees who decided")
}

// TestQueuedMessage: what is typed while it runs is shown as queued, can be taken
// back, and is delivered.
func TestQueuedMessage(t *testing.T) {
	s := startDemo(t)
	p := newTab(t, s.origin)
	p.open(s.url)
	p.send("Add a search command that ignores case")
	p.waitStatus("Question")
	for _, text := range []string{"Take this back", "Keep this"} {
		p.the("textbox", "Request").fill(text)
		p.the("button", "Send").click()
		p.wait(text+" to be queued", func() bool { return strings.Contains(p.the("region", "Conversation").text(), text) })
	}
	require.Equal(t, 2, p.the("button", "Remove queued message").count())
	p.reload()
	p.waitStatus("Question")
	p.the("button", "Remove queued message").click()
	p.wait("one to go", func() bool { return p.the("button", "Remove queued message").count() == 1 })
	require.NotContains(t, p.the("region", "Conversation").text(), "Take this back")
	p.decide("Print nothing")
	p.wait("the delivery", func() bool { return p.the("button", "Remove queued message").count() == 0 })
	require.Contains(t, p.the("region", "Conversation").text(), "Keep this")
}

// TestStopAtEveryPhase: also while something is asked.
func TestStopAtEveryPhase(t *testing.T) {
	s := startDemo(t)
	p := newTab(t, s.origin)
	p.open(s.url)
	stop := func(from string) {
		t.Helper()
		p.waitStatus(from)
		p.the("button", "Stop").click()
		p.waitStatus("Stopped")
		p.reload()
		p.waitStatus("Stopped")
		require.False(t, p.decision().here(), "nothing is asked any more")
		p.wait("the list to say that it has ended", func() bool { return !strings.Contains(p.the("region", "Sessions").text(), "now") })
		p.the("button", "New session").click()
		p.waitStatus("Ready")
	}
	request := "Add a search command that ignores case"
	p.send(request)
	stop("Planning")
	p.send(request)
	stop("Question")
	p.planned()
	stop("Plan ready")
	p.the("switch", "Review each write").click()
	p.planned()
	p.decide("Approve and start")
	stop("Waiting for you")
	require.NotContains(t, s.read("tests/test_notes.sh"), "test_search", "what waited is not written")
}

// TestUndoAndReadAgain: undo of one file and of all after the end; then, after a
// restart, the session can be read and the old address says what to do.
func TestUndoAndReadAgain(t *testing.T) {
	s := startDemo(t)
	p := newTab(t, s.origin)
	p.open(s.url)
	before := map[string]string{}
	for _, f := range []string{"README.md", "lib/notes.sh", "bin/notes"} {
		before[f] = s.read(f)
	}
	p.planned()
	p.decide("Approve and start")
	p.waitStatus("Done")
	p.wait("the list to say that it has ended", func() bool { return !strings.Contains(p.the("region", "Sessions").text(), "now") })
	changes := p.the("region", "Changes")
	changes.the("region", "Diff of README.md").the("button", "Undo change").click()
	p.wait("README.md to be back", func() bool { return s.read("README.md") == before["README.md"] })
	require.Contains(t, s.read("lib/notes.sh"), "notes_search")
	changes.the("button", "Undo all").click()
	p.wait("all to be back", func() bool {
		return s.read("lib/notes.sh") == before["lib/notes.sh"] && s.read("bin/notes") == before["bin/notes"]
	})
	p.wait("the page to say so", func() bool { return strings.Contains(changes.text(), "Nothing has changed") })
	p.screenshot("undone")

	// A second session in the same demo starts from the sample again.
	p.the("button", "New session").click()
	p.planned()
	p.decide("Approve and start")
	p.waitStatus("Done")
	p.screenshot("second-done")
	sessions := p.the("region", "Sessions")
	require.Equal(t, 2, sessions.the("button", "Add a search").count())
}

// TestNoProvider: the page says what to do, and a request does not vanish.
func TestNoProvider(t *testing.T) {
	s := startConfigured(t, "[provider]\nname = \"openai\"\nmodel = \"gpt-x\"\n")
	p := newTab(t, s.origin)
	p.open(s.url)
	p.waitStatus("Ready")
	require.Contains(t, p.the("region", "Conversation").text(), "OPENAI_API_KEY", "it is said before anything is typed")
	p.inspect("no-key")
	p.the("textbox", "Request").fill("Do something")
	p.the("button", "Send").click()
	p.wait("a reason", func() bool { return strings.Contains(eval[string](p, "document.body.innerText"), "coderrr config") })
	p.screenshot("no-key-answer")
	require.True(t, p.the("textbox", "Request").value() == "Do something" || strings.Contains(p.the("region", "Conversation").text(), "Do something"))
}

// TestModelUnreachable ends in an error that names the address.
func TestModelUnreachable(t *testing.T) {
	s := startConfigured(t, "[provider]\nname = \"compatible\"\nmodel = \"m\"\nendpoint = \"http://127.0.0.1:1/v1\"\n")
	p := newTab(t, s.origin)
	p.open(s.url)
	p.send("Do something")
	p.wait("a retry or an error", func() bool {
		text := p.the("region", "Conversation").text()
		return strings.Contains(text, "Trying again") || strings.Contains(text, "127.0.0.1:1")
	})
	p.inspect("unreachable")
	if !strings.HasPrefix(p.status(), "Error") {
		p.the("button", "Stop").click()
		p.waitStatus("Stopped", "Error")
	}
}

// TestWorkspaceBusy: the second Coderrr names the session that holds it.
func TestWorkspaceBusy(t *testing.T) {
	hang := make(chan struct{})
	model := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(model.Close)
	t.Cleanup(func() { close(hang) })
	s := startConfigured(t, "[provider]\nname = \"compatible\"\nmodel = \"m\"\nendpoint = \""+model.URL+"/v1\"\n")
	p := newTab(t, s.origin)
	p.open(s.url)
	p.send("The first one")
	p.waitStatus("Planning")
	logs, err := filepath.Glob(filepath.Join(s.work, ".coderrr", "session", "*.jsonl"))
	require.NoError(t, err)
	require.Len(t, logs, 1)
	id := strings.TrimSuffix(filepath.Base(logs[0]), ".jsonl")

	next := s.again()
	q := newTab(t, next.origin)
	q.open(next.url)
	q.waitStatus("Ready")
	require.Contains(t, q.the("region", "Sessions").text(), "elsewhere")
	q.the("textbox", "Request").fill("The second one")
	q.the("button", "Send").click()
	q.wait("who holds it", func() bool { return strings.Contains(q.the("alert", "").text(), id) })
	q.screenshot("busy")
	require.Equal(t, "The second one", q.the("textbox", "Request").value(), "nothing typed is lost")

	// The other's session can be read here, and only read.
	q.the("region", "Sessions").the("button", "The first one").click()
	q.wait("the session", func() bool { return strings.Contains(q.the("region", "Conversation").text(), "The first one") })
	q.screenshot("elsewhere")
	require.False(t, q.the("button", "Stop").here())
}

// TestContinue: a session that was stopped goes on, in both tabs; in the demo a
// second one does not pull the sample away under the first.
func TestContinue(t *testing.T) {
	hang := make(chan struct{})
	model := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(model.Close)
	t.Cleanup(func() { close(hang) })
	s := startConfigured(t, "[provider]\nname = \"compatible\"\nmodel = \"m\"\nendpoint = \""+model.URL+"/v1\"\n")
	p := newTab(t, s.origin)
	p.open(s.url)
	p.send("Do something long")
	p.waitStatus("Planning")
	other := p.second()
	other.open(s.url)
	other.waitStatus("Planning")
	p.the("button", "Stop").click()
	other.waitStatus("Stopped")
	p.screenshot("continue")
	other.the("region", "Conversation").the("button", "Continue").click()
	other.waitStatus("Planning")
	p.waitStatus("Planning")
	require.Contains(t, p.the("region", "Conversation").text(), "Session resumed")
	p.the("button", "Stop").click()
	other.waitStatus("Stopped")

	d := startDemo(t)
	q := newTab(t, d.origin)
	q.open(d.url)
	q.planned()
	q.decide("Approve and start")
	q.waitStatus("Done")
	require.False(t, q.the("button", "Continue").here(), "it is done")
	require.Contains(t, d.read("README.md"), "notes search")
	q.the("button", "New session").click()
	q.planned()
	q.the("region", "Sessions").the("button", "New session").click()
	q.send("Add another")
	q.wait("a reason", func() bool { return strings.Contains(q.the("alert", "").text(), "is running") })
}

// TestRestart: an old address answers 401 and the page says what to do; the
// session of before is still there to be read.
func TestRestart(t *testing.T) {
	s := startConfigured(t, "[provider]\nname = \"compatible\"\nmodel = \"m\"\nendpoint = \"http://127.0.0.1:1/v1\"\n")
	p := newTab(t, s.origin)
	p.expect("WebSocket", "ERR_", "401")
	p.open(s.url)
	p.send("Remember me")
	p.waitStatus("Planning", "Error")
	s.stop()
	p.wait("the page to notice", func() bool { return strings.HasPrefix(p.status(), "Reconnecting") })
	next := s.again("--addr", strings.TrimPrefix(s.origin, "http://"))
	status, _ := next.request("GET", "/api/sessions", map[string]string{"Authorization": "Bearer " + s.token}, "")
	require.Equal(t, http.StatusUnauthorized, status)
	p.wait("the page to say what to do", func() bool {
		return strings.Contains(eval[string](p, "document.body.innerText"), "Run coderrr ui")
	})
	p.screenshot("restarted")

	q := newTab(t, next.origin)
	q.open(next.url)
	q.waitStatus("Ready")
	q.the("region", "Sessions").the("button", "Remember me").click()
	q.waitStatus("Stopped", "Error")
	q.screenshot("stored")
	require.Contains(t, q.the("region", "Conversation").text(), "Remember me")
	require.False(t, q.the("button", "Undo all").here())
}

// TestNothingConfigured: a new user is told the three ways to go on.
func TestNothingConfigured(t *testing.T) {
	s := startConfigured(t, "")
	p := newTab(t, s.origin)
	p.open(s.url)
	p.waitStatus("Ready")
	for _, way := range []string{"coderrr config", "coderrr doctor", "coderrr ui --demo"} {
		require.Contains(t, p.the("region", "Conversation").text(), way)
	}
	p.inspect("nothing-configured")
	p.the("textbox", "Request").fill("Do it")
	p.the("button", "Send").click()
	p.wait("a reason", func() bool { return strings.Contains(p.the("alert", "").text(), "coderrr config") })
	require.Equal(t, "Do it", p.the("textbox", "Request").value())
}
