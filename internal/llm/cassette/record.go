package cassette

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// keyShape matches keys by their look: a provider may echo one that we were not
// told about.
var keyShape = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(sk-[A-Za-z0-9_-]{12,}|AIza[A-Za-z0-9_-]{20,}|gsk_[A-Za-z0-9]{16,}|xai-[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|AKIA[A-Z0-9]{16})`)
})

const masked = "[secret]"

// Recorder is an http.RoundTripper that writes each exchange when its body is
// closed. It is safe for concurrent use.
type Recorder struct {
	next    http.RoundTripper
	secrets []string

	mu   sync.Mutex
	w    io.Writer
	file *os.File
	err  error
}

// NewRecorder records to w what next carries. Each of secrets is masked wherever
// it occurs.
func NewRecorder(next http.RoundTripper, w io.Writer, secrets ...string) *Recorder {
	return &Recorder{next: next, w: w, secrets: secrets}
}

// Create records to a new file of mode 0600; one that exists is not overwritten.
// The caller must Close the recorder.
func Create(path string, next http.RoundTripper, secrets ...string) (*Recorder, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create the recording: %w", err)
	}
	r := NewRecorder(next, f, secrets...)
	r.file = f
	return r, nil
}

// Close closes the file, and returns the first error of writing, if any.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file != nil {
		if err := r.file.Close(); err != nil && r.err == nil {
			r.err = fmt.Errorf("close the recording: %w", err)
		}
		r.file = nil
	}
	return r.err
}

// RoundTrip carries the request out and records the exchange.
func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	line := Line{Request: Request{Method: req.Method, Path: req.URL.Path}}
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		_ = req.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("read the request to record it: %w", err)
		}
		sent := req.Clone(req.Context())
		sent.Body = io.NopCloser(bytes.NewReader(body))
		sent.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		req = sent
		line.Request.Body = r.json(body)
	}
	resp, err := r.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	line.Response.Status = resp.StatusCode
	line.Response.Headers = kept(resp.Header)
	resp.Body = &taped{ReadCloser: resp.Body, r: r, line: line, last: time.Now()}
	return resp, nil
}

// json keeps a body as JSON where it is JSON, else as a string.
func (r *Recorder) json(body []byte) json.RawMessage {
	clean := []byte(r.mask(string(body)))
	if json.Valid(clean) {
		return clean
	}
	text, err := json.Marshal(string(clean))
	if err != nil {
		return nil
	}
	return text
}

func (r *Recorder) mask(s string) string {
	for _, secret := range r.secrets {
		if len(secret) >= 4 {
			s = strings.ReplaceAll(s, secret, masked)
		}
	}
	return keyShape().ReplaceAllString(s, masked)
}

// kept are the response headers that change how an answer is read.
func kept(h http.Header) map[string]string {
	out := map[string]string{}
	for name := range h {
		low := strings.ToLower(name)
		switch {
		case low == "content-type", low == "content-encoding", low == "retry-after", low == "retry-after-ms",
			low == "x-should-retry", strings.Contains(low, "ratelimit"):
			out[low] = h.Get(name)
		}
	}
	return out
}

func (r *Recorder) write(line Line) {
	line.Response.Chunks = r.clean(line.Response.Chunks)
	data, err := json.Marshal(line)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		_, err = r.w.Write(append(data, '\n'))
	}
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("write the recording: %w", err)
	}
}

// clean masks secrets in the whole body: one that two chunks share is found too,
// at the price of their timing.
func (r *Recorder) clean(chunks []Chunk) []Chunk {
	var all strings.Builder
	for _, c := range chunks {
		all.Write(c.bytes())
	}
	if text := all.String(); utf8.ValidString(text) {
		if safe := r.mask(text); safe != text {
			return []Chunk{{Text: safe}}
		}
	}
	return chunks
}

// taped records what is read through it.
type taped struct {
	io.ReadCloser
	r    *Recorder
	line Line
	last time.Time
	once sync.Once
}

func (t *taped) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if n > 0 {
		now := time.Now()
		c := Chunk{MS: now.Sub(t.last).Milliseconds()}
		t.last = now
		if utf8.Valid(p[:n]) {
			c.Text = string(p[:n])
		} else {
			c.Data = bytes.Clone(p[:n])
		}
		t.line.Response.Chunks = append(t.line.Response.Chunks, c)
	}
	if err != nil && err != io.EOF {
		t.line.Response.Error = t.r.mask(err.Error())
	}
	return n, err
}

func (t *taped) Close() error {
	err := t.ReadCloser.Close()
	t.once.Do(func() { t.r.write(t.line) })
	return err
}
