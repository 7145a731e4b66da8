package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/coderrr/coderrr/internal/sse"
)

// maxTries bounds how often one message is sent because credentials were refused
// or the server moved to another path.
const maxTries = 6

// httpTransport is Streamable HTTP in both eras: one POST per message, answered
// by JSON or by a stream of events (basic/transports.mdx of 2025-11-25,
// basic/transports/streamable-http.mdx of 2026-07-28).
type httpTransport struct {
	c      *Client
	base   *url.URL
	client *http.Client

	mu      sync.Mutex
	url     string // after redirects within the origin
	session string
	version string
	stream  context.CancelFunc
}

func newHTTP(c *Client) (*httpTransport, error) {
	u, err := url.Parse(c.o.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is not an http or https address", short(c.o.URL))
	}
	if u.Scheme == "http" && !Loopback(u.Hostname()) && len(c.o.Headers) > 0 {
		return nil, fmt.Errorf("%w: %s would carry the configured headers unencrypted; use https", ErrPlainHTTP, u.Host)
	}
	u.Fragment = ""
	return &httpTransport{c: c, base: u, url: u.String(), client: &http.Client{
		Transport: newTransport(),
		// Redirects are handled in send: never to another origin, never as a GET.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxIdleConnsPerHost:    4,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
	}
}

// Loopback reports whether host is this machine by a literal address or by the
// name localhost.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (t *httpTransport) kind() string { return "http" }

func (t *httpTransport) settled(version string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.version = version
	if version == "" || version == Modern {
		t.session = ""
	}
}

func (t *httpTransport) post(ctx context.Context, m outgoing) error {
	resp, err := t.send(ctx, http.MethodPost, m, "", t.c.o.Auth)
	if err != nil {
		return err
	}
	defer drain(resp.Body)
	if resp.StatusCode/100 != 2 {
		return t.status(resp)
	}
	if m.method == "initialize" {
		t.enter(resp.Header.Get("Mcp-Session-Id"))
	}
	if m.id == 0 {
		return nil // 202, or a body that means nothing
	}
	return t.answer(ctx, resp, m.id)
}

// answer reads what a request was answered with. The stream may end before the
// answer came: then it is taken up again where it ended.
func (t *httpTransport) answer(ctx context.Context, resp *http.Response, id int64) error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case kind == "text/event-stream":
		pos, err := t.events(ctx, resp.Body, id)
		if !t.c.waits(id) {
			return nil
		}
		return t.resume(ctx, id, pos, err)
	case resp.StatusCode == http.StatusAccepted || resp.StatusCode == http.StatusNoContent:
		return fmt.Errorf("the server took the request and answered nothing (HTTP %d)", resp.StatusCode)
	}
	d, err := readDocument(resp.Body, t.c.limits())
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if err := t.c.receive(d); err != nil {
		return fmt.Errorf("the answer is not one of MCP (%s): %s", kind, short(string(d.data)))
	}
	if t.c.waits(id) {
		return errors.New("the server answered another request than the one that was sent")
	}
	return nil
}

// position is where a stream of events stands.
type position struct {
	id    string
	retry time.Duration
}

// events reads a stream. With an id it returns once that request is answered.
func (t *httpTransport) events(ctx context.Context, body io.Reader, id int64) (position, error) {
	r := sse.NewReader(body, defaultEvent)
	var pos position
	for {
		e, err := r.Next()
		if e.ID != "" {
			pos.id = e.ID
		}
		if retry := r.Retry(); retry > 0 {
			pos.retry = retry
		}
		if err != nil {
			if errors.Is(err, sse.ErrTooLong) {
				err = fmt.Errorf("%w: an event of more than %d bytes", ErrTooLarge, defaultEvent)
			}
			return pos, err
		}
		if len(bytes.TrimSpace(e.Data)) == 0 || e.Cut && !json.Valid(e.Data) {
			continue // a priming event, or one that was not finished
		}
		s := squeezer{limits: t.c.limits()}
		s.write(e.Data)
		_ = t.c.receive(s.document()) // an event that is no message harms nobody
		if id != 0 && !t.c.waits(id) {
			return pos, nil
		}
		if ctx.Err() != nil {
			return pos, ctx.Err()
		}
	}
}

// resume takes a stream up again with Last-Event-ID. Without an event id, and in
// 2026-07-28, the answer is lost.
func (t *httpTransport) resume(ctx context.Context, id int64, pos position, why error) error {
	for try := 0; ; try++ {
		if errors.Is(why, ErrTooLarge) {
			return why
		}
		if pos.id == "" || t.c.Info().Modern || try >= maxReconnects {
			return fmt.Errorf("the stream ended before the answer came: %w", why)
		}
		if err := pause(ctx, orDefault(pos.retry, defaultReconnect)); err != nil {
			return err
		}
		resp, err := t.send(ctx, http.MethodGet, outgoing{}, pos.id, t.c.o.Auth)
		if err != nil {
			why = err
			continue
		}
		if resp.StatusCode != http.StatusOK {
			why = t.status(resp)
			drain(resp.Body)
			continue
		}
		next, err := t.events(ctx, resp.Body, id)
		drain(resp.Body)
		if !t.c.waits(id) {
			return nil
		}
		if next.id != "" {
			pos.id, try = next.id, 0
		}
		pos.retry = orDefault(next.retry, pos.retry)
		why = err
	}
}

