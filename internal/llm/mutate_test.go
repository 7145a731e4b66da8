package llm_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

// mutation is one way in which a server or a proxy may deliver the same answer.
type mutation struct {
	name  string
	body  func(fx fixture, body []byte) []byte
	gzip  bool
	pause time.Duration // between events
	open  bool          // the connection stays open after the last byte
	runes bool          // cut inside every multi-byte character
	large bool          // megabytes
}

func same(_ fixture, body []byte) []byte { return body }

// mutations are the 13 of testdata/README.md's contract; some have variants.
func mutations() []mutation {
	return []mutation{
		{name: "00 as recorded", body: same},
		{name: "01 cut in runes", body: same, runes: true},
		{name: "02 lf", body: ends("\n")},
		{name: "02 crlf", body: ends("\r\n")},
		{name: "02 cr", body: ends("\r")},
		{name: "03 comments", body: eachEvent(func(_ fixture, ev string) string { return ": keep-alive\n\n: x\n" + ev + ":\n\n" })},
		{name: "04 byte order mark", body: func(_ fixture, b []byte) []byte { return append([]byte("\xef\xbb\xbf"), b...) }},
		{name: "05 no space after colon", body: replaceLines("data: ", "data:")},
		{name: "06 unknown event and field", body: eachEvent(unknownField)},
		{name: "07 unknown events", body: eachEvent(unknownEvent)},
		{name: "08 pauses", body: same, pause: 50 * time.Millisecond},
		{name: "09 gzip", body: same, gzip: true},
		{name: "10 no [DONE]", body: noDone},
		{name: "11 no last blank line", body: func(_ fixture, b []byte) []byte { return bytes.TrimRight(b, "\r\n") }},
		{name: "12 kept open", body: same, open: true},
		{name: "13 a line of 2 MiB", body: padded, large: true},
	}
}

func lf(b []byte) string {
	return strings.ReplaceAll(strings.ReplaceAll(string(b), "\r\n", "\n"), "\r", "\n")
}

func ends(end string) func(fixture, []byte) []byte {
	return func(_ fixture, b []byte) []byte { return []byte(strings.ReplaceAll(lf(b), "\n", end)) }
}

func replaceLines(old, with string) func(fixture, []byte) []byte {
	return func(_ fixture, b []byte) []byte {
		lines := strings.Split(lf(b), "\n")
		for i, l := range lines {
			if rest, ok := strings.CutPrefix(l, old); ok {
				lines[i] = with + rest
			}
		}
		return []byte(strings.Join(lines, "\n"))
	}
}

// eachEvent rewrites every block that carries data.
func eachEvent(change func(fixture, string) string) func(fixture, []byte) []byte {
	return func(fx fixture, b []byte) []byte {
		var out strings.Builder
		for _, ev := range strings.SplitAfter(lf(b), "\n\n") {
			if strings.Contains(ev, "data:") {
				ev = change(fx, ev)
			}
			out.WriteString(ev)
		}
		return []byte(out.String())
	}
}

func unknownField(_ fixture, ev string) string {
	ev = strings.Replace(ev, "data: {", `data: {"zz_future":{"a":[1,"}"]},`, 1)
	if !strings.Contains(ev, "event:") {
		ev = "event: future\n" + ev
	}
	return ev
}

func unknownEvent(fx fixture, ev string) string {
	extra := `data: {"type":"future_event"}`
	if fx.Adapter == "openai" {
		extra = `data: {"id":"x","object":"chat.completion.chunk","choices":[]}`
	}
	return extra + "\n\n" + ev
}

// noDone removes [DONE] where the finish reason was sent.
func noDone(fx fixture, b []byte) []byte {
	if fx.Expect.RawStop == "" {
		return b
	}
	return bytes.ReplaceAll(b, []byte("data: [DONE]"), []byte(": done"))
}

// padded blows one data line in the middle up to 2 MiB.
func padded(_ fixture, b []byte) []byte {
	at := bytes.Index(b[len(b)/2:], []byte("\n\n"))
	if at < 0 {
		return b
	}
	at += len(b) / 2
	line := b[bytes.LastIndexByte(b[:at], '\n')+1 : at]
	if !bytes.HasPrefix(line, []byte("data: {")) {
		return b
	}
	return bytes.Join([][]byte{b[:at], b[at:]}, bytes.Repeat([]byte{' '}, 2<<20-len(line)))
}

// played is an in-memory server: one answer, delivered as the mutation says.
type played struct {
	status int
	header http.Header
	body   []byte
	size   int // bytes a read, 0 = all
	m      mutation
	end    error // after the last byte; nil is a clean end
	asked  []*http.Request
	bodies [][]byte
}

func (p *played) RoundTrip(req *http.Request) (*http.Response, error) {
	p.asked = append(p.asked, req)
	if req.Body != nil {
		b, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		p.bodies = append(p.bodies, b)
	}
	h := p.header.Clone()
	body := p.body
	if p.m.gzip {
		var z bytes.Buffer
		w := gzip.NewWriter(&z)
		if _, err := w.Write(body); err != nil {
			return nil, err
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
		body = z.Bytes()
		h.Set("Content-Encoding", "gzip")
	}
	return &http.Response{
		StatusCode: p.status, Header: h, Request: req, Proto: "HTTP/1.1", ProtoMajor: 1,
		Body: &stream{ctx: req.Context(), rest: body, size: p.size, m: p.m, end: p.end, closed: make(chan struct{})},
	}, nil
}

// stream hands out a body in pieces.
type stream struct {
	ctx    context.Context
	rest   []byte
	size   int
	m      mutation
	end    error
	closed chan struct{}
}

func (s *stream) Close() error {
	select {
	case <-s.closed:
	default:
		close(s.closed)
	}
	return nil
}

func (s *stream) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	if len(s.rest) == 0 {
		if s.m.open {
			select {
			case <-s.ctx.Done():
				return 0, s.ctx.Err()
			case <-s.closed:
				return 0, http.ErrBodyReadAfterClose
			}
		}
		if s.end != nil {
			return 0, s.end
		}
		return 0, io.EOF
	}
	n := copy(p, s.rest[:s.piece()])
	if s.m.pause > 0 && bytes.HasPrefix(s.rest, []byte("data:")) {
		select {
		case <-time.After(s.m.pause):
		case <-s.ctx.Done():
			return 0, s.ctx.Err()
		}
	}
	s.rest = s.rest[n:]
	return n, nil
}

// piece is the size of the next read. Long runs of padding go in bigger pieces:
// their inside is the same byte over and over.
func (s *stream) piece() int {
	n := len(s.rest)
	if s.size > 0 {
		n = min(n, s.size)
	}
	if s.m.runes {
		for i := range s.rest[:n] {
			if i > 0 && !utf8.RuneStart(s.rest[i]) {
				return i
			}
		}
	}
	const run = 4096
	if n < run && len(s.rest) > run && s.rest[0] == ' ' && len(bytes.TrimLeft(s.rest[:run], " ")) == 0 {
		return run
	}
	if s.m.pause > 0 {
		if i := bytes.Index(s.rest[1:n], []byte("\ndata:")); i >= 0 {
			return i + 2
		}
	}
	return n
}
