package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/coderrr/coderrr/internal/llm"
)

// Limits of what is read from a server, in bytes.
const (
	maxErrorBody = 1 << 20
	maxWhole     = 64 << 20 // an answer that came as one JSON document
)

// Call is one HTTP request.
type Call struct {
	Method string // "" means POST
	Path   string // below the endpoint, with its version part
	Query  url.Values
	Header http.Header
	Body   []byte // JSON; nil for none
	Model  string
	Accept string // "" means text/event-stream
	Lines  bool   // the answer is one JSON document a line (Ollama), not SSE
}

// stopped is returned inside an exchange when the consumer left the loop.
var errStopped = errors.New("the consumer stopped")

// Marshal is json.Marshal without HTML escaping, so that what a model wrote is
// sent back byte for byte.
func Marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}

// do sends the call and returns the response once its headers are in; a status
// other than 2xx is an error. cancel is told when the headers take too long.
func (c *Client) do(ctx context.Context, call Call, cancel context.CancelCauseFunc) (*http.Response, error) {
	req, err := c.request(ctx, call)
	if err != nil {
		return nil, &llm.Error{Provider: c.Name, Model: call.Model, Kind: llm.KindBadRequest, Message: c.Redact(err.Error())}
	}
	timer := time.AfterFunc(c.times.Header, func() {
		cancel(stalled{fmt.Sprintf("no answer for %s", c.times.Header)})
	})
	resp, err := c.http.Do(req)
	timer.Stop()
	if err != nil {
		return nil, c.broken(ctx, call.Model, err, llm.KindNetwork)
	}
	if resp.Header.Get("Content-Encoding") == "gzip" {
		resp.Body = &gunzip{src: resp.Body}
	}
	if resp.StatusCode/100 != 2 {
		defer func() { _ = resp.Body.Close() }()
		return nil, c.refused(ctx, call.Model, resp)
	}
	return resp, nil
}

func (c *Client) request(ctx context.Context, call Call) (*http.Request, error) {
	u := *c.base
	u.User = nil
	u.Path += call.Path
	u.RawQuery = call.Query.Encode()
	method := call.Method
	if method == "" {
		method = http.MethodPost
	}
	var body io.Reader
	if call.Body != nil {
		body = bytes.NewReader(call.Body)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return nil, fmt.Errorf("build the request: %w", err)
	}
	accept := call.Accept
	if accept == "" {
		accept = "text/event-stream"
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", "coderrr")
	if call.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, values := range call.Header {
		req.Header[name] = values
	}
	if user := c.base.User; user != nil {
		password, _ := user.Password()
		req.SetBasicAuth(user.Username(), password)
	}
	for name, value := range c.headers {
		req.Header.Set(name, value)
	}
	return req, nil
}

// refused reads the body of a failed answer and sorts it.
func (c *Client) refused(ctx context.Context, model string, resp *http.Response) error {
	timer := time.AfterFunc(10*time.Second, func() { _ = resp.Body.Close() })
	defer timer.Stop()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if ctx.Err() != nil && err != nil && len(body) == 0 {
		return c.broken(ctx, model, err, llm.KindNetwork)
	}
	if resp.StatusCode/100 == 3 {
		return &llm.Error{
			Provider: c.Name, Model: model, Kind: llm.KindBadResponse, Status: resp.StatusCode,
			Message: "the endpoint redirects" + target(resp) + "; redirects are not followed, because they would carry the key along: set provider.endpoint to the final address",
		}
	}
	return c.Classify(model, resp.StatusCode, resp.Header, body)
}

func target(resp *http.Response) string {
	if u, err := resp.Location(); err == nil && u.Host != "" {
		return " to " + u.Scheme + "://" + u.Host
	}
	return ""
}

// broken turns a transport failure into an error people can act on. kind is what
// a plain break means at this point of the exchange.
func (c *Client) broken(ctx context.Context, model string, err error, kind llm.Kind) error {
	e := &llm.Error{Provider: c.Name, Model: model, Kind: kind}
	var silent stalled
	switch cause := context.Cause(ctx); {
	case errors.As(cause, &silent):
		e.Kind = llm.KindTimeout
		e.Message = c.base.Host + ": " + silent.what
		return e
	case cause != nil:
		return cause // the caller's own: cancelled, or its deadline
	}
	var final interface{ Permanent() bool }
	if errors.As(err, &final) && final.Permanent() {
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err
		}
		e.Kind, e.Message = llm.KindBadRequest, c.Redact(err.Error())
		return e
	}
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err // the URL adds nothing and may hold what people typed
	}
	e.Cause = errors.New(c.Redact(err.Error()))
	e.Message = "could not reach " + c.base.Host
	if kind == llm.KindTruncated {
		e.Message = "the stream broke before the answer was finished"
	}
	text := err.Error()
	switch {
	case errors.Is(err, syscall.ECONNREFUSED) && c.Local():
		e.NoRetry = true
		e.Message += ": nothing listens there; start the server or correct provider.endpoint"
	case strings.Contains(text, "certificate") || strings.Contains(text, "x509:"):
		e.NoRetry = true
		e.Message += ": its certificate is not trusted; SSL_CERT_FILE can name another bundle"
	case strings.Contains(text, "server gave HTTP response to HTTPS client"):
		e.NoRetry = true
		e.Message += " over https: it speaks plain http; correct provider.endpoint"
	}
	return e
}

// Get makes one short call (a model list, a probe) and decodes its JSON answer
// into out, within the header timeout and at most 30 s.
func (c *Client) Get(ctx context.Context, call Call, out any) error {
	call.Accept = "application/json"
	if call.Method == "" {
		call.Method = http.MethodGet
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := min(30*time.Second, c.times.Header)
	timer := time.AfterFunc(limit, func() { cancel(stalled{fmt.Sprintf("no answer for %s", limit)}) })
	defer timer.Stop()
	resp, err := c.do(ctx, call, cancel)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxWhole))
	if err != nil {
		return c.broken(ctx, call.Model, err, llm.KindTruncated)
	}
	if err := json.Unmarshal(body, out); err != nil {
		return &llm.Error{
			Provider: c.Name, Model: call.Model, Kind: llm.KindBadResponse, Status: resp.StatusCode,
			Message: c.base.Host + call.Path + " did not answer with JSON; check provider.endpoint",
		}
	}
	return nil
}
