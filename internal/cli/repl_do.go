package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/slash"
	"github.com/coderrr/coderrr/internal/term"
)

// inherits is an App that takes over what the one before it shares with a browser.
type inherits interface{ Inherit(before App) }

func (p *repl) model(ctx context.Context, args string) error {
	p.mu.Lock()
	s := p.running
	p.mu.Unlock()
	switch {
	case args != "" && s != nil:
		return p.swap(ctx, s, args)
	case args != "":
		if err := p.choose(ctx, args); err != nil {
			return err
		}
	}
	m, err := p.env.Config.Resolve("", p.env.Getenv)
	if err != nil {
		return err
	}
	p.out(term.OneLine(m.String()))
	return nil
}

// choose makes the model that of the next requests.
func (p *repl) choose(ctx context.Context, ref string) error {
	next := p.env
	next.Config = next.Config.WithModel(ref)
	if _, err := next.Config.Resolve("", next.Getenv); err != nil {
		return err
	}
	return p.rebuild(ctx, next)
}

// swap lets another model go on with what runs; its log says so.
func (p *repl) swap(ctx context.Context, s Session, ref string) error {
	can, ok := s.(interface {
		SetModel(ctx context.Context, ref string) error
	})
	if !ok {
		return errors.New("the model of this session cannot be changed while it runs")
	}
	if err := can.SetModel(ctx, ref); err != nil {
		return err
	}
	p.mu.Lock()
	p.chosen = ref
	p.mu.Unlock()
	return nil
}

// rebuild makes the App anew for another configuration.
func (p *repl) rebuild(ctx context.Context, next Env) error {
	app, err := p.r.build(ctx, next)
	if err != nil {
		return err
	}
	if heir, ok := app.(inherits); ok {
		heir.Inherit(p.app)
	}
	p.env, p.app = next, app
	return nil
}

func (p *repl) ask(ctx context.Context, args string) error {
	if args == "" {
		return errors.New("/ask needs a question")
	}
	o := p.next()
	o.Request, o.Ask = args, true
	return p.start(ctx, o)
}

func (p *repl) approve(ctx context.Context, args string) error {
	if args == "" {
		return errors.New("no plan waits for a decision now, so /approve needs a spec: /specs lists them")
	}
	o := p.r.options()
	o.Resume, o.Continue, o.Spec = "", false, args
	return p.start(ctx, o)
}

func (p *repl) stop(context.Context, string) error {
	p.mu.Lock()
	s := p.running
	p.mu.Unlock()
	if s == nil {
		return errors.New("nothing runs")
	}
	s.Stop()
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
	on, err := onOff("confirm", args)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.confirm = on
	s := p.running
	p.mu.Unlock()
	if s != nil {
		s.SetConfirmWrites(on)
		return nil // its log says so
	}
	p.out("each write is asked about: " + args)
	return nil
}

func onOff(name, args string) (bool, error) {
	switch args {
	case "on":
		return true, nil
	case "off":
		return false, nil
	}
	return false, fmt.Errorf("/%s takes on or off", name)
}

// setAuto turns the approval without asking on: loudly, for this conversation
// only, and never for writes that are asked about one by one.
func (p *repl) setAuto(_ context.Context, args string) error {
	on, err := onOff("auto", args)
	if err != nil {
		return err
	}
	if p.auto = on; !on {
		p.out("plans are asked about again")
		return nil
	}
	p.out(p.style.Warning("AUTO IS ON: the plan of each request is approved without asking you, and carried out. " +
		"It is recorded as decided by a flag. /auto off, /new or leaving ends it. Other questions are still asked."))
	return nil
}

func (p *repl) draft(ctx context.Context, _ string) error { return p.request(ctx, slash.InitRequest) }

// resumeSession goes on where a session stopped, with its plan and its approval.
func (p *repl) resumeSession(ctx context.Context, args string) error {
	o := p.r.options()
	o.Resume, o.Continue = args, args == ""
	return p.start(ctx, o)
}

