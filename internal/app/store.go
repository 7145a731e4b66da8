package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/coderrr/coderrr/internal/approval"
	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/cli"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/history"
	"github.com/coderrr/coderrr/internal/lock"
	"github.com/coderrr/coderrr/internal/spec"
	"github.com/coderrr/coderrr/internal/workspace"
)

// store is what is kept of one workspace; it implements cli.Workspace.
type store struct {
	app       *App
	root      *workspace.Root
	approvals *approval.Store
}

// Workspace implements cli.App.
func (a *App) Workspace(context.Context) (cli.Workspace, error) { return a.openStore() }

func (a *App) openStore() (*store, error) {
	root, err := a.openRoot()
	if err != nil {
		return nil, err
	}
	return &store{app: a, root: root, approvals: approval.Open(a.env.Home, root.Dir())}, nil
}

func (s *store) Close() error           { return s.root.Close() }
func (s *store) Specs() cli.Specs       { return specs{s} }
func (s *store) Sessions() cli.Sessions { return sessions{s} }

type specs struct{ *store }

func (s specs) List(context.Context) ([]cli.SpecInfo, error) {
	plans, err := spec.NewStore(s.root.Specs()).List()
	if err != nil {
		return nil, err
	}
	out := make([]cli.SpecInfo, 0, len(plans))
	for _, p := range plans {
		out = append(out, s.info(p))
	}
	return out, nil
}

func (s specs) Load(_ context.Context, ref string) (cli.SpecInfo, error) {
	p, err := s.load(ref)
	if err != nil {
		return cli.SpecInfo{}, err
	}
	info := s.info(p)
	info.Documents = p.Docs
	return info, nil
}

func (s specs) load(ref string) (spec.Plan, error) {
	all := spec.NewStore(s.root.Specs())
	id, err := all.Open(ref)
	if err != nil {
		return spec.Plan{}, fmt.Errorf("%w: %w", cli.ErrNoSpec, err)
	}
	return all.Load(id)
}

func (s specs) Approve(_ context.Context, ref, hash string) error {
	p, err := s.load(ref)
	switch {
	case err != nil:
		return err
	case p.Problem != nil:
		return fmt.Errorf("spec %s cannot be approved: %w", p.ID, p.Problem)
	case p.Hash != hash:
		return &cli.Failure{Code: cli.ExitApproval, Err: fmt.Errorf("spec %s has the hash %s, not %s", p.ID, p.Hash, hash), Remedy: "Read it again: coderrr spec show " + p.ID}
	}
	return s.approvals.Record(p.ID, p.Hash, ask.ByTerminal)
}

func (s specs) info(p spec.Plan) cli.SpecInfo {
	info := cli.SpecInfo{ID: p.ID, Title: p.Title, Size: p.Size, Hash: p.Hash, Tasks: []cli.SpecTask{}}
	if p.Problem != nil {
		info.Problem = p.Problem.Error()
	}
	if rec, ok, err := s.approvals.Last(p.ID); err == nil && ok && rec.Hash == p.Hash {
		info.Approved, info.By, info.When = true, string(rec.By), rec.Time
	}
	for _, t := range p.Tasks {
		info.Tasks = append(info.Tasks, cli.SpecTask{ID: t.ID, Title: t.Title, Status: string(t.Status), Files: t.Files, Evidence: t.Evidence})
	}
	return info
}

type sessions struct{ *store }

// suffix is that of a session log's name.
const suffix = ".jsonl"

func (s sessions) List(context.Context) ([]cli.SessionInfo, error) {
	files, err := s.root.Sessions().List(".")
	if err != nil {
		return nil, fmt.Errorf("list the sessions: %w", err)
	}
	var out []cli.SessionInfo
	for _, f := range files {
		id, ok := strings.CutSuffix(f.Name, suffix)
		if !ok || f.Kind != workspace.KindFile {
			continue
		}
		if info, ok := s.describe(id); ok {
			out = append(out, info)
		}
	}
	slices.SortFunc(out, func(a, b cli.SessionInfo) int { return b.Started.Compare(a.Started) })
	return out, nil
}

// describe reads no more of a log than its line in a list needs; ok is false when
// there is nothing to read.
func (s sessions) describe(id string) (_ cli.SessionInfo, ok bool) {
	f, err := s.open(id)
	if err != nil {
		return cli.SessionInfo{}, false
	}
	defer func() { _ = f.Close() }()
	first, events, err := event.Pick(f, event.SessionStarted{}.Type(), event.ContextChanged{}.Type(), event.SessionFinished{}.Type())
	if err != nil || first.IsZero() {
		return cli.SessionInfo{}, false // damaged: session show says how
	}
	info := cli.SessionInfo{ID: id, Known: s.approvals.Known(id), Started: first}
	for _, e := range events {
		switch p := e.Data.(type) {
		case event.SessionStarted:
			if info.Request == "" {
				info.Request = p.Request
			}
			info.Provider, info.Model, info.Status = p.Provider, p.Model, ""
		case event.SessionFinished:
			info.Status = p.Status
		case event.ContextChanged:
			if p.What == "title" {
				info.Title = p.Name
			}
		}
	}
	if h, held, err := lock.Of(s.app.env.Home, s.root.Dir()); err == nil && held && h.Session == id {
		info.Running = true
	}
	return info, true
}

func (s sessions) Events(_ context.Context, id string) ([]event.Event, error) {
	events, _, err := s.read(id)
	return events, err
}

// read gives the events and how many bytes they are.
func (s sessions) read(id string) (events []event.Event, whole int64, err error) {
	f, err := s.open(id)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = f.Close() }()
	return event.Read(f)
}

func (s sessions) open(id string) (*os.File, error) {
	f, err := s.root.Sessions().Open(id + suffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", cli.ErrNoSession, id)
	}
	if err != nil {
		return nil, fmt.Errorf("open the log of session %s: %w", id, err)
	}
	return f, nil
}

func (s sessions) exists(id string) error {
	f, err := s.open(id)
	if err != nil {
		return err
	}
	return f.Close()
}

func (s sessions) Remove(_ context.Context, id string) error {
	if h, held, err := lock.Of(s.app.env.Home, s.root.Dir()); err == nil && held && h.Session == id {
		return &cli.Failure{Code: cli.ExitFailure, Err: fmt.Errorf("session %s is running (process %d)", id, h.PID), Remedy: "Stop it first."}
	}
	err := s.root.Sessions().Remove(id + suffix)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s", cli.ErrNoSession, id)
	}
	if err != nil {
		return fmt.Errorf("remove session %s: %w", id, err)
	}
	return s.approvals.Forget(id)
}

// changed returns a session of ours that changed files: the one named, or the
// newest.
func (s sessions) changed(ctx context.Context, id string) (string, []event.Event, error) {
	if id != "" {
		if !s.approvals.Known(id) {
			return "", nil, &cli.Failure{Code: cli.ExitFailure, Err: fmt.Errorf("session %s was not made by your Coderrr, so its log is not trusted to undo anything", id), Remedy: "List yours: coderrr session list"}
		}
		events, err := s.Events(ctx, id)
		return id, events, err
	}
	list, err := s.List(ctx)
	if err != nil {
		return "", nil, err
	}
	for _, info := range list {
		if !info.Known {
			continue
		}
		events, err := s.Events(ctx, info.ID)
		if err == nil && len(history.Plan(events, history.Filter{}).Steps) > 0 {
			return info.ID, events, nil
		}
	}
	return "", nil, &cli.Failure{Code: cli.ExitFailure, Err: errors.New("no session of yours changed a file here"), Remedy: "There is nothing to undo."}
}
