package e2e

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// serve gives each path a page, under a strict content policy.
func serve(t *testing.T, pages map[string]string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := pages[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; form-action 'none'")
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	return s
}

// TestHarnessFindsByRoleAndName: the tests below are only as good as this.
func TestHarnessFindsByRoleAndName(t *testing.T) {
	s := serve(t, map[string]string{"/": `<!doctype html><title>x</title>
		<section aria-label="Plan"><button>Send comments <kbd>2</kbd></button></section>
		<button hidden>Hidden</button><button disabled>Off</button>
		<button aria-label="Covered">c</button>
		<label>Request <textarea></textarea></label>
		<input type="checkbox" role="switch" aria-label="Review each write">
		<p role="status" aria-label="Run status">Ready to go</p>`})
	p := newTab(t, s.URL)
	p.open(s.URL)

	p.the("region", "Plan").the("button", "Send comments").wait()
	require.False(t, p.the("region", "Plan").the("button", "Covered").here(), "it is outside")
	require.True(t, p.the("button", "Covered").here())
	require.False(t, p.the("button", "Hidden").here())
	require.False(t, p.the("button", "Off").enabled())
	require.True(t, p.the("button", "Send").enabled())
	require.Equal(t, 1, p.the("button", "Send").count())

	p.the("textbox", "Request").fill("two\nlines")
	require.Equal(t, "two\nlines", p.the("textbox", "Request").value())
	review := p.the("switch", "Review each write")
	require.False(t, review.checked())
	review.click()
	require.True(t, review.checked())
	require.Equal(t, "Ready to go", p.the("status", "Run status").text())
}

// TestHarnessHearsComplaints: a breach of the policy, an exception or a foreign
// request fails the test in which it happens.
func TestHarnessHearsComplaints(t *testing.T) {
	s := serve(t, map[string]string{"/": `<!doctype html><title>x</title>
		<img src="http://127.0.0.1:9/x.png"><p style="color:red">x</p>`})
	p := newTab(t, s.URL)
	p.open(s.URL)
	hears := func(part string) {
		t.Helper()
		p.expect(part)
		p.wait(part, func() bool { return strings.Contains(strings.Join(p.complaints(), "\n"), part) })
	}
	hears("content policy: style-src-attr")
	hears("content policy: img-src")
	hears("request to another host")
	hears("Content Security Policy")
	eval[any](p, `void setTimeout(() => { throw new Error("on purpose") }, 0)`)
	hears("on purpose")
}
