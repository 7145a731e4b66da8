package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// outgoing is a message on its way to the server.
type outgoing struct {
	body    json.RawMessage
	id      int64 // of a request, 0 for anything else
	method  string
	name    string            // of the tool, prompt or resource (2026-07-28 headers)
	headers map[string]string // more HTTP headers
}

// transport carries messages. post returns when the message was handed over; for
// HTTP that is when the answer was read. Answers arrive through Client.receive.
type transport interface {
	post(ctx context.Context, m outgoing) error
	// settled is told what was negotiated.
	settled(version string)
	// opened starts what a session needs beside requests.
	opened(ctx context.Context)
	close(ctx context.Context) error
	kind() string
}

// Client is one connection to one server. It is safe for concurrent use.
type Client struct {
	o   Options
	t   transport
	now atomic.Pointer[Info] // what was negotiated last

	mu      sync.Mutex
	next    int64
	pending map[int64]*pending
	params  map[string][]headerParam // of tools, for Mcp-Param headers

	serving chan struct{} // a slot per request of the server being answered
	life    context.Context
	end     context.CancelFunc
	work    sync.WaitGroup
	failed  atomic.Pointer[error]
	dead    chan struct{} // closed when the server is gone
	once    sync.Once
	renew   sync.Mutex
}

type pending struct {
	reply    chan message
	touched  chan struct{}
	progress func(Progress)
}

func newClient(o Options) *Client {
	o.Handshake = orDefault(o.Handshake, defaultHandshake)
	o.Idle = orDefault(o.Idle, defaultIdle)
	o.Total = orDefault(o.Total, defaultTotal)
	o.MaxText = orDefault(o.MaxText, defaultText)
	o.MaxBytes = orDefault(o.MaxBytes, defaultMessage)
	c := &Client{
		o: o, pending: map[int64]*pending{}, params: map[string][]headerParam{},
		serving: make(chan struct{}, maxServing), dead: make(chan struct{}),
	}
	c.now.Store(&Info{})
	c.life, c.end = context.WithCancel(context.Background())
	return c
}

func (c *Client) limits() limits {
	return limits{text: c.o.MaxText, total: c.o.MaxBytes, depth: defaultDepth}
}

// Info is what was negotiated.
func (c *Client) Info() Info { return *c.now.Load() }

// Done is closed when the server is gone.
func (c *Client) Done() <-chan struct{} { return c.dead }

// Err says why the server is gone, nil while it is there.
func (c *Client) Err() error {
	if p := c.failed.Load(); p != nil {
		return *p
	}
	return nil
}

// fail ends the connection; every open request gets the error.
func (c *Client) fail(err error) {
	c.once.Do(func() {
		c.failed.Store(&err)
		close(c.dead)
		c.end()
	})
}

// Close ends the connection: a child process and all it started are gone when it
// returns. The context bounds the polite part.
func (c *Client) Close(ctx context.Context) error {
	err := c.t.close(ctx)
	c.fail(ErrClosed)
	c.work.Wait()
	return err
}

// call are the options of one request.
type call struct {
	name     string
	headers  map[string]string
	progress func(Progress)
	idle     time.Duration
	final    bool // an initialize: never cancelled, never repeated
}

// request sends a request and returns its result. The answer, progress or the
// limits end it; the server is told when it is no longer waited for.
func (c *Client) request(ctx context.Context, method string, params map[string]any, o call) (message, error) {
	m, err := c.exchange(ctx, method, params, o)
	if err != nil && !o.final && c.expired(err) {
		// The request was not carried out: the server no longer knows the session.
		if again := c.reopen(ctx, err); again == nil {
			return c.exchange(ctx, method, params, o)
		}
	}
	return m, err
}

