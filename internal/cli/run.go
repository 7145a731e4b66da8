package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/term"
)

// maxPiped bounds what is taken from standard input, in bytes.
const maxPiped = 1 << 20

// runFlags are those of run alone.
type runFlags struct {
	planOnly, yes bool
	approve, spec string
	maxTurns      int
	maxCost       float64
	timeout       time.Duration
}

func (r *runner) runCmd() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   `run ["request"]`,
		Short: "plan, approve and implement one request",
		Long: `Plans the request, asks for approval of the plan, and implements it.

Piped standard input is appended to the request. Without a terminal nothing can be
approved: use --plan-only, read the plan, then --approve HASH; or --yes.
--yes answers the question about the first plan and no other.`,
		Example: `  coderrr run "add a --version flag"
  git diff | coderrr run "review this and fix what is wrong"
  coderrr run --plan-only "add tests for parser"    # prints the plan's hash, exit 4
  coderrr run --approve HASH`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return r.run(cmd, args, f) },
	}
	r.sessionFlags(cmd.Flags())
	r.jsonFlag(cmd.Flags(), "print events as JSON lines on standard output")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "approve the first plan without asking")
	cmd.Flags().BoolVar(&f.planOnly, "plan-only", false, "write the plan, print its hash and end with exit code 4")
	cmd.Flags().StringVar(&f.approve, "approve", "", "execute the plan with this `HASH`, and no other")
	cmd.Flags().StringVar(&f.spec, "spec", "", "execute a stored `SPEC` (number, slug or folder name)")
	cmd.Flags().IntVar(&f.maxTurns, "max-turns", 0, "end after this many calls of the model")
	cmd.Flags().Float64Var(&f.maxCost, "max-cost", 0, "end when this many US dollars are spent")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "end after this time, such as 10m, with exit code 124")
	return cmd
}

func (r *runner) run(cmd *cobra.Command, args []string, f runFlags) error {
	if err := r.checkRun(cmd, args, f); err != nil {
		return err
	}
	stored := f.spec != "" || f.approve != ""
	request := strings.Join(args, " ")
	if !stored {
		piped, err := r.piped()
		if err != nil {
			return err
		}
		request = joinRequest(request, piped)
	}
	if request == "" && !stored && !r.flags.continues && r.flags.resume == "" && !r.flags.demo {
		if f == (runFlags{}) && !r.flags.json {
			return r.interactive(cmd)
		}
		return usage(cmd, "there is no request: give one as an argument or on standard input")
	}
	o := r.options()
	o.Request, o.Spec, o.Approve, o.Yes, o.PlanOnly = request, f.spec, f.approve, f.yes, f.planOnly
	o.MaxTurns, o.MaxCost = f.maxTurns, f.maxCost
	ctx, stop := interruptible(cmd.Context())
	defer stop()
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.timeout)
		defer cancel()
	}
	return r.session(ctx, o)
}

func (r *runner) checkRun(cmd *cobra.Command, args []string, f runFlags) error {
	switch {
	case f.planOnly && f.yes:
		return usage(cmd, "--plan-only and --yes contradict each other")
	case f.planOnly && f.approve != "":
		return usage(cmd, "--plan-only and --approve contradict each other")
	case (f.spec != "" || f.approve != "") && len(args) > 0:
		return usage(cmd, "--spec and --approve take no request: the plan is written already")
	case f.approve != "" && !isHash(f.approve):
		return usage(cmd, "--approve takes the plan's hash, 64 hexadecimal digits, not %q", f.approve)
	case f.maxTurns < 0 || f.maxCost < 0 || f.timeout < 0:
		return usage(cmd, "--max-turns, --max-cost and --timeout cannot be negative")
	}
	return r.checkSession(cmd)
}

func isHash(s string) bool {
	if len(s) != 64 {
		return false
	}
	return strings.Trim(s, "0123456789abcdef") == ""
}