func (p *repl) fromStart(context.Context, string) error {
	p.fresh, p.auto = true, false
	p.mu.Lock()
	p.seen = meter{tier: p.seen.tier}
	p.mu.Unlock()
	p.out("the next request starts a new conversation")
	return nil
}

// compact shortens what the model is sent: before the next turn of what runs, or
// when the next request begins.
func (p *repl) compact(context.Context, string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil {
		p.shorten = true
		p.out("the conversation is shortened when the next request begins")
		return nil
	}
	c, ok := p.running.(compacter)
	if !ok {
		return errors.New("this session shortens its conversation only by itself, when it gets long")
	}
	c.Compact()
	p.out("the conversation is shortened before the next turn")
	return nil
}

// compacter is a session whose conversation can be shortened.
type compacter interface{ Compact() }

func (p *repl) export(ctx context.Context, args string) error {
	id := args
	if id == "" {
		id = p.last
	}
	if id == "" {
		return errors.New("there is no session yet: /sessions lists the stored ones, /export ID prints one")
	}
	return p.command(ctx, "session", "export", id)
}

func (p *repl) mcp(ctx context.Context, args string) error {
	if args == "" {
		args = "list"
	}
	return p.passOn("mcp")(ctx, args)
}

func (p *repl) skills(ctx context.Context, args string) error {
	words := strings.Fields(args)
	switch {
	case len(words) == 0:
		return errors.New("/skills needs words to search for, or show NAME")
	case len(words) == 2 && words[0] == "show":
		return p.command(ctx, "skills", "show", words[1])
	}
	return p.command(ctx, append([]string{"skills", "search", "--"}, words...)...)
}

// config shows or changes the configuration; the next requests use it as it is
// then.
func (p *repl) config(ctx context.Context, args string) error {
	if args == "" {
		args = "show"
	}
	if err := p.passOn("config")(ctx, args); err != nil {
		return err
	}
	env, err := p.r.env()
	if err != nil {
		return err
	}
	return p.rebuild(ctx, env)
}

func (p *repl) sandbox(ctx context.Context, args string) error {
	if args != "" {
		return p.passOn("sandbox")(ctx, args)
	}
	return explain(ctx, p.app, func(text string) { p.out(text) })
}

// passOn is a command of the command line, typed with a slash.
func (p *repl) passOn(name string) action {
	return func(ctx context.Context, args string) error {
		words, err := splitWords(args)
		if err != nil {
			return err
		}
		return p.command(ctx, append([]string{name}, words...)...)
	}
}

// command runs a command line of its own in this workspace.
func (p *repl) command(ctx context.Context, args ...string) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	r := &runner{io: p.r.io, version: p.r.version, build: p.r.build}
	r.flags.noColor = p.r.flags.noColor
	r.io.Dir, r.io.InPipe = p.env.Dir, false
	root := r.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var told quiet
	if errors.As(err, &told) {
		return nil // it said what it had to say
	}
	return err
}

// splitWords takes a line apart at spaces, but for those in quotes.
func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	quote, open := rune(0), false
	for _, c := range line {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '"' || c == '\'':
			quote, open = c, true
		case c == ' ' || c == '\t' || c == '\n':
			if open || word.Len() > 0 {
				words = append(words, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteRune(c)
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote %c is not closed", quote)
	}
	if open || word.Len() > 0 {
		words = append(words, word.String())
	}
	return words, nil
}

// events of the session that runs, else of the last one.
func (p *repl) events(ctx context.Context) (events []event.Event, err error) {
	p.mu.Lock()
	s := p.running
	p.mu.Unlock()
	if s != nil {
		return s.Log().Events(0), nil
	}
	if p.last == "" {
		return nil, errors.New("there is no session yet: type what is to be done")
	}
	err = p.store(ctx, func(ws Workspace) error {
		events, err = ws.Sessions().Events(ctx, p.last)
		return err
	})
	return events, err
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
