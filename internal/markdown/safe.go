package markdown

import (
	"bytes"
	"net/url"
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// safe replaces the renderers of goldmark that write what a page must not hold.
type safe struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (s *safe) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindHeading, s.heading)
	reg.Register(ast.KindFencedCodeBlock, s.fence)
	reg.Register(ast.KindCodeBlock, s.code)
	reg.Register(ast.KindHTMLBlock, s.htmlBlock)
	reg.Register(ast.KindRawHTML, s.rawHTML)
	reg.Register(ast.KindLink, s.link)
	reg.Register(ast.KindAutoLink, s.autoLink)
	reg.Register(ast.KindImage, s.image)
	reg.Register(east.KindTaskCheckBox, s.checkBox)
}

// heading is one level lower than written: the page has its own first level.
func (s *safe) heading(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	level := byte('0' + min(6, n.(*ast.Heading).Level+1))
	if entering {
		write(w, "<h", string(level), ">")
	} else {
		write(w, "</h", string(level), ">\n")
	}
	return ast.WalkContinue, nil
}

func (s *safe) fence(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	s.pre(w, string(n.(*ast.FencedCodeBlock).Language(source)), source, n)
	return ast.WalkSkipChildren, nil
}

func (s *safe) code(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		s.pre(w, "", source, n)
	}
	return ast.WalkSkipChildren, nil
}

func (s *safe) pre(w util.BufWriter, lang string, source []byte, n ast.Node) {
	write(w, `<pre class="src" tabindex="0"`)
	if lang != "" {
		write(w, ` data-lang="`, escape(lang), `"`)
	}
	write(w, "><code>")
	lines := n.Lines()
	for i := range lines.Len() {
		seg := lines.At(i)
		write(w, escape(string(seg.Value(source))))
	}
	write(w, "</code></pre>\n")
}

// htmlBlock shows HTML as text: a comment in a plan is part of what is approved.
func (s *safe) htmlBlock(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	b := n.(*ast.HTMLBlock)
	write(w, `<pre class="raw" tabindex="0"><code>`)
	for i := range b.Lines().Len() {
		seg := b.Lines().At(i)
		write(w, escape(string(seg.Value(source))))
	}
	if b.HasClosure() {
		write(w, escape(string(b.ClosureLine.Value(source))))
	}
	write(w, "</code></pre>\n")
	return ast.WalkSkipChildren, nil
}

func (s *safe) rawHTML(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkSkipChildren, nil
	}
	segments := n.(*ast.RawHTML).Segments
	write(w, `<code class="raw">`)
	for i := range segments.Len() {
		seg := segments.At(i)
		write(w, escape(string(seg.Value(source))))
	}
	write(w, "</code>")
	return ast.WalkSkipChildren, nil
}

func (s *safe) link(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	l := n.(*ast.Link)
	anchor(w, string(l.Destination), plain(source, n), entering)
	return ast.WalkContinue, nil
}

func (s *safe) autoLink(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	l := n.(*ast.AutoLink)
	label := string(l.Label(source))
	dest := string(l.URL(source))
	if l.AutoLinkType == ast.AutoLinkEmail {
		dest = ""
	}
	anchor(w, dest, label, true)
	write(w, escape(label))
	anchor(w, dest, label, false)
	return ast.WalkContinue, nil
}

// image is never loaded: even asking for it would tell another host something.
func (s *safe) image(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkSkipChildren, nil
	}
	dest, alt := string(n.(*ast.Image).Destination), plain(source, n)
	if alt == "" {
		alt = "image"
	}
	write(w, `<span class="img">`)
	anchor(w, dest, "", true)
	write(w, "image: ", escape(alt))
	anchor(w, dest, "", false)
	write(w, "</span>")
	return ast.WalkSkipChildren, nil
}

func (s *safe) checkBox(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	if n.(*east.TaskCheckBox).IsChecked {
		write(w, `<span class="tick" role="img" aria-label="done">☑</span> `)
	} else {
		write(w, `<span class="tick" role="img" aria-label="not done">☐</span> `)
	}
	return ast.WalkContinue, nil
}

// anchor opens or closes a link. Anything but http and https is text with its
// destination in sight; a text that does not say where the link goes is followed
// by the real host.
func anchor(w util.BufWriter, dest, label string, entering bool) {
	u, err := url.Parse(dest)
	web := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil
	switch {
	case entering && web:
		write(w, `<a href="`, escape(string(util.URLEscape([]byte(dest), false))), `" target="_blank" rel="noopener noreferrer">`)
	case web:
		write(w, "</a>")
		if !honest(label, u) {
			write(w, ` <span class="host">`, escape(u.Host), "</span>")
		}
	case entering:
		write(w, `<span class="nolink">`)
	default:
		write(w, "</span>")
		if dest != "" && dest != label {
			write(w, ` <span class="host">`, escape(short(dest)), "</span>")
		}
	}
}

// honest reports whether a label is itself the address, host first.
func honest(label string, u *url.URL) bool {
	label = strings.TrimSpace(label)
	for _, scheme := range []string{"https://", "http://"} {
		label = strings.TrimPrefix(label, scheme)
	}
	rest, ok := strings.CutPrefix(label, u.Host)
	return ok && (rest == "" || rest[0] == '/' || rest[0] == '?' || rest[0] == '#')
}

// plain is the text of a node's descendants.
func plain(source []byte, n ast.Node) string {
	var buf bytes.Buffer
	_ = ast.Walk(n, func(c ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch c := c.(type) {
		case *ast.Text:
			buf.Write(c.Segment.Value(source))
		case *ast.String:
			buf.Write(c.Value)
		}
		return ast.WalkContinue, nil
	})
	return buf.String()
}

func short(s string) string {
	if len(s) > 120 {
		return s[:120] + "…"
	}
	return s
}

func escape(s string) string { return string(util.EscapeHTML([]byte(s))) }

// write ignores errors: BufWriter keeps the first one and Flush reports it.
func write(w util.BufWriter, parts ...string) {
	for _, p := range parts {
		_, _ = w.WriteString(p)
	}
}
