package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coderrr/coderrr/internal/diff"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/term"
)

func (r *runner) specCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "spec", Short: "list, show, compare and approve plans"}
	sub := func(c *cobra.Command, json bool) *cobra.Command {
		r.workspaceFlag(c.Flags())
		if json {
			r.jsonFlag(c.Flags(), "print JSON")
		}
		return c
	}
	var hash string
	approve := sub(&cobra.Command{
		Use: "approve SPEC", Short: "approve a plan without running it",
		Long:    "Shows the plan and asks. Without a terminal, --hash says which plan is meant.",
		Example: "  coderrr spec approve 1 --hash HASH",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if hash != "" && !isHash(hash) {
				return usage(cmd, "--hash takes 64 hexadecimal digits, not %q", hash)
			}
			return r.specApprove(cmd.Context(), args[0], hash)
		},
	}, false)
	approve.Flags().StringVar(&hash, "hash", "", "approve exactly the plan with this `HASH`")
	cmd.AddCommand(
		sub(&cobra.Command{Use: "list", Short: "list the plans", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return r.specList(cmd.Context()) }}, true),
		sub(&cobra.Command{Use: "show SPEC", Short: "print a plan", Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error { return r.specShow(cmd.Context(), args[0]) }}, true),
		sub(&cobra.Command{Use: "status [SPEC]", Short: "print the tasks and what proves them", Args: cobra.MaximumNArgs(1), RunE: func(cmd *cobra.Command, args []string) error { return r.specStatus(cmd.Context(), args) }}, true),
		sub(&cobra.Command{Use: "diff SPEC", Short: "what changed since the plan was last shown in a session", Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error { return r.specDiff(cmd.Context(), args[0]) }}, false),
		approve,
	)
	return cmd
}

func (r *runner) specList(ctx context.Context) error {
	return r.stored(ctx, func(ws Workspace) error {
		all, err := ws.Specs().List(ctx)
		switch {
		case err != nil:
			return err
		case r.flags.json:
			return r.printJSON(all)
		}
		r.outln(specTable(r.style(r.io.OutTerminal, 0), all))
		return nil
	})
}

func specTable(style term.Style, all []SpecInfo) string {
	if len(all) == 0 {
		return "there are no plans here yet"
	}
	rows := [][]string{{"SPEC", "TASKS", "APPROVED", "TITLE"}}
	for _, s := range all {
		done := 0
		for _, t := range s.Tasks {
			if t.Status == "done" {
				done++
			}
		}
		approved := "no"
		if s.Approved {
			approved = "by " + s.By
		}
		tasks := fmt.Sprintf("%d/%d", done, len(s.Tasks))
		title := s.Title
		if s.Problem != "" {
			tasks, title = "?", s.Problem
		}
		rows = append(rows, []string{s.ID, tasks, approved, title})
	}
	return style.Table(rows)
}

func (r *runner) specShow(ctx context.Context, ref string) error {
	return r.stored(ctx, func(ws Workspace) error {
		s, err := ws.Specs().Load(ctx, ref)
		switch {
		case err != nil:
			return err
		case r.flags.json:
			return r.printJSON(s)
		}
		r.outln(specText(r.style(r.io.OutTerminal, 0), s))
		return nil
	})
}

// specText is a stored plan as a session shows it.
func specText(style term.Style, s SpecInfo) string {
	d := event.PlanReady{Spec: s.ID, Hash: s.Hash, Title: s.Title, Size: s.Size, Documents: s.Documents}
	for _, t := range s.Tasks {
		d.Tasks = append(d.Tasks, event.PlanTask{ID: t.ID, Title: t.Title, Files: t.Files, Status: t.Status})
	}
	text := style.Plan(d)
	if s.Problem != "" {
		return text + "\n" + style.Error("this plan cannot be approved: "+s.Problem, "correct tasks.md")
	}
	if s.Approved {
		text += fmt.Sprintf("\napproved by %s on %s\n", term.OneLine(s.By), s.When.Local().Format("2 Jan 2006 15:04"))
	}
	return text
}

func (r *runner) specStatus(ctx context.Context, args []string) error {
	return r.stored(ctx, func(ws Workspace) error {
		all, err := chosen(ctx, ws.Specs(), args)
		switch {
		case err != nil:
			return err
		case r.flags.json:
			return r.printJSON(all)
		}
		style := r.style(r.io.OutTerminal, 0)
		for _, s := range all {
			r.outln(style.Bold(term.OneLine(s.ID)) + ": " + term.OneLine(s.Title))
			if s.Problem != "" {
				r.outln("  " + style.Bad(term.OneLine(s.Problem)))
			}
			for _, t := range s.Tasks {
				proof := ""
				if t.Evidence != "" {
					proof = ", proved by " + t.Evidence
				}
				r.outln(fmt.Sprintf("  %s %s: %s%s", term.OneLine(t.ID), term.OneLine(t.Title), term.OneLine(t.Status), term.OneLine(proof)))
			}
		}
		return nil
	})
}

