package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/coderrr/coderrr/internal/cli"
	"github.com/coderrr/coderrr/internal/diff"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/history"
	"github.com/coderrr/coderrr/internal/lock"
)

// planner makes the plan of an undo from a log.
type planner func(events []event.Event, kept *history.Store) (history.Undo, error)

// Undo implements cli.Workspace.
func (s *store) Undo(ctx context.Context, o cli.UndoOptions) (cli.UndoReport, error) {
	return s.takeBack(ctx, o, func(events []event.Event, _ *history.Store) (history.Undo, error) {
		return history.Plan(events, history.Filter{Path: o.Path, Task: o.Task, Last: o.Last}), nil
	})
}

// undoHunk takes back one group of lines of a file that a stored session changed.
func (s *store) undoHunk(ctx context.Context, id string, h history.Hunk) (cli.UndoReport, error) {
	return s.takeBack(ctx, cli.UndoOptions{Session: id, Path: h.Path}, func(events []event.Event, kept *history.Store) (history.Undo, error) {
		return history.PlanHunk(ctx, events, h, s.root, kept)
	})
}

func (s *store) takeBack(ctx context.Context, o cli.UndoOptions, plan planner) (cli.UndoReport, error) {
	all := sessions{s}
	id, events, err := all.changed(ctx, o.Session)
	if err != nil {
		return cli.UndoReport{}, err
	}
	report := cli.UndoReport{Session: id, Steps: []cli.UndoStep{}}
	kept := history.Open(s.app.env.Home, s.root.Dir())
	undo, err := plan(events, kept)
	if err != nil {
		return report, err
	}
	conflicts, err := undo.Check(ctx, s.root, kept)
	if err != nil {
		return report, err
	}
	blocked := map[string]string{}
	for _, c := range conflicts {
		blocked[c.Path] = c.Why
	}
	for _, st := range undo.Steps {
		report.Steps = append(report.Steps, cli.UndoStep{Path: st.Path, Action: actionOf(st), Blocked: blocked[st.Path]})
	}
	if o.DryRun || len(undo.Steps) == 0 {
		return report, nil
	}
	held, err := lock.Workspace(s.app.env.Home, s.root.Dir(), id)
	if err != nil {
		return report, busy(err)
	}
	if now, err := all.Events(ctx, id); err != nil || len(now) != len(events) {
		changed := &cli.Failure{Code: cli.ExitFailure, Err: fmt.Errorf("session %s went on meanwhile; nothing was undone", id), Remedy: "Look again: coderrr undo --dry-run"}
		return report, errors.Join(cmp.Or(err, error(changed)), held.Close())
	}
	err = s.logged(id, events, func(log *event.Log) error {
		done, err := undo.Apply(ctx, history.Options{
			Root: s.root, Store: kept, Force: o.Force,
			Log: func(e event.FileChanged) error { return log.Commit(e) },
		})
		if len(done) > 0 {
			log.Append(event.ContextChanged{What: "undo", Name: o.Path, Detail: strings.Join(done, "\n")})
		}
		return err
	})
	report.Done = err == nil
	return report, errors.Join(err, held.Close())
}

// logged does something that adds to the log of a stored session. The caller holds
// the workspace's lock for it, or another process could write there too.
func (s *store) logged(id string, events []event.Event, do func(*event.Log) error) error {
	_, whole, err := sessions{s}.read(id)
	if err != nil {
		return err
	}
	log, err := openLog(s.root, id, events, whole)
	if err != nil {
		return err
	}
	return errors.Join(do(log), log.Close())
}

func actionOf(s history.Step) string {
	switch {
	case s.From != "":
		return "move back"
	case s.Target == "":
		return "delete"
	default:
		return "restore"
	}
}

// UndoHunk implements server.Live.
func (l *live) UndoHunk(ctx context.Context, path, after string, lines diff.Hunk) error {
	return l.undo(func() error {
		return l.run.session.UndoHunk(ctx, history.Hunk{Path: path, After: after, Lines: lines})
	})
}

// Content implements server.Live.
func (l *live) Content(ctx context.Context, path, hash string) ([]byte, error) {
	return l.run.session.Content(ctx, path, hash)
}
