package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"strings"
	"sync"
	"unicode/utf8"
)

// DefaultKeep is how many bytes of a command's output are kept, half of them
// from its beginning and half from its end.
const DefaultKeep = 128 << 10

// streamLimit is how many bytes of one command's output go to the live view.
// A command that prints gigabytes must not turn them into events.
const streamLimit = 1 << 20

// Capture collects what a command prints: it streams whole runes, keeps head
// and tail within a bound, counts what it drops and hashes everything. Safe for
// concurrent use by the command's two streams.
type Capture struct {
	mu       sync.Mutex
	half     int
	head     []byte
	tail     []byte // a ring once it holds half bytes
	at       int    // where the ring's oldest byte is
	total    int64
	sum      hash.Hash
	each     func(stream, text string)
	streamed int64
	pending  map[string][]byte
}

// NewCapture keeps at most keep bytes (DefaultKeep when it is 0 or less) and
// gives output to each as it comes; each may be nil.
func NewCapture(keep int, each func(stream, text string)) *Capture {
	if keep <= 0 {
		keep = DefaultKeep
	}
	return &Capture{half: (keep + 1) / 2, sum: sha256.New(), each: each, pending: map[string][]byte{}}
}

// Writer returns the writer of one stream, "stdout" or "stderr". Its Write
// never fails, so that a command is not stopped by what it prints.
func (c *Capture) Writer(stream string) io.Writer { return captureWriter{c, stream} }

type captureWriter struct {
	c      *Capture
	stream string
}

func (w captureWriter) Write(p []byte) (int, error) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	w.c.add(w.stream, p)
	return len(p), nil
}

func (c *Capture) add(stream string, p []byte) {
	c.total += int64(len(p))
	c.sum.Write(p) // a hash never fails
	c.show(stream, p)
	if n := min(c.half-len(c.head), len(p)); n > 0 {
		c.head = append(c.head, p[:n]...)
		p = p[n:]
	}
	if len(p) > c.half {
		p = p[len(p)-c.half:]
	}
	if n := min(c.half-len(c.tail), len(p)); n > 0 {
		c.tail = append(c.tail, p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(c.tail[c.at:], p)
		p = p[n:]
		c.at = (c.at + n) % len(c.tail)
	}
}

// show streams p, holding back a rune that is not whole yet.
func (c *Capture) show(stream string, p []byte) {
	if c.each == nil || c.streamed > streamLimit {
		return
	}
	p = append(c.pending[stream], p...)
	whole := len(p) - partialRune(p)
	c.pending[stream] = append([]byte(nil), p[whole:]...)
	if whole == 0 {
		return
	}
	c.streamed += int64(whole)
	text := string(p[:whole])
	if c.streamed > streamLimit {
		text = text[:whole-int(c.streamed-streamLimit)] + "\n… more output follows; it is not shown live …\n"
		c.streamed = streamLimit + 1
	}
	c.each(stream, text)
}

// partialRune is the length of an incomplete rune at the end of p.
func partialRune(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		b := p[len(p)-n]
		if utf8.RuneStart(b) {
			if b >= utf8.RuneSelf && !utf8.FullRune(p[len(p)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// Finish streams what was held back and puts Output, Dropped and LogSHA256
// into r.
func (c *Capture) Finish(r *Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, stream := range []string{"stdout", "stderr"} {
		if rest := c.pending[stream]; len(rest) > 0 && c.each != nil && c.streamed <= streamLimit {
			c.each(stream, strings.ToValidUTF8(string(rest), "\uFFFD"))
		}
	}
	c.pending = map[string][]byte{}
	r.LogSHA256 = hex.EncodeToString(c.sum.Sum(nil))
	tail := append(append([]byte(nil), c.tail[c.at:]...), c.tail[:c.at]...)
	r.Dropped = c.total - int64(len(c.head)) - int64(len(tail))
	if r.Dropped == 0 {
		r.Output = string(append(append([]byte(nil), c.head...), tail...))
		return
	}
	cut := len(c.head) - partialRune(c.head)
	start := 0
	for start < len(tail) && start < utf8.UTFMax && !utf8.RuneStart(tail[start]) {
		start++
	}
	r.Dropped += int64(len(c.head) - cut + start)
	r.Output = fmt.Sprintf("%s\n… %d bytes left out …\n%s", c.head[:cut], r.Dropped, tail[start:])
}
