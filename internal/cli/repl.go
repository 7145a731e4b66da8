package cli

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/slash"
	"github.com/coderrr/coderrr/internal/term"
)

// repl is an interactive session: one request after the other, each going on with
// the conversation of the one before. Requests and commands at the prompt are
// done by one goroutine; what is typed while a session runs comes from another,
// which touches only what mu guards.
type repl struct {
	r       *runner
	app     App
	env     Env
	console *term.Console
	style   term.Style
	out     func(string)

	last     string // id of the newest session
	fresh    bool   // the next request starts a new conversation
	auto     bool   // /auto: plans are approved without asking
	finished event.SessionFinished
	served   *serving // /ui: the browser's side, nil before

	mu      sync.Mutex
	confirm bool    // /confirm: ask before each write
	shorten bool    // /compact: the next request begins with a shorter conversation
	running Session // nil while none runs
	seen    meter
	chosen  string // /model while a session ran: for the next requests too
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
	defer p.unserve()
	if r.flags.continues || r.flags.resume != "" {
		if err := p.start(ctx, r.options()); err != nil {
			return err
		}
	}
	editor := term.Editor{Console: console, Getenv: r.io.Getenv, Environ: r.io.Environ}
	err = (&term.REPL{
		Complete: p.complete,
		Outside:  func(ctx context.Context, text string) (string, error) { return editor.Text(ctx, "request.md", text) },
		Console:  console, Style: p.style, History: history, Commands: p.commands(), Request: p.request, Status: p.statusLine,
		Explain: func(err error) string { return p.style.Error(err.Error(), remedyOf(err)) + "\n" },
	}).Run(ctx)
	if saveErr := history.Save(); saveErr != nil {
		r.errln(p.style.Warning(saveErr.Error()))
	}
	return err
}

func (p *repl) welcome() {
	p.out(p.style.Bold("Coderrr") + " " + term.OneLine(p.r.version) + ", " + term.OneLine(p.modelName()))
	if p.modelName() == noModel {
		p.out(p.style.Text("`coderrr config` chooses one; `coderrr --demo` shows how it works without.", ""))
	}
	for line := range strings.Lines(p.style.Text(term.OneLine(p.env.Dir)+". /help lists the commands; Esc or Ctrl-C stops a run, Ctrl-D leaves.", "")) {
		p.out(p.style.Dim(strings.TrimRight(line, "\n")))
	}
}

const noModel = "no model is configured"

func (p *repl) modelName() string {
	if p.r.flags.demo {
		return "demo model: replays a recorded session"
	}
	if m, err := p.env.Config.Resolve("", p.env.Getenv); err == nil {
		return m.String()
	}
	return noModel
}

// request runs one request, or a command of the person's own: !COMMAND goes into
// the sandbox. Ctrl-C stops it and leads back to the prompt.
func (p *repl) request(ctx context.Context, text string) error {
	if line, ok := strings.CutPrefix(text, "!"); ok && strings.TrimSpace(line) != "" {
		return p.command(ctx, "sandbox", "run", "--", strings.TrimSpace(line))
	}
	o := p.next()
	o.Request, o.Yes = text, p.auto
	return p.start(ctx, o)
}

// next are the options of a session that goes on with the conversation.
func (p *repl) next() SessionOptions {
	o := p.r.options()
	o.Resume, o.Continue = "", false
	if !p.fresh {
		o.Continues = p.last
	}
	return o
}

func (p *repl) start(ctx context.Context, o SessionOptions) error {
	run, stop := interruptible(ctx)
	defer stop()
	o.Share = true
	p.style = p.r.style(p.r.io.ErrTerminal, p.console.Width()) // it may be another size by now
	watch := &watched{App: p.app, p: p}
	fin, err := p.r.drive(run, watch, p.env, face{console: p.console, command: p.during, question: p.atQuestion, seen: p.see, status: p.statusLine}, o)
	p.mu.Lock()
	p.running = nil
	chosen := p.chosen
	p.chosen = ""
	p.mu.Unlock()
	if chosen != "" {
		err = errors.Join(err, p.choose(ctx, chosen))
	}
	if watch.id != "" {
		p.last, p.fresh = watch.id, false
	}
	p.finished = fin
	return err
}

