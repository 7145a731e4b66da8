package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// upgrade are the headers of a websocket handshake (RFC 6455, section 4.1).
func upgrade(more map[string]string) map[string]string {
	h := map[string]string{
		"Connection": "Upgrade", "Upgrade": "websocket",
		"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
	}
	for name, value := range more {
		h[name] = value
	}
	return h
}

// TestW02ForeignOriginGetsNoSocket: any page a person visits could otherwise
// drive the agent on their machine.
func TestW02ForeignOriginGetsNoSocket(t *testing.T) {
	s := startDemo(t)
	origins := []string{
		"http://evil.test", "null", "file://", "chrome-extension://abc", "http://127.0.0.1:1",
		"http://localhost:" + s.port(), "http://127.0.0.1", "https://127.0.0.1:" + s.port(),
	}
	for _, origin := range origins {
		status, body := s.request("GET", "/ws", upgrade(map[string]string{"Origin": origin}), "")
		require.Equal(t, http.StatusForbidden, status, "Origin %q: %s", origin, body)
		status, _ = s.request("GET", "/", map[string]string{"Origin": origin}, "")
		require.Equal(t, http.StatusForbidden, status, "the page, Origin %q", origin)
	}
}

// TestW03WrongHostIsRefused: after DNS rebinding the browser sends the attacker's
// name as Host, and an Origin that matches it.
func TestW03WrongHostIsRefused(t *testing.T) {
	s := startDemo(t)
	for _, host := range []string{"evil.test:" + s.port(), "localhost:" + s.port(), "127.0.0.1", "127.0.0.1:1", "[::1]:" + s.port()} {
		for _, path := range []string{"/", "/ws", "/static/app.js", "/nothing"} {
			status, body := s.request("GET", path, map[string]string{
				"Host": host, "Origin": "http://" + host, "Authorization": "Bearer " + s.token,
			}, "")
			require.Equal(t, http.StatusForbidden, status, "Host %s, %s: %s", host, path, body)
		}
	}
}

// TestW03RebindingInChromium is the same with a real browser, which sends no
// Sec-Fetch-Site for such a page.
func TestW03RebindingInChromium(t *testing.T) {
	s := startDemo(t)
	p := newTab(t, "")
	p.expect("403", "Cross-Origin-Opener-Policy header has been ignored") // not a secure origin
	ctx, cancel := p.limited()
	defer cancel()
	response, err := chromedp.Run(ctx, chromedp.NavigateResponse("http://rebound.test:"+s.port()+"/#token="+s.token))
	require.NoError(t, err)
	require.EqualValues(t, http.StatusForbidden, response.Status)
	require.False(t, p.the("textbox", "Request").here())
}

// witness is a hostile server that keeps what it is sent.
type witness struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string
}

func newWitness(t *testing.T, body string) *witness {
	t.Helper()
	w := &witness{}
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.seen = append(w.seen, fmt.Sprint(r.Method, " ", r.URL, " ", r.Header))
		w.mu.Unlock()
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = rw.Write([]byte(body))
	}))
	t.Cleanup(w.Close)
	return w
}

func (w *witness) all() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.seen, "\n")
}

