package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// Connect makes a connection and finds out which era the server is of: it asks in
// the newer way first, and takes the handshake when the answer is not one of that
// era. Whatever goes wrong ends within Options.Handshake.
func Connect(ctx context.Context, o Options) (*Client, error) {
	limit := orDefault(o.Handshake, defaultHandshake)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w: no connection within %s", ErrTimeout, limit))
	defer cancel()
	c, err := connect(ctx, o)
	if errors.Is(err, errDied) && o.Version == "" {
		// It ended at the first message it did not know: once more, in the older way.
		o.Version = Latest
		c, err = connect(ctx, o)
	}
	if err != nil && ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w (%w)", context.Cause(ctx), err)
	}
	return c, err
}

func connect(ctx context.Context, o Options) (*Client, error) {
	c := newClient(o)
	var err error
	if o.Command != nil {
		err = c.connectStdio(ctx)
	} else {
		err = c.connectHTTP(ctx)
	}
	if err == nil {
		return c, nil
	}
	if c.t != nil {
		done, stop := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
		defer stop()
		_ = c.Close(done)
		err = c.explain(err)
	}
	return nil, err
}

// explain adds what the server last wrote to stderr.
func (c *Client) explain(err error) error {
	if tail := c.Stderr(); tail != "" {
		return fmt.Errorf("%w; on stderr it said: %s", err, short(lastWords(tail)))
	}
	return err
}

func (c *Client) connectStdio(ctx context.Context) error {
	t, err := startStdio(c)
	if err != nil {
		return err
	}
	c.t = t
	t.opened(c.life)
	if legacy(c.o.Version) {
		return c.initialize(ctx)
	}
	err = c.discoverStdio(ctx)
	if err != nil && c.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", errDied, err)
	}
	return err
}

// discoverStdio asks for the era. A server that is silent gets the handshake too:
// whichever it answers well decides.
func (c *Client) discoverStdio(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	probe := make(chan error, 1)
	c.work.Go(func() { probe <- c.discover(ctx, Modern) })
	timer := time.NewTimer(min(defaultProbeTimeout, c.o.Handshake/3))
	defer timer.Stop()
	select {
	case err := <-probe:
		if !errors.Is(err, errLegacy) {
			return err
		}
		return c.initialize(ctx)
	case <-timer.C:
	}
	err := c.initialize(ctx)
	var rpc *RPCError
	if errors.As(err, &rpc) {
		if late := <-probe; late == nil {
			return nil
		}
	}
	return err
}

// errDied: the process ended while it was asked for its era.
var errDied = errors.New("the server ended at its first message")

var errNoCommonVersion = errors.New("there is no protocol revision that both sides speak")

// errLegacy says that the server answered in the way of the older era.
var errLegacy = errors.New("the server wants a handshake")

// discover asks server/discover (2026-07-28, basic/versioning.mdx). errLegacy means
// that the answer is not one of that era.
func (c *Client) discover(ctx context.Context, version string) error {
	for range 2 {
		info := c.Info()
		info.Modern, info.Protocol, info.Transport = true, version, c.t.kind()
		c.now.Store(&info)
		c.t.settled(version)
		m, err := c.exchange(ctx, "server/discover", nil, call{})
		var rpc *RPCError
		var status *StatusError
		switch {
		case err == nil:
			return c.discovered(m.Result)
		case !errors.As(err, &rpc):
			if errors.As(err, &status) && status.Status >= 400 {
				return errLegacy
			}
			return err
		case rpc.Code == codeVersion || rpc.Code == codeHeaderMismatch || rpc.Code == codeCapability:
			next, ok := pick(supported(rpc.Data))
			if !ok {
				return errLegacy
			}
			version = next
		case errors.As(err, &status) && status.Status == http.StatusNotFound && rpc.Code == CodeMethodNotFound:
			info.Capabilities = Capabilities{Tools: &ListCapability{}, Resources: &ListCapability{}, Prompts: &ListCapability{}}
			c.now.Store(&info)
			return nil // of this era, without this method
		default:
			return errLegacy
		}
	}
	return errNoCommonVersion
}

func supported(data json.RawMessage) []string {
	var d struct {
		Supported []string `json:"supported"`
	}
	_ = json.Unmarshal(data, &d) // without it the list is empty
	return d.Supported
}

// pick chooses a stateless revision out of what a server supports. An empty list
// says nothing against ours.
func pick(list []string) (string, bool) {
	if len(list) == 0 || slices.Contains(list, Modern) {
		return Modern, true
	}
	return "", false
}

func (c *Client) discovered(raw json.RawMessage) error {
	var d struct {
		Versions     []string       `json:"supportedVersions"`
		Capabilities Capabilities   `json:"capabilities"`
		Server       Implementation `json:"serverInfo"`
		Instructions string         `json:"instructions"`
		Meta         struct {
			Server Implementation `json:"io.modelcontextprotocol/serverInfo"`
		} `json:"_meta"`
	}
	if json.Unmarshal(raw, &d) != nil || !slices.Contains(d.Versions, Modern) {
		return errLegacy
	}
	if d.Server.Name == "" {
		d.Server = d.Meta.Server
	}
	c.now.Store(&Info{
		Protocol: Modern, Server: d.Server, Instructions: d.Instructions,
		Transport: c.t.kind(), Modern: true, Capabilities: d.Capabilities,
	})
	c.subscribe(d.Capabilities)
	return nil
}

