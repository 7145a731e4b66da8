package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/cli"
	"github.com/coderrr/coderrr/internal/demo"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/server"
	"github.com/coderrr/coderrr/internal/session"
)

// Serve implements cli.App: the browser UI over the workspace's sessions.
func (a *App) Serve(ctx context.Context, o cli.ServeOptions) error {
	if o.Demo {
		dir, remove, err := demo.Open()
		if err != nil {
			return err
		}
		defer func() { _ = remove() }()
		a.env.Dir, a.demo = dir, dir
	}
	listener, err := server.Listen(ctx, o.Addr)
	if err != nil {
		return &cli.Failure{Code: cli.ExitUsage, Err: err}
	}
	b := newBackend(ctx, a, o)
	defer b.close()
	srv, err := server.New(server.Options{Backend: b})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	if o.Shared {
		a.shared.serve(srv.Changed)
	}
	if o.Ready != nil {
		o.Ready(srv.URL(listener))
	}
	return srv.Serve(ctx, listener)
}

// backend is the workspace as the browser sees it. Sessions run under its own
// context: a tab that closes stops nothing.
type backend struct {
	app   *App
	o     cli.ServeOptions
	ctx   context.Context
	info  server.Info
	tasks sync.WaitGroup
	paths paths

	*lives
}

func newBackend(ctx context.Context, a *App, o cli.ServeOptions) *backend {
	b := &backend{app: a, o: o, ctx: ctx, lives: newLives()}
	if o.Shared {
		b.lives = a.shared.lives
	}
	b.info = server.Info{
		Workspace: a.env.Dir, Project: filepath.Base(a.env.Dir), Version: a.env.Version,
		ConfirmWrites: a.env.Config.Agent.ConfirmWrites,
	}
	if o.Demo {
		b.info.Demo, b.info.DemoLabel, b.info.Suggestion = true, demo.Label, demo.Request
		b.info.Provider, b.info.Model = demoProvider, demoModel
	} else if m, err := a.env.Config.Resolve("", a.env.Getenv); err == nil {
		b.info.Provider, b.info.Model = m.Kind, m.Name
	} else {
		b.info.Problem = spoken(providerFailure(err)).Error()
	}
	if err := b.keyless(); err != nil {
		b.info.Problem = spoken(err).Error() + "."
	}
	if box, err := a.Sandbox(ctx); err == nil {
		b.info.Sandbox = box.Info()
		_ = box.Close()
	} else {
		b.info.Sandbox = sandbox.Info{Summary: err.Error()}
	}
	return b
}

// close stops what runs and waits for it.
func (b *backend) close() {
	b.mu.Lock()
	for _, l := range b.live {
		if !l.elsewhere {
			l.Stop()
		}
	}
	b.mu.Unlock()
	b.tasks.Wait()
	for _, l := range b.live {
		if l.elsewhere && l.Running() {
			continue // the terminal's, and it goes on
		}
		_ = l.run.Close() // the log's own errors were shown when they came
	}
}

// Info implements server.Backend.
func (b *backend) Info() server.Info { return b.info }

// settle waits a moment for sessions that have ended and still free what they
// held: the next one needs the workspace's lock.
func (b *backend) settle(ctx context.Context) {
	b.mu.Lock()
	var ending []*live
	for _, l := range b.live {
		if l.Running() && finished(l.Log()) {
			ending = append(ending, l)
		}
	}
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	for _, l := range ending {
		select {
		case <-l.ended:
		case <-ctx.Done():
		}
	}
}

const settleTimeout = 5 * time.Second

// finished reports whether the last run of a log has ended.
func finished(log *event.Log) bool {
	for _, e := range slices.Backward(log.Events(0)) {
		switch e.Data.(type) {
		case event.SessionFinished:
			return true
		case event.SessionStarted:
			return false
		}
	}
	return false
}

// Start implements server.Backend.
func (b *backend) Start(ctx context.Context, request string, o server.StartOptions) (server.Live, error) {
	b.settle(ctx)
	if err := b.keyless(); err != nil {
		return nil, spoken(err)
	}
	if b.o.Demo {
		if id := b.busy(); id != "" {
			return nil, fmt.Errorf("session %s is running in the demo; stop it first, for a new one starts from the sample again", id)
		}
		if err := demo.Write(b.app.env.Dir); err != nil {
			return nil, err
		}
	}
	return b.run(cli.SessionOptions{Request: request}, o)
}

