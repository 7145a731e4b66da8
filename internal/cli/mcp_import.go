package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coderrr/coderrr/internal/config"
	"github.com/coderrr/coderrr/internal/mcp"
	"github.com/coderrr/coderrr/internal/term"
)

func (r *runner) mcpAddJSONCmd() *cobra.Command {
	var a adding
	cmd := &cobra.Command{
		Use: "add-json NAME JSON", Short: "add a server from the JSON that its documentation shows",
		Long:    "Takes one entry, or a whole mcpServers object with one entry. - reads it from\nstandard input.",
		Example: `  coderrr mcp add-json files '{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/tmp"]}'`,
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			text := []byte(args[1])
			if args[1] == "-" {
				var err error
				if text, err = r.readAll(); err != nil {
					return err
				}
			}
			s, err := r.fromJSON(cmd, text)
			if err != nil {
				return err
			}
			if mcp.Name(args[0]) != args[0] {
				return usage(cmd, "%q cannot name a server: letters, digits, _ and - only", args[0])
			}
			a.name, a.server = args[0], s
			return r.add(ctx, cmd, a)
		},
	}
	cmd.Flags().BoolVar(&a.replace, "replace", false, "replace a server of this name")
	cmd.Flags().BoolVar(&a.noCheck, "no-check", false, "save it without connecting")
	a.login.flags(cmd)
	return cmd
}

func (r *runner) fromJSON(cmd *cobra.Command, text []byte) (mcp.Server, error) {
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		return mcp.Server{}, usage(cmd, "that is not a JSON object: %w", err)
	}
	found, notes := mcp.Foreign(doc)
	if len(found) == 0 {
		found, notes = mcp.Foreign(map[string]any{"mcpServers": map[string]any{"it": doc}})
	}
	for _, n := range notes {
		r.errln(r.style(r.io.ErrTerminal, 0).Warning(term.OneLine(n)))
	}
	if len(found) != 1 {
		return mcp.Server{}, usage(cmd, "it has to describe one server, with a url or a command")
	}
	for _, s := range found {
		return s, nil
	}
	return mcp.Server{}, nil
}

// places are where other programs keep their servers.
func (r *runner) places(from string) ([]string, error) {
	user, dir := r.io.Getenv("HOME"), r.workspace()
	all := map[string][]string{
		"claude": {filepath.Join(user, ".claude.json"), filepath.Join(dir, ".mcp.json")},
		"cursor": {filepath.Join(user, ".cursor", "mcp.json"), filepath.Join(dir, ".cursor", "mcp.json")},
		"vscode": {filepath.Join(dir, ".vscode", "mcp.json"), filepath.Join(user, ".copilot", "mcp-config.json"), filepath.Join(user, ".config", "Code", "User", "mcp.json")},
		"codex":  {filepath.Join(user, ".codex", "config.toml"), filepath.Join(dir, ".codex", "config.toml")},
		"gemini": {filepath.Join(user, ".gemini", "settings.json"), filepath.Join(dir, ".gemini", "settings.json")},
	}
	if from != "" {
		list, ok := all[from]
		if !ok {
			return nil, fmt.Errorf("--from takes one of %s, not %q", strings.Join(slices.Sorted(maps.Keys(all)), ", "), from)
		}
		return list, nil
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[k]...)
	}
	return out, nil
}

func (r *runner) mcpImportCmd() *cobra.Command {
	var from string
	cmd := &cobra.Command{
		Use: "import [FILE]", Short: "take servers over from Claude Code, Cursor, VS Code, Codex or Gemini CLI",
		Long: "Reads the configurations of other programs and asks about each server, showing\nwhat it would run. Nothing is connected; approvals of those programs are not taken\nover. Without a terminal it only lists what it found.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			files, err := r.places(from)
			if err != nil {
				return usage(cmd, "%w", err)
			}
			if len(args) == 1 {
				if files = []string{args[0]}; !filepath.IsAbs(args[0]) {
					files[0] = filepath.Join(r.io.Dir, args[0])
				}
			}
			return r.importFrom(ctx, cmd, files, len(args) == 1)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "only from this program: claude, codex, cursor, gemini or vscode")
	r.workspaceFlag(cmd.Flags())
	return cmd
}

func (r *runner) importFrom(ctx context.Context, cmd *cobra.Command, files []string, must bool) error {
	home, c, err := r.load()
	if err != nil {
		return err
	}
	console := r.console()
	if console != nil {
		defer func() { _ = console.Close() }() // nothing is written through it
	}
	found, added := 0, 0
	for _, file := range files {
		doc, err := config.ReadForeign(file)
		if errors.Is(err, fs.ErrNotExist) && !must {
			continue
		}
		if err != nil {
			return &Failure{Code: ExitFailure, Err: err}
		}
		servers, notes := mcp.Foreign(doc)
		if len(servers) == 0 {
			continue
		}
		r.errln("In " + term.OneLine(file) + ":")
		for _, n := range notes {
			r.errln("  " + r.style(r.io.ErrTerminal, 0).Warning(term.OneLine(n)))
		}
		for _, name := range slices.Sorted(maps.Keys(servers)) {
			found++
			s := servers[name]
			r.errln(fmt.Sprintf("  %-20s %s", name, importTarget(s)))
			if _, taken := c.MCP.Servers[name]; taken {
				r.errln("    is there already")
				continue
			}
			if console == nil {
				continue
			}
			ok, err := term.YesNo(ctx, console, r.style(r.io.ErrTerminal, console.Width()), "  Take it over?")
			if err != nil {
				return ended(err)
			}
			if !ok {
				continue
			}
			if err := r.saveServer(ctx, cmd, home, adding{name: name, server: s}); err != nil {
				return err
			}
			added++
		}
	}
	switch {
	case found == 0:
		r.errln("No servers were found.")
	case console == nil:
		r.errln("Nothing was taken over: there is no terminal to ask on. Add the ones you want with `coderrr mcp add`.")
	default:
		r.errln(fmt.Sprintf("Took %d of %d over. Try them: coderrr mcp test", added, found))
	}
	return nil
}

// importTarget shows what an entry would reach or run, whole.
func importTarget(s mcp.Server) string {
	if s.URL != "" {
		return term.OneLine(s.URL)
	}
	return term.OneLine(mcp.CommandLine(s.Command, s.Args))
}
