package markdown_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/markdown"
)

func TestHTML(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"heading is one level lower", "# A", "<h2>A</h2>\n"},
		{"link shows its host", "[docs](https://evil.test/x)", `<p><a href="https://evil.test/x" target="_blank" rel="noopener noreferrer">docs</a> <span class="host">evil.test</span></p>` + "\n"},
		{"T10 text lies", "[https://github.com](https://evil.test)", `<p><a href="https://evil.test" target="_blank" rel="noopener noreferrer">https://github.com</a> <span class="host">evil.test</span></p>` + "\n"},
		{"T10 host as a prefix", "[https://evil.test.good.org](https://evil.test)", `<p><a href="https://evil.test" target="_blank" rel="noopener noreferrer">https://evil.test.good.org</a> <span class="host">evil.test</span></p>` + "\n"},
		{"honest link", "<https://go.dev/x>", `<p><a href="https://go.dev/x" target="_blank" rel="noopener noreferrer">https://go.dev/x</a></p>` + "\n"},
		{"W13 javascript", "[a](javascript:alert(1))", `<p><span class="nolink">a</span> <span class="host">javascript:alert(1)</span></p>` + "\n"},
		{"W13 data", "[a](data:text/html,x)", `<p><span class="nolink">a</span> <span class="host">data:text/html,x</span></p>` + "\n"},
		{"W13 user info", "[a](https://good.org@evil.test/)", `<p><span class="nolink">a</span> <span class="host">https://good.org@evil.test/</span></p>` + "\n"},
		{"W10 image", "![x](http://sink/?d=1)", `<p><span class="img"><a href="http://sink/?d=1" target="_blank" rel="noopener noreferrer">image: x</a> <span class="host">sink</span></span></p>` + "\n"},
		{"hidden comment", "a <!-- b --> c", "<p>a <code class=\"raw\">&lt;!-- b --&gt;</code> c</p>\n"},
		{"html block", "<script>\nx\n</script>", "<pre class=\"raw\" tabindex=\"0\"><code>&lt;script&gt;\nx\n&lt;/script&gt;</code></pre>\n"},
		{"T05 tags", "a\U000E0041b", "<p>a⟨U+E0041⟩b</p>\n"},
		{"T03 reference", "a&#x202E;b", "<p>a⟨U+202E⟩b</p>\n"},
		{"check box", "- [x] a", "<ul>\n<li><span class=\"tick\" role=\"img\" aria-label=\"done\">☑</span> a</li>\n</ul>\n"},
		{"fence", "```go\na<b\n```", "<pre class=\"src\" tabindex=\"0\" data-lang=\"go\"><code>a&lt;b\n</code></pre>\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var r markdown.Renderer
			require.Equal(t, tt.want, r.HTML(tt.in))
		})
	}
}

// hostile is what a model or a repository may put into a text.
func hostile() []string {
	return []string{
		`<img src=x onerror=fetch('//sink')>`, `<script>alert(1)</script>`, `<button data-act="approve">x</button>`,
		`<p style="position:fixed">x</p>`, "[a](java&#10;script:x)", "[a](\x01javascript:x)", "[a](vscode://x)", "[a](file:///etc/passwd)",
		`[a](<javascript:x>)`, `![a"onerror="x](http://a/"onerror="y)`, `[x](http://a "t\" onclick=\"y")`,
		"| a |\n|:-:|\n| b |", "```\" onclick=\"x\n<b>\n```", "<svg/onload=alert(1)>", "<a href=\"javascript:x\">y</a>",
		"[ref]\n\n[ref]: javascript:alert(1)", "<http://x\" onclick=y>", "<!-- --><b data-act=x>", "&lt;script&gt;", "javascript:alert(1)",
		"# a {onclick=x data-act=y}", "http://a.test/?<script>", "`<script>`", "<a\nhref=x onclick=y>",
	}
}