// piped is standard input where it is a pipe or a file.
func (r *runner) piped() (string, error) {
	if !r.io.InPipe {
		return "", nil
	}
	data, err := io.ReadAll(io.LimitReader(r.io.In, maxPiped+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read standard input: %w", err)
	case len(data) > maxPiped:
		return "", &Failure{Code: ExitUsage, Err: fmt.Errorf("standard input is longer than %d bytes", maxPiped), Remedy: "put it into a file of the workspace and name the file in the request"}
	case !utf8.Valid(data):
		return "", &Failure{Code: ExitUsage, Err: errors.New("standard input is not UTF-8 text"), Remedy: "convert it first, for example with `iconv -f WINDOWS-1252 -t UTF-8`"}
	}
	return strings.TrimSpace(string(data)), nil
}

func joinRequest(request, piped string) string {
	if request = strings.TrimSpace(request); request == "" || piped == "" {
		return request + piped
	}
	return request + "\n\n" + piped
}

func (r *runner) askCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:     `ask "question"`,
		Short:   "ask about the workspace; nothing is written",
		Example: `  coderrr ask "where is the configuration read?"`,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := r.checkSession(cmd); err != nil {
				return err
			}
			piped, err := r.piped()
			if err != nil {
				return err
			}
			o := r.options()
			if o.Request, o.Ask = joinRequest(strings.Join(args, " "), piped), true; o.Request == "" {
				return usage(cmd, "there is no question: give one as an argument or on standard input")
			}
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			return r.session(ctx, o)
		},
	}
	r.sessionFlags(cmd.Flags())
	r.jsonFlag(cmd.Flags(), "print events as JSON lines on standard output")
	return cmd
}

// options are what the shared flags say.
func (r *runner) options() SessionOptions {
	return SessionOptions{
		Resume: r.flags.resume, Continue: r.flags.continues, Record: r.flags.record, Replay: r.flags.replay,
		Demo: r.flags.demo, AllowTools: r.flags.allow, Asker: ask.Policy{},
	}
}

// console opens the terminal where a person can be asked: not with --json, not in
// CI, and only if standard error is a terminal. It is nil where nobody can.
func (r *runner) console() *term.Console {
	if r.flags.json || r.io.Getenv("CI") != "" || !r.io.ErrTerminal {
		return nil
	}
	c, err := r.io.OpenConsole(r.io.Err, r.io.Getenv("TERM") == "dumb")
	if err != nil {
		return nil
	}
	return c
}

// session runs one session from the command line.
func (r *runner) session(ctx context.Context, o SessionOptions) error {
	app, env, err := r.app(ctx)
	if err != nil {
		return err
	}
	console := r.console()
	if console != nil {
		defer func() { _ = console.Close() }() // nothing is written through it
	}
	fin, err := r.drive(ctx, app, env, face{console: console}, o)
	if err != nil {
		return err
	}
	return quiet{fin.ExitCode}
}

// face is a person's side of a session. The zero face is a script's: nobody.
type face struct {
	console *term.Console
	// command does a line with a slash that was typed while the session works; it
	// returns false for what is to be told to the model.
	command func(ctx context.Context, line string) bool
	// question does the same where a question waits, as term.Prompter.Slash.
	question func(ctx context.Context, kind ask.Kind, line string) (typed string, handled bool)
	// seen gets each event before it is printed.
	seen func(event.Event)
	// status is the line that says what is in force; nil shows none.
	status func() string
}

// drive runs a session, prints its log and lets the person answer.
func (r *runner) drive(ctx context.Context, app App, env Env, f face, o SessionOptions) (fin event.SessionFinished, err error) {
	printer := r.printer(env, f, o)
	if f.console != nil {
		prompter := r.prompter(f.console, printer)
		prompter.Slash, o.Asker = f.question, prompter
	}
	s, err := app.NewSession(ctx, o)
	if err != nil {
		return event.SessionFinished{}, err
	}
	if c, ok := s.(io.Closer); ok {
		defer func() { err = errors.Join(err, c.Close()) }()
	}
	printed := int64(0)
	if past := s.Log().Events(0); o.Resume != "" || o.Continue {
		printed = lastSeq(past)
	}
	if f.console != nil {
		f.console.OnEscape(s.Stop)
		listen, stop := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			f.console.Listen(listen, func(line string) {
				if f.command == nil || !f.command(listen, line) {
					r.said(s, line)
				}
			})
		}()
		defer func() { stop(); <-ended }()
	}
	take := r.sink(printer)
	if f.seen != nil {
		print := take
		take = func(e event.Event) error { f.seen(e); return print(e) }
	}
	return r.follow(ctx, s, printed, take)
}

