package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// TestEveryFlagIsInAScript: every command and every flag occurs in a script, every
// command in one that does well and in one that is refused. A flag that several
// commands share counts for each of them on its own.
func TestEveryFlagIsInAScript(t *testing.T) {
	r := &runner{}
	root := r.root()
	good, bad, used := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, args := range scriptLines(t) {
		ok := args[0] == "coderrr"
		if !ok {
			args = args[2:]
		}
		cmd, _, err := root.Find(args[1:])
		if err != nil {
			cmd = root
		}
		path := cmd.CommandPath()
		if ok {
			good[path] = true
		} else {
			bad[path] = true
		}
		for _, a := range args[1:] {
			if a == "--" {
				break
			}
			if f := flagOf(cmd, a); f != nil {
				used[path+" --"+f.Name] = true
			}
		}
	}
	var missing []string
	each(root, func(cmd *cobra.Command) {
		path := cmd.CommandPath()
		if !good[path] && !group(cmd) && path != "coderrr mcp login" { // TestMCPSignIn follows the browser's way
			missing = append(missing, path+" does well")
		}
		if !bad[path] {
			missing = append(missing, path+" is refused")
		}
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" && !used[path+" --"+f.Name] {
				missing = append(missing, path+" --"+f.Name)
			}
		})
	})
	require.Empty(t, missing, "these are in no script of testdata")
}

// group is a command that only holds others.
func group(cmd *cobra.Command) bool {
	return cmd.HasSubCommands() && cmd.Name() != "coderrr" && cmd.Name() != "config"
}

// each visits all commands but those of the shells' own.
func each(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, sub := range cmd.Commands() {
		if sub.Name() != "help" && sub.Name() != "completion" && !sub.Hidden {
			each(sub, visit)
		}
	}
}

func flagOf(cmd *cobra.Command, arg string) *pflag.Flag {
	name, _, _ := strings.Cut(arg, "=")
	flags := cmd.Flags()
	flags.AddFlagSet(cmd.PersistentFlags())
	switch {
	case strings.HasPrefix(name, "--"):
		return flags.Lookup(name[2:])
	case len(name) == 2 && name[0] == '-' && name[1] != '-':
		return flags.ShorthandLookup(name[1:])
	}
	return nil
}

// scriptLines are the command lines of all scripts, as words.
func scriptLines(t *testing.T) [][]string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var out [][]string
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		script, _, _ := strings.Cut(string(data), "\n-- ")
		for line := range strings.SplitSeq(script, "\n") {
			words := strings.Fields(strings.ReplaceAll(line, "'", ""))
			if len(words) > 0 && words[0] == "coderrr" || len(words) > 2 && words[0] == "code" {
				out = append(out, words)
			}
		}
	}
	return out
}