// send makes one request, again where credentials were refreshed and where the
// server moved within its origin. The caller closes the body.
func (t *httpTransport) send(ctx context.Context, method string, m outgoing, lastID string, auth Auth) (*http.Response, error) {
	for range maxTries {
		req, session, err := t.request(ctx, method, m, lastID)
		if err != nil {
			return nil, err
		}
		if auth != nil {
			if err := auth.Sign(ctx, req); err != nil {
				return nil, err
			}
		}
		resp, err := t.client.Do(req)
		if err != nil {
			return nil, plain(err)
		}
		switch resp.StatusCode {
		case http.StatusUnauthorized, http.StatusForbidden:
			if auth == nil || t.aboutSession(resp, session) {
				return resp, nil
			}
			drain(resp.Body)
			err := auth.Refused(ctx, Refusal{Status: resp.StatusCode, Header: resp.Header, Authorization: req.Header.Get("Authorization"), Session: session != ""})
			if err != nil {
				return nil, err
			}
		case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
			drain(resp.Body)
			if err := t.move(resp); err != nil {
				return nil, err
			}
		default:
			return resp, nil
		}
	}
	return nil, fmt.Errorf("the server refused the request %d times", maxTries)
}

// aboutSession reports a 401 that is about the session, not about credentials.
func (t *httpTransport) aboutSession(resp *http.Response, session string) bool {
	if session == "" || resp.StatusCode != http.StatusUnauthorized || resp.Header.Get("WWW-Authenticate") != "" {
		return false
	}
	head, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(head))
	return err == nil && bytes.Contains(bytes.ToLower(head), []byte("session"))
}

// move follows a redirect that keeps method, body and origin; any other would
// carry the request, and its credentials, to a place nobody chose.
func (t *httpTransport) move(resp *http.Response) error {
	to, err := resp.Location()
	if err != nil {
		return fmt.Errorf("%w: without an address", ErrRedirect)
	}
	keeps := resp.StatusCode == http.StatusTemporaryRedirect || resp.StatusCode == http.StatusPermanentRedirect
	if !keeps || to.Scheme != t.base.Scheme || to.Host != t.base.Host {
		return fmt.Errorf("%w: to %s; if that is right, configure that address", ErrRedirect, short(to.Scheme+"://"+to.Host+to.Path))
	}
	to.Fragment = ""
	t.mu.Lock()
	defer t.mu.Unlock()
	t.url = to.String()
	return nil
}

func (t *httpTransport) request(ctx context.Context, method string, m outgoing, lastID string) (*http.Request, string, error) {
	t.mu.Lock()
	target, session, version := t.url, t.session, t.version
	t.mu.Unlock()
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(m.body))
	if err != nil {
		return nil, "", err
	}
	if method == http.MethodGet {
		req.Body, req.ContentLength = nil, 0
	}
	for k, v := range t.c.o.Headers {
		req.Header.Set(k, v)
	}
	accept := "application/json, text/event-stream"
	if method == http.MethodGet {
		accept = "text/event-stream"
	} else if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", accept)
	if version != "" {
		req.Header.Set("MCP-Protocol-Version", version)
	}
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	if version == Modern && m.method != "" {
		req.Header.Set("Mcp-Method", m.method)
		if m.name != "" {
			req.Header.Set("Mcp-Name", headerValue(m.name))
		}
		for k, v := range m.headers {
			req.Header.Set(k, v)
		}
	}
	return req, session, nil
}

func (t *httpTransport) status(resp *http.Response) error {
	head, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		head = nil
	}
	s := &StatusError{Status: resp.StatusCode, header: resp.Header, session: resp.Request.Header.Get("Mcp-Session-Id")}
	var m message
	if json.Unmarshal(head, &m) == nil && m.Error != nil {
		s.RPC = m.Error
	} else {
		s.Body = short(stripTags(string(head)))
	}
	return s
}

func stripTags(s string) string {
	if !strings.HasPrefix(strings.TrimSpace(s), "<") {
		return s
	}
	return "" // a page for people says nothing here
}

// plain takes the request's address out of an error: it may hold what is secret.
func plain(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var dns *net.DNSError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nothing listens there (%w): check the port, and that the server runs", err)
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Errorf("there is no such host (%w): check the address", err)
	}
	return err
}

func drain(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, 16<<10)
	_ = body.Close()
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// jitter spreads reconnections over half to one and a half times d.
func jitter(d time.Duration) time.Duration {
	return d/2 + rand.N(d+1)
}