func lastSeq(events []event.Event) int64 {
	if len(events) == 0 {
		return 0
	}
	return events[len(events)-1].Seq
}

// said hands a line that was typed while the session works to it.
func (r *runner) said(s Session, line string) {
	if line = strings.TrimSpace(line); line == "" {
		return
	}
	if err := s.Say(line); err != nil {
		r.errln(r.style(r.io.ErrTerminal, 0).Warning("not told to the model: " + err.Error()))
	}
}

// sink is what takes each event: the JSON stream or the printer.
func (r *runner) sink(p *term.Printer) func(event.Event) error {
	if r.flags.json {
		return event.Writer{W: r.io.Out}.Print
	}
	return p.Print
}

// follow runs the session and hands its events on until all were taken. When they
// can no longer be written, the session is stopped.
func (r *runner) follow(ctx context.Context, s Session, printed int64, take func(event.Event) error) (event.SessionFinished, error) {
	type result struct {
		fin event.SessionFinished
		err error
	}
	following, ended := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan result, 1)
	go func() {
		fin, err := s.Run(ctx)
		done <- result{fin, err}
		ended()
	}()
	var failed error
	each := func(e event.Event) {
		if printed = e.Seq; failed != nil {
			return
		}
		if failed = take(e); failed != nil {
			s.Stop()
		}
	}
	for e := range s.Log().Follow(following, printed) {
		each(e)
	}
	res := <-done
	for _, e := range s.Log().Events(printed) {
		each(e)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && res.fin.ExitCode == ExitInterrupted {
		res.fin.ExitCode = ExitTimeout
	}
	return res.fin, errors.Join(res.err, failed)
}

func (r *runner) printer(env Env, f face, o SessionOptions) *term.Printer {
	console := f.console
	width := 0
	var columns func() int
	if console != nil {
		width, columns = console.Width(), console.Width
	}
	level := term.Normal
	switch {
	case r.flags.quiet:
		level = term.Quiet
	case r.flags.verbose:
		level = term.Verbose
	}
	style := r.style(r.io.ErrTerminal, width)
	by := ask.By("")
	if console != nil {
		by = ask.ByTerminal
	}
	return term.NewPrinter(term.Options{
		Out: r.io.Out, Progress: r.io.Err, OutPiped: !r.io.OutTerminal, Style: style, Columns: columns, Level: level, Talk: o.Ask, By: by, Status: f.status,
		Stream: env.Config.UI.Stream, Usage: env.Config.UI.ShowUsage && !r.flags.quiet,
	})
}

func (r *runner) prompter(console *term.Console, printer *term.Printer) *term.Prompter {
	editor := term.Editor{Console: console, Getenv: r.io.Getenv, Environ: r.io.Environ}
	return &term.Prompter{
		Console: console, Style: r.style(r.io.ErrTerminal, console.Width()), Wait: printer.WaitAsked,
		EditPlan: func(ctx context.Context, spec string) error {
			if spec == "" || spec != filepath.Base(spec) {
				return errors.New("the plan's folder is not known")
			}
			dir := filepath.Join(printer.Workspace(), ".coderrr", "specs", spec)
			var files []string
			for _, name := range []string{"requirements.md", "design.md", "tasks.md"} {
				path := filepath.Join(dir, name)
				if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
					files = append(files, path)
				}
			}
			if len(files) == 0 {
				return fmt.Errorf("there are no documents in %s", dir)
			}
			return editor.Files(ctx, files...)
		},
		EditText: editor.Text,
	}
}

// bare is coderrr without a command.
func (r *runner) bare(cmd *cobra.Command) error {
	if err := r.checkSession(cmd); err != nil {
		return err
	}
	if r.io.InPipe {
		return r.run(cmd, nil, runFlags{})
	}
	return r.interactive(cmd)
}
