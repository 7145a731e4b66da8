package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/term"
	"github.com/coderrr/coderrr/internal/transcript"
)

func (r *runner) sessionCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "session", Short: "list, show, export and remove session logs"}
	list := &cobra.Command{Use: "list", Short: "list the sessions, newest first", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return r.sessionList(cmd.Context()) }}
	show := &cobra.Command{Use: "show ID", Short: "print a session as it was shown", Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error { return r.sessionShow(cmd.Context(), args[0]) }}
	export := &cobra.Command{
		Use: "export ID", Short: "print a session's log", Args: cobra.ExactArgs(1),
		Long:    "Prints the log as JSON lines, the same as --json of the run, as a Markdown document\nfor a pull request or a report, or as plain text.",
		Example: "  coderrr session export ID > session.jsonl\n  coderrr session export ID --format markdown > session.md",
	}
	format := export.Flags().String("format", "jsonl", "jsonl, markdown or text")
	export.RunE = func(cmd *cobra.Command, args []string) error {
		return r.sessionExport(cmd, args[0], *format)
	}
	rm := &cobra.Command{Use: "rm ID...", Short: "remove session logs; their changes can then not be undone", Args: cobra.MinimumNArgs(1), RunE: func(cmd *cobra.Command, args []string) error { return r.sessionRemove(cmd.Context(), args) }}
	for _, c := range []*cobra.Command{list, show, export, rm} {
		r.workspaceFlag(c.Flags())
		cmd.AddCommand(c)
	}
	r.jsonFlag(list.Flags(), "print JSON")
	r.jsonFlag(show.Flags(), "print the events as JSON lines")
	show.Flags().BoolVarP(&r.flags.verbose, "verbose", "v", false, "print reasoning, whole outputs and whole diffs")
	return cmd
}

func (r *runner) sessionList(ctx context.Context) error {
	return r.stored(ctx, func(ws Workspace) error {
		all, err := ws.Sessions().List(ctx)
		switch {
		case err != nil:
			return err
		case r.flags.json:
			return r.printJSON(append([]SessionInfo{}, all...))
		}
		r.outln(sessionTable(r.style(r.io.OutTerminal, 0), all))
		return nil
	})
}

func sessionTable(style term.Style, all []SessionInfo) string {
	if len(all) == 0 {
		return "there are no sessions here yet"
	}
	rows := [][]string{{"ID", "STARTED", "STATUS", "REQUEST"}}
	for _, s := range all {
		status := s.Status
		switch {
		case s.Running:
			status = "running"
		case !s.Known:
			status = "not yours: read-only"
		case status == "":
			status = "cut off"
		}
		rows = append(rows, []string{s.ID, s.Started.Local().Format("2006-01-02 15:04"), status, cmp.Or(s.Title, s.Request)})
	}
	return style.Table(rows)
}

func (r *runner) sessionShow(ctx context.Context, id string) error {
	if r.flags.json {
		return r.replay(ctx, id, event.Writer{W: r.io.Out}.Print)
	}
	level := term.Normal
	if r.flags.verbose {
		level = term.Verbose
	}
	style := r.style(r.io.OutTerminal, 0)
	return r.replay(ctx, id, term.NewPrinter(term.Options{Out: r.io.Out, Progress: r.io.Out, Style: style, Level: level, Usage: true}).Print)
}

func (r *runner) sessionExport(cmd *cobra.Command, id, format string) error {
	var take func(event.Event) error
	switch format {
	case "jsonl":
		take = event.Writer{W: r.io.Out}.Print
	case "markdown", "md":
		take = transcript.Markdown{W: r.io.Out}.Print
	case "text":
		take = term.NewPrinter(term.Options{Out: r.io.Out, Progress: r.io.Out, Level: term.Verbose, Usage: true}).Print
	default:
		return usage(cmd, "--format is jsonl, markdown or text, not %q", format)
	}
	return r.replay(cmd.Context(), id, take)
}

func (r *runner) replay(ctx context.Context, id string, take func(event.Event) error) error {
	return r.stored(ctx, func(ws Workspace) error {
		events, err := ws.Sessions().Events(ctx, id)
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := take(e); err != nil {
				return err
			}
		}
		return nil
	})
}

func (r *runner) sessionRemove(ctx context.Context, ids []string) error {
	return r.stored(ctx, func(ws Workspace) error {
		var all error
		for _, id := range ids {
			if err := ws.Sessions().Remove(ctx, id); err != nil {
				all = errors.Join(all, err)
				continue
			}
			r.outln("removed " + id)
		}
		return all
	})
}