// TestW05OtherPortsLearnAndDoNothing: a page on another port of the same host
// shares the browser's cookies with us, and nothing else may come of it.
func TestW05OtherPortsLearnAndDoNothing(t *testing.T) {
	s := startDemo(t)
	victim := newTab(t, s.origin)
	victim.open(s.url)
	victim.waitStatus("Ready")

	evil := newWitness(t, `<!doctype html><title>evil</title><body><script>
		const to = "`+s.origin+`", ws = to.replace("http", "ws") + "/ws";
		window.outcome = (async () => {
			const image = new Image(); image.src = to + "/";
			const out = [];
			for (const method of ["GET", "POST"]) for (const path of ["/", "/ws", "/api/sessions"]) {
				try {
					const r = await fetch(to + path, { method, mode: "no-cors", credentials: "include",
						body: method === "POST" ? '{"type":"start","request":"x"}' : undefined });
					out.push(r.type);
				} catch (e) { out.push("error"); }
				try { await (await fetch(to + path, { method, credentials: "include" })).text(); out.push("READ " + path); } catch {}
			}
			const form = document.createElement("form");
			const frame = document.createElement("iframe"); frame.name = "f"; document.body.append(frame);
			form.method = "POST"; form.action = to + "/ws"; form.target = "f"; form.enctype = "text/plain";
			document.body.append(form); form.submit();
			out.push(await new Promise((done) => {
				const socket = new WebSocket(ws);
				socket.onopen = () => done("SOCKET OPEN"); socket.onerror = () => done("socket refused");
			}));
			return out.join(" ");
		})();
		</script>`)
	attacker := victim.second()
	attacker.anything = true
	attacker.open(evil.URL)
	outcome := eval[string](attacker, "window.outcome")
	require.Contains(t, outcome, "socket refused")
	require.NotContains(t, outcome, "READ")

	victim.waitStatus("Ready")
	require.NotContains(t, evil.all(), s.token)
	require.NotContains(t, evil.all(), "Cookie", "we must not set any")
	require.NotContains(t, evil.all(), "Authorization")
}

// TestW09NobodyFramesUs: a page could lay an invisible approve button under the
// cursor.
func TestW09NobodyFramesUs(t *testing.T) {
	s := startDemo(t)
	evil := newWitness(t, `<!doctype html><title>evil</title><iframe src="`+s.url+`" width="900" height="600"></iframe>`)
	p := newTab(t, "")
	p.anything = true
	p.open(evil.URL)
	p.wait("the frame to be refused", func() bool {
		return strings.HasPrefix(frameURL(p.ctx, t), "chrome-error://")
	})
	require.False(t, p.the("textbox", "Request").here())
}

// frameURL is where the first frame of the page ended.
func frameURL(ctx context.Context, t *testing.T) string {
	tree, err := chromedp.Call(ctx, page.GetFrameTree, cdp.Empty{})
	require.NoError(t, err)
	if tree.FrameTree == nil || len(tree.FrameTree.ChildFrames) == 0 {
		return ""
	}
	return tree.FrameTree.ChildFrames[0].Frame.URL
}

// TestW15TokenLeavesTheAddressBar: it must not stay in what a person copies, in
// the history or in a Referer, and a reload must not need it.
func TestW15TokenLeavesTheAddressBar(t *testing.T) {
	s := startDemo(t)
	p := newTab(t, s.origin)
	p.open(s.url)
	p.waitStatus("Ready")
	require.Equal(t, s.origin+"/", strings.TrimSuffix(eval[string](p, "location.href"), "#"))
	require.Empty(t, eval[string](p, "document.cookie"))
	require.NotContains(t, eval[string](p, "document.documentElement.outerHTML"), s.token)
	p.reload()
	p.waitStatus("Ready")

	other := newTab(t, s.origin)
	other.open(s.url)
	other.waitStatus("Ready")
}

// TestW01NoTokenNoSession: the shell is all there is without the token.
func TestW01NoTokenNoSession(t *testing.T) {
	s := startDemo(t)
	for _, address := range []string{s.origin + "/", s.origin + "/#token=wrong", s.origin + "/#token=" + s.token[1:]} {
		p := newTab(t, s.origin)
		p.expect("401", "WebSocket", "4401")
		p.open(address)
		p.wait("the page to say what is missing", func() bool {
			return strings.Contains(strings.ToLower(eval[string](p, "document.body.innerText")), "coderrr ui")
		})
		require.NotContains(t, eval[string](p, "document.body.innerText"), "AGENTS.md")
		require.False(t, p.the("button", "Send").here() && p.the("button", "Send").enabled())
	}
}
