package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"
)

// Limits of one connection.
const (
	helloTimeout = 5 * time.Second
	writeTimeout = 5 * time.Second
	pingEvery    = 20 * time.Second
	helloLimit   = 4 << 10 // from a page that has shown no token yet
	readLimit    = 8 << 20 // a picture of 5 MiB, in base64
	queueFrames  = 256
	queueBytes   = 8 << 20
	maxConns     = 64
	ratePerSec   = 100 // commands of one page
)

// Close codes of our own.
const (
	codeBad          websocket.StatusCode = 4400 // a frame that is not of the protocol
	codeUnauthorized websocket.StatusCode = 4401 // no, or a wrong, token
	codeTooMany      websocket.StatusCode = 4429
)

// conn is one page. Its reader takes commands, its writer empties the queue; both
// end with its context.
type conn struct {
	s      *Server
	ws     *websocket.Conn
	cancel context.CancelFunc

	mu     sync.Mutex
	hub    *hub // what the page shows
	queue  [][]byte
	size   int
	lost   bool // the queue was full: a snapshot is due
	wake   chan struct{}
	slow   chan command // commands that may take a while, in order
	second time.Time
	count  int
}

// socket upgrades and serves one page until either side ends.
func (s *Server) socket(w http.ResponseWriter, r *http.Request) {
	ctx, c, err := s.accept(w, r)
	if err != nil {
		return // answered already
	}
	defer s.dropConn(c)
	defer c.cancel()
	hello, err := c.hello(ctx)
	if err != nil {
		return
	}
	h, err := s.pick(ctx, hello.Session)
	if err != nil { // a page may remember a session that is gone
		start := ""
		if h, err = s.pick(ctx, &start); err != nil {
			_ = c.ws.Close(websocket.StatusInternalError, "no session could be opened")
			return
		}
	}
	h.join(c, hello.Epoch, hello.After)
	var work sync.WaitGroup
	work.Go(func() { c.write(ctx) })
	work.Go(func() { c.work(ctx) })
	c.read(ctx)
	c.cancel()
	work.Wait()
	s.leave(c)
}

func (s *Server) accept(w http.ResponseWriter, r *http.Request) (context.Context, *conn, error) {
	s.mu.Lock()
	if s.closing || s.base == nil || len(s.conns) >= maxConns {
		s.mu.Unlock()
		http.Error(w, "too many pages are open; close some", http.StatusServiceUnavailable)
		return nil, nil, errors.New("closing or full")
	}
	ctx, cancel := context.WithCancel(s.base)
	c := &conn{s: s, cancel: cancel, wake: make(chan struct{}, 1), slow: make(chan command, 32)}
	s.conns[c] = struct{}{}
	s.tasks.Add(1)
	s.mu.Unlock()
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		cancel()
		s.dropConn(c)
		return nil, nil, err
	}
	ws.SetReadLimit(helloLimit)
	s.mu.Lock()
	c.ws = ws
	closing := s.closing
	s.mu.Unlock()
	if closing {
		cancel()
	}
	return ctx, c, nil
}

// dropConn ends what accept began.
func (s *Server) dropConn(c *conn) {
	if c.ws != nil {
		_ = c.ws.CloseNow() // closed already, in most cases
	}
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	s.tasks.Done()
}

// closeConns tells every page that the server goes away.
func (s *Server) closeConns() {
	s.mu.Lock()
	s.closing = true
	var open []*conn
	for c := range s.conns {
		if c.ws != nil {
			open = append(open, c)
		}
	}
	s.mu.Unlock()
	var all sync.WaitGroup
	for _, c := range open {
		all.Go(func() {
			_ = c.ws.Close(websocket.StatusServiceRestart, "coderrr stops")
			c.cancel()
		})
	}
	all.Wait()
}

// hello is the first frame: nothing is sent before its token is right.
type hello struct {
	Type    string  `json:"type"`
	Token   string  `json:"token"`
	Epoch   string  `json:"epoch"`
	After   int64   `json:"after"`
	Session *string `json:"session"` // absent: the running one; "": the start page
}

func (c *conn) hello(ctx context.Context) (hello, error) {
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	var h hello
	kind, data, err := c.ws.Read(ctx)
	if err == nil && (kind != websocket.MessageText || !utf8.Valid(data) || json.Unmarshal(data, &h) != nil || h.Type != "hello") {
		err = errors.New("no hello")
	}
	if err != nil || !c.s.rightToken(h.Token) {
		_ = c.ws.Close(codeUnauthorized, "the first frame must carry the token")
		return h, errors.New("unauthorized")
	}
	c.ws.SetReadLimit(readLimit)
	return h, nil
}

// push queues a frame for the writer and never blocks. What does not fit is
// dropped with the rest: the page gets a snapshot instead.
func (c *conn) push(data []byte) {
	c.mu.Lock()
	switch {
	case c.lost:
	case len(c.queue) >= queueFrames || (c.size+len(data) > queueBytes && len(c.queue) > 0):
		c.queue, c.size, c.lost = nil, 0, true
	default:
		c.queue, c.size = append(c.queue, data), c.size+len(data)
	}
	c.mu.Unlock()
	c.signal()
}

func (c *conn) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// clear forgets what is queued: a snapshot takes its place.
func (c *conn) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue, c.size, c.lost = nil, 0, false
}

func (c *conn) next() (data []byte, lost bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost {
		return nil, true
	}
	if len(c.queue) == 0 {
		return nil, false
	}
	data = c.queue[0]
	c.queue[0] = nil
	c.queue, c.size = c.queue[1:], c.size-len(data)
	return data, false
}

// write empties the queue and pings; it ends the connection when either fails.
func (c *conn) write(ctx context.Context) {
	defer c.cancel()
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	for {
		data, lost := c.next()
		if lost {
			data = c.current().resync(c)
		}
		if data != nil {
			if c.out(ctx, data) != nil {
				return
			}
			continue
		}
		select {
		case <-c.wake:
		case <-ping.C:
			deadline, done := context.WithTimeout(ctx, writeTimeout)
			err := c.ws.Ping(deadline)
			done()
			if err != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

func (c *conn) out(ctx context.Context, data []byte) error {
	ctx, done := context.WithTimeout(ctx, writeTimeout)
	defer done()
	return c.ws.Write(ctx, websocket.MessageText, data)
}

// current is the hub the page shows now.
func (c *conn) current() *hub {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hub
}

// read takes commands until the page goes away or breaks the protocol.
func (c *conn) read(ctx context.Context) {
	for {
		kind, data, err := c.ws.Read(ctx)
		if err != nil {
			return
		}
		if !c.allowed() {
			_ = c.ws.Close(codeTooMany, "too many commands in one second")
			return
		}
		var cmd command
		if kind != websocket.MessageText || !utf8.Valid(data) || json.Unmarshal(data, &cmd) != nil || !cmd.known() || len(cmd.ID) > 100 {
			_ = c.ws.Close(codeBad, "not a command of this protocol")
			return
		}
		c.handle(ctx, cmd)
	}
}

func (c *conn) allowed() bool {
	now := time.Now()
	if now.Sub(c.second) > time.Second {
		c.second, c.count = now, 0
	}
	c.count++
	return c.count <= ratePerSec
}
