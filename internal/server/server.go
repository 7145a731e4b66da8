// Package server shows sessions in a browser on this machine: one page, one
// websocket, patches of HTML that are a pure fold of a session's log. Its one
// rule: nothing of a session leaves without the token, and a decision reaches a
// session only if it names what was on the screen.
package server

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/coderrr/coderrr/internal/markdown"
	"github.com/coderrr/coderrr/web"
)

// Options are what a Server needs.
type Options struct {
	Backend Backend // required
	// Token is what a page must present, at least 22 characters of base64url (128
	// bits). Empty: New makes one.
	Token string
}

// Server is the browser UI of one process. Make it with New, run it with Serve.
type Server struct {
	backend Backend
	token   string
	epoch   string
	assets  web.Assets
	md      *markdown.Renderer

	// listing is held from reading the list of sessions until the pages have it,
	// so that an older list never takes the place of a newer one. It comes before mu.
	listing sync.Mutex

	mu      sync.Mutex
	host    string // the only Host that is answered; set by Serve
	hubs    map[string]*hub
	conns   map[*conn]struct{}
	closing bool
	confirm *bool           // the choice made on the start page, nil for none
	base    context.Context // of what outlives a request; set by Serve
	tasks   sync.WaitGroup  // hubs and connections
}

// minToken is the length of 128 bits as base64url.
const minToken = 22

// New checks the options and makes a server.
func New(o Options) (*Server, error) {
	if o.Backend == nil {
		return nil, errors.New("the browser UI needs a backend")
	}
	if o.Token == "" {
		t, err := NewToken()
		if err != nil {
			return nil, err
		}
		o.Token = t
	}
	if len(o.Token) < minToken {
		return nil, fmt.Errorf("the browser UI's token is too short: %d characters, at least %d", len(o.Token), minToken)
	}
	assets, err := web.Load()
	if err != nil {
		return nil, err
	}
	epoch := make([]byte, 8)
	if _, err := rand.Read(epoch); err != nil {
		return nil, fmt.Errorf("make an epoch: %w", err)
	}
	return &Server{
		backend: o.Backend, token: o.Token, epoch: hex.EncodeToString(epoch), assets: assets,
		md: &markdown.Renderer{}, hubs: map[string]*hub{}, conns: map[*conn]struct{}{},
	}, nil
}

// NewToken makes a token of 256 random bits.
func NewToken() (string, error) {
	raw := make([]byte, 32)
	if _, err := rand.Read(raw); err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(raw), nil
}

// URL is the address to open for a listener: it carries the token in its
// fragment, which never leaves the browser.
func (s *Server) URL(ln net.Listener) string {
	return "http://" + ln.Addr().String() + "/#token=" + s.token
}

// Limits of the HTTP server.
const (
	headerTimeout = 5 * time.Second
	bodyTimeout   = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 16 << 10
	closeTimeout  = 3 * time.Second
)

// Serve answers on ln until the context ends; then it closes every page with code
// 1012 and returns when all its goroutines have ended. ln must come from Listen
// or be on loopback.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	if err := onLoopback(ln.Addr().String()); err != nil {
		return errors.Join(err, ln.Close())
	}
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	s.mu.Lock()
	s.host, s.base = ln.Addr().String(), base
	s.mu.Unlock()
	srv := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: quiet(),
	}
	var err error
	failed := make(chan struct{})
	go func() {
		defer close(failed)
		err = srv.Serve(ln)
	}()
	select {
	case <-ctx.Done():
	case <-failed:
	}
	stop, done := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer done()
	s.closeConns()
	if shut := srv.Shutdown(stop); shut != nil {
		_ = srv.Close() // what does not end in time is cut
	}
	cancel()
	s.tasks.Wait()
	<-failed
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the browser UI on %s: %w", s.host, err)
	}
	return nil
}

// Handler is the whole UI as one handler; Serve uses it. The guard is the
// outermost layer.
func (s *Server) Handler() http.Handler { return s.guard(s.routes()) }

func (s *Server) routes() *chi.Mux {
	r := chi.NewRouter()
	r.Get("/", s.shell)
	r.Get("/static/{hash}/*", s.asset)
	r.Get("/ws", s.socket)
	r.Get("/api/sessions", s.listSessions)
	r.Get("/api/sessions/{id}/events", s.sessionEvents)
	r.Get("/api/sessions/{id}/markdown", s.sessionMarkdown)
	return r
}

// Changed tells open pages that the list of sessions may be another: one was
// started elsewhere, or ended.
func (s *Server) Changed() {
	s.listing.Lock()
	defer s.listing.Unlock()
	s.mu.Lock()
	hubs := make([]*hub, 0, len(s.hubs))
	for _, h := range s.hubs {
		hubs = append(hubs, h)
	}
	base := s.base
	s.mu.Unlock()
	if base == nil {
		return
	}
	rows := s.sessionRows(base)
	for _, h := range hubs {
		h.setSessions(rows)
	}
}
