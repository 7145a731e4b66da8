package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// patience is how long anything may take to appear on a busy machine.
const patience = 30 * time.Second

// tab is one tab of the browser. What goes wrong in it unasked (an exception, a
// console error, a breach of the content policy, a request to another host) fails
// the test at its end.
type tab struct {
	t      *testing.T
	ctx    context.Context
	origin string // the only one this tab may talk to

	mu    sync.Mutex
	wrong []string
	fine  []string // parts of what may go wrong in this test

	anything bool // an attacker's tab: whatever goes wrong in it is fine
}

// newTab opens an empty tab with storage of its own.
func newTab(t *testing.T, origin string) *tab {
	t.Helper()
	return openTab(t, shared.browser, origin, chromedp.WithNewBrowserContext())
}

// second opens another tab in the same browser context.
func (p *tab) second() *tab {
	p.t.Helper()
	return openTab(p.t, p.ctx, p.origin)
}

func openTab(t *testing.T, parent context.Context, origin string, options ...chromedp.ContextOption) *tab {
	t.Helper()
	p := &tab{t: t, origin: origin}
	ctx, cancel := chromedp.NewContext(parent, append(options, chromedp.WithListener(p.listen))...)
	t.Cleanup(cancel)
	p.ctx = ctx
	require.NoError(t, chromedp.Do(ctx))
	require.NoError(t, p.prepare())
	t.Cleanup(p.check)
	return p
}

// prepare turns on what listen hears. The script runs before the page's own and
// is not subject to its policy.
func (p *tab) prepare() error {
	if _, err := chromedp.Call(p.ctx, network.Enable, network.EnableParams{}); err != nil {
		return err
	}
	_, err := chromedp.Call(p.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: `document.addEventListener("securitypolicyviolation", (e) =>
			console.error("content policy: " + e.violatedDirective + " " + e.blockedURI + " " + e.sample));`,
	})
	return err
}

// listen runs in the loop that reads the browser's messages: it only notes.
func (p *tab) listen(ev any) {
	switch ev := ev.(type) {
	case *runtime.EventExceptionThrown:
		text := ev.ExceptionDetails.Text
		if ev.ExceptionDetails.Exception != nil {
			text += " " + ev.ExceptionDetails.Exception.Description
		}
		p.note("exception: " + text)
	case *runtime.EventConsoleAPICalled:
		if ev.Type == runtime.ConsoleAPICalledTypeError || ev.Type == runtime.ConsoleAPICalledTypeWarning {
			parts := []string{"console:"}
			for _, arg := range ev.Args {
				parts = append(parts, strings.Trim(string(arg.Value), `"`))
			}
			p.note(strings.Join(parts, " "))
		}
	case *log.EventEntryAdded:
		if ev.Entry.Level == log.EntryLevelError {
			p.note("browser: " + ev.Entry.Text + " " + ev.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		p.noteRequest(ev.Request.URL)
	case *network.EventWebSocketCreated:
		p.noteRequest(strings.Replace(ev.URL, "ws://", "http://", 1))
	}
}

func (p *tab) noteRequest(raw string) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme == "data" || u.Scheme == "about" || p.origin == "" {
		return
	}
	if u.Scheme+"://"+u.Host != p.origin {
		p.note("request to another host: " + raw)
	}
	if strings.Contains(raw, "token=") {
		p.note("the token is in a request: " + raw)
	}
}

func (p *tab) note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wrong = append(p.wrong, text)
}

// expect says that complaints with one of these parts are what the test is about.
func (p *tab) expect(parts ...string) { p.fine = append(p.fine, parts...) }

// complaints are what went wrong so far.
func (p *tab) complaints() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.wrong)
}

func (p *tab) check() {
	for _, text := range p.complaints() {
		if !p.anything && !slices.ContainsFunc(p.fine, func(part string) bool { return strings.Contains(text, part) }) {
			p.t.Errorf("in the browser: %s", text)
		}
	}
}

// limited is the tab's context for one step.
func (p *tab) limited() (context.Context, context.CancelFunc) {
	return context.WithTimeout(p.ctx, patience)
}

// open loads an address and waits until it has loaded.
func (p *tab) open(address string) {
	p.t.Helper()
	ctx, cancel := p.limited()
	defer cancel()
	require.NoError(p.t, chromedp.Do(ctx, chromedp.Navigate(address)))
}

func (p *tab) reload() {
	p.t.Helper()
	ctx, cancel := p.limited()
	defer cancel()
	require.NoError(p.t, chromedp.Do(ctx, chromedp.Reload()))
}

// eval runs a script and decodes what it returns.
func eval[T any](p *tab, script string) T {
	p.t.Helper()
	ctx, cancel := p.limited()
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	require.NoError(p.t, err, "script: %s", script)
	return v
}

// wait polls until ok, and fails with a picture and the names that are there.
func (p *tab) wait(what string, ok func() bool) {
	p.t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			p.screenshot("failed-" + strings.ReplaceAll(p.t.Name(), "/", "-"))
			require.FailNow(p.t, "waited in vain for "+what, "on the page:\n%s", p.describe())
		}
		time.Sleep(40 * time.Millisecond)
	}
}

// screenshot keeps a picture in the artifacts folder.
func (p *tab) screenshot(name string) {
	ctx, cancel := p.limited()
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Logf("no picture of %s: %v", name, err)
		return
	}
	if err := os.MkdirAll(shared.artifacts, 0o755); err == nil {
		err = os.WriteFile(filepath.Join(shared.artifacts, name+".png"), png, 0o644)
		if err != nil {
			p.t.Logf("no picture of %s: %v", name, err)
		}
	}
}

// describe lists what a screen reader would find.
func (p *tab) describe() string {
	ctx, cancel := p.limited()
	defer cancel()
	tree, err := chromedp.Call(ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, n := range tree.Nodes {
		role, name := text(n.Role), text(n.Name)
		if n.Ignored || role == "InlineTextBox" || role == "none" || role == "generic" && name == "" {
			continue
		}
		fmt.Fprintf(&b, "  %s %.100q\n", role, name)
	}
	return b.String()
}

func text(v *accessibility.Value) string {
	if v == nil {
		return ""
	}
	var s string
	if json.Unmarshal(v.Value, &s) != nil {
		return string(v.Value)
	}
	return s
}

// root is the document, in which everything is looked for.
func (p *tab) root(ctx context.Context) (runtime.RemoteObjectID, error) {
	doc, err := chromedp.Run(ctx, chromedp.Evaluate[*runtime.RemoteObject]("document"))
	if err != nil {
		return "", err
	}
	return doc.ObjectID, nil
}

// object resolves a node for calls.
func (p *tab) object(ctx context.Context, n *accessibility.Node) (runtime.RemoteObjectID, error) {
	r, err := chromedp.Call(ctx, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: n.BackendDOMNodeID})
	if err != nil {
		return "", err
	}
	return r.Object.ObjectID, nil
}