func (p *repl) see(e event.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen.add(e)
}

// watched notices the session that is made.
type watched struct {
	App
	p  *repl
	id string
}

// NewSession implements App.
func (w *watched) NewSession(ctx context.Context, o SessionOptions) (Session, error) {
	s, err := w.App.NewSession(ctx, o)
	if err != nil {
		return nil, err
	}
	w.id = s.ID()
	w.p.mu.Lock()
	w.p.running = s
	confirm, shorten := w.p.confirm, w.p.shorten
	w.p.shorten = false
	w.p.mu.Unlock()
	if c, ok := s.(compacter); ok && shorten {
		c.Compact()
	}
	if confirm {
		s.SetConfirmWrites(true)
	}
	return s, nil
}

// action is what a command does with what stands after its name.
type action func(ctx context.Context, args string) error

func (p *repl) actions() map[string]action {
	return map[string]action{
		"plan": p.plan, "specs": p.specs, "ask": p.ask, "approve": p.approve, "reject": noPlanWaits, "stop": p.stop,
		"diff": p.diff, "undo": p.undo, "rewind": p.rewind, "confirm": p.setConfirm, "auto": p.setAuto, "init": p.draft, "new": p.fromStart,
		"resume": p.resumeSession, "sessions": p.sessions, "export": p.export, "compact": p.compact,
		"status": p.status, "context": p.context, "cost": p.cost, "memory": p.memory, "permissions": p.permissions,
		"sandbox": p.sandbox, "doctor": p.passOn("doctor"), "model": p.model, "mcp": p.mcp, "skills": p.skills,
		"config": p.config, "ui": p.ui, "quit": func(context.Context, string) error { return term.ErrQuit },
	}
}

// commands are the table's that work at the prompt. The prompt shows the help.
func (p *repl) commands() []term.Command {
	actions := p.actions()
	var out []term.Command
	for _, c := range slash.Table() {
		if run := actions[c.Name]; run != nil && c.Works(slash.Prompt) {
			out = append(out, term.Command{Name: c.Name, Aliases: c.Aliases, Args: c.Args, Help: c.Help, Run: run})
		}
	}
	return out
}

// during does what is typed with a slash while a session runs. ok is false for
// what is meant for the model.
func (p *repl) during(ctx context.Context, line string) (ok bool) {
	name, args, ok := slash.Split(line)
	if !ok || name == "" {
		return false
	}
	if name == "help" || name == "?" {
		p.out(helpWhileRunning())
		return true
	}
	c, found := slash.Find(name, slash.Running)
	if !found {
		hint := "/help lists what works while it runs"
		if _, later := slash.Find(name, slash.Prompt); later {
			hint = "it works when this has ended; Esc stops it"
		} else if near := slash.Nearest(name, slash.Running); near != "" {
			hint = "did you mean /" + near + "? " + hint
		}
		p.out("/" + term.OneLine(name) + " does nothing now: " + hint + ".")
		return true
	}
	run := p.actions()[c.Name]
	if c.Name == "approve" {
		run = noPlanWaits
	}
	if err := run(ctx, args); err != nil {
		p.out(p.style.Error(err.Error(), remedyOf(err)))
	}
	return true
}

func helpWhileRunning() string {
	var b strings.Builder
	b.WriteString("While it runs, what you type is told to the model, and these work:\n")
	for _, c := range slash.Table() {
		if c.Works(slash.Running) {
			b.WriteString("  " + c.Usage() + "  " + c.Help + "\n")
		}
	}
	return b.String()
}

// atQuestion does what is typed with a slash where a question waits: /approve and
// /reject answer the question about a plan, others work as while it runs.
func (p *repl) atQuestion(ctx context.Context, kind ask.Kind, line string) (typed string, handled bool) {
	name, _, ok := slash.Split(line)
	if !ok {
		return line, false
	}
	if c, found := slash.Find(name, slash.Running); found && kind == ask.Plan {
		switch c.Name {
		case "approve":
			return "y", false
		case "reject":
			return "n", false
		}
	}
	return line, p.during(ctx, line)
}

func noPlanWaits(context.Context, string) error {
	return errors.New("no plan waits for a decision now")
}
