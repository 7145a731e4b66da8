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

// Block is one top-level block of a document, or one item of a top-level list.
type Block struct {
	HTML string
	// Line is where the block begins in its source, from 1; Source is its text,
	// with what stands before the next block.
	Line   int
	Source string
	// Item is true for an item of a list, whose HTML is a list of one.
	Item bool
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
	var nodes []ast.Node
	for n := r.parse(source).FirstChild(); n != nil; n = n.NextSibling() {
		nodes = append(nodes, n)
	}
	return r.blocks(src, source, nodes)
}

// Lines is Blocks with the items of lists apart, so that each can be pointed at.
func (r *Renderer) Lines(src string) []Block {
	source := []byte(src)
	var nodes []ast.Node
	for n := r.parse(source).FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() != ast.KindList {
			nodes = append(nodes, n)
			continue
		}
		for item := n.FirstChild(); item != nil; item = item.NextSibling() {
			nodes = append(nodes, item)
		}
	}
	return r.blocks(src, source, nodes)
}

func (r *Renderer) blocks(src string, source []byte, nodes []ast.Node) []Block {
	blocks := make([]Block, 0, len(nodes))
	line, at := 1, 0
	for _, n := range nodes {
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
		item := n.Kind() == ast.KindListItem
		if item {
			html = listOfOne(n, html)
		}
		blocks = append(blocks, Block{HTML: html, Line: line, Source: src[at:], Item: item})
	}
	return blocks
}

// listOfOne puts an item back into a list that counts as its own does.
func listOfOne(item ast.Node, html string) string {
	list, ok := item.Parent().(*ast.List)
	if !ok || !list.IsOrdered() {
		return "<ul>\n" + html + "</ul>\n"
	}
	n := list.Start
	for p := item.PreviousSibling(); p != nil; p = p.PreviousSibling() {
		n++
	}
	return fmt.Sprintf("<ol start=\"%d\">\n%s</ol>\n", n, html)
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
