package wire

import (
	"context"
	"net/http"
	"strings"
	"time"
)

// enter notes the session a server opened (2025-11-25, basic/transports.mdx,
// session management). An id that is not visible ASCII is not used.
func (t *httpTransport) enter(id string) {
	for i := range len(id) {
		if id[i] < 0x21 || id[i] > 0x7E {
			id = ""
			break
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.session = id
}

// leave gives a session up; false when it is not the present one any more.
func (t *httpTransport) leave(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.session != id {
		return false
	}
	t.session = ""
	if t.stream != nil {
		t.stream()
		t.stream = nil
	}
	return true
}

// lostSession reports an answer that says that the session is not known: 404 by
// the standard, and what other servers say instead.
func (e *StatusError) lostSession() bool {
	text := strings.ToLower(e.Body)
	if e.RPC != nil {
		text = strings.ToLower(e.RPC.Message)
	}
	switch e.Status {
	case http.StatusNotFound:
		return true
	case http.StatusBadRequest, http.StatusServiceUnavailable, http.StatusGone:
		return strings.Contains(text, "session")
	case http.StatusUnauthorized:
		return e.header.Get("WWW-Authenticate") == "" && strings.Contains(text, "session")
	}
	return false
}

// opened opens the stream on which a server sends what nobody asked for, and waits
// a moment for it: a server asks things there during the very first call.
func (t *httpTransport) opened(life context.Context) {
	t.mu.Lock()
	if t.version == Modern || t.version == "" || t.stream != nil {
		t.mu.Unlock()
		return
	}
	ctx, cancel := context.WithCancel(life)
	t.stream = cancel
	t.mu.Unlock()
	ready := make(chan struct{})
	t.c.work.Go(func() { t.listen(ctx, ready) })
	timer := time.NewTimer(defaultStreamWait)
	defer timer.Stop()
	select {
	case <-ready:
	case <-timer.C:
	case <-life.Done():
	}
}

// listen keeps the stream open. It is optional: a server that does not offer it,
// or loses it, is as good as before.
func (t *httpTransport) listen(ctx context.Context, ready chan struct{}) {
	var pos position
	wait, first := defaultReconnect, true
	for ctx.Err() == nil {
		resp, err := t.send(ctx, http.MethodGet, outgoing{}, pos.id, streamAuth(t.c.o.Auth))
		offered := err == nil && resp.StatusCode == http.StatusOK && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
		if first {
			first = false
			close(ready)
			if !offered {
				if err == nil {
					drain(resp.Body)
				}
				return
			}
		}
		switch {
		case offered:
			began := time.Now()
			next, _ := t.events(ctx, resp.Body, 0)
			_ = resp.Body.Close()
			if next.id != "" {
				pos.id = next.id
			}
			if time.Since(began) > time.Minute {
				wait = defaultReconnect
			}
			if next.retry > 0 {
				wait = min(max(next.retry, 100*time.Millisecond), time.Minute)
			}
		case err == nil:
			code := resp.StatusCode
			drain(resp.Body)
			if code == http.StatusMethodNotAllowed || code == http.StatusNotFound {
				return
			}
			pos.id = ""
		}
		if pause(ctx, jitter(wait)) != nil {
			return
		}
		wait = min(2*wait, time.Minute)
	}
}

// streamOnly signs the stream's requests and never starts anything because one of
// them was refused: the next call will.
type streamOnly struct{ Auth }

func (streamOnly) Refused(context.Context, Refusal) error { return ErrClosed }

func streamAuth(a Auth) Auth {
	if a == nil {
		return nil
	}
	return streamOnly{a}
}

// close tells the server that the session is over. 405 and silence are fine.
func (t *httpTransport) close(ctx context.Context) error {
	t.mu.Lock()
	session := t.session
	if t.stream != nil {
		t.stream()
		t.stream = nil
	}
	t.mu.Unlock()
	if session != "" {
		ctx, cancel := context.WithTimeout(ctx, closeGrace)
		defer cancel()
		if resp, err := t.send(ctx, http.MethodDelete, outgoing{}, "", streamAuth(t.c.o.Auth)); err == nil {
			drain(resp.Body)
		}
	}
	t.client.CloseIdleConnections()
	return nil
}
