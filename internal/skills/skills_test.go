package skills

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

const pdf = "---\nname: pdf\ndescription: x\n---\n\n# PDF\n\nUse `pdftotext`.\n"

// registry serves an index and the files beside it. BASE in the index is its own
// address.
func registry(t *testing.T, index string, files map[string]string) (*Registry, *atomic.Int64) {
	t.Helper()
	var calls atomic.Int64
	var srv *httptest.Server
	srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		if r.URL.Path == "/main/registry.json" {
			_, _ = io.WriteString(w, strings.ReplaceAll(index, "BASE", srv.URL+"/main"))
			return
		}
		text, ok := files[strings.TrimPrefix(r.URL.Path, "/main/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(srv.Close)
	reg, err := New(srv.URL + "/main/registry.json")
	require.NoError(t, err)
	return reg, &calls
}

func TestLoad(t *testing.T) {
	sum := sha256.Sum256([]byte(pdf))
	for _, tc := range []struct{ name, index, file string }{
		{"as the registry is", `{"version":"1.0","skills":{"pdf":{"name":"pdf","displayName":"PDF Toolkit","description":"d","version":"1.0.0","download_url":"BASE/skills/pdf","tools":["x"],"tags":["document"]}}}`, "skills/pdf/Skills.md"},
		{"SKILL.md", `{"skills":{"pdf":{"download_url":"BASE/skills/pdf/"}}}`, "skills/pdf/SKILL.md"},
		{"a list with paths", `{"skills":[{"name":"pdf","path":"skills/pdf","version":2,"tags":"a, b"}]}`, "skills/pdf/Skills.md"},
		{"a bare list, url of the document", `[{"name":"pdf","url":"BASE/pdf.md"}]`, "pdf.md"},
		{"a bare object, an entry, its hash", `{"pdf":{"url":"BASE/p","entry":"docs/guide.md","sha256":"` + strings.ToUpper(hex.EncodeToString(sum[:])) + `"}}`, "p/docs/guide.md"},
		{"only a name", `{"skills":[{"name":"pdf"},17,null,{"name":["x"]}]}`, "pdf/Skills.md"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			reg, calls := registry(t, tc.index, map[string]string{tc.file: pdf})
			s, err := reg.Load(t.Context(), "pdf")
			require.NoError(t, err)
			require.Equal(t, "# PDF\n\nUse `pdftotext`.", s.Text)
			require.Equal(t, hex.EncodeToString(sum[:]), s.SHA256)
			require.True(t, strings.HasSuffix(s.URL, tc.file), s.URL)
			before := calls.Load()
			_, err = reg.Search(t.Context(), "pdf", 5)
			require.NoError(t, err)
			require.Equal(t, before, calls.Load(), "the index is fetched once")
		})
	}
}

// TestC18Refused: whatever the registry sends, it is refused or cut while it
// streams, and nothing else is called.
func TestC18Refused(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another host was called") }))
	defer other.Close()
	var sent atomic.Int64
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	defer srv.Close()
	mux.HandleFunc("/registry.json", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"skills":{
			"elsewhere":{"download_url":%q}, "up":{"url":"a/","entry":"../x.md"}, "dots":{"url":"a/%%2e%%2e/x"}, "abs":{"url":"a","entry":"/etc/x.md"}, "file":{"url":"file:///etc/passwd"},
			"user":{"url":"http://me@%s/x.md"}, "../../x":{"url":"x.md"}, "Upper":{"url":"x.md"}, "bad name":{"url":"x.md"}, "noend":{"url":"a","entry":"x.exe"},
			"redirect":{"url":"redirect.md"}, "loop":{"url":"loop.md"}, "near":{"url":"near.md"}, "wrong":{"url":"ok.md","sha256":"00"}, "endless":{"url":"endless.md"}, "said":{"url":"said.md"},
			"bomb":{"url":"bomb.md"}, "binary":{"url":"binary.md"}, "broken":{"url":"broken.md"}, "gone":{"url":"gone.md"}, "short":{"url":"short.md"}, "hidden":{"url":"hidden.md"}}}`,
			other.URL+"/x.md", strings.TrimPrefix(srv.URL, "http://"))
	})
	mux.HandleFunc("/redirect.md", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/x.md", http.StatusFound)
	})
	mux.HandleFunc("/loop.md", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop.md", http.StatusFound) })
	mux.HandleFunc("/near.md", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/ok.md", http.StatusFound) })
	mux.HandleFunc("/ok.md", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "fine") })
	mux.HandleFunc("/endless.md", func(w http.ResponseWriter, _ *http.Request) {
		for chunk := []byte(strings.Repeat("x", 32<<10)); ; {
			n, err := w.Write(chunk)
			if err != nil || sent.Add(int64(n)) > 300<<20 {
				return
			}
		}
	})
	mux.HandleFunc("/said.md", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "314572800") })
	mux.HandleFunc("/bomb.md", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = z.Write(make([]byte, 10<<20))
		_ = z.Close()
	})
	mux.HandleFunc("/binary.md", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte{0xff, 0xfe, 0}) })
	mux.HandleFunc("/broken.md", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	mux.HandleFunc("/short.md", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "cut")
	})
	mux.HandleFunc("/hidden.md", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "a\x1b[2J\U000E0041b")
	})
	reg, err := New(srv.URL + "/registry.json")
	require.NoError(t, err)
	for name, want := range map[string]error{
		"elsewhere": ErrNoSkill, "up": ErrNoSkill, "dots": ErrNoSkill, "abs": ErrNoSkill, "file": ErrNoSkill, "user": ErrNoSkill, "../../x": ErrNoSkill,
		"Upper": ErrNoSkill, "bad name": ErrNoSkill, "noend": ErrNoSkill, "": ErrNoSkill, strings.Repeat("a", 65): ErrNoSkill,
		"redirect": ErrRefused, "wrong": ErrRefused, "endless": ErrRefused, "said": ErrRefused, "bomb": ErrRefused, "binary": ErrRefused,
	} {
		_, err := reg.Load(t.Context(), name)
		require.ErrorIs(t, err, want, name)
	}
	for name, want := range map[string]string{
		"loop": "redirects more than 5 times", "broken": "500 Internal Server Error", "gone": "no such file", "short": "broke off",
	} {
		_, err := reg.Load(t.Context(), name)
		require.ErrorContains(t, err, want, name)
	}
	require.Less(t, sent.Load(), int64(32<<20), "it stops while it streams")
	s, err := reg.Load(t.Context(), "near")
	require.NoError(t, err)
	require.Equal(t, "fine", s.Text)
	s, err = reg.Load(t.Context(), "hidden")
	require.NoError(t, err)
	require.Equal(t, "a⟨U+001B⟩[2J⟨U+E0041⟩b", s.Text)
	require.Equal(t, 2, s.Hidden)
}

func TestNew(t *testing.T) {
	for _, ok := range []string{"https://example.com/r.json", "http://127.0.0.1:1/r", "http://[::1]/r", "http://localhost/r"} {
		_, err := New(ok)
		require.NoError(t, err, ok)
	}
	for _, bad := range []string{"", "http://example.com/r.json", "file:///etc/passwd", "https://", "https://me:secret@example.com/", "ftp://x/y", "::", "http://10.0.0.1/r"} {
		_, err := New(bad)
		require.ErrorContains(t, err, "skills.registry", bad)
		require.NotContains(t, err.Error(), "secret")
	}
}

// TestOutage: no registry is no reason to stop, and it is asked again when it is
// back.
func TestOutage(t *testing.T) {
	var mode atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch mode.Load() {
		case 0:
			_, _ = io.WriteString(w, "<html>captive portal</html>")
		case 1:
			_, _ = io.WriteString(w, strings.Repeat(" ", MaxIndex+1))
		case 2:
			http.NotFound(w, nil)
		default:
			_, _ = io.WriteString(w, `{"skills":{"a":{"url":"a.md"}}}`)
		}
	}))
	reg, err := New(srv.URL)
	require.NoError(t, err)
	for range 3 {
		_, err = reg.Search(t.Context(), "x", 5)
		require.ErrorIs(t, err, ErrUnavailable)
		_, err = reg.Load(t.Context(), "a")
		require.ErrorIs(t, err, ErrUnavailable)
		mode.Add(1)
	}
	found, err := reg.Search(t.Context(), "", 5)
	require.NoError(t, err)
	require.Len(t, found, 1)
	srv.Close()
	_, err = reg.Load(t.Context(), "a")
	require.ErrorContains(t, err, "no answer: ")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = reg.Load(ctx, "a")
	require.ErrorIs(t, err, context.Canceled)
}

func TestRank(t *testing.T) {
	data, err := os.ReadFile("testdata/registry.json")
	require.NoError(t, err)
	base, err := url.Parse("https://example.com/main/registry.json")
	require.NoError(t, err)
	index, err := parseIndex(data, base)
	require.NoError(t, err)
	for query, want := range map[string][]string{
		"extract text from a pdf":          {"pdf", "docx", "web-scraper"},
		"PDFs":                             {"pdf"},
		"scraping":                         {"web-scraper"},
		"please help me with the":          {"docx", "pdf"},
		"":                                 {"docx", "pdf"},
		"quantum chemistry":                {},
		"web scraper for html pages":       {"web-scraper"},
		"I want to create a Word document": {"docx", "pdf"},
		"übersetzen":                       {},
	} {
		var names []string
		limit := 3
		if len(want) == 2 {
			limit = 2
		}
		for _, i := range rank(index, query, limit) {
			names = append(names, i.Name)
		}
		require.ElementsMatch(t, want, names, query)
		if len(want) > 0 {
			require.Equal(t, want[0], names[0], query)
		}
	}
	require.Equal(t, []string{"https://example.com/main/skills/pdf/Skills.md", "https://example.com/main/skills/pdf/SKILL.md"}, index[1].urls)
}

func TestBody(t *testing.T) {
	for in, want := range map[string]string{
		pdf: "# PDF\n\nUse `pdftotext`.", "---\r\na: b\r\n---\r\ntext\r\n": "text", "---\nnever ends": "---\nnever ends", "plain": "plain",
		"\ufeff---\n---\nx": "x", "---\na\n---": "", "---": "---", "a\n---\nb\n---\n": "a\n---\nb\n---", "---\nx: y\n...\nz": "z",
	} {
		require.Equal(t, want, body(in), "%q", in)
	}
}

// FuzzParseIndex: no index makes the client call another host or crash.
func FuzzParseIndex(f *testing.F) {
	f.Add([]byte(`{"skills":{"a":{"url":"x","tags":["t"],"entry":"a.md"}}}`))
	f.Add([]byte(`[{"name":"a","download_url":"https://example.com/../x"}]`))
	f.Add([]byte(`[{"name":"0","url":"https://eXAmple.Com#0000"}]`))
	base := &url.URL{Scheme: "https", Host: "example.com", Path: "/r.json"}
	f.Fuzz(func(t *testing.T, data []byte) {
		infos, err := parseIndex(data, base)
		if err != nil {
			return
		}
		for _, i := range infos {
			for _, u := range i.urls {
				if p, err := url.Parse(u); err != nil || p.Host != base.Host || p.Scheme != "https" || path.Clean(p.Path) != p.Path {
					t.Fatalf("%q of %q", u, data)
				}
			}
		}
		rank(infos, string(data), 5)
	})
}
