package cli

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/coderrr/coderrr/internal/browser"
	"github.com/coderrr/coderrr/internal/term"
)

// serving is the browser's side of an interactive session.
type serving struct {
	url    string
	cancel context.CancelFunc
	ended  chan struct{}
	gone   func() error // removes the page that led the browser on
}

// ui serves the conversation to the browser, until the interactive session ends.
// A question can then be answered on either side; the first answer counts.
func (p *repl) ui(context.Context, string) error {
	p.mu.Lock()
	s := p.served
	p.mu.Unlock()
	if s != nil {
		p.out("Coderrr UI: " + term.OneLine(s.url))
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background()) // it outlives the run it was asked for in
	s = &serving{cancel: cancel, ended: make(chan struct{}), gone: func() error { return nil }}
	ready, failed := make(chan string, 1), make(chan error, 1)
	go func() {
		defer close(s.ended)
		failed <- p.app.Serve(ctx, ServeOptions{Addr: "127.0.0.1:0", Shared: true, Ready: func(url string) { ready <- url }})
	}()
	select {
	case s.url = <-ready:
	case err := <-failed:
		cancel()
		return err
	}
	p.mu.Lock()
	p.served = s
	p.mu.Unlock()
	p.out("Coderrr UI: " + s.url)
	p.out("It shows this conversation. Questions can be answered here or there; the first answer counts. It ends with this session.")
	if p.r.io.InTerminal {
		p.openBrowser(ctx, s)
	}
	return nil
}

func (p *repl) openBrowser(ctx context.Context, s *serving) {
	gone, err := browser.Open(ctx, s.url, browser.Options{Getenv: p.r.io.Getenv, Dir: filepath.Join(p.env.Home, "run"), Avoid: p.env.Dir})
	switch {
	case errors.Is(err, browser.ErrNoDisplay):
	case err != nil:
		p.env.Notice("the browser could not be opened; the address above works: " + err.Error())
	default:
		s.gone = gone
		time.AfterFunc(pageLife, func() { _ = gone() }) // tried again at the end
	}
}

// unserve ends the browser's side.
func (p *repl) unserve() {
	p.mu.Lock()
	s := p.served
	p.served = nil
	p.mu.Unlock()
	if s == nil {
		return
	}
	s.cancel()
	<-s.ended
	_ = s.gone() // a page that leads nowhere any more
}
