// Package cli is the command line: cobra commands that read flags, drive an App
// and turn every error into text, a remedy and an exit code. It holds no logic
// of a session. Its one rule: nothing heavy is built before a command needs it.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/coderrr/coderrr/internal/config"
	cterm "github.com/coderrr/coderrr/internal/term"
)

// IO is everything a command line touches of its process.
type IO struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
	Environ  []string // for the person's editor
	Dir      string   // the working directory, absolute
	// InTerminal and ErrTerminal say which streams are terminals, InPipe whether
	// standard input is a pipe or a file, so that it can hold a part of a request.
	InTerminal, ErrTerminal, OutTerminal, InPipe bool
	// OpenConsole opens the controlling terminal.
	OpenConsole func(out io.Writer, dumb bool) (*cterm.Console, error)
	// Keys is where API keys are stored.
	Keys Keys
}

// Keys is the part of package secret that commands use. It is a function of the
// home directory, which is not known before the command line is read.
type Keys func(home string) KeyStore

// KeyStore stores API keys by the name of a provider or profile.
type KeyStore interface {
	config.Vault
	Set(account, value string) (where string, err error)
	Delete(account string) (found bool, err error)
	Available() error
}

// System is the IO of this process.
func System(keys Keys) (IO, error) {
	dir, err := os.Getwd()
	if err != nil {
		return IO{}, fmt.Errorf("find the working directory (was it deleted?): %w", err)
	}
	pipe := false
	if info, err := os.Stdin.Stat(); err == nil {
		pipe = info.Mode().IsRegular() || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0
	}
	return IO{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Environ: os.Environ(), Dir: dir,
		InTerminal:  term.IsTerminal(int(os.Stdin.Fd())),
		OutTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		ErrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		InPipe:      pipe, OpenConsole: cterm.OpenConsole, Keys: keys,
	}, nil
}

// Main runs one command line and returns its exit code. It may be called several
// times in a process.
func Main(ctx context.Context, args []string, s IO, version string, build Build) int {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	r := &runner{io: s, version: version, build: build}
	root := r.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	code := codeOf(err)
	if err != nil && code != ExitOK {
		r.tell(err)
	}
	return code
}

// runner holds what the commands of one command line share.
type runner struct {
	io      IO
	version string
	build   Build
	flags   flags
}

// flags are those that several commands have.
type flags struct {
	dir, model             string
	json, quiet, verbose   bool
	noColor, demo          bool
	continues              bool
	resume, record, replay string
	allow                  []string
}

// tell explains an error: what happened and what to do. One that was told already
// says nothing.
func (r *runner) tell(err error) {
	var q quiet
	if errors.As(err, &q) {
		return
	}
	style := r.style(r.io.ErrTerminal, 0)
	r.errln(style.Error(err.Error(), remedyOf(err)))
}

// style of a stream.
func (r *runner) style(terminal bool, width int) cterm.Style {
	getenv := r.io.Getenv
	if r.flags.noColor {
		getenv = func(name string) string {
			if name == "NO_COLOR" {
				return "1"
			}
			return r.io.Getenv(name)
		}
	}
	return cterm.Detect(getenv, terminal, width)
}

// errln and outln write a line. A stream that is gone has nobody to be told.
func (r *runner) errln(text string) { _, _ = fmt.Fprintln(r.io.Err, strings.TrimRight(text, "\n")) }
func (r *runner) outln(text string) { _, _ = fmt.Fprintln(r.io.Out, strings.TrimRight(text, "\n")) }

// interruptible is a context that Ctrl-C ends. After the first Ctrl-C a second one
// ends the process at once.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// home is CODERRR_HOME.
func (r *runner) home() (string, error) {
	home, err := config.Home(r.io.Getenv)
	if err != nil {
		return "", &Failure{Code: ExitUsage, Err: err}
	}
	return home, nil
}

// load reads the configuration and tells its warnings.
func (r *runner) load() (home string, c config.Config, err error) {
	if home, err = r.home(); err != nil {
		return "", c, err
	}
	c, warnings, err := config.Load(home)
	if err != nil {
		return "", c, &Failure{Code: ExitFailure, Err: err, Remedy: "correct the file: nothing is run with a configuration that was not understood"}
	}
	r.warn(warnings)
	return home, c, nil
}

func (r *runner) warn(warnings []config.Warning) {
	style := r.style(r.io.ErrTerminal, 0)
	for _, w := range warnings {
		r.errln(style.Warning(w.String()))
	}
}

// env is what Build starts from.
func (r *runner) env() (Env, error) {
	home, c, err := r.load()
	if err != nil {
		return Env{}, err
	}
	dir := r.io.Dir
	if r.flags.dir != "" {
		if dir = r.flags.dir; !filepath.IsAbs(dir) {
			dir = filepath.Join(r.io.Dir, dir)
		}
	}
	if dir = filepath.Clean(dir); config.Inside(resolved(home), resolved(dir)) && filepath.Dir(home) != filepath.Clean(r.io.Getenv("HOME")) {
		return Env{}, &Failure{Code: ExitUsage, Err: fmt.Errorf("CODERRR_HOME (%s) lies in the workspace %s: what a workspace holds could then approve its own plans", home, dir), Remedy: "set CODERRR_HOME to a directory outside the project"}
	}
	c, warnings := c.Project(dir)
	r.warn(warnings)
	return Env{
		Getenv: r.io.Getenv, Home: home, Config: c.WithModel(r.flags.model), Dir: dir, Version: r.version,
		Notice: func(text string) { r.errln(text) },
	}, nil
}

// resolved follows links where the path exists.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// app builds the graph.
func (r *runner) app(ctx context.Context) (App, Env, error) {
	env, err := r.env()
	if err != nil {
		return nil, env, err
	}
	app, err := r.build(ctx, env)
	return app, env, err
}

// stored opens what is kept of the workspace and hands it to fn.
func (r *runner) stored(ctx context.Context, fn func(Workspace) error) (err error) {
	app, _, err := r.app(ctx)
	if err != nil {
		return err
	}
	ws, err := app.Workspace(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ws.Close()) }()
	return fn(ws)
}

// usage is a mistake in the command line.
func usage(cmd *cobra.Command, format string, args ...any) error {
	return &Failure{Code: ExitUsage, Err: fmt.Errorf(format, args...), Remedy: fmt.Sprintf("`%s --help` shows how it is used", cmd.CommandPath())}
}