func (c *Client) exchange(ctx context.Context, method string, params map[string]any, o call) (message, error) {
	id, p := c.expect(o)
	defer c.forget(id)
	out, err := c.compose(id, method, params, o)
	if err != nil {
		return message{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sent := make(chan error, 1)
	c.work.Go(func() {
		err := c.t.post(ctx, out)
		sent <- err
	})
	idle := orDefault(o.idle, c.o.Idle)
	timer, total := time.NewTimer(idle), time.NewTimer(c.o.Total)
	defer timer.Stop()
	defer total.Stop()
	for {
		select {
		case m := <-p.reply:
			return c.settle(m)
		case err := <-sent:
			if err == nil {
				sent = nil // delivered; the answer is on its way
				continue
			}
			select {
			case m := <-p.reply:
				return c.settle(m)
			default:
				return message{}, err
			}
		case <-p.touched:
			timer.Reset(idle)
		case <-timer.C:
			c.cancelled(id, method, "no answer in time")
			return message{}, fmt.Errorf("%w: nothing within %s of %s", ErrTimeout, idle, method)
		case <-total.C:
			c.cancelled(id, method, "too long")
			return message{}, fmt.Errorf("%w: %s took more than %s in all", ErrTimeout, method, c.o.Total)
		case <-ctx.Done():
			c.cancelled(id, method, "cancelled by the client")
			return message{}, ctx.Err()
		case <-c.dead:
			select {
			case m := <-p.reply:
				return c.settle(m)
			default:
				return message{}, c.Err()
			}
		}
	}
}

func (c *Client) settle(m message) (message, error) {
	if m.Error != nil {
		return m, m.Error
	}
	if m.tooBig {
		return m, fmt.Errorf("%w: more than %d bytes, or nested too deeply", ErrTooLarge, c.o.MaxBytes)
	}
	return m, nil
}

func (c *Client) expect(o call) (int64, *pending) {
	p := &pending{reply: make(chan message, 1), touched: make(chan struct{}, 1), progress: o.progress}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	c.pending[c.next] = p
	return c.next, p
}

func (c *Client) forget(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
}

func (c *Client) waits(id int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pending[id]
	return p != nil && len(p.reply) == 0
}

// compose writes a request with its metadata.
func (c *Client) compose(id int64, method string, params map[string]any, o call) (outgoing, error) {
	if params == nil {
		params = map[string]any{}
	}
	meta := map[string]any{}
	if o.progress != nil {
		meta["progressToken"] = id
	}
	if info := c.Info(); info.Modern {
		// 2026-07-28, basic/index.mdx: every request carries these.
		meta["io.modelcontextprotocol/protocolVersion"] = info.Protocol
		meta["io.modelcontextprotocol/clientCapabilities"] = c.capabilities()
		meta["io.modelcontextprotocol/clientInfo"] = c.o.Client
	}
	if len(meta) > 0 {
		params["_meta"] = meta
	}
	msg := map[string]any{"jsonrpc": jsonrpc, "id": id, "method": method}
	if len(params) > 0 {
		msg["params"] = params
	}
	body, err := encode(msg)
	if err != nil {
		return outgoing{}, err
	}
	c.trace("→", body)
	return outgoing{body: body, id: id, method: method, name: o.name, headers: o.headers}, nil
}

func (c *Client) trace(direction string, body []byte) {
	if c.o.Trace != nil {
		c.o.Trace(direction, body)
	}
}

// cancelled tells the server that a request is no longer waited for. Over HTTP in
// 2026-07-28 the end of the answer's stream says so.
func (c *Client) cancelled(id int64, method, reason string) {
	if method == "initialize" || method == "server/discover" || c.Info().Modern && c.t.kind() != "stdio" || c.life.Err() != nil {
		return
	}
	c.work.Go(func() {
		ctx, cancel := context.WithTimeout(c.life, closeGrace)
		defer cancel()
		_ = c.notify(ctx, "notifications/cancelled", map[string]any{"requestId": id, "reason": reason})
	})
}

func (c *Client) notify(ctx context.Context, method string, params map[string]any) error {
	msg := map[string]any{"jsonrpc": jsonrpc, "method": method}
	if params != nil {
		msg["params"] = params
	}
	body, err := encode(msg)
	if err != nil {
		return err
	}
	c.trace("→", body)
	return c.t.post(ctx, outgoing{body: body, method: method})
}

// receive takes what a transport read. It never blocks on anything of the server.
func (c *Client) receive(d document) error {
	list, err := parse(d)
	if err != nil {
		return err
	}
	c.trace("←", d.data)
	for _, m := range list {
		switch m.kind() {
		case response:
			c.answered(m)
		case notification:
			c.notified(m)
		case request:
			c.serve(m)
		}
	}
	return nil
}

func (c *Client) answered(m message) {
	id, ok := m.number()
	if !ok {
		return // not one of ours
	}
	c.mu.Lock()
	p := c.pending[id]
	c.mu.Unlock()
	if p == nil {
		return // late, or never asked
	}
	select {
	case p.reply <- m:
	default: // a second answer to one request
	}
}

func (c *Client) notified(m message) {
	if m.Method == "notifications/progress" {
		c.progressed(m.Params)
		return
	}
	if c.o.Notify == nil {
		return
	}
	var params struct {
		Level string          `json:"level"`
		Data  json.RawMessage `json:"data"`
		URI   string          `json:"uri"`
	}
	_ = json.Unmarshal(m.Params, &params) // a notification without them is one all the same
	text := params.URI
	if len(params.Data) > 0 {
		text = string(params.Data)
		var s string
		if json.Unmarshal(params.Data, &s) == nil {
			text = s
		}
	}
	c.o.Notify(Notification{Method: m.Method, Level: params.Level, Text: text, Params: m.Params})
}

func (c *Client) progressed(raw json.RawMessage) {
	var params struct {
		Token json.RawMessage `json:"progressToken"`
		Progress
	}
	if json.Unmarshal(raw, &params) != nil {
		return
	}
	id, err := strconv.ParseInt(string(params.Token), 10, 64)
	if err != nil {
		return
	}
	c.mu.Lock()
	p := c.pending[id]
	c.mu.Unlock()
	if p == nil || p.progress == nil {
		return
	}
	select {
	case p.touched <- struct{}{}:
	default:
	}
	p.progress(params.Progress)
}

// expired reports whether an error means that the server forgot the session:
// 404, and the other ways that servers say it.
func (c *Client) expired(err error) bool {
	var s *StatusError
	return errors.As(err, &s) && s.session != "" && s.lostSession()
}