// TestXSSCorpus: no text makes an element, attribute or scheme that acts
// (W12, W13). Tags that are left are only ours.
func TestXSSCorpus(t *testing.T) {
	var r markdown.Renderer
	tag := regexp.MustCompile(`<(/?[a-zA-Z!][^>]*)>`)
	allowed := regexp.MustCompile(`^/?(p|h[2-6]|ul|ol|li|pre|code|em|strong|del|blockquote|table|thead|tbody|tr|th|td|hr|br|span|a|ol start="\d+"|th align="\w+"|td align="\w+"|ol start="\d+"|` +
		`pre class="(src|raw)" tabindex="0"( data-lang="[^"]*")?|code class="raw"|span class="(img|nolink|host)"|span class="tick" role="img" aria-label="[a-z ]+"|` +
		`a href="https?://[^"]*" target="_blank" rel="noopener noreferrer")$`)
	for _, in := range hostile() {
		for _, wrap := range []string{"%", "# %", "- %", "> %", "a % b", "| % |\n|--|\n| % |"} {
			src := strings.ReplaceAll(wrap, "%", in)
			for _, m := range tag.FindAllStringSubmatch(r.HTML(src), -1) {
				require.Regexp(t, allowed, m[1], "from %q", src)
			}
		}
	}
}

func TestBlocksKnowTheirLines(t *testing.T) {
	var r markdown.Renderer
	src := "# A\n\ntext\nmore\n\n- one\n- two\n\n```\ncode\n```\n"
	blocks := r.Blocks(src)
	var lines []int
	var all string
	for _, b := range blocks {
		lines = append(lines, b.Line)
		all += b.Source
	}
	require.Equal(t, []int{1, 3, 6, 9}, lines)
	require.Equal(t, src, all)
}

// TestStreamEqualsWhole: however a document is cut into deltas, its streamed
// HTML is that of the whole (webui: the 1,500-document test).
func TestStreamEqualsWhole(t *testing.T) {
	var r markdown.Renderer
	rng := rand.New(rand.NewPCG(7, 7))
	for range 1500 {
		doc := document(rng)
		s := r.NewStream()
		for rest := doc; rest != ""; {
			n := min(len(rest), 1+rng.IntN(9))
			s.Add(rest[:n])
			rest = rest[n:]
		}
		require.Equal(t, r.HTML(doc), strings.Join(s.Frozen(), "")+s.Tail(), "document %q", doc)
	}
}

func document(rng *rand.Rand) string {
	pieces := []string{
		"para one\nline two\n", "# Head\n", "Setext\n---\n", "- a\n- b\n", "1. x\n2. y\n", "   continued\n", "> quote\nlazy\n",
		"```go\nfunc f() {}\n\n# not a heading\n```\n", "~~~\nopen fence\n", "    indented\n\n    more\n", "| a | b |\n|---|:-:|\n| 1 | 2 |\n", "***\n",
		"<div>\nhtml\n</div>\n", "<!-- comment\n\nstill -->\n", "- nested\n  - deep\n\n    para\n", "*em* `code` **b**\n", "2. item\n", "\n", "\n\n", "* [ ] task\n", "+ x\n\n+ y\n", "text  \nbreak\\\nend\n", "no end",
	}
	var b strings.Builder
	for range 1 + rng.IntN(9) {
		b.WriteString(pieces[rng.IntN(len(pieces))])
		if rng.IntN(3) > 0 {
			b.WriteString("\n")
		}
	}
	return b.String()
}

func FuzzStream(f *testing.F) {
	f.Add("# a\n\n- b\n- c\n\npara", 3)
	f.Add("```\nx\n\ny", 1)
	f.Fuzz(func(_ *testing.T, doc string, n int) {
		var r markdown.Renderer
		s := r.NewStream()
		if n <= 0 || n > 64 {
			n = 5
		}
		for rest := doc; rest != ""; {
			k := min(len(rest), n)
			s.Add(rest[:k])
			rest = rest[k:]
			s.Tail()
		}
	})
}
