package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/term"
)

// repl is an interactive session: one request after the other, each going on with
// the conversation of the one before.
type repl struct {
	r       *runner
	app     App
	env     Env
	console *term.Console
	style   term.Style
	out     func(string)

	last     string // id of the newest session
	fresh    bool   // the next request starts a new conversation
	confirm  bool   // /confirm: ask before each write
	finished event.SessionFinished
}

func (r *runner) interactive(cmd *cobra.Command) error {
	ctx := cmd.Context()
	console := r.console()
	if console == nil {
		return usage(cmd, "there is no terminal to talk on: give a request as `%s run \"...\"`", cmd.Root().Name())
	}
	defer func() { _ = console.Close() }() // nothing is written through it
	app, env, err := r.app(ctx)
	if err != nil {
		return err
	}
	p := &repl{
		r: r, app: app, env: env, console: console, style: r.style(r.io.ErrTerminal, console.Width()),
		out: r.errln,
	}
	history := term.LoadHistory(filepath.Join(env.Home, "repl_history"))
	p.welcome()
	if r.flags.continues || r.flags.resume != "" {
		if err := p.start(ctx, r.options()); err != nil {
			return err
		}
	}
	err = (&term.REPL{
		Console: console, Style: p.style, History: history, Commands: p.commands(), Request: p.request,
		Explain: func(err error) string { return p.style.Error(err.Error(), remedyOf(err)) + "\n" },
	}).Run(ctx)
	if saveErr := history.Save(); saveErr != nil {
		r.errln(p.style.Warning(saveErr.Error()))
	}
	return err
}

func (p *repl) welcome() {
	model := "no model is configured: `coderrr config` chooses one, `coderrr --demo` shows how it works without"
	if p.r.flags.demo {
		model = "the demo model replays a recorded session"
	} else if m, err := p.env.Config.Resolve("", p.env.Getenv); err == nil {
		model = m.String()
	}
	p.out(p.style.Bold("Coderrr") + " " + term.OneLine(p.r.version) + ", " + term.OneLine(model))
	p.out(p.style.Dim(term.OneLine(p.env.Dir) + ". /help lists the commands; Ctrl-C stops a run, Ctrl-D leaves."))
}

// request runs one request. Ctrl-C stops it and leads back to the prompt.
func (p *repl) request(ctx context.Context, text string) error {
	o := p.r.options()
	o.Resume, o.Continue = "", false
	o.Request = text
	if !p.fresh {
		o.Continues = p.last
	}
	return p.start(ctx, o)
}

func (p *repl) start(ctx context.Context, o SessionOptions) error {
	run, stop := interruptible(ctx)
	defer stop()
	watch := &watched{App: p.app, confirm: p.confirm}
	fin, err := p.r.drive(run, watch, p.env, p.console, o)
	if watch.id != "" {
		p.last, p.fresh = watch.id, false
	}
	p.finished = fin
	return err
}

// watched notices the session that is made.
type watched struct {
	App
	id      string
	confirm bool
}

// NewSession implements App.
func (w *watched) NewSession(ctx context.Context, o SessionOptions) (Session, error) {
	s, err := w.App.NewSession(ctx, o)
	if err != nil {
		return nil, err
	}
	w.id = s.ID()
	if w.confirm {
		s.SetConfirmWrites(true)
	}
	return s, nil
}

func (p *repl) commands() []term.Command {
	return []term.Command{
		{Name: "status", Help: "what is in force: model, sandbox, workspace, last result", Run: p.status},
		{Name: "model", Args: "[[PROVIDER/]MODEL]", Help: "show or change the model for the next requests", Run: p.model},
		{Name: "ask", Args: "QUESTION", Help: "ask without changing anything", Run: p.ask},
		{Name: "plan", Args: "[SPEC]", Help: "show the last plan, or a stored one", Run: p.plan},
		{Name: "approve", Args: "[SPEC]", Aliases: []string{"execute"}, Help: "execute a stored plan; it is shown and asked about first", Run: p.approve},
		{Name: "specs", Help: "list the stored plans", Run: p.specs},
		{Name: "diff", Help: "show the last session's changes", Run: p.diff},
		{Name: "undo", Args: "[PATH]", Aliases: []string{"rewind"}, Help: "take the last session's changes back; shows them and asks first", Run: p.undo},
		{Name: "confirm", Args: "on|off", Help: "ask before each write of the next requests", Run: p.setConfirm},
		{Name: "cost", Aliases: []string{"usage"}, Help: "tokens and cost of the last request", Run: p.cost},
		{Name: "sandbox", Help: "how commands are contained here", Run: p.sandbox},
		{Name: "sessions", Help: "list the stored sessions", Run: p.sessions},
		{Name: "resume", Aliases: []string{"continue"}, Args: "[ID]", Help: "go on where a session stopped: the newest, or the one named", Run: p.resumeSession},
		{Name: "new", Aliases: []string{"clear"}, Help: "start a new conversation", Run: p.fromStart},
		{Name: "quit", Aliases: []string{"exit", "q"}, Help: "leave", Run: func(context.Context, string) error { return term.ErrQuit }},
	}
}

