package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/coderrr/coderrr/internal/browser"
	"github.com/coderrr/coderrr/internal/mcp"
	"github.com/coderrr/coderrr/internal/mcp/login"
	"github.com/coderrr/coderrr/internal/mcp/oauth"
	"github.com/coderrr/coderrr/internal/term"
)

// signIn are the choices of a sign-in.
type signIn struct {
	scopes    []string
	noBrowser bool
	port      int
	localhost bool
	timeout   time.Duration
}

func (o *signIn) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&o.scopes, "scopes", nil, "ask for these permissions instead of what the server names")
	f.BoolVar(&o.noBrowser, "no-browser", false, "open no browser: print the address, and read the one it ends at")
	f.IntVar(&o.port, "callback-port", 0, "wait for the browser on this port (default: a free one)")
	f.BoolVar(&o.localhost, "callback-localhost", false, "name this machine localhost instead of 127.0.0.1")
}

func (r *runner) mcpLoginCmd() *cobra.Command {
	var o signIn
	cmd := &cobra.Command{
		Use: "login NAME", Short: "sign in to a server in the browser", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			home, _, s, err := r.server(args[0])
			if err != nil {
				return err
			}
			return r.mcpLogin(ctx, home, args[0], s, o)
		},
	}
	o.flags(cmd)
	cmd.Flags().DurationVar(&o.timeout, "timeout", login.DefaultTimeout, "give up after this time")
	return cmd
}

// source is the credentials of a server. Only commands give it a way to sign in.
func (r *runner) source(home, name string, s mcp.Server, o *signIn) (*oauth.Source, error) {
	if s.URL == "" {
		return nil, &Failure{Code: ExitUsage, Err: fmt.Errorf("%s is a program on this machine: there is nothing to sign in to", name), Remedy: "give it what it needs with `coderrr mcp add -e NAME=VALUE`"}
	}
	opts, err := mcp.Credentials(name, s, r.io.Keys(home), home)
	if err != nil {
		return nil, err
	}
	if o != nil {
		opts.Login = func(ctx context.Context, f *oauth.Flow) error { return r.leg(ctx, home, f, *o) }
	}
	return oauth.New(opts)
}

func (r *runner) mcpLogin(ctx context.Context, home, name string, s mcp.Server, o signIn) error {
	src, err := r.source(home, name, s, &o)
	if err != nil {
		return err
	}
	if err := src.Login(ctx, o.scopes); err != nil {
		if errors.Is(err, context.Canceled) {
			return err
		}
		return &Failure{Code: ExitFailure, Err: err, Remedy: "with `--no-browser` you can sign in on another machine"}
	}
	r.errln(r.style(r.io.ErrTerminal, 0).Good("signed in") + " to " + name)
	return nil
}

// leg is the part with the person: a browser, or an address to paste.
func (r *runner) leg(ctx context.Context, home string, f *oauth.Flow, o signIn) (err error) {
	l := login.Options{
		Timeout: o.timeout, Port: o.port, Localhost: o.localhost,
		Show: func(text string) { r.errln(shown(text)) },
	}
	remove := func() error { return nil }
	defer func() { err = errors.Join(err, remove()) }()
	if !o.noBrowser {
		l.Open = func(ctx context.Context, address string) error {
			gone, err := browser.Open(ctx, address, browser.Options{Getenv: r.io.Getenv, Dir: filepath.Join(home, "run"), Avoid: r.workspace()})
			if err == nil {
				remove = gone
			}
			return err
		}
	}
	if console := r.console(); console != nil {
		defer func() { err = errors.Join(err, console.Close()) }()
		l.Paste = func(ctx context.Context) (string, error) {
			return console.Line(ctx, "Waiting for the browser. If it is on another machine, paste the address it ended at: ")
		}
	}
	return login.Run(ctx, f, l)
}

// shown makes a text of several lines harmless, line by line.
func shown(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = term.OneLine(lines[i])
	}
	return strings.Join(lines, "\n")
}

func (r *runner) mcpLogout(ctx context.Context, _ *cobra.Command, name string) error {
	home, _, s, err := r.server(name)
	if err != nil {
		return err
	}
	found, err := r.signOut(ctx, home, name, s)
	switch {
	case err != nil && found:
		return &Failure{Code: ExitFailure, Err: fmt.Errorf("signed out here, but %w", err), Remedy: "end the access in your account there"}
	case err != nil:
		return err
	case !found:
		r.errln("Nobody was signed in to " + name + ".")
	default:
		r.errln("Signed out of " + name + ".")
	}
	return nil
}

func (r *runner) signOut(ctx context.Context, home, name string, s mcp.Server) (bool, error) {
	src, err := r.source(home, name, s, nil)
	if err != nil {
		return false, err
	}
	return src.Logout(ctx)
}
