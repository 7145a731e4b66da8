package app

import (
	"context"
	"errors"
	"sync"

	"github.com/coderrr/coderrr/internal/approval"
	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/cli"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/mcp"
	"github.com/coderrr/coderrr/internal/session"
)

// servers are the MCP servers of one session; manager is nil where none is
// configured.
type servers struct {
	manager *mcp.Manager
	asker   *lateAsker
}

// servers prepares the configured MCP servers. They are started when the session
// runs, after its log has begun.
func (a *App) servers(o cli.SessionOptions, opts *session.Options) servers {
	configured := cli.MCPServers(a.env.Config)
	if len(configured) == 0 || o.Demo {
		return servers{}
	}
	asker := &lateAsker{}
	m := mcp.New(mcp.Options{
		Servers: configured, Answers: approval.OpenToolAnswers(a.env.Home), Vault: a.vault, Home: a.env.Home,
		Workspace: opts.Root.Dir(), Emit: func(p event.Payload) { opts.Log.Append(p) }, Questions: asker,
		AllowTools: o.AllowTools, MaxResultBytes: a.env.Config.MCP.MaxResultBytes,
		Offered: a.shared.offers.set, Version: a.env.Version, Getenv: a.env.Getenv,
	})
	words := &brought{manager: m, log: opts.Log}
	opts.Bring = words.bring
	opts.Begin = func(ctx context.Context) error {
		err := m.Start(ctx)
		if errors.Is(err, mcp.ErrRequired) {
			return &session.End{Status: "error", Code: cli.ExitMCP, Summary: err.Error() + ". Look at it with: coderrr mcp test NAME"}
		}
		if err != nil {
			return err
		}
		return words.begin(ctx, o.Request)
	}
	return servers{manager: m, asker: asker}
}

// brought reads what a person's words name at MCP servers. What the request names
// is read before a model is asked, so that a prompt that cannot be had ends the
// session instead of being guessed at.
type brought struct {
	manager *mcp.Manager
	log     *event.Log
	request string
	first   *mcp.Brought
}

func (b *brought) begin(ctx context.Context, request string) error {
	first := b.manager.Bring(ctx, request)
	b.request, b.first = request, &first
	if first.Err != nil {
		return &session.End{Status: "error", Code: cli.ExitFailure, Summary: first.Err.Error()}
	}
	return nil
}

// bring implements session.Options.Bring. One goroutine calls it, after begin.
func (b *brought) bring(ctx context.Context, text string) (added, rest string) {
	var found mcp.Brought
	if b.first != nil && text == b.request {
		found, b.first = *b.first, nil
	} else {
		found = b.manager.Bring(ctx, text)
	}
	for _, err := range append(found.Problems, found.Err) {
		if err != nil {
			b.log.Append(event.Notice{Level: "warning", Kind: "mcp", Text: err.Error()})
		}
	}
	return found.Text, found.Rest
}

// lateAsker is the session's asker, which exists only after the tools do.
type lateAsker struct {
	mu    sync.Mutex
	asker ask.Asker
}

func (l *lateAsker) set(a ask.Asker) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asker = a
}

// Ask implements ask.Asker.
func (l *lateAsker) Ask(ctx context.Context, q ask.Question) (ask.Answer, error) {
	l.mu.Lock()
	a := l.asker
	l.mu.Unlock()
	if a == nil {
		return ask.Answer{}, ask.ErrNobody
	}
	return a.Ask(ctx, q)
}