func (p *repl) status(context.Context, string) error {
	p.welcome()
	if p.last == "" {
		p.out("no request yet")
		return nil
	}
	p.out(fmt.Sprintf("last session %s: %s", term.OneLine(p.last), term.OneLine(p.finished.Status)))
	if p.fresh {
		p.out("the next request starts a new conversation")
	}
	return nil
}

func (p *repl) model(ctx context.Context, args string) error {
	if args != "" {
		next := p.env
		next.Config = next.Config.WithModel(args)
		if _, err := next.Config.Resolve("", next.Getenv); err != nil {
			return err
		}
		app, err := p.r.build(ctx, next)
		if err != nil {
			return err
		}
		p.env, p.app = next, app
	}
	m, err := p.env.Config.Resolve("", p.env.Getenv)
	if err != nil {
		return err
	}
	p.out(term.OneLine(m.String()))
	return nil
}

func (p *repl) ask(ctx context.Context, args string) error {
	if args == "" {
		return errors.New("/ask needs a question")
	}
	o := p.r.options()
	o.Resume, o.Continue, o.Request, o.Ask = "", false, args, true
	if !p.fresh {
		o.Continues = p.last
	}
	return p.start(ctx, o)
}

// store runs fn over what is kept of the workspace.
func (p *repl) store(ctx context.Context, fn func(Workspace) error) (err error) {
	ws, err := p.app.Workspace(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ws.Close()) }()
	return fn(ws)
}

// events of the last session.
func (p *repl) events(ctx context.Context) (events []event.Event, err error) {
	if p.last == "" {
		return nil, errors.New("there is no session yet: type what is to be done")
	}
	err = p.store(ctx, func(ws Workspace) error {
		events, err = ws.Sessions().Events(ctx, p.last)
		return err
	})
	return events, err
}

func (p *repl) plan(ctx context.Context, args string) error {
	if args != "" {
		return p.store(ctx, func(ws Workspace) error {
			s, err := ws.Specs().Load(ctx, args)
			if err == nil {
				p.out(specText(p.style, s))
			}
			return err
		})
	}
	events, err := p.events(ctx)
	if err != nil {
		return err
	}
	for i := len(events) - 1; i >= 0; i-- {
		if d, ok := events[i].Data.(event.PlanReady); ok {
			d.Diff = ""
			p.out(p.style.Plan(d))
			return nil
		}
	}
	return errors.New("the last session wrote no plan")
}

func (p *repl) approve(ctx context.Context, args string) error {
	if args == "" {
		return errors.New("/approve needs a spec: /specs lists them")
	}
	o := p.r.options()
	o.Resume, o.Continue, o.Spec = "", false, args
	return p.start(ctx, o)
}

func (p *repl) specs(ctx context.Context, _ string) error {
	return p.store(ctx, func(ws Workspace) error {
		all, err := ws.Specs().List(ctx)
		if err == nil {
			p.out(specTable(p.style, all))
		}
		return err
	})
}

func (p *repl) diff(ctx context.Context, _ string) error {
	events, err := p.events(ctx)
	if err != nil {
		return err
	}
	text := changes(p.style, events)
	if text == "" {
		text = "the last session changed no file"
	}
	p.out(text)
	return nil
}

func (p *repl) undo(ctx context.Context, args string) error {
	if p.last == "" {
		return errors.New("there is no session yet")
	}
	return p.store(ctx, func(ws Workspace) error {
		return p.r.undo(ctx, ws, p.console, UndoOptions{Session: p.last, Path: args})
	})
}

func (p *repl) setConfirm(_ context.Context, args string) error {
	switch args {
	case "on":
		p.confirm = true
	case "off":
		p.confirm = false
	default:
		return errors.New("/confirm takes on or off")
	}
	p.out("each write is asked about: " + args)
	return nil
}

func (p *repl) cost(context.Context, string) error {
	u := p.finished.Usage
	text := fmt.Sprintf("%d tokens in, %d out", u.Input+u.CacheRead+u.CacheWrite, u.Output)
	if u.CostUSD != nil {
		text += fmt.Sprintf(", $%.4f", *u.CostUSD)
	} else {
		text += ", cost unknown"
	}
	p.out(text)
	return nil
}

func (p *repl) sandbox(ctx context.Context, _ string) error {
	return explain(ctx, p.app, func(text string) { p.out(text) })
}

func (p *repl) sessions(ctx context.Context, _ string) error {
	return p.store(ctx, func(ws Workspace) error {
		all, err := ws.Sessions().List(ctx)
		if err == nil {
			p.out(sessionTable(p.style, all))
		}
		return err
	})
}

// resumeSession goes on where a session stopped, with its plan and its approval.
func (p *repl) resumeSession(ctx context.Context, args string) error {
	o := p.r.options()
	o.Resume, o.Continue = args, args == ""
	return p.start(ctx, o)
}

func (p *repl) fromStart(context.Context, string) error {
	p.fresh = true
	p.out("the next request starts a new conversation")
	return nil
}
