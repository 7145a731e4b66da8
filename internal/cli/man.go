package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Files returns what a package of the program installs beside it, by path: a manual
// page per command and a completion script per shell. Only the release's generator
// calls it, so it is no part of the program. date is that of the release.
func Files(version, date string) map[string][]byte {
	out := map[string][]byte{}
	r := &runner{version: version, io: IO{Getenv: func(string) string { return "" }}}
	root := r.root()
	pages(root, version, date, out)
	for shell, path := range map[string]string{
		"bash": "completions/coderrr.bash", "zsh": "completions/_coderrr", "fish": "completions/coderrr.fish", "powershell": "completions/coderrr.ps1",
	} {
		var b strings.Builder
		if Main(context.Background(), []string{"completion", shell}, IO{Out: &b, Err: io.Discard, Getenv: r.io.Getenv}, version, nil) == ExitOK {
			out[path] = []byte(b.String())
		}
	}
	return out
}

func pages(cmd *cobra.Command, version, date string, out map[string][]byte) {
	if cmd.Hidden || cmd.Name() == "help" {
		return
	}
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	out["man/"+name+".1"] = []byte(page(cmd, name, version, date))
	for _, sub := range cmd.Commands() {
		pages(sub, version, date, out)
	}
}

// page is a manual page in man(7) macros.
func page(cmd *cobra.Command, name, version, date string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 %q %q %q\n", strings.ToUpper(roff(name)), date, "Coderrr "+version, "Coderrr")
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(cmd.CommandPath()))
	if _, args, ok := strings.Cut(cmd.Use, " "); ok {
		b.WriteString(roff(args) + "\n")
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("[COMMAND]\n")
	}
	if cmd.HasAvailableFlags() {
		b.WriteString("[OPTIONS]\n")
	}
	long := cmd.Long
	if long == "" {
		long = cmd.Short + "."
	}
	b.WriteString(".SH DESCRIPTION\n")
	for i, p := range strings.Split(long, "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		b.WriteString(roff(p) + "\n")
	}
	options(&b, "OPTIONS", cmd.NonInheritedFlags())
	options(&b, "GLOBAL OPTIONS", cmd.InheritedFlags())
	if cmd.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(cmd.Example))
	}
	var also []string
	if cmd.HasParent() {
		also = append(also, roff(strings.ReplaceAll(cmd.Parent().CommandPath(), " ", "-"))+"(1)")
	}
	for _, sub := range cmd.Commands() {
		if !sub.Hidden && sub.Name() != "help" {
			also = append(also, roff(name+"-"+sub.Name())+"(1)")
		}
	}
	if len(also) > 0 {
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", strings.Join(also, ",\n"))
	}
	return b.String()
}

func options(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		kind, text := pflag.UnquoteUsage(f)
		names := "--" + f.Name
		if f.Shorthand != "" {
			names = "-" + f.Shorthand + ", " + names
		}
		if kind != "" {
			names += " " + kind
		}
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(names), roff(text))
	})
}

// roff makes text safe in a manual page: a backslash is one, a hyphen can be
// copied, and no line is a request.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