// run builds a session and lets it go on by itself.
func (b *backend) run(so cli.SessionOptions, o server.StartOptions) (server.Live, error) {
	inbox := &ask.Inbox{}
	so.Asker, so.Demo, so.Record, so.Replay = inbox, b.o.Demo, b.o.Record, b.o.Replay
	built, err := b.app.build(b.ctx, so)
	if err != nil {
		return nil, spoken(err)
	}
	built.session.SetConfirmWrites(o.ConfirmWrites)
	l := &live{app: b.app, run: built, inbox: inbox, ended: make(chan struct{})}
	b.mu.Lock()
	b.live[built.ID()] = l
	b.mu.Unlock()
	b.tasks.Go(func() {
		defer close(l.ended)
		// How it ended is the log's last event; the page shows it.
		_, _ = built.run(b.ctx)
	})
	return l, nil
}

// Open implements server.Backend.
func (b *backend) Open(_ context.Context, id string) (server.Live, error) {
	b.mu.Lock()
	l, ok := b.live[id]
	b.mu.Unlock()
	if ok {
		return l, nil
	}
	ws, err := b.app.openStore()
	if err != nil {
		return nil, err
	}
	defer func() { _ = ws.Close() }()
	events, whole, err := sessions{ws}.read(id)
	if errors.Is(err, cli.ErrNoSession) {
		return nil, fmt.Errorf("%w: %s", server.ErrNoSession, id)
	}
	if err != nil {
		return nil, err
	}
	return &stored{app: b.app, id: id, log: event.NewLog(events, nil), n: len(events), size: whole}, nil
}

// Sessions implements server.Backend.
func (b *backend) Sessions(ctx context.Context) ([]server.SessionInfo, error) {
	ws, err := b.app.openStore()
	if err != nil {
		return nil, err
	}
	defer func() { _ = ws.Close() }()
	list, err := ws.Sessions().List(ctx)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]server.SessionInfo, 0, len(list))
	for _, s := range list {
		info := server.SessionInfo{ID: s.ID, Title: cmp.Or(s.Title, s.Request), Started: s.Started, Status: s.Status, Running: s.Running, Foreign: !s.Known}
		if l, ok := b.live[s.ID]; ok {
			// Between its last event and the freed lock it has ended already.
			info.Running = l.Running() && s.Status == ""
		} else if s.Running {
			info.Elsewhere = true
		}
		out = append(out, info)
	}
	return out, nil
}

// live is a session that runs, or ran, in this process.
type live struct {
	app   *App
	run   *built
	inbox *ask.Inbox
	ended chan struct{}
	// elsewhere is true for one that the terminal runs, not the browser's backend.
	elsewhere bool
}

func (l *live) ID() string      { return l.run.ID() }
func (l *live) Log() *event.Log { return l.run.Log() }

func (l *live) Running() bool {
	select {
	case <-l.ended:
		return false
	default:
		return true
	}
}

func (l *live) Answer(id string, a ask.Answer) error {
	a.By = ask.ByBrowser
	return l.inbox.Answer(id, a)
}

func (l *live) Say(text string) error {
	if !l.Running() {
		return server.ErrReadOnly
	}
	return l.run.Say(text)
}

func (l *live) Compact() error {
	if !l.Running() {
		return server.ErrReadOnly
	}
	l.run.Compact()
	return nil
}

func (l *live) SetModel(ctx context.Context, ref string) error {
	if !l.Running() {
		return server.ErrReadOnly
	}
	return l.run.SetModel(ctx, ref)
}

func (l *live) Unsay(text string) error {
	if !l.run.session.Unsay(text) {
		return server.ErrDelivered
	}
	return nil
}

func (l *live) Stop() { l.run.Stop() }

func (l *live) SetConfirmWrites(on bool) { l.run.SetConfirmWrites(on) }

func (l *live) EditSpec(ctx context.Context, document, content, base string) error {
	err := l.run.session.EditSpec(ctx, document, content, base)
	if errors.Is(err, session.ErrStale) {
		return fmt.Errorf("%w: %s", server.ErrStale, document)
	}
	return err
}

func (l *live) Undo(ctx context.Context, path, task string) error {
	return l.undo(func() error { return l.run.session.Undo(ctx, path, task) })
}
