package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// look is how the page is looked at: a width in CSS pixels and a theme.
type look struct {
	width, height int64
	theme         string
}

func (l look) String() string { return fmt.Sprintf("%d-%s", l.width, l.theme) }

// looks are those in which each state is checked.
func looks() []look {
	return []look{
		{1440, 900, "light"},
		{1440, 900, "dark"},
		{768, 1024, "light"},
		{768, 1024, "dark"},
		{360, 740, "light"},
		{360, 740, "dark"},
	}
}

// as shows the page as l.
func (p *tab) as(l look) {
	p.t.Helper()
	ctx, cancel := p.limited()
	defer cancel()
	_, err := chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: l.width, Height: l.height, DeviceScaleFactor: 1, Mobile: l.width < 760,
	})
	require.NoError(p.t, err)
	_, err = chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: l.theme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	require.NoError(p.t, err)
	eval[any](p, `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))`)
}

// inspect checks one state of the page in every look: nothing wider than the
// window, nothing that axe finds. It leaves the page as it was.
func (p *tab) inspect(state string) {
	p.t.Helper()
	for _, l := range looks() {
		p.as(l)
		p.screenshot(state + "-" + l.String())
		if wide := eval[string](p, tooWide); wide != "" {
			p.t.Errorf("%s, %s: wider than the window: %s", state, l, wide)
		}
		if l.width == 768 && l.theme == "dark" {
			continue // the colours are those of 1440, the layout that of 768 light
		}
		if found := p.axe(); found != "" {
			p.t.Errorf("%s, %s: axe found\n%s", state, l, found)
		}
	}
	p.as(looks()[0])
}

// tooWide names what makes the page scroll sideways, or is cut off at its edge.
const tooWide = `(() => {
	const most = document.documentElement.clientWidth, out = [];
	if (document.documentElement.scrollWidth > most) out.push("document " + document.documentElement.scrollWidth);
	const clipped = (e) => { for (let a = e.parentElement; a; a = a.parentElement) {
		const s = getComputedStyle(a);
		if (s.overflowX !== "visible" && a.getBoundingClientRect().right <= most + 1) return true;
	} return false; };
	for (const e of document.body.querySelectorAll("button, textarea, h2, .pill, .btn, .gate, .file, .tool, .say")) {
		const b = e.getBoundingClientRect();
		if (b.width && b.right > most + 1 && !clipped(e)) out.push(e.nodeName + "." + e.className + " " + Math.round(b.right));
	}
	return out.slice(0, 6).join("; ");
})()`

// axe runs axe-core over the page and lists what it finds, "" for nothing.
func (p *tab) axe() string {
	p.t.Helper()
	if !eval[bool](p, `typeof globalThis.axe === "object"`) {
		source, err := os.ReadFile(filepath.Join("testdata", "axe", "axe.min.js"))
		require.NoError(p.t, err)
		eval[any](p, string(source)+"; undefined")
	}
	return eval[string](p, `axe.run(document, {
		resultTypes: ["violations"], elementRef: false,
		runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
	}).then((r) => r.violations.map((v) => "  " + v.id + ": " + v.help + "\n" + v.nodes.slice(0, 4).map((n) =>
		"    " + n.target.join(" ") + "  " + n.html.slice(0, 160) + "\n      " + (n.any.concat(n.all, n.none)[0]?.message ?? "")).join("\n")).join("\n"))`)
}

// TestEveryStateIsAccessible walks the demo through its states and inspects each.
func TestEveryStateIsAccessible(t *testing.T) {
	s := startDemo(t)
	p := newTab(t, s.origin)
	p.open(s.url)
	p.waitStatus("Ready")
	p.inspect("ready")
	p.the("button", "Keys and help").click()
	p.inspect("help")
	p.the("dialog", "Keys").the("button", "Close").click()

	p.the("switch", "Review each write").click()
	p.send("Add a search command that ignores case")
	p.waitStatus("Question")
	p.inspect("question")
	p.decide("Print nothing")
	p.waitStatus("Plan ready")
	p.inspect("plan-ready")
	p.the("region", "Plan").the("button", "Edit").click()
	p.inspect("plan-edit")
	p.the("region", "Plan").the("button", "Read").click()
	p.the("region", "Plan").the("button", "Comment on line").focus()
	p.press("Enter")
	p.the("textbox", "Comment on line").fill("What about an empty word?")
	p.inspect("plan-comment")
	p.the("region", "Plan").the("button", "Remove").click()
	p.decide("Approve and start")

	p.waitStatus("Waiting for you")
	p.inspect("write")
	p.the("region", "Changes").the("button", "Split").click()
	p.inspect("write-split")
	p.the("region", "Changes").the("button", "Unified").click()
	for p.waitStatus("Waiting for you", "Done") != "Done" {
		p.decide("Apply accepted")
		p.wait("what comes next", func() bool {
			now := p.status()
			return strings.HasPrefix(now, "Done") || strings.HasPrefix(now, "Waiting")
		})
	}
	p.inspect("done")
	p.the("button", "New session").click()
	p.waitStatus("Ready")
	p.inspect("second")
}

// TestStoppedStatesAreAccessible: the states that nobody plans for.
func TestStoppedStatesAreAccessible(t *testing.T) {
	s := startDemo(t)
	p := newTab(t, s.origin)
	p.open(s.url)
	p.planned()
	p.decide("Approve and start")
	p.waitStatus("Working")
	p.the("button", "Stop").click()
	p.waitStatus("Stopped")
	p.inspect("stopped")

	p.expect("WebSocket", "ERR_", "401")
	s.stop()
	p.wait("the page to notice", func() bool { return strings.HasPrefix(p.status(), "Reconnecting") })
	p.inspect("reconnecting")

	lost := newTab(t, "")
	lost.anything = true
	again := startDemo(t)
	lost.open(again.origin + "/#token=" + s.token)
	lost.wait("the page to say what to do", func() bool {
		return strings.Contains(eval[string](lost, "document.body.innerText"), "coderrr ui")
	})
	lost.inspect("lost")
}
