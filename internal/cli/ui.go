package cli

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/coderrr/coderrr/internal/browser"
)

// pageLife is how long the page that leads the browser on is kept.
const pageLife = time.Minute

func (r *runner) uiCmd() *cobra.Command {
	var addr string
	var noOpen bool
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "open the browser UI on a loopback address",
		Long: `Serves the browser UI until interrupted and prints its address.

It listens on this machine only. To use it from another one, forward the port:
ssh -L 8080:127.0.0.1:8080 HOST, with --addr 127.0.0.1:8080 --no-open there.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := r.checkSession(cmd); err != nil {
				return err
			}
			return r.serve(cmd.Context(), ServeOptions{Addr: addr, Demo: r.flags.demo, Record: r.flags.record, Replay: r.flags.replay}, noOpen)
		},
	}
	r.workspaceFlag(cmd.Flags())
	r.modelFlag(cmd.Flags())
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:0", "loopback `ADDRESS` to listen on; port 0 takes a free one")
	cmd.Flags().BoolVar(&noOpen, "no-open", false, "only print the address")
	cmd.Flags().BoolVar(&r.flags.demo, "demo", false, "a sample project and an embedded recording instead of a model")
	cmd.Flags().StringVar(&r.flags.record, "record", "", "write what the model says to a cassette `FILE`")
	cmd.Flags().StringVar(&r.flags.replay, "replay", "", "play a cassette `FILE` instead of asking a model")
	return cmd
}

func (r *runner) serve(ctx context.Context, o ServeOptions, noOpen bool) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	app, env, err := r.app(ctx)
	if err != nil {
		return err
	}
	remove := func() error { return nil }
	o.Ready = func(url string) {
		r.outln("Coderrr UI: " + url)
		if noOpen || !r.io.InTerminal {
			return
		}
		gone, err := browser.Open(ctx, url, browser.Options{Getenv: r.io.Getenv, Dir: filepath.Join(env.Home, "run"), Avoid: env.Dir})
		switch {
		case errors.Is(err, browser.ErrNoDisplay):
		case err != nil:
			env.Notice("the browser could not be opened; the address above works: " + err.Error())
		default:
			remove = gone
			time.AfterFunc(pageLife, func() { _ = gone() }) // tried again at the end
		}
	}
	err = app.Serve(ctx, o)
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		err = nil // interrupted is how it ends
	}
	return errors.Join(err, remove())
}
