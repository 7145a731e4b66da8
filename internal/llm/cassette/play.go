package cassette

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Missing is returned for a request that the recording does not hold. It is
// permanent: asking again gives the same.
type Missing struct{ Request, State string }

// Error names the request and where the recording stands.
func (m *Missing) Error() string {
	return "this request is not in the recording: " + m.Request + "; " + m.State
}

// Permanent tells that a retry is useless.
func (m *Missing) Permanent() bool { return true }

// Player is an http.RoundTripper that answers from a recording. It is safe for
// concurrent use.
type Player struct {
	pace  float64
	lines []Line

	mu     sync.Mutex
	played []bool
	state  int
	steps  []int // the steps that exist, ascending
}

// NewPlayer plays lines. pace scales the recorded delays: 1 is as recorded, 0 at
// once.
func NewPlayer(lines []Line, pace float64) *Player {
	p := &Player{pace: pace, lines: lines, played: make([]bool, len(lines))}
	for _, l := range lines {
		if l.Step != nil && !slices.Contains(p.steps, *l.Step) {
			p.steps = append(p.steps, *l.Step)
		}
	}
	slices.Sort(p.steps)
	if len(p.steps) > 0 {
		p.state = p.steps[0]
	}
	return p
}

// Open plays the cassette in a file.
func Open(path string, pace float64) (*Player, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the recording: %w", err)
	}
	defer func() { _ = f.Close() }()
	lines, err := Read(f)
	if err != nil {
		return nil, err
	}
	return NewPlayer(lines, pace), nil
}

// RoundTrip answers from the recording.
func (p *Player) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		body, err = io.ReadAll(req.Body)
		_ = req.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("read the request: %w", err)
		}
	}
	a := parseAsk(req, body)
	line, err := p.pick(a)
	if err != nil {
		return nil, err
	}
	return p.answer(req, line), nil
}

// pick finds the line that answers and advances the state.
func (p *Player) pick(a ask) (Line, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, l := range p.lines {
		if l.Repeat && l.Step == nil && l.When != (When{}) && l.takes(a) {
			return p.lines[i], nil
		}
	}
	for i, l := range p.lines {
		if l.Step != nil && *l.Step == p.state && l.takes(a) {
			p.advance(l)
			return p.lines[i], nil
		}
	}
	for i, l := range p.lines {
		switch {
		case l.Step != nil || !l.takes(a):
		case l.Repeat:
			return l, nil
		case !p.played[i]:
			p.played[i] = true
			return l, nil
		}
	}
	return Line{}, &Missing{Request: a.String(), State: p.where()}
}

func (p *Player) advance(l Line) {
	switch {
	case l.Goto != nil:
		p.state = *l.Goto
	case !l.Repeat:
		i := slices.Index(p.steps, p.state)
		if i+1 < len(p.steps) {
			p.state = p.steps[i+1]
		} else {
			p.state = -1
		}
	}
}

func (p *Player) where() string {
	left := 0
	for i, l := range p.lines {
		if l.Step == nil && !l.Repeat && !p.played[i] {
			left++
		}
	}
	switch {
	case len(p.steps) == 0 && left == 0:
		return "all of its answers are played"
	case len(p.steps) == 0:
		return fmt.Sprintf("it has %d answers left, to other requests", left)
	case p.state < 0:
		return "its last step is played"
	default:
		return fmt.Sprintf("it stands at step %d, which answers other requests", p.state)
	}
}

// takes reports whether a line answers a request.
func (l Line) takes(a ask) bool {
	if l.Request.Method != "" && l.Request.Method != a.method {
		return false
	}
	if l.Request.Path != "" && !strings.HasSuffix(a.path, l.Request.Path) && !strings.HasSuffix(l.Request.Path, a.path) {
		return false
	}
	if l.When.Tools != nil && *l.When.Tools != a.tools {
		return false
	}
	return strings.Contains(a.last, l.When.LastContains)
}

