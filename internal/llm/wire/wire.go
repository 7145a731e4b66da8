// Package wire is what the model adapters share below their dialects: one HTTP
// exchange with idle timers, the sorting of failures into llm.Error kinds, tidy
// history, tool-call ids and a memory of what a server refused. Its one rule: an
// answer that was not seen to finish is an error, never a finished turn.
package wire

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coderrr/coderrr/internal/llm"
)

// Options are what every adapter's New takes. Only Name is required.
type Options struct {
	// Name is how the provider is called in messages and in block origins.
	Name string
	// Endpoint is the base URL, with or without its version path and a trailing
	// slash; "" is the provider's own.
	Endpoint string
	// Key goes into the dialect's header and nowhere else.
	Key string
	// Headers are added to every request, after the adapter's own.
	Headers map[string]string
	// Transport carries the requests; nil means NewTransport().
	Transport http.RoundTripper
	// Lookup says what is known of a model (see llm/catalog); it may be nil.
	Lookup func(model string) (llm.ModelInfo, bool)
	// Timeouts whose fields are zero are the defaults of the adapter.
	Timeouts Timeouts
}

// Timeouts bound the silent phases of one call. A long answer is never cut as
// long as it moves.
type Timeouts struct {
	// Header is the wait for the response headers.
	Header time.Duration
	// Idle is the longest pause between two bytes.
	Idle time.Duration
	// Meaning is the longest time without a real event: keep-alives do not count.
	Meaning time.Duration
	// Grace is the wait for the end marker once the finish reason is there.
	Grace time.Duration
}

// CloudTimeouts are for hosted providers.
func CloudTimeouts() Timeouts {
	return Timeouts{Header: 2 * time.Minute, Idle: 2 * time.Minute, Meaning: 5 * time.Minute, Grace: 2 * time.Second}
}

// LocalTimeouts are for servers on the user's machine, which load a model before
// they answer the first request and read long prompts slowly.
func LocalTimeouts() Timeouts {
	return Timeouts{Header: 10 * time.Minute, Idle: 10 * time.Minute, Meaning: 15 * time.Minute, Grace: 2 * time.Second}
}

func (t Timeouts) or(d Timeouts) Timeouts {
	pick := func(a, b time.Duration) time.Duration {
		if a > 0 {
			return a
		}
		return b
	}
	return Timeouts{
		Header: pick(t.Header, d.Header), Idle: pick(t.Idle, d.Idle),
		Meaning: pick(t.Meaning, d.Meaning), Grace: pick(t.Grace, d.Grace),
	}
}

// NewTransport returns the transport adapters use by default: proxies from the
// environment, bounded dialling, no transparent compression (a proxy that zips a
// stream may hold it back for ever; Client unzips what comes zipped anyway).
func NewTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConnsPerHost:   4,
		ForceAttemptHTTP2:     true,
		DisableCompression:    true,
	}
}

// Client makes calls to one endpoint. It is safe for concurrent use.
type Client struct {
	Name    string
	base    *url.URL
	http    *http.Client
	headers map[string]string
	secrets []string
	times   Timeouts
}

// NewClient checks o and builds a client. base is the endpoint used when o names
// none; strip lists version paths ("/v1") that an endpoint may carry and that
// request paths repeat.
func NewClient(o Options, base string, times Timeouts, strip ...string) (*Client, error) {
	if o.Name == "" {
		return nil, errors.New("a provider needs a name")
	}
	endpoint := o.Endpoint
	if endpoint == "" {
		endpoint = base
	}
	u, err := parseEndpoint(endpoint, strip)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Name, err)
	}
	transport := o.Transport
	if transport == nil {
		transport = NewTransport()
	}
	c := &Client{
		Name: o.Name, base: u, headers: maps.Clone(o.Headers), times: o.Timeouts.or(times),
		http: &http.Client{
			Transport: transport,
			// A redirect would carry the key and the prompt to another host.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	c.secrets = secretsOf(o, u)
	return c, nil
}

func parseEndpoint(endpoint string, strip []string) (*url.URL, error) {
	if endpoint == "" {
		return nil, errors.New("no endpoint is set; set provider.endpoint to the server's base URL")
	}
	if !strings.Contains(endpoint, "://") {
		endpoint = "http://" + endpoint
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		// The text is not repeated: it may hold a key.
		return nil, errors.New("the endpoint is not an http or https URL; set provider.endpoint like https://host/v1")
	}
	u.Path = strings.TrimRight(u.Path, "/")
	for _, s := range strip {
		if rest, ok := strings.CutSuffix(u.Path, s); ok {
			u.Path = strings.TrimRight(rest, "/")
			break
		}
	}
	u.RawQuery, u.Fragment, u.RawPath = "", "", ""
	return u, nil
}

// Host is the endpoint's host and port.
func (c *Client) Host() string { return c.base.Host }

// Path is the endpoint's path without its version part.
func (c *Client) Path() string { return c.base.Path }

// Base is the endpoint without credentials and version path.
func (c *Client) Base() string {
	u := *c.base
	u.User = nil
	return u.String()
}

// Local reports whether the endpoint is on this machine.
func (c *Client) Local() bool {
	host := c.base.Hostname()
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback() || ip.IsUnspecified()
	}
	return host == "localhost"
}

// Origin names the maker of signed blocks: another endpoint under the same name
// is another maker.
func (c *Client) Origin(model, ownHost string) llm.Origin {
	if c.base.Host == ownHost {
		return llm.Origin{Provider: c.Name, Model: model}
	}
	return llm.Origin{Provider: c.Name + "@" + c.base.Host, Model: model}
}
