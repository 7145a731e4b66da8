package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/coderrr/coderrr/internal/browser"
	"github.com/coderrr/coderrr/internal/config"
	"github.com/coderrr/coderrr/internal/doctor"
	"github.com/coderrr/coderrr/internal/inert"
	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/term"
)

func (r *runner) printJSON(v any) error {
	enc := json.NewEncoder(r.io.Out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	return nil
}

func (r *runner) doctorCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "doctor", Short: "check everything a run needs", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return r.doctor(cmd.Context()) },
	}
	r.workspaceFlag(cmd.Flags())
	r.modelFlag(cmd.Flags())
	r.jsonFlag(cmd.Flags(), "print JSON")
	return cmd
}

func (r *runner) doctor(ctx context.Context) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	subject, err := r.subject(ctx)
	if err != nil {
		return err
	}
	report := doctor.Run(ctx, subject.Checks())
	if r.flags.json {
		if about, _, err := reach(ctx, subject.About, subject.Provider); err == nil {
			report.Provider = &about
		}
		err = r.printJSON(report)
	} else {
		r.outln(doctorText(r.style(r.io.OutTerminal, 0), report))
	}
	if err == nil && !report.OK {
		err = quiet{ExitFailure}
	}
	return err
}

// subject gathers what doctor looks at. A configuration that cannot be read is one
// of its findings, so nothing here fails because of it.
func (r *runner) subject(ctx context.Context) (doctor.Subject, error) {
	home, err := r.home()
	if err != nil {
		return doctor.Subject{}, err
	}
	c, warnings, loadErr := config.Load(home)
	c = c.WithModel(r.flags.model)
	env := Env{Getenv: r.io.Getenv, Home: home, Config: c, Dir: r.io.Dir, Version: r.version, Notice: func(string) {}}
	if r.flags.dir != "" {
		env.Dir = resolved(r.flags.dir)
	}
	app, err := r.build(ctx, env)
	if err != nil {
		return doctor.Subject{}, err
	}
	keys := r.io.Keys(home)
	s := doctor.Subject{
		Version: r.versionLine(), Built: buildTime(), Home: home, Dir: env.Dir, Getenv: r.io.Getenv,
		Load:     func() (config.Config, []config.Warning, error) { return c, warnings, loadErr },
		Provider: app.Provider, About: app.About, Sandbox: app.Sandbox, Keyring: keys.Available,
		Key: func(m config.Model) (string, error) {
			_, from, err := c.Key(m, r.io.Getenv, keys)
			return from, err
		},
		Browser: browser.Available(browser.Options{Getenv: r.io.Getenv, Avoid: env.Dir}),
	}
	if console := r.console(); console != nil {
		s.Terminal = fmt.Sprintf("%s, %d columns", term.OneLine(r.io.Getenv("TERM")), console.Width())
		_ = console.Close() // nothing is written through it
	}
	return s, nil
}

func doctorText(style term.Style, report doctor.Report) string {
	var b strings.Builder
	for _, c := range report.Checks {
		mark := map[doctor.Status]string{
			doctor.OK: style.Good("ok  "), doctor.Warn: style.Bold("warn"), doctor.Fail: style.Bad("FAIL"), doctor.Skip: style.Dim("skip"),
		}[c.Status]
		fmt.Fprintf(&b, "%s  %-10s %s\n", mark, c.Name, term.OneLine(c.Detail))
		if c.Remedy != "" {
			fmt.Fprintf(&b, "                  -> %s\n", term.OneLine(c.Remedy))
		}
	}
	return b.String()
}

func (r *runner) sandboxCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "sandbox", Short: "how commands are contained"}
	explainCmd := &cobra.Command{
		Use: "explain", Short: "say which tier is in force, what it keeps apart and what not", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			app, _, err := r.app(cmd.Context())
			if err != nil {
				return err
			}
			if !r.flags.json {
				return explain(cmd.Context(), app, r.outln)
			}
			box, err := app.Sandbox(cmd.Context())
			if err != nil {
				return err
			}
			return errors.Join(r.printJSON(box.Info()), box.Close())
		},
	}
	r.workspaceFlag(explainCmd.Flags())
	r.jsonFlag(explainCmd.Flags(), "print JSON")
	var timeout time.Duration
	run := &cobra.Command{
		Use: "run -- COMMAND", Short: "run a command as a session would, on a copy of the workspace",
		Long:    "Runs a shell command in the sandbox. Its exit code is the exit code.",
		Example: "  coderrr sandbox run -- go test ./...",
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return r.sandboxRun(cmd.Context(), args, timeout) },
	}
	r.workspaceFlag(run.Flags())
	run.Flags().DurationVar(&timeout, "timeout", 0, "end it after this time (default: sandbox.timeout)")
	cmd.AddCommand(explainCmd, run)
	return cmd
}

