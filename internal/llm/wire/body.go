package wire

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"github.com/coderrr/coderrr/internal/sse"
)

// gunzip unzips a body that came zipped although identity was asked for. The
// header is read at the first Read, not before: it may not be there yet.
type gunzip struct {
	src io.ReadCloser
	zip *gzip.Reader
	err error
}

func (g *gunzip) Read(p []byte) (int, error) {
	if g.err != nil {
		return 0, g.err
	}
	if g.zip == nil {
		// A bufio.Reader, so that the zip reader does not wait for more than it
		// needs.
		if g.zip, g.err = gzip.NewReader(bufio.NewReader(g.src)); g.err != nil {
			return 0, g.err
		}
	}
	return g.zip.Read(p)
}

func (g *gunzip) Close() error { return g.src.Close() }

// touched tells the watch of every byte.
type touched struct {
	src io.Reader
	w   *watch
}

func (t touched) Read(p []byte) (int, error) {
	n, err := t.src.Read(p)
	if n > 0 {
		t.w.gotBytes()
	}
	return n, err
}

// form is what a body turns out to be.
type form int

const (
	formEvents form = iota
	formJSON
	formPage
	formEmpty
)

// sniff looks at the first byte that is not white space. The content type is
// worth less: servers send errors as event streams and streams as octet-stream.
func sniff(r *bufio.Reader) (form, error) {
	for {
		b, err := r.ReadByte()
		if err != nil {
			return formEmpty, err
		}
		switch b {
		case ' ', '\t', '\r', '\n':
			continue
		}
		if err := r.UnreadByte(); err != nil {
			return formEmpty, err
		}
		switch b {
		case '{', '[':
			return formJSON, nil
		case '<':
			return formPage, nil
		default:
			return formEvents, nil
		}
	}
}

// source yields the payloads of a body one by one.
type source interface {
	next() (name string, data []byte, cut bool, err error)
}

type events struct{ r *sse.Reader }

func (e events) next() (string, []byte, bool, error) {
	ev, err := e.r.Next()
	return ev.Name, ev.Data, ev.Cut, err
}

// lines reads one JSON document a line.
type lines struct {
	r   *bufio.Reader
	buf []byte
}

func (l *lines) next() (string, []byte, bool, error) {
	l.buf = l.buf[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		l.buf = append(l.buf, part...)
		switch {
		case len(l.buf) > maxWhole:
			return "", nil, false, fmt.Errorf("%w: a line has more than %d bytes", sse.ErrTooLong, maxWhole)
		case err == bufio.ErrBufferFull:
			continue
		}
		line := bytes.TrimSpace(l.buf)
		if len(line) > 0 {
			return "", line, err != nil, nil
		}
		if err != nil {
			return "", nil, false, err
		}
		l.buf = l.buf[:0]
	}
}