func (p *Player) answer(req *http.Request, l Line) *http.Response {
	status := l.Response.Status
	if status == 0 {
		status = http.StatusOK
	}
	h := http.Header{"Content-Type": {"text/event-stream"}}
	for name, value := range l.Response.Headers {
		h.Set(name, value)
	}
	chunks := l.Response.Chunks
	if len(chunks) == 0 {
		chunks = []Chunk{{Text: l.Response.Body}}
	}
	return &http.Response{
		StatusCode: status, Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), Header: h, Request: req,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1,
		Body: &tape{ctx: req.Context(), pace: p.pace, chunks: chunks, broke: l.Response.Error, closed: make(chan struct{})},
	}
}

// tape hands out chunks at their pace.
type tape struct {
	ctx    context.Context
	pace   float64
	chunks []Chunk
	now    *bytes.Reader
	broke  string
	once   sync.Once
	closed chan struct{}
}

func (t *tape) Read(p []byte) (int, error) {
	for t.now == nil || t.now.Len() == 0 {
		if err := t.ctx.Err(); err != nil {
			return 0, err
		}
		if len(t.chunks) == 0 {
			if t.broke != "" {
				return 0, errors.New(t.broke)
			}
			return 0, io.EOF
		}
		if err := t.wait(t.chunks[0].MS); err != nil {
			return 0, err
		}
		t.now = bytes.NewReader(t.chunks[0].bytes())
		t.chunks = t.chunks[1:]
	}
	return t.now.Read(p)
}

func (t *tape) wait(ms int64) error {
	d := time.Duration(float64(ms) * t.pace * float64(time.Millisecond))
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-t.ctx.Done():
		return t.ctx.Err()
	case <-t.closed:
		return http.ErrBodyReadAfterClose
	}
}

func (t *tape) Close() error {
	t.once.Do(func() { close(t.closed) })
	return nil
}

// ask is what the player looks at in a request.
type ask struct {
	method, path string
	tools        bool
	last         string // all text after the model's last message
}

func (a ask) String() string {
	tools := "without tools"
	if a.tools {
		tools = "with tools"
	}
	last := []rune(strings.Join(strings.Fields(a.last), " "))
	if len(last) > 120 {
		last = append([]rune("…"), last[len(last)-120:]...)
	}
	return fmt.Sprintf("%s %s %s, last message %q", a.method, a.path, tools, string(last))
}

// parseAsk reads the three wire formats alike: a list of messages whose entries
// have a role, and a list of tools.
func parseAsk(req *http.Request, body []byte) ask {
	a := ask{method: req.Method, path: req.URL.Path}
	var doc struct {
		Tools    []json.RawMessage `json:"tools"`
		Messages []json.RawMessage `json:"messages"`
		Contents []json.RawMessage `json:"contents"`
		Input    []json.RawMessage `json:"input"`
	}
	if json.Unmarshal(body, &doc) != nil {
		return a
	}
	a.tools = len(doc.Tools) > 0
	list := slices.Concat(doc.Messages, doc.Contents, doc.Input)
	from := len(list)
	for from > 0 && !fromModel(list[from-1]) {
		from--
	}
	var texts []string
	for _, m := range list[from:] {
		var v any
		if json.Unmarshal(m, &v) == nil {
			texts = collect(v, texts)
		}
	}
	a.last = strings.Join(texts, "\n")
	return a
}

func fromModel(m json.RawMessage) bool {
	var head struct {
		Role string `json:"role"`
		Type string `json:"type"`
	}
	if json.Unmarshal(m, &head) != nil {
		return false
	}
	return head.Role == "assistant" || head.Role == "model" || head.Type == "function_call" || head.Type == "reasoning"
}

// collect gathers every string value, in a stable order.
func collect(v any, out []string) []string {
	switch v := v.(type) {
	case string:
		return append(out, v)
	case []any:
		for _, e := range v {
			out = collect(e, out)
		}
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			out = collect(v[k], out)
		}
	}
	return out
}
