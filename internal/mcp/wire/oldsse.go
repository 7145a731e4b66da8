package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/coderrr/coderrr/internal/sse"
)

// oldSSE is the transport of 2024-11-05: a stream for everything the server says,
// and an address, named by the stream's first event, for everything it is told.
type oldSSE struct {
	*httpTransport
	cancel context.CancelFunc
}

// openSSE opens the stream and waits for its first event.
func openSSE(ctx context.Context, base *httpTransport) (*oldSSE, error) {
	c := base.c
	life, cancel := context.WithCancel(c.life)
	base.settled("")
	type opened struct {
		resp *http.Response
		err  error
	}
	got := make(chan opened, 1)
	c.work.Go(func() {
		resp, err := base.send(life, http.MethodGet, outgoing{}, "", c.o.Auth)
		got <- opened{resp, err}
	})
	var o opened
	select {
	case o = <-got:
	case <-ctx.Done():
		cancel()
		if o = <-got; o.err == nil {
			_ = o.resp.Body.Close()
		}
		return nil, ctx.Err()
	}
	if o.err != nil {
		cancel()
		return nil, o.err
	}
	if o.resp.StatusCode != http.StatusOK || !strings.HasPrefix(o.resp.Header.Get("Content-Type"), "text/event-stream") {
		defer cancel()
		defer drain(o.resp.Body)
		if o.resp.StatusCode/100 != 2 {
			return nil, base.status(o.resp)
		}
		return nil, fmt.Errorf("the server answers with %q, not with a stream of events", short(o.resp.Header.Get("Content-Type")))
	}
	t := &oldSSE{httpTransport: base, cancel: cancel}
	endpoint := make(chan error, 1)
	c.work.Go(func() { t.read(o.resp.Body, endpoint) })
	select {
	case err := <-endpoint:
		if err != nil {
			cancel()
			return nil, err
		}
		return t, nil
	case <-ctx.Done():
		cancel()
		_ = o.resp.Body.Close()
		return nil, fmt.Errorf("%w: the stream never named its address", ErrTimeout)
	}
}

func (t *oldSSE) kind() string { return "sse" }

func (t *oldSSE) opened(context.Context) {}

// read takes the server's messages until the stream ends, and the connection with
// it.
func (t *oldSSE) read(body io.ReadCloser, endpoint chan error) {
	defer func() { _ = body.Close() }()
	r := sse.NewReader(body, defaultEvent)
	for {
		e, err := r.Next()
		if err != nil {
			err = fmt.Errorf("%w: the stream of events ended (%w)", ErrClosed, err)
			select {
			case endpoint <- err:
			default:
			}
			t.c.fail(err)
			return
		}
		if e.Name == "endpoint" {
			err := t.address(string(e.Data))
			select {
			case endpoint <- err:
			default:
			}
			continue
		}
		s := squeezer{limits: t.c.limits()}
		s.write(e.Data)
		_ = t.c.receive(s.document()) // an event that is no message harms nobody
	}
}

// address takes the address for messages; one of another origin is refused.
func (t *oldSSE) address(s string) error {
	ref, err := url.Parse(strings.TrimSpace(s))
	if err != nil {
		return errors.New("the stream names an address that cannot be read")
	}
	to := t.base.ResolveReference(ref)
	if to.Scheme != t.base.Scheme || to.Host != t.base.Host {
		return fmt.Errorf("%w: its messages would go to %s", ErrRedirect, short(to.Host))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.url = to.String()
	return nil
}

func (t *oldSSE) post(ctx context.Context, m outgoing) error {
	resp, err := t.send(ctx, http.MethodPost, m, "", t.c.o.Auth)
	if err != nil {
		return err
	}
	defer drain(resp.Body)
	if resp.StatusCode/100 != 2 {
		return t.status(resp)
	}
	if m.id != 0 && strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		// Some servers answer here as well; an answer is taken once.
		if d, err := readDocument(resp.Body, t.c.limits()); err == nil && bytes.HasPrefix(bytes.TrimSpace(d.data), []byte("{")) {
			_ = t.c.receive(d)
		}
	}
	return nil
}

func (t *oldSSE) close(context.Context) error {
	t.cancel()
	t.client.CloseIdleConnections()
	return nil
}