func explain(ctx context.Context, app App, say func(string)) error {
	box, err := app.Sandbox(ctx)
	if err != nil {
		return err
	}
	info := box.Info()
	yes := map[bool]string{true: "yes", false: "NO"}
	say("tier: " + term.OneLine(doctor.Tier(info)))
	say("your working tree cannot be changed: " + yes[info.Isolation.WorkingTree])
	say("your other files are out of reach:   " + yes[info.Isolation.Files])
	say("no network unless allowed:           " + yes[info.Isolation.Network])
	say("other processes are out of reach:    " + yes[info.Isolation.Processes])
	say("no keys in the environment:          " + yes[info.Isolation.Secrets])
	if info.Network {
		say("network: on (sandbox.network = true)")
	}
	if info.Limits != "" {
		say("it does not: " + term.OneLine(info.Limits))
	}
	if info.Better != "" {
		say("for more: " + term.OneLine(info.Better))
	}
	return box.Close()
}

func (r *runner) sandboxRun(ctx context.Context, args []string, timeout time.Duration) (err error) {
	ctx, stop := interruptible(ctx)
	defer stop()
	app, _, err := r.app(ctx)
	if err != nil {
		return err
	}
	box, err := app.Sandbox(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, box.Close()) }()
	line := args[0]
	if len(args) > 1 {
		line = shellLine(args)
	}
	var failed error
	res, err := box.Run(ctx, sandbox.Command{Line: line, Timeout: timeout, Refresh: true, Output: func(stream, text string) {
		to, terminal := r.io.Out, r.io.OutTerminal
		if stream == "stderr" {
			to, terminal = r.io.Err, r.io.ErrTerminal
		}
		if terminal {
			text = inert.Terminal(text)
		}
		if _, err := fmt.Fprint(to, text); err != nil && failed == nil {
			failed = fmt.Errorf("print the output: %w", err)
		}
	}})
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	if res.Reason != "" {
		r.errln(r.style(r.io.ErrTerminal, 0).Warning(res.Reason))
	}
	switch {
	case res.TimedOut:
		return quiet{ExitTimeout}
	case res.ExitCode < 0:
		return quiet{ExitFailure}
	}
	return quiet{res.ExitCode}
}

// shellLine quotes words so that a shell reads them back as they are.
func shellLine(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		if a != "" && strings.Trim(a, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,@%+") == "" {
			quoted[i] = a
			continue
		}
		quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}

func (r *runner) skillsCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "skills", Short: "search and show skills"}
	search := &cobra.Command{
		Use: "search WORDS", Short: "search the registry and the local folders", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.skills(cmd.Context(), func(s Skills) error {
				found, err := s.Search(cmd.Context(), strings.Join(args, " "))
				if err != nil {
					return err
				}
				if r.flags.json {
					return r.printJSON(found)
				}
				if len(found) == 0 {
					r.errln("no skill fits")
					return nil
				}
				rows := [][]string{{"NAME", "FROM", "DESCRIPTION"}}
				for _, k := range found {
					rows = append(rows, []string{k.Name, k.Source, k.Description})
				}
				r.outln(r.style(r.io.OutTerminal, 0).Table(rows))
				return nil
			})
		},
	}
	r.workspaceFlag(search.Flags())
	r.jsonFlag(search.Flags(), "print JSON")
	show := &cobra.Command{
		Use: "show NAME", Short: "print a skill's text", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.skills(cmd.Context(), func(s Skills) error {
				text, err := s.Show(cmd.Context(), args[0])
				if err == nil {
					r.outln(term.Style{}.Text(text, ""))
				}
				return err
			})
		},
	}
	r.workspaceFlag(show.Flags())
	cmd.AddCommand(search, show)
	return cmd
}

func (r *runner) skills(ctx context.Context, fn func(Skills) error) error {
	app, _, err := r.app(ctx)
	if err != nil {
		return err
	}
	s, err := app.Skills(ctx)
	if err != nil {
		return err
	}
	return fn(s)
}

func (r *runner) versionCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "version", Short: "print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if !r.flags.json {
				r.outln(r.versionLine())
				return nil
			}
			commit, modified := commit()
			return r.printJSON(map[string]any{
				"version": r.version, "commit": commit, "modified": modified, "date": stamp(),
				"go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
			})
		},
	}
	r.jsonFlag(cmd.Flags(), "print JSON")
	return cmd
}
