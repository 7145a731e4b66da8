package markdown

import (
	"bytes"
	"strings"
)

// Stream renders a document while it grows. Blocks that nothing to come can
// change are frozen; only the open end is rendered again. It is for one reader at
// a time.
type Stream struct {
	r      *Renderer
	src    strings.Builder // everything
	rest   []byte          // what is not frozen
	frozen []string
}

// NewStream starts an empty document.
func (r *Renderer) NewStream() *Stream { return &Stream{r: r} }

// Add appends text. It decides about blocks only on whole lines: a line that is
// still being written can turn into anything.
func (s *Stream) Add(text string) {
	s.src.WriteString(text)
	s.rest = append(s.rest, text...)
	if !strings.Contains(text, "\n") {
		return
	}
	whole := bytes.LastIndexByte(s.rest, '\n') + 1
	head := s.rest[:whole]
	doc := s.r.parse(head)
	if doc.ChildCount() < 2 {
		return
	}
	cut := lineStart(head, doc.LastChild())
	if cut <= 0 {
		return
	}
	for n := doc.FirstChild(); n != nil && n != doc.LastChild(); n = n.NextSibling() {
		if html := s.r.render(head, n); html != "" {
			s.frozen = append(s.frozen, html)
		}
	}
	s.rest = append([]byte(nil), s.rest[cut:]...)
}

// Frozen is the HTML of the blocks that do not change any more. Read only.
func (s *Stream) Frozen() []string { return s.frozen }

// Tail is the HTML of what comes after them, as it would be if nothing followed.
func (s *Stream) Tail() string {
	if len(bytes.TrimSpace(s.rest)) == 0 {
		return ""
	}
	doc := s.r.parse(s.rest)
	var b strings.Builder
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		b.WriteString(s.r.render(s.rest, n))
	}
	return b.String()
}

// String is the text so far.
func (s *Stream) String() string { return s.src.String() }
