package app

import (
	"context"
	"errors"
	"sync"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/cli"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/guidance"
)

// lives are the sessions that run, or ran, in this process.
type lives struct {
	mu   sync.Mutex
	live map[string]*live
}

func newLives() *lives { return &lives{live: map[string]*live{}} }

// sharing is what an interactive session in the terminal and the browser UI have
// in common: the sessions that the terminal runs, and what MCP servers offered.
type sharing struct {
	*lives
	offers  *offers
	served  chan struct{} // closed when a browser is served
	once    sync.Once
	changed func() // tells the pages of a new session; set once, under mu
}

func newSharing() *sharing {
	return &sharing{lives: newLives(), offers: newOffers(), served: make(chan struct{})}
}

// serve lets browsers answer from now on.
func (s *sharing) serve(changed func()) {
	s.mu.Lock()
	s.changed = changed
	s.mu.Unlock()
	s.once.Do(func() { close(s.served) })
}

func (s *sharing) add(l *live) {
	s.mu.Lock()
	s.live[l.ID()] = l
	changed := s.changed
	s.mu.Unlock()
	if changed != nil {
		changed()
	}
}

// Inherit takes over what an App before this one shares: its model changed, the
// browser UI it serves did not.
func (a *App) Inherit(before cli.App) {
	if old, ok := before.(*App); ok {
		a.shared = old.shared
	}
}

// share builds a session that runs in the terminal and that a browser, once one is
// served, shows and answers too.
func (a *App) share(ctx context.Context, o cli.SessionOptions) (cli.Session, error) {
	inbox := &ask.Inbox{}
	o.Asker = &either{terminal: o.Asker, inbox: inbox, served: a.shared.served}
	b, err := a.build(ctx, o)
	if err != nil {
		return nil, err
	}
	l := &live{app: a, run: b, inbox: inbox, ended: make(chan struct{}), elsewhere: true}
	a.shared.add(l)
	return &shown{built: b, live: l, shared: a.shared}, nil
}

// shown is a session of the terminal that a browser may look at.
type shown struct {
	*built
	live   *live
	shared *sharing
}

// Run implements cli.Session. Log and workspace stay open, for an undo on the page.
func (s *shown) Run(ctx context.Context) (event.SessionFinished, error) {
	defer close(s.live.ended)
	return s.run(ctx)
}

// Close frees the rest, unless a browser may still need it: then the end of the
// browser UI does.
func (s *shown) Close() error {
	select {
	case <-s.shared.served:
		return nil
	default:
	}
	s.shared.mu.Lock()
	delete(s.shared.live, s.ID())
	s.shared.mu.Unlock()
	return s.built.Close()
}

// either asks at the terminal and, once one is served, in the browser. The first
// answer counts.
type either struct {
	terminal ask.Asker
	inbox    *ask.Inbox
	served   <-chan struct{}
}

// Ask implements ask.Asker.
func (e *either) Ask(ctx context.Context, q ask.Question) (ask.Answer, error) {
	gone := make(chan struct{}) // nobody is at the terminal
	return ask.Race{
		asker(func(ctx context.Context) (ask.Answer, error) {
			a, err := e.terminal.Ask(ctx, q)
			if errors.Is(err, ask.ErrNobody) {
				close(gone)
			}
			return a, err
		}),
		asker(func(ctx context.Context) (ask.Answer, error) {
			select {
			case <-e.served:
				return e.inbox.Ask(ctx, q)
			default:
			}
			select {
			case <-e.served:
				return e.inbox.Ask(ctx, q)
			case <-gone:
				return ask.Answer{}, ask.ErrNobody
			case <-ctx.Done():
				return ask.Answer{}, ctx.Err()
			}
		}),
	}.Ask(ctx, q)
}

// asker is an ask.Asker for one question.
type asker func(ctx context.Context) (ask.Answer, error)

// Ask implements ask.Asker.
func (f asker) Ask(ctx context.Context, _ ask.Question) (ask.Answer, error) { return f(ctx) }

// Guidance implements cli.Parts.
func (a *App) Guidance(ctx context.Context) (files []cli.GuidanceFile, warnings []string, err error) {
	root, err := a.openRoot()
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	docs, warnings := guidance.Load(ctx, root, a.userGuidance())
	for _, d := range docs {
		files = append(files, cli.GuidanceFile{Path: d.Path, Note: d.Note})
	}
	return files, warnings, nil
}
