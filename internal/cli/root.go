package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const long = `Coderrr plans a change, shows you the plan, and starts to work only after you
approved it. Each change is shown as a diff; commands run in a sandbox.

Without a command it opens an interactive session in this directory.

Exit codes: 0 done, 1 failure, 2 usage, 3 a required MCP server is down, 4 approval
needed and nobody to ask, 5 declined, 6 tasks unmet, 7 budget or turn limit,
8 sandbox unavailable, 9 provider unusable, 124 --timeout, 130 interrupted.`

func (r *runner) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "coderrr",
		Short:         "a coding agent that asks before it changes anything",
		Long:          long,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          r.noCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return r.bare(cmd) },
	}
	root.SuggestionsMinimumDistance = 2
	root.Version = r.version
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usage(cmd, "%w", err) })
	r.sessionFlags(root.Flags())
	root.PersistentFlags().BoolVar(&r.flags.noColor, "no-color", false, "print without colours")
	root.AddCommand(
		r.runCmd(), r.askCmd(), r.uiCmd(), r.configCmd(), r.modelsCmd(), r.doctorCmd(),
		r.specCmd(), r.sessionCmd(), r.undoCmd(), r.statsCmd(), r.skillsCmd(),
		r.mcpCmd(), r.sandboxCmd(), r.schemaCmd(), r.acpCmd(), r.versionCmd(),
	)
	root.SetIn(r.io.In)
	root.SetOut(r.io.Out) // before the next line, which remembers it
	root.SetErr(r.io.Err)
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	strict(root)
	return root
}

// noCommand refuses a word that is no command, naming the nearest one.
func (r *runner) noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf("; did you mean `coderrr %s`?", near[0])
	}
	return usage(cmd, "there is no command %q%s (a request is given as `coderrr run \"...\"`)", args[0], hint)
}

// strict makes every mistake in arguments a usage error, and a group without a
// command one too.
func strict(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if _, done := err.(*Failure); err == nil || done {
				return err
			}
			return usage(cmd, "%w", err)
		}
	}
	for _, sub := range cmd.Commands() {
		if sub.HasSubCommands() && sub.RunE == nil && sub.Run == nil {
			sub.Args = func(cmd *cobra.Command, args []string) error {
				var names []string
				for _, s := range cmd.Commands() {
					names = append(names, s.Name())
				}
				if len(args) == 0 {
					return usage(cmd, "%s needs one of: %s", cmd.CommandPath(), strings.Join(names, ", "))
				}
				return usage(cmd, "%s has no command %q; it has: %s", cmd.CommandPath(), args[0], strings.Join(names, ", "))
			}
			sub.RunE = func(*cobra.Command, []string) error { return nil }
		}
		strict(sub)
	}
}

// workspaceFlag names the workspace.
func (r *runner) workspaceFlag(f *pflag.FlagSet) {
	f.StringVarP(&r.flags.dir, "dir", "d", "", "the workspace (default: the working directory)")
}

func (r *runner) jsonFlag(f *pflag.FlagSet, what string) {
	f.BoolVar(&r.flags.json, "json", false, what)
}

func (r *runner) modelFlag(f *pflag.FlagSet) {
	f.StringVarP(&r.flags.model, "model", "m", "", "the model, as [provider/]model")
}

// sessionFlags are those of every command that starts a session.
func (r *runner) sessionFlags(f *pflag.FlagSet) {
	r.workspaceFlag(f)
	r.modelFlag(f)
	f.BoolVarP(&r.flags.quiet, "quiet", "q", false, "print only the result, warnings and errors")
	f.BoolVarP(&r.flags.verbose, "verbose", "v", false, "print reasoning, whole outputs and whole diffs")
	f.BoolVarP(&r.flags.continues, "continue", "c", false, "go on with the newest session of this workspace")
	f.StringVarP(&r.flags.resume, "resume", "r", "", "go on with the session of this `ID`")
	f.StringArrayVar(&r.flags.allow, "allow-tool", nil, "let an MCP tool run without asking, as `SERVER/TOOL` (repeatable)")
	f.StringVar(&r.flags.record, "record", "", "write what the model says to a cassette `FILE`")
	f.StringVar(&r.flags.replay, "replay", "", "play a cassette `FILE` instead of asking a model")
	f.BoolVar(&r.flags.demo, "demo", false, "play the embedded demo instead of asking a model")
}

// checkSession refuses flags that contradict each other.
func (r *runner) checkSession(cmd *cobra.Command) error {
	f := r.flags
	sources := 0
	for _, set := range []bool{f.replay != "", f.demo, f.record != ""} {
		if set {
			sources++
		}
	}
	switch {
	case f.quiet && f.verbose:
		return usage(cmd, "--quiet and --verbose contradict each other")
	case f.continues && f.resume != "":
		return usage(cmd, "--continue and --resume contradict each other: give the id, or take the newest")
	case sources > 1:
		return usage(cmd, "only one of --record, --replay and --demo can be given")
	}
	for _, a := range f.allow {
		server, tool, ok := strings.Cut(a, "/")
		if !ok || server == "" || tool == "" {
			return usage(cmd, "--allow-tool takes SERVER/TOOL, not %q", a)
		}
	}
	return nil
}
