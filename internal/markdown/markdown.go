// Package markdown turns text that nobody vouches for into HTML that cannot do
// anything: no raw HTML (it is shown as text), no images from elsewhere, no link
// but http and https, no style, no event attribute, no hidden character. A
// document can be rendered block by block while it is still being written.
package markdown

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/coderrr/coderrr/internal/inert"
)

// Renderer renders markdown (CommonMark and GFM). The zero Renderer is ready; it
// is built at its first use. Safe for concurrent use; do not copy.
type Renderer struct {
	once sync.Once
	md   goldmark.Markdown
}

// Block is one top-level block of a document.
type Block struct {
	HTML string
	// Line is where the block begins in its source, from 1; Source is its text,
	// with what stands before the next block.
	Line   int
	Source string
}

// HTML renders a whole document.
func (r *Renderer) HTML(src string) string {
	var buf bytes.Buffer
	for _, b := range r.Blocks(src) {
		buf.WriteString(b.HTML)
	}
	return buf.String()
}

// Blocks renders a whole document, block by block.
func (r *Renderer) Blocks(src string) []Block {
	source := []byte(src)
	doc := r.parse(source)
	blocks := make([]Block, 0, doc.ChildCount())
	line, at := 1, 0
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		start := lineStart(source, n)
		if start < at {
			start = at // cannot place it: say where the one before ends
		}
		line += bytes.Count(source[at:start], []byte("\n"))
		if k := len(blocks); k > 0 {
			blocks[k-1].Source = src[at:start]
		}
		at = start
		html := r.render(source, n)
		if html == "" {
			continue
		}
		blocks = append(blocks, Block{HTML: html, Line: line, Source: src[at:]})
	}
	return blocks
}

func (r *Renderer) parse(source []byte) ast.Node {
	return r.built().Parser().Parse(text.NewReader(source))
}

// render never fails on a bytes.Buffer; a failure would be shown in its place.
func (r *Renderer) render(source []byte, n ast.Node) string {
	var buf bytes.Buffer
	if err := r.built().Renderer().Render(&buf, source, n); err != nil {
		return fmt.Sprintf("<p>This text could not be rendered: %s</p>\n", util.EscapeHTML([]byte(err.Error())))
	}
	out, _ := inert.Visible(buf.String()) // also what character references made
	return out
}

func (r *Renderer) built() goldmark.Markdown {
	r.once.Do(func() {
		r.md = goldmark.New(
			goldmark.WithExtensions(
				extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
				extension.Strikethrough,
				extension.NewLinkify(extension.WithLinkifyAllowedProtocols([]string{"http:", "https:"})),
				extension.TaskList,
			),
			goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(&safe{}, 1))),
		)
	})
	return r.md
}

// lineStart is where the line of a block begins in the source.
func lineStart(source []byte, n ast.Node) int {
	at := n.Pos()
	if at < 0 || at > len(source) {
		return -1
	}
	return bytes.LastIndexByte(source[:at], '\n') + 1
}
