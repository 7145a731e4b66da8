package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// write types text into what has the focus.
func (p *tab) write(text string) {
	p.t.Helper()
	ctx, cancel := p.limited()
	defer cancel()
	_, err := chromedp.Call(ctx, input.InsertText, input.InsertTextParams{Text: text})
	require.NoError(p.t, err)
}

// pressUntil repeats keys until ok: a question takes none in its first moment,
// so that a key meant for something else does not decide.
func (p *tab) pressUntil(what string, ok func() bool, keys ...string) {
	p.t.Helper()
	p.wait(what, func() bool {
		if ok() {
			return true
		}
		time.Sleep(400 * time.Millisecond)
		p.press(keys...)
		time.Sleep(100 * time.Millisecond)
		return ok()
	})
}

// focused is the name of what has the focus.
func (p *tab) focused() string {
	return eval[string](p, `(() => { const e = document.activeElement; return e.id || e.getAttribute("aria-label") || e.textContent.trim().slice(0, 60); })()`)
}

// TestKeyboardOnly does the whole run without a mouse.
func TestKeyboardOnly(t *testing.T) {
	s := startDemo(t)
	before := s.read("README.md")
	p := newTab(t, s.origin)
	p.open(s.url)
	p.waitStatus("Ready")

	p.press("/")
	require.Equal(t, "request", p.focused())
	p.press("Tab", " ")
	p.wait("the switch", func() bool { return p.the("switch", "Review each write").checked() })
	p.press("Escape", "/")
	p.write("Add a search command that ignores case")
	p.press("Enter")

	p.waitStatus("Question")
	p.press("Escape") // out of the message box
	p.pressUntil("the answer", func() bool { return !strings.HasPrefix(p.status(), "Question") }, "F6", "1")
	p.waitStatus("Plan ready")
	p.pressUntil("the approval", func() bool { return !strings.HasPrefix(p.status(), "Plan ready") }, "Ctrl+Enter")

	for n, path := range []string{"tests/test_notes.sh", "lib/notes.sh", "bin/notes", "README.md"} {
		p.waitStatus("Waiting for you")
		p.proposed(path)
		id := p.question()
		p.press("F6")
		require.Contains(t, p.focused(), "Hunk 1", "the first hunk has the focus")
		if n == 0 { // there and back again
			hunk := p.the("group", "Hunk 1")
			p.pressUntil("the hunk to be rejected", func() bool { return strings.Contains(p.decision().text(), "0 of 1") }, "r")
			p.pressUntil("the hunk to be accepted", func() bool { return strings.Contains(p.decision().text(), "1 of 1") }, "a")
			require.True(t, hunk.here())
		}
		p.pressUntil("the decision", func() bool { return p.question() != id }, "Ctrl+Enter")
	}
	p.waitStatus("Done")
	require.NotEqual(t, before, s.read("README.md"))
}

// TestFirstMomentIsDead: Enter that was meant for the message box does not approve
// a plan that appears under it.
func TestFirstMomentIsDead(t *testing.T) {
	s := startDemo(t)
	p := newTab(t, s.origin)
	p.open(s.url)
	p.send("Add a search command that ignores case")
	p.waitStatus("Question")
	id := p.question()
	eval[any](p, `new Promise((done) => { let n = 0; const t = setInterval(() => {
		document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true, cancelable: true }));
		if (++n > 20) { clearInterval(t); done(); } }, 50); })`)
	require.Equal(t, id, p.question(), "a held key decides nothing")
}
