package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/coderrr/coderrr/internal/acp"
	"github.com/coderrr/coderrr/internal/event"
)

func (r *runner) acpCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "acp",
		Short: "let an editor be the front end (Agent Client Protocol on standard input and output)",
		Long: `Speaks the Agent Client Protocol, so that Zed, JetBrains IDEs, Neovim and other
editors show sessions in their own windows. An editor starts it; it is of no use at
a terminal.

The editor's questions are Coderrr's own: a plan is approved before anything is
written, and no mode that the editor sets changes that. Files are read and written
by Coderrr, in the folder that the editor has open.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := r.checkSession(cmd); err != nil {
				return err
			}
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			return acp.Serve(ctx, acp.Options{In: r.io.In, Out: r.io.Out, Backend: editor{r}, Version: r.version})
		},
	}
	r.modelFlag(cmd.Flags())
	cmd.Flags().StringArrayVar(&r.flags.allow, "allow-tool", nil, "let an MCP tool run without asking, as `SERVER/TOOL` (repeatable)")
	return cmd
}

// editor implements acp.Backend: the folder comes with each session.
type editor struct{ r *runner }

func (e editor) app(ctx context.Context, dir string) (App, error) {
	at := *e.r
	at.flags.dir = dir
	app, _, err := at.app(ctx)
	return app, err
}

// workspace opens what is stored of dir and hands it to fn.
func (e editor) workspace(ctx context.Context, dir string, fn func(Workspace) error) error {
	at := *e.r
	at.flags.dir = dir
	return plain(at.stored(ctx, fn))
}

// plain is an error with its remedy: an editor has one line for both.
func plain(err error) error {
	if remedy := remedyOf(err); err != nil && remedy != "" {
		return fmt.Errorf("%w (%s)", err, remedy)
	}
	return err
}

// Check implements acp.Backend.
func (e editor) Check(ctx context.Context, dir string) error {
	return e.workspace(ctx, dir, func(Workspace) error { return nil })
}

// Start implements acp.Backend.
func (e editor) Start(ctx context.Context, dir string, s acp.Start) (acp.Run, error) {
	app, err := e.app(ctx, dir)
	if err != nil {
		return nil, plain(err)
	}
	run, err := app.NewSession(ctx, SessionOptions{
		ID: s.ID, Request: s.Request, Continues: s.Continues, Ask: s.ReadOnly, Asker: s.Asker, AllowTools: e.r.flags.allow,
	})
	if err != nil {
		return nil, plain(err)
	}
	return run, nil
}

// List implements acp.Backend.
func (e editor) List(ctx context.Context, dir string) (out []acp.Conversation, err error) {
	err = e.chains(ctx, dir, func(c chains) error {
		for _, s := range c.all {
			if c.events[c.before[s.ID]] != nil {
				continue // it goes on with another, which is listed
			}
			first := acp.Conversation{ID: s.ID, Request: s.Request, Started: s.Started}
			for _, id := range c.from(s.ID) {
				if t := c.started[id]; t.After(first.Started) {
					first.Started = t
				}
			}
			out = append(out, first)
		}
		slices.SortStableFunc(out, func(a, b acp.Conversation) int { return b.Started.Compare(a.Started) })
		return nil
	})
	return out, err
}

// Stored implements acp.Backend. A conversation goes on in the newest session that
// continues its last one.
func (e editor) Stored(ctx context.Context, dir, id string) (out [][]event.Event, err error) {
	err = e.chains(ctx, dir, func(c chains) error {
		for _, id := range c.from(id) {
			out = append(out, c.events[id])
		}
		if len(out) == 0 {
			return fmt.Errorf("%w of yours in %s: %s", acp.ErrNoSession, dir, id)
		}
		return nil
	})
	return out, err
}

// chains says which session goes on with which. Only sessions that this user's
// Coderrr wrote count.
type chains struct {
	all          []SessionInfo // newest first
	events       map[string][]event.Event
	started      map[string]time.Time
	before, next map[string]string
}

func (e editor) chains(ctx context.Context, dir string, fn func(chains) error) error {
	c := chains{events: map[string][]event.Event{}, started: map[string]time.Time{}, before: map[string]string{}, next: map[string]string{}}
	return e.workspace(ctx, dir, func(ws Workspace) error {
		list, err := ws.Sessions().List(ctx)
		if err != nil {
			return err
		}
		for _, s := range list {
			if !s.Known {
				continue
			}
			log, err := ws.Sessions().Events(ctx, s.ID)
			if err != nil {
				return err
			}
			c.all, c.events[s.ID], c.started[s.ID] = append(c.all, s), log, s.Started
			if before := continuesOf(log); before != "" {
				if c.before[s.ID] = before; c.next[before] == "" {
					c.next[before] = s.ID
				}
			}
		}
		return fn(c)
	})
}

// from lists the sessions of the conversation that begins with id. A log that
// continues itself ends it.
func (c chains) from(id string) []string {
	var out []string
	for c.events[id] != nil && !slices.Contains(out, id) {
		out = append(out, id)
		id = c.next[id]
	}
	return out
}

func continuesOf(log []event.Event) string {
	if len(log) > 0 {
		if d, ok := log[0].Data.(event.SessionStarted); ok {
			return d.Continues
		}
	}
	return ""
}
