package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/coderrr/coderrr/internal/mcp/wire"
)

const (
	maxDocument = 1 << 20
	httpWait    = 20 * time.Second
)

// ErrPrivate: an address that a server named lies in a private network, and the
// server itself does not.
var ErrPrivate = errors.New("the address lies in a private network, which this server must not send us to")

// guarded is the HTTP client for addresses that a server named. It sends no
// credentials of the server, follows no redirect, and reaches private addresses
// only when the server itself has one: the address is judged when it is dialled,
// after the name was looked up.
type guarded struct {
	server *url.URL
	direct *http.Client
	proxy  *http.Client
}

func newGuarded(server *url.URL) *guarded {
	g := &guarded{server: server}
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	inner := &net.Dialer{Timeout: 10 * time.Second, ControlContext: g.control}
	client := func(d *net.Dialer, proxy func(*http.Request) (*url.URL, error)) *http.Client {
		return &http.Client{
			Timeout: httpWait,
			Transport: &http.Transport{
				Proxy: proxy, DialContext: d.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second,
				DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	g.direct, g.proxy = client(inner, nil), client(dialer, http.ProxyFromEnvironment)
	return g
}

// private reports addresses that are not of the public internet.
func private(a netip.Addr) bool {
	a = a.Unmap()
	shared := netip.MustParsePrefix("100.64.0.0/10")
	return a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsLinkLocalMulticast() || a.IsMulticast() ||
		a.IsUnspecified() || a.IsInterfaceLocalMulticast() || shared.Contains(a)
}

// serverIsPrivate reports whether the configured server itself is in a private
// network. A name that cannot be looked up is not.
func (g *guarded) serverIsPrivate(ctx context.Context) bool {
	host := g.server.Hostname()
	if wire.Loopback(host) {
		return true
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return private(a)
	}
	list, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil || len(list) == 0 {
		return false
	}
	for _, a := range list {
		if !private(a) {
			return false
		}
	}
	return true
}

func (g *guarded) control(ctx context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %s", ErrPrivate, address)
	}
	if private(at.Addr()) && !g.serverIsPrivate(ctx) {
		return fmt.Errorf("%w: %s", ErrPrivate, at.Addr())
	}
	return nil
}

// allow judges an address before it is used: https, or http on this machine when
// the server itself is on it.
func (g *guarded) allow(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil || len(raw) > 8<<10 || strings.ContainsAny(raw, "\r\n\t\x00 \"<>\\"):
		return nil, fmt.Errorf("the address %q cannot be used", foreign(raw))
	case u.Host == "" || u.User != nil || u.Opaque != "":
		return nil, fmt.Errorf("the address %q cannot be used", foreign(raw))
	case u.Scheme == "https":
	case u.Scheme == "http" && wire.Loopback(u.Hostname()) && wire.Loopback(g.server.Hostname()):
	default:
		return nil, fmt.Errorf("the address %q is not https", foreign(raw))
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil && private(a) && !g.serverIsPrivate(context.Background()) {
		return nil, fmt.Errorf("%w: %s", ErrPrivate, a)
	}
	return u, nil
}

// do sends a request to an address that allow passed. The body is read whole, up
// to a limit.
func (g *guarded) do(req *http.Request) (status int, header http.Header, body []byte, err error) {
	client := g.direct
	if p, err := http.ProxyFromEnvironment(req); err == nil && p != nil {
		client = g.proxy
	}
	resp, err := client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return 0, nil, nil, fmt.Errorf("reach %s: %w", req.URL.Host, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	if err != nil {
		return 0, nil, nil, fmt.Errorf("read the answer of %s: %w", req.URL.Host, err)
	}
	if len(body) > maxDocument {
		return 0, nil, nil, fmt.Errorf("the answer of %s is larger than %d bytes", req.URL.Host, maxDocument)
	}
	return resp.StatusCode, resp.Header, body, nil
}

// get fetches a document.
func (g *guarded) get(ctx context.Context, raw string) (status int, body []byte, err error) {
	u, err := g.allow(raw)
	if err != nil {
		return 0, nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("MCP-Protocol-Version", wire.Latest)
	status, _, body, err = g.do(req)
	return status, body, err
}
