package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// status is what the page says about the run.
func (p *tab) status() string {
	p.t.Helper()
	return strings.TrimSpace(p.the("status", "Run status").text())
}

// waitStatus waits until the run status begins with one of the words.
func (p *tab) waitStatus(words ...string) string {
	p.t.Helper()
	now := ""
	p.wait("run status "+strings.Join(words, " or "), func() bool {
		now = p.status()
		for _, word := range words {
			if strings.HasPrefix(now, word) {
				return true
			}
		}
		return false
	})
	return now
}

// decision is the region in which a person decides; the only one with the buttons
// that matter.
func (p *tab) decision() *element { return p.the("region", "Decision") }

// send types a request and sends it.
func (p *tab) send(request string) {
	p.t.Helper()
	p.waitStatus("Ready")
	p.the("textbox", "Request").fill(request)
	p.the("button", "Send").click()
}

// question is the id of what waits for a decision, "" for nothing.
func (p *tab) question() string {
	p.t.Helper()
	n := p.decision().lookup()
	if n == nil {
		return ""
	}
	ctx, cancel := p.limited()
	defer cancel()
	// The region can go away between the look-up and the call: then nothing waits.
	id, err := callNode[string](ctx, p, n, `function () { return this.dataset.id ?? ""; }`)
	if err != nil {
		return ""
	}
	return id
}

// decide clicks a button of the decision and waits until the question is settled,
// so that the next click cannot meet the old one.
func (p *tab) decide(button string) {
	p.t.Helper()
	id := p.question()
	p.decision().the("button", button).click()
	p.wait("the end of the question after "+button, func() bool { return p.question() != id })
}

// answer picks an option of the open question.
func (p *tab) answer(option string) {
	p.t.Helper()
	p.waitStatus("Question")
	p.decide(option)
}

// planned brings a new demo session to the point where its plan waits.
func (p *tab) planned() {
	p.t.Helper()
	p.send("Add a search command that ignores case")
	p.answer("Print nothing")
	p.waitStatus("Plan ready")
}

// shown is everything a person sees of the session, without times.
func (p *tab) shown() map[string]string {
	p.t.Helper()
	clock := regexp.MustCompile(`\d+(:\d\d)+|\d+(\.\d+)? ?m?s\b|\d+ ?min\b|just now`)
	all := map[string]string{"status": p.status()}
	for _, region := range []string{"Plan", "Conversation", "Changes", "Tasks", "Decision"} {
		if r := p.the("region", region); r.here() {
			all[region] = strings.Join(strings.Fields(clock.ReplaceAllString(r.text(), "")), " ")
		}
	}
	return all
}

// read is a file of the project as it is on disk.
func (s *server) read(name string) string {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.project(), filepath.FromSlash(name)))
	require.NoError(s.t, err)
	return string(data)
}

// TestWholeRun is the demo as a person goes through it: request, question, plan,
// an edit of the plan, approval, one change accepted and one rejected, a reload in
// the middle, verified tasks, and the files on disk.
func TestWholeRun(t *testing.T) {
	s := startDemo(t)
	p := newTab(t, s.origin)
	p.open(s.url)
	p.waitStatus("Ready")
	p.screenshot("ready")
	before := s.read("README.md")

	review := p.the("switch", "Review each write")
	if !review.checked() {
		review.click()
	}
	p.planned()
	require.Contains(t, p.the("region", "Plan").text(), "Search notes")
	require.NotContains(t, s.read("lib/notes.sh"), "notes_search", "nothing is written before the approval")
	p.screenshot("plan")

	p.editPlan("Patterns: WORD is plain text.", "Patterns: WORD is plain text, as people type it.")
	p.decide("Approve and start")

	p.accept(s, "tests/test_notes.sh", "test_search")
	p.waitStatus("Waiting for you")
	p.proposed("lib/notes.sh")
	p.screenshot("write")
	seen := p.shown()
	p.reload()
	p.proposed("lib/notes.sh")
	require.Equal(t, seen, p.shown(), "after a reload the page is the same")

	p.accept(s, "lib/notes.sh", "notes_search")
	p.accept(s, "bin/notes", "search")
	p.reject("README.md")
	require.Equal(t, before, s.read("README.md"), "a rejected change is not written")
	p.accept(s, "README.md", "notes search")

	p.waitStatus("Done")
	p.screenshot("done")
	require.Contains(t, s.read("lib/notes.sh"), "notes_search")
	require.Contains(t, s.read(s.spec(t, "requirements.md")), "as people type it")
	require.Contains(t, s.read(s.spec(t, "tasks.md")), "evidence")
	require.Contains(t, p.the("region", "Changes").text(), "lib/notes.sh")
}

// spec is the path of a document of the one spec.
func (s *server) spec(t *testing.T, document string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(s.project(), ".coderrr", "specs", "001-*", document))
	require.NoError(t, err)
	require.Len(t, found, 1)
	name, err := filepath.Rel(s.project(), found[0])
	require.NoError(t, err)
	return filepath.ToSlash(name)
}

// accept accepts the change to path and waits until it is on disk.
func (p *tab) accept(s *server, path, want string) {
	p.t.Helper()
	p.waitStatus("Waiting for you")
	p.proposed(path).the("button", "Accept hunk").click()
	require.NotContains(p.t, s.read(path), want, "nothing is on disk before the decision")
	p.decide("Apply accepted")
	p.wait(path+" on disk", func() bool { return strings.Contains(s.read(path), want) })
}

// reject sends the change to path back.
func (p *tab) reject(path string) {
	p.t.Helper()
	p.waitStatus("Waiting for you")
	p.proposed(path).the("button", "Reject hunk").click()
	p.decide("Send back")
}

// proposed is the diff that waits for a decision.
func (p *tab) proposed(path string) *element {
	p.t.Helper()
	return p.the("region", "Changes").the("region", "Diff of "+path).wait()
}

// editPlan changes the requirements by hand.
func (p *tab) editPlan(old, now string) {
	p.t.Helper()
	plan := p.the("region", "Plan")
	plan.the("button", "Edit").click()
	box := plan.the("textbox", "Edit requirements")
	box.fill(strings.Replace(box.value(), old, now, 1))
	id := p.question()
	plan.the("button", "Save requirements").click()
	p.wait("the plan to be asked again", func() bool { next := p.question(); return next != id && next != "" })
	plan.the("button", "Read").click()
	require.Contains(p.t, plan.text(), now)
}

// TestStop ends a run that is at work, at once.
func TestStop(t *testing.T) {
	s := startDemo(t)
	p := newTab(t, s.origin)
	p.open(s.url)
	p.planned()
	p.decide("Approve and start")
	p.waitStatus("Working")
	p.the("button", "Stop").click()
	p.waitStatus("Stopped")
	require.False(t, p.decision().the("button", "Approve and start").here())
	p.reload()
	p.waitStatus("Stopped", "Ready")
}

// TestTwoTabs: the first answer wins, and both tabs show it.
func TestTwoTabs(t *testing.T) {
	s := startDemo(t)
	p := newTab(t, s.origin)
	p.open(s.url)
	p.planned()
	other := p.second()
	other.open(s.url)
	other.waitStatus("Plan ready")
	other.decide("Discard plan")
	p.waitStatus("Stopped")
	other.waitStatus("Stopped")
	require.NotContains(t, s.read("lib/notes.sh"), "notes_search")
}
