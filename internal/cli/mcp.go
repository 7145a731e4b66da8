package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/coderrr/coderrr/internal/approval"
	"github.com/coderrr/coderrr/internal/config"
	"github.com/coderrr/coderrr/internal/mcp"
)

func (r *runner) mcpCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "mcp", Short: "use the tools of MCP servers",
		Long: "Servers stand in your own configuration and nowhere else: nothing in a project\nstarts one. Each of their tools is asked about before it runs for the first time.",
	}
	named := func(use, short string, run func(ctx context.Context, cmd *cobra.Command, name string) error) *cobra.Command {
		c := &cobra.Command{Use: use + " NAME", Short: short, Args: cobra.ExactArgs(1)}
		c.RunE = func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			return run(ctx, cmd, args[0])
		}
		return c
	}
	list := &cobra.Command{
		Use: "list", Short: "list the servers; starts none", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return r.mcpList() },
	}
	r.jsonFlag(list.Flags(), "print JSON")
	test := &cobra.Command{
		Use: "test [NAME...]", Short: "connect and say what works and what not", Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			return r.mcpTest(ctx, args)
		},
	}
	r.jsonFlag(test.Flags(), "print JSON")
	r.workspaceFlag(test.Flags())
	reset := &cobra.Command{
		Use: "reset [NAME [TOOL]]", Short: "forget what was answered about tools, so that they are asked about again", Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return r.mcpReset(cmd.Context(), args) },
	}
	cmd.AddCommand(
		r.mcpAddCmd(), r.mcpAddJSONCmd(), r.mcpImportCmd(), list, test, r.mcpLoginCmd(),
		named("logout", "sign out, here and at the server", r.mcpLogout),
		named("enable", "connect to a server again in sessions", func(ctx context.Context, cmd *cobra.Command, name string) error {
			return r.mcpSwitch(ctx, cmd, name, "true")
		}),
		named("disable", "keep a server and do not connect to it", func(ctx context.Context, cmd *cobra.Command, name string) error {
			return r.mcpSwitch(ctx, cmd, name, "false")
		}),
		reset,
		named("debug", "print one handshake, message by message, without secrets", func(ctx context.Context, _ *cobra.Command, name string) error {
			return r.mcpDebug(ctx, name)
		}),
		named("remove", "forget a server, its sign-in and its answers", func(ctx context.Context, _ *cobra.Command, name string) error {
			return r.mcpRemove(ctx, name)
		}),
	)
	return cmd
}

// MCPServers are the servers of a configuration, as package mcp takes them.
func MCPServers(c config.Config) map[string]mcp.Server {
	out := map[string]mcp.Server{}
	for name, s := range c.MCP.Servers {
		out[name] = mcp.Server{
			Transport: s.Transport, URL: s.URL, Command: s.Command, Args: s.Args, Cwd: s.Cwd,
			Env: revealed(s.Env), Headers: revealed(s.Headers),
			Disabled: s.Enabled != nil && !*s.Enabled, Timeout: time.Duration(s.Timeout) * time.Second,
			Auth: s.Auth, ClientID: s.ClientID, Scopes: s.Scopes, Required: s.Required,
			AllowedTools: s.AllowedTools, DeniedTools: s.DeniedTools,
		}
	}
	return out
}

func revealed(m map[string]config.Secret) map[string]string {
	out := map[string]string{}
	for k, v := range m {
		out[k] = v.Reveal()
	}
	return out
}

// mcpManager makes a manager for some servers, apart from any session.
func (r *runner) mcpManager(home string, servers map[string]mcp.Server, trace func(server, direction string, message []byte)) *mcp.Manager {
	return mcp.New(mcp.Options{
		Servers: servers, Answers: approval.OpenToolAnswers(home), Vault: r.io.Keys(home), Home: home,
		Workspace: r.workspace(), Version: r.version, Getenv: r.io.Getenv, Trace: trace,
	})
}

// workspace is the folder that --dir names, or the working directory.
func (r *runner) workspace() string {
	dir := r.flags.dir
	if dir == "" {
		return r.io.Dir
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(r.io.Dir, dir)
	}
	return filepath.Clean(dir)
}

// server is one configured server.
func (r *runner) server(name string) (home string, c config.Config, s mcp.Server, err error) {
	if home, c, err = r.load(); err != nil {
		return home, c, s, err
	}
	s, ok := MCPServers(c)[name]
	if !ok {
		return home, c, s, &Failure{Code: ExitUsage, Err: fmt.Errorf("there is no MCP server %q", name), Remedy: "run `coderrr mcp list` to see the names, `coderrr mcp add` to add one"}
	}
	return home, c, s, nil
}

func (r *runner) mcpSwitch(ctx context.Context, cmd *cobra.Command, name, on string) error {
	home, _, _, err := r.server(name)
	if err != nil {
		return err
	}
	notes, err := config.Set(ctx, home, "mcp.servers."+name+".enabled", on)
	r.notes(notes)
	return settingFailed(cmd, err)
}

func (r *runner) mcpReset(ctx context.Context, args []string) error {
	home, c, err := r.load()
	if err != nil {
		return err
	}
	answers := approval.OpenToolAnswers(home)
	tool := ""
	names := args
	switch len(args) {
	case 0:
		for name := range c.MCP.Servers {
			names = append(names, name)
		}
	case 2:
		names, tool = args[:1], args[1]
	}
	var errs []error
	for _, name := range names {
		errs = append(errs, answers.Reset(ctx, name, tool))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	r.errln("Forgotten. The tools are asked about again.")
	return nil
}

func (r *runner) mcpRemove(ctx context.Context, name string) error {
	home, _, s, err := r.server(name)
	if err != nil {
		return err
	}
	notes, err := config.Unset(ctx, home, "mcp.servers."+name)
	r.notes(notes)
	if err != nil {
		return err
	}
	if err := approval.OpenToolAnswers(home).Reset(ctx, name, ""); err != nil {
		return err
	}
	if s.URL != "" {
		if _, err := r.signOut(ctx, home, name, s); err != nil {
			r.errln(r.style(r.io.ErrTerminal, 0).Warning(err.Error()))
		}
	}
	var errs []error
	for _, account := range secretAccounts(name, s) {
		_, err := r.io.Keys(home).Delete(account)
		errs = append(errs, err)
	}
	r.errln("Removed " + name + ", with its sign-in and its answers.")
	return errors.Join(errs...)
}

// readAll reads what is piped in, up to a limit.
func (r *runner) readAll() ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r.io.In, maxPiped))
	if err != nil {
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	return raw, nil
}