// subscribe asks to be told of changed lists (2026-07-28, patterns/subscriptions)
// and asks again when the stream ends.
func (c *Client) subscribe(caps Capabilities) {
	want := map[string]any{}
	for name, has := range map[string]*ListCapability{"toolsListChanged": caps.Tools, "resourcesListChanged": caps.Resources, "promptsListChanged": caps.Prompts} {
		if has != nil && has.ListChanged {
			want[name] = true
		}
	}
	if len(want) == 0 {
		return
	}
	life := c.life
	c.work.Go(func() {
		wait := defaultReconnect
		for life.Err() == nil {
			began := time.Now()
			_, err := c.exchange(life, "subscriptions/listen", map[string]any{"notifications": want}, call{idle: 24 * time.Hour})
			var rpc *RPCError
			if errors.As(err, &rpc) {
				return // not offered after all
			}
			if time.Since(began) > time.Minute {
				wait = defaultReconnect
			}
			if pause(life, jitter(wait)) != nil {
				return
			}
			wait = min(2*wait, time.Minute)
		}
	})
}

func (c *Client) connectHTTP(ctx context.Context) error {
	t, err := newHTTP(c)
	if err != nil {
		return err
	}
	c.t = t
	if c.o.Transport == "sse" {
		return c.connectSSE(ctx, t, errLegacy)
	}
	if !legacy(c.o.Version) {
		probe, cancel := context.WithTimeout(ctx, max(c.o.Handshake/3, min(defaultProbeTimeout, c.o.Handshake)))
		err := c.discover(probe, Modern)
		cancel()
		silent := errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
		if !errors.Is(err, errLegacy) && !silent {
			return err
		}
	}
	err = c.initialize(ctx)
	var status *StatusError
	if errors.As(err, &status) && c.o.Transport != "http" &&
		slices.Contains([]int{http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed}, status.Status) {
		return c.connectSSE(ctx, t, err)
	}
	return err
}

// connectSSE tries the transport of 2024-11-05. why is the error to show when that
// is not it either.
func (c *Client) connectSSE(ctx context.Context, base *httpTransport, why error) error {
	t, err := openSSE(ctx, base)
	if err != nil {
		if errors.Is(why, errLegacy) {
			return err
		}
		return fmt.Errorf("%w (as HTTP+SSE: %w)", why, err)
	}
	c.t = t
	return c.initialize(ctx)
}

func legacy(version string) bool { return version != "" && version != Modern }

// initialize does the handshake of 2025-11-25 and before (basic/lifecycle.mdx).
func (c *Client) initialize(ctx context.Context) error {
	version := c.o.Version
	if !legacy(version) {
		version = Latest
	}
	c.now.Store(&Info{Transport: c.t.kind()})
	c.t.settled("")
	m, err := c.exchange(ctx, "initialize", map[string]any{
		"protocolVersion": version, "capabilities": c.capabilities(), "clientInfo": c.o.Client,
	}, call{final: true})
	if err != nil {
		return err
	}
	var r struct {
		Version      string         `json:"protocolVersion"`
		Capabilities Capabilities   `json:"capabilities"`
		Server       Implementation `json:"serverInfo"`
		Instructions string         `json:"instructions"`
	}
	if err := json.Unmarshal(m.Result, &r); err != nil {
		return fmt.Errorf("the answer to initialize cannot be read: %w", err)
	}
	if !slices.Contains([]string{Latest, rev202506, rev202503, rev202411}, r.Version) {
		return fmt.Errorf("%w: the server wants %q", errNoCommonVersion, short(r.Version))
	}
	c.now.Store(&Info{
		Protocol: r.Version, Server: r.Server, Instructions: r.Instructions,
		Transport: c.t.kind(), Capabilities: r.Capabilities,
	})
	c.t.settled(r.Version)
	if err := c.notify(ctx, "notifications/initialized", nil); err != nil {
		return fmt.Errorf("tell the server that the handshake is done: %w", err)
	}
	c.t.opened(c.life)
	return nil
}

// reopen makes a new session once the server forgot the old one. Callers that
// come together share it: who comes second finds a session that is not the one
// its request failed with.
func (c *Client) reopen(ctx context.Context, why error) error {
	c.renew.Lock()
	defer c.renew.Unlock()
	t, ok := c.t.(*httpTransport)
	var status *StatusError
	if !ok || !errors.As(why, &status) {
		return why
	}
	if !t.leave(status.session) {
		return nil
	}
	if c.Info().Modern {
		return why
	}
	if err := c.initialize(ctx); err != nil {
		return err
	}
	if c.o.Notify != nil {
		c.o.Notify(Notification{Method: "notifications/tools/list_changed"}) // it may be another server now
	}
	return nil
}