func chosen(ctx context.Context, specs Specs, args []string) ([]SpecInfo, error) {
	if len(args) == 0 {
		return specs.List(ctx)
	}
	s, err := specs.Load(ctx, args[0])
	return []SpecInfo{s}, err
}

func (r *runner) specDiff(ctx context.Context, ref string) error {
	return r.stored(ctx, func(ws Workspace) error {
		now, err := ws.Specs().Load(ctx, ref)
		if err != nil {
			return err
		}
		shown, err := lastShown(ctx, ws.Sessions(), now.ID)
		if err != nil {
			return err
		}
		style := r.style(r.io.OutTerminal, 0)
		same := true
		for _, doc := range []string{"requirements", "design", "tasks"} {
			hunks := diff.Compute([]byte(shown[doc]), []byte(now.Documents[doc]))
			if len(hunks) == 0 {
				continue
			}
			same = false
			text, _ := diff.Unified(doc+".md", doc+".md", hunks, 0) // without a limit nothing is cut
			r.outln(style.Bold(doc+".md") + "\n" + style.Diff(text))
		}
		if same {
			r.errln("nothing changed since it was last shown")
		}
		return nil
	})
}

// lastShown are the documents of a plan as a session last showed them. Only logs
// that this user's Coderrr wrote count.
func lastShown(ctx context.Context, sessions Sessions, spec string) (map[string]string, error) {
	all, err := sessions.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if !s.Known {
			continue
		}
		events, err := sessions.Events(ctx, s.ID)
		if err != nil {
			return nil, err
		}
		for i := len(events) - 1; i >= 0; i-- {
			if d, ok := events[i].Data.(event.PlanReady); ok && d.Spec == spec {
				return d.Documents, nil
			}
		}
	}
	return nil, fmt.Errorf("no session of yours has shown the plan %s", spec)
}

func (r *runner) specApprove(ctx context.Context, ref, hash string) error {
	return r.stored(ctx, func(ws Workspace) error {
		s, err := ws.Specs().Load(ctx, ref)
		if err != nil {
			return err
		}
		if s.Problem != "" {
			return fmt.Errorf("the plan %s cannot be approved: %s", s.ID, s.Problem)
		}
		if hash == "" {
			if err := r.askApproval(ctx, s); err != nil {
				return err
			}
			hash = s.Hash // what was shown, not what is there when it is recorded
		}
		if hash != s.Hash {
			return &Failure{Code: ExitApproval, Err: fmt.Errorf("the plan %s has the hash %s, not %s", s.ID, s.Hash, hash), Remedy: "read it again: coderrr spec show " + s.ID}
		}
		if err := ws.Specs().Approve(ctx, s.ID, hash); err != nil {
			return err
		}
		r.outln("approved " + s.ID + " " + hash)
		return nil
	})
}

func (r *runner) askApproval(ctx context.Context, s SpecInfo) error {
	console := r.console()
	if console == nil {
		return &Failure{Code: ExitApproval, Err: fmt.Errorf("the plan %s has the hash %s and nobody can be asked here", s.ID, s.Hash), Remedy: "read it, then: coderrr spec approve " + s.ID + " --hash " + s.Hash}
	}
	defer func() { _ = console.Close() }() // nothing is written through it
	ctx, stop := interruptible(ctx)
	defer stop()
	style := r.style(r.io.ErrTerminal, console.Width())
	r.errln(specText(style, s))
	yes, err := term.YesNo(ctx, console, style, "Approve this plan?")
	switch {
	case err != nil:
		return err
	case !yes:
		return &Failure{Code: ExitDeclined, Err: errors.New("the plan was not approved")}
	}
	return nil
}

// changes are the diffs of a log as text.
func changes(style term.Style, events []event.Event) string {
	var b strings.Builder
	for _, e := range events {
		if d, ok := e.Data.(event.FileChanged); ok {
			name := term.OneLine(d.Path)
			if d.From != "" {
				name = term.OneLine(d.From) + " -> " + name
			}
			fmt.Fprintf(&b, "%s (+%d -%d)\n%s", style.Bold(term.OneLine(d.Op)+" "+name), d.Added, d.Removed, style.Diff(d.Diff))
			if d.DiffTruncated {
				b.WriteString(style.Dim("(the rest of this diff is left out)") + "\n")
			}
		}
	}
	return b.String()
}
