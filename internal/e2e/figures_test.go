//go:build bench

package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// What is streamed: so many deltas at so many a second.
const (
	deltas    = 10_000
	perSecond = 200
)

// model is a provider that streams deltas at a steady pace once, and then says that
// it has nothing more. Some words carry the time at which they were written.
func model(t *testing.T) *httptest.Server {
	t.Helper()
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
			http.NotFound(w, r)
			return
		}
		asked++
		w.Header().Set("Content-Type", "text/event-stream")
		say := func(text string) {
			fmt.Fprintf(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":%q}}]}\n\n", text)
			w.(http.Flusher).Flush()
		}
		if asked > 1 {
			say("Nothing more.")
		} else {
			began := time.Now()
			for i := range deltas {
				time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / perSecond)))
				switch {
				case i%400 == 0:
					say(fmt.Sprintf("\n\n## Part %d\n\n", i/400))
				case i%50 == 0:
					say("\n\n")
				case i%10 == 0:
					say(fmt.Sprintf("at%d ", time.Now().UnixMilli()))
				default:
					say(fmt.Sprintf("word%d ", i))
				}
			}
		}
		fmt.Fprint(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	return s
}

// watch notes frames, long tasks and, for words with a time, when they were painted.
const watch = `(() => {
	globalThis.seen = { frames: [], long: [], late: [] };
	let last = 0;
	const frame = (t) => { if (last) seen.frames.push(t - last); last = t; requestAnimationFrame(frame); };
	requestAnimationFrame(frame);
	new PerformanceObserver((l) => { for (const e of l.getEntries()) seen.long.push(e.duration); }).observe({ entryTypes: ["longtask"] });
	let newest = 0;
	new MutationObserver((all) => {
		const fresh = [];
		for (const m of all) {
			const text = m.type === "characterData" ? m.target.data : [...m.addedNodes].map((n) => n.textContent).join(" ");
			for (const [, at] of text.matchAll(/at(\d{13})/g)) if (Number(at) > newest) fresh.push(Number(at));
		}
		if (!fresh.length) return;
		newest = Math.max(...fresh);
		// The task after the next frame begins when that frame has been painted.
		requestAnimationFrame(() => { const c = new MessageChannel(); c.port1.onmessage = () => {
			const now = performance.timeOrigin + performance.now();
			for (const at of fresh) seen.late.push(now - at);
		}; c.port2.postMessage(0); });
	}).observe(document.getElementById("items"), { subtree: true, childList: true, characterData: true });
})()`

// figure is one row of the table.
type figure struct {
	what        string
	value, most float64
	unit        string
}

func table(t *testing.T, rows []figure) {
	t.Helper()
	for _, r := range rows {
		verdict := "ok"
		if r.value > r.most {
			verdict = "TOO MUCH"
			t.Errorf("%s: %.1f %s, at most %.1f", r.what, r.value, r.unit, r.most)
		}
		fmt.Printf("%-58s %9.1f %-3s  <= %6.1f  %s\n", r.what, r.value, r.unit, r.most, verdict)
	}
}

// heap is what the page's script holds after a collection, in MB.
func heap(t *testing.T, p *tab) float64 {
	t.Helper()
	ctx, cancel := p.limited()
	defer cancel()
	_, err := chromedp.Call(ctx, heapprofiler.CollectGarbage, cdp.Empty{})
	require.NoError(t, err)
	use, err := chromedp.Call(ctx, runtime.GetHeapUsage, cdp.Empty{})
	require.NoError(t, err)
	return float64(use.UsedSize) / 1e6
}

// until waits without a look at what a screen reader finds: once asked, the browser
// keeps that up to date, which costs more than the page itself.
func (p *tab) until(script string) {
	p.t.Helper()
	for end := time.Now().Add(patience); !eval[bool](p, "!!("+script+")"); time.Sleep(50 * time.Millisecond) {
		require.True(p.t, time.Now().Before(end), "waited in vain for %s", script)
	}
}

const share = `((list, q) => { const s = [...list].sort((a, b) => a - b); return s.length ? s[Math.min(s.length - 1, Math.floor(s.length * q))] : 0; })`

// TestFigureStream: 10,000 deltas at 200 a second.
func TestFigureStream(t *testing.T) {
	m := model(t)
	s := startConfigured(t, "[provider]\nname = \"compatible\"\nmodel = \"m\"\nendpoint = \""+m.URL+"/v1\"\n")
	p := newTab(t, s.origin)
	p.open(s.url)
	p.until(`document.querySelector("#sessions .session, #sessions .empty")`)
	eval[any](p, `document.getElementById("request").value = "Write a lot"; document.querySelector(".send").click()`)
	p.until(`document.body.innerText.includes("word1 ")`)
	eval[any](p, watch)
	time.Sleep(10 * time.Second)
	first := heap(t, p)
	eval[any](p, `seen.frames.length = seen.long.length = 0`) // the collection was a long task of ours
	for end := time.Now().Add(2 * time.Minute); !eval[bool](p, fmt.Sprintf(`document.getElementById("items").textContent.includes("word%d")`, deltas-1)); {
		require.True(t, time.Now().Before(end), "the last delta never came")
		time.Sleep(2 * time.Second)
	}
	frames, long, late := eval[float64](p, share+`(seen.frames, .95)`), eval[float64](p, `Math.max(0, ...seen.long)`), eval[float64](p, share+`(seen.late, .95)`)
	fmt.Printf("frames %d, stamps %d, late p50 %.1f ms, long tasks %d\n", eval[int](p, `seen.frames.length`), eval[int](p, `seen.late.length`), eval[float64](p, share+`(seen.late, .5)`), eval[int](p, `seen.long.length`))
	table(t, []figure{
		{"10,000 deltas at 200/s: longest task", long, 50, "ms"},
		{"10,000 deltas at 200/s: frame, p95", frames, 20, "ms"},
		{"10,000 deltas at 200/s: growth of the script's memory", heap(t, p) - first, 3, "MB"},
		{"delta written by the model to painted, p95", late, 50, "ms"},
	})
}

// TestFigureDiff: a diff of 5,000 lines.
func TestFigureDiff(t *testing.T) {
	s := newServer(t)
	st := newStored(t, s, "Write a long file")
	text := number(5000, func(i int) string { return fmt.Sprintf("const value%d = compute(%d, \"some text\"); // line", i, i) })
	st.changed("long.js", "", text, "--- /dev/null\n+++ b/long.js\n@@ -0,0 +1,5000 @@\n+"+strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n+")+"\n", nil)
	st.save()
	s.start()
	p := newTab(t, s.origin)
	p.open(s.url)
	p.until(`document.querySelector("#sessions .session")`)
	eval[any](p, watch)
	shown := eval[float64](p, `new Promise((done) => {
		const began = performance.now();
		const look = () => document.querySelectorAll("#diffs .l").length >= 400
			? requestAnimationFrame(() => { const c = new MessageChannel(); c.port1.onmessage = () => done(performance.now() - began); c.port2.postMessage(0); })
			: requestAnimationFrame(look);
		document.querySelector("#sessions .session").click();
		look();
	})`)
	eval[any](p, `seen.long.length = 0`)
	p.until(`(() => { const r = document.getElementById("review"); r.scrollTop += 3000; return document.querySelectorAll("#diffs .l").length >= 5000; })()`)
	table(t, []figure{
		{"5,000-line diff: click to the first 400 lines painted", shown, 300, "ms"},
		{"5,000-line diff: longest task while the rest loads", eval[float64](p, `Math.max(0, ...seen.long)`), 100, "ms"},
	})
}