func (r *runner) undoCmd() *cobra.Command {
	var o UndoOptions
	var yes bool
	cmd := &cobra.Command{
		Use:   "undo [PATH]",
		Short: "take the changes of a session back",
		Long: `Shows what it would restore, then asks. A file that changed since is left alone
unless --force is given. Without a terminal, --yes does it.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.Path = args[0]
			}
			if only := count(o.Path != "", o.Task != "", o.Last); only > 1 {
				return usage(cmd, "only one of PATH, --task and --last can be given")
			}
			return r.stored(cmd.Context(), func(ws Workspace) error {
				if yes || o.DryRun {
					return r.undoNow(cmd.Context(), ws, o)
				}
				console := r.console()
				if console != nil {
					defer func() { _ = console.Close() }() // nothing is written through it
				}
				return r.undo(cmd.Context(), ws, console, o)
			})
		},
	}
	r.workspaceFlag(cmd.Flags())
	r.jsonFlag(cmd.Flags(), "print JSON")
	f := cmd.Flags()
	f.StringVar(&o.Session, "session", "", "the session's `ID` (default: the newest that changed files)")
	f.StringVar(&o.Task, "task", "", "only what was done for this task, such as T002")
	f.BoolVar(&o.Last, "last", false, "only the last change")
	f.BoolVar(&o.DryRun, "dry-run", false, "only show what would be done")
	f.BoolVar(&o.Force, "force", false, "also where a file changed since")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

func count(set ...bool) int {
	n := 0
	for _, s := range set {
		if s {
			n++
		}
	}
	return n
}

// undo shows what would be done, asks, and does it.
func (r *runner) undo(ctx context.Context, ws Workspace, console *term.Console, o UndoOptions) error {
	try := o
	try.DryRun = true
	report, err := ws.Undo(ctx, try)
	if err != nil {
		return err
	}
	if console == nil {
		r.undoReport(report)
		return &Failure{Code: ExitApproval, Err: errors.New("nobody can be asked here, so nothing was undone"), Remedy: "give --yes to do what is shown above"}
	}
	r.errln(undoText(report))
	if len(report.Steps) == 0 {
		return nil
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	yes, err := term.YesNo(ctx, console, r.style(r.io.ErrTerminal, console.Width()), "Undo this?")
	if err != nil {
		return err
	}
	if !yes {
		return &Failure{Code: ExitDeclined, Err: errors.New("nothing was undone")}
	}
	o.Session = report.Session
	return r.undoNow(ctx, ws, o)
}

func (r *runner) undoNow(ctx context.Context, ws Workspace, o UndoOptions) error {
	report, err := ws.Undo(ctx, o)
	if err != nil {
		return err
	}
	r.undoReport(report)
	blocked := 0
	for _, s := range report.Steps {
		if s.Blocked != "" {
			blocked++
		}
	}
	if blocked > 0 && !o.DryRun {
		return &Failure{Code: ExitFailure, Err: fmt.Errorf("%d of %d files were left as they are", blocked, len(report.Steps)), Remedy: "look at them; --force restores them too and loses what was changed since"}
	}
	return nil
}

func (r *runner) undoReport(report UndoReport) {
	if r.flags.json {
		if err := r.printJSON(report); err != nil {
			r.errln(err.Error())
		}
		return
	}
	r.outln(undoText(report))
}

func undoText(report UndoReport) string {
	if len(report.Steps) == 0 {
		return "there is nothing to undo"
	}
	var b strings.Builder
	head := "would undo"
	if report.Done {
		head = "undone"
	}
	fmt.Fprintf(&b, "%s, session %s:\n", head, term.OneLine(report.Session))
	for _, s := range report.Steps {
		fmt.Fprintf(&b, "  %s %s", term.OneLine(s.Action), term.OneLine(s.Path))
		if s.Blocked != "" {
			b.WriteString(": stays as it is: " + term.OneLine(s.Blocked))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (r *runner) statsCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "stats", Short: "sessions, tokens and cost of this workspace", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return r.stats(cmd.Context()) },
	}
	r.workspaceFlag(cmd.Flags())
	r.jsonFlag(cmd.Flags(), "print JSON")
	return cmd
}

// tally is what stats counts for one model. Cost is null where a price is unknown.
type tally struct {
	Sessions int            `json:"sessions"`
	Statuses map[string]int `json:"statuses"`
	Files    int            `json:"files_changed"`
	Input    int64          `json:"input_tokens"`
	Output   int64          `json:"output_tokens"`
	CostUSD  *float64       `json:"cost_usd"`
}

func (r *runner) stats(ctx context.Context) error {
	return r.stored(ctx, func(ws Workspace) error {
		models := map[string]*tally{}
		all, err := ws.Sessions().List(ctx)
		if err != nil {
			return err
		}
		for _, s := range all {
			events, err := ws.Sessions().Events(ctx, s.ID)
			if err != nil {
				return err
			}
			name := s.Provider + "/" + s.Model
			if models[name] == nil {
				zero := 0.0
				models[name] = &tally{Statuses: map[string]int{}, CostUSD: &zero}
			}
			models[name].add(s, events)
		}
		if r.flags.json {
			return r.printJSON(models)
		}
		statsText(r.io.Out, r.style(r.io.OutTerminal, 0), models)
		return nil
	})
}

func (t *tally) add(s SessionInfo, events []event.Event) {
	t.Sessions++
	status := s.Status
	if status == "" {
		status = "cut off"
	}
	t.Statuses[status]++
	for _, e := range events {
		switch d := e.Data.(type) {
		case event.FileChanged:
			t.Files++
		case event.UsageAdded:
			t.Input += d.Input + d.CacheRead + d.CacheWrite
			t.Output += d.Output
			if d.CostUSD == nil {
				t.CostUSD = nil
			} else if t.CostUSD != nil {
				*t.CostUSD += *d.CostUSD
			}
		}
	}
}

func statsText(w io.Writer, style term.Style, models map[string]*tally) {
	rows := [][]string{{"MODEL", "SESSIONS", "DONE", "CHANGES", "TOKENS IN", "OUT", "USD"}}
	for _, name := range slices.Sorted(maps.Keys(models)) {
		t := models[name]
		cost := "unknown"
		if t.CostUSD != nil {
			cost = fmt.Sprintf("%.4f", *t.CostUSD)
		}
		rows = append(rows, []string{name, fmt.Sprint(t.Sessions), fmt.Sprint(t.Statuses["ok"]), fmt.Sprint(t.Files), fmt.Sprint(t.Input), fmt.Sprint(t.Output), cost})
	}
	_, _ = io.WriteString(w, style.Table(rows)) // see outln
}
