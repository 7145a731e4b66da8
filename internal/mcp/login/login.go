// Package login is the part of a sign-in that needs a person: it waits on this
// machine for the answer of the authorization server, and has the address opened
// by whoever it is given. Its one rule: only a command that a person typed leads
// here, never a run.
package login

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coderrr/coderrr/internal/mcp/oauth"
)

// DefaultTimeout is how long a person has.
const DefaultTimeout = 300 * time.Second

// ErrTimeout: nobody signed in in time.
var ErrTimeout = errors.New("nobody signed in in time")

// Options of a sign-in. Open or Paste is required.
type Options struct {
	// Open opens the address in the person's browser; nil only shows it.
	Open func(ctx context.Context, address string) error
	// Show tells the person what is about to happen; nil says nothing.
	Show func(text string)
	// Paste reads the address that the browser ended at, for a browser on another
	// machine; nil waits for the answer here only.
	Paste   func(ctx context.Context) (string, error)
	Timeout time.Duration // 0 means DefaultTimeout
	// Port is fixed where a server has to be told beforehand; 0 takes a free one.
	Port int
	// Localhost names this machine "localhost" instead of 127.0.0.1, for servers
	// that only take that.
	Localhost bool
}

// maxAnswers is how many answers wait to be looked at.
const maxAnswers = 16

// page is all that the callback ever shows: nothing of what it was sent.
const page = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Coderrr</title></head>` +
	`<body><p>Coderrr has received the answer. You can close this tab and go back to the terminal.</p></body></html>`

// Run signs a person in. It listens on the loopback interface only, and only while
// it runs.
func Run(ctx context.Context, f *oauth.Flow, o Options) error {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("%w (%s)", ErrTimeout, o.Timeout))
	defer cancel()
	l, err := listen(o)
	if err != nil {
		return err
	}
	defer l.close()
	address, err := f.Begin(ctx, l.redirect)
	if err != nil {
		return err
	}
	if err := open(ctx, f, o, address); err != nil {
		return err
	}
	pasted := make(chan url.Values, 1)
	if o.Paste != nil {
		go paste(ctx, o, pasted)
	}
	for {
		var answer url.Values
		select {
		case answer = <-l.answers:
		case answer = <-pasted:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		err := f.Finish(ctx, answer)
		if errors.Is(err, oauth.ErrState) {
			if o.Show != nil {
				o.Show("An answer arrived that is not to this sign-in; it was ignored.")
			}
			continue // whoever sent it does not end the person's sign-in
		}
		return err
	}
}

func open(ctx context.Context, f *oauth.Flow, o Options, address string) error {
	host := address
	if u, err := url.Parse(address); err == nil {
		host = u.Host
	}
	if o.Show != nil {
		text := fmt.Sprintf("To use the MCP server %s, sign in at %s.", f.Name(), host)
		if len(f.Scopes()) > 0 {
			text += " It will be asked for: " + strings.Join(f.Scopes(), ", ") + "."
		}
		o.Show(text + "\nIf no browser opens, open this address yourself:\n" + address)
	}
	if o.Open == nil {
		return nil
	}
	if err := o.Open(ctx, address); err != nil && o.Paste == nil && o.Show == nil {
		return fmt.Errorf("open the browser: %w", err)
	}
	return nil
}

// paste reads addresses until one has an answer in it.
func paste(ctx context.Context, o Options, out chan<- url.Values) {
	for ctx.Err() == nil {
		text, err := o.Paste(ctx)
		if err != nil {
			return
		}
		u, err := url.Parse(strings.TrimSpace(text))
		if err != nil || u.Query().Get("state") == "" {
			if o.Show != nil {
				o.Show("That is not the address the browser ended at: it has to be the whole line, with code= and state= in it.")
			}
			continue
		}
		select {
		case out <- u.Query():
		case <-ctx.Done():
		}
	}
}

// listener waits for the browser to come back.
type listener struct {
	redirect string
	answers  chan url.Values
	servers  []*http.Server
	work     sync.WaitGroup
}

// listen binds before the address is made, so that what is registered, asked and
// listened to is one and the same.
func listen(o Options) (*listener, error) {
	first, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(o.Port)))
	if err != nil {
		return nil, fmt.Errorf("wait for the browser on 127.0.0.1: %w; is another program using the port?", err)
	}
	port := first.Addr().(*net.TCPAddr).Port
	host := "127.0.0.1"
	bound := []net.Listener{first}
	if o.Localhost {
		host = "localhost" // a browser may take either address for it
		if second, err := net.Listen("tcp6", net.JoinHostPort("::1", strconv.Itoa(port))); err == nil {
			bound = append(bound, second)
		}
	}
	l := &listener{answers: make(chan url.Values, maxAnswers)}
	authority := net.JoinHostPort(host, strconv.Itoa(port))
	l.redirect = "http://" + authority + "/callback"
	for _, b := range bound {
		s := &http.Server{Handler: l.handler(authority), ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 32 << 10}
		l.servers = append(l.servers, s)
		l.work.Go(func() { _ = s.Serve(b) }) // it ends with close
	}
	return l, nil
}

func (l *listener) handler(authority string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		if r.URL.Path != "/callback" || r.Method != http.MethodGet || r.Host != authority {
			h.Set("Content-Type", "text/plain; charset=utf-8")
			w.WriteHeader(http.StatusNotFound)
			return
		}
		h.Set("Content-Type", "text/html; charset=utf-8")
		select {
		case l.answers <- r.URL.Query():
		default: // a flood of answers is not the person's
		}
		_, _ = w.Write([]byte(page)) // a browser that went away needs no page
	})
}

func (l *listener) close() {
	for _, s := range l.servers {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		if s.Shutdown(ctx) != nil {
			_ = s.Close()
		}
		cancel()
	}
	l.work.Wait()
}
