package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coderrr/coderrr/internal/agent"
	"github.com/coderrr/coderrr/internal/approval"
	"github.com/coderrr/coderrr/internal/cli"
	"github.com/coderrr/coderrr/internal/demo"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/guidance"
	"github.com/coderrr/coderrr/internal/history"
	"github.com/coderrr/coderrr/internal/lock"
	"github.com/coderrr/coderrr/internal/policy"
	"github.com/coderrr/coderrr/internal/session"
	"github.com/coderrr/coderrr/internal/spec"
	"github.com/coderrr/coderrr/internal/workspace"
)

// built is one session with everything it holds open; it implements cli.Session.
type built struct {
	session *session.Session
	request session.Request
	models  *models
	dir     string      // the workspace, links resolved
	kept    []io.Closer // root and log: an undo needs them after the end
	running []io.Closer // what only a running session needs
}

// NewSession implements cli.App.
func (a *App) NewSession(ctx context.Context, o cli.SessionOptions) (cli.Session, error) {
	if o.Share {
		return a.share(ctx, o)
	}
	return a.build(ctx, o)
}

// build opens what a session needs. On an error everything is closed again.
func (a *App) build(ctx context.Context, o cli.SessionOptions) (_ *built, err error) {
	b := &built{}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.release(), b.Close())
		}
	}()
	if err := a.settle(o); err != nil {
		return nil, err
	}
	opts, err := a.open(ctx, o, b)
	if err != nil {
		return nil, err
	}
	opts.Asker = o.Asker
	opts.Rules = policy.Rules{ConfirmWrites: a.env.Config.Agent.ConfirmWrites}
	opts.Limits, opts.Budget = a.limits(), a.budget(o)
	opts.Guidance, opts.Warnings = guidance.Load(ctx, opts.Root, a.userGuidance())
	opts.Verify, opts.Summary = a.verifier(opts, b.models), b.models.helping
	servers := a.servers(o, opts)
	if servers.manager != nil {
		b.own(servers.manager)
	}
	asked := &trust{app: a, root: opts.Root, docs: opts.Guidance, kept: opts.Approvals.(*approval.Store), log: opts.Log}
	if !o.Demo {
		opts.Trust = asked.decide
	}
	a.tools(opts, servers, asked)
	known := opts.Approvals.(*approval.Store)
	if opts.Before, err = a.before(ctx, continued(opts.Past), opts.Root, known); err != nil {
		return nil, err
	}
	b.session = session.New(*opts)
	b.models.live = b.session.Model
	b.request = a.request(o)
	b.request.Resume = len(opts.Past) > 0
	if b.request.Prior, err = a.prior(ctx, o.Continues, opts.Root, known); err != nil {
		return nil, err
	}
	if !o.Ask { // which has no lock, and leaves all as it is
		a.expire(ctx, opts, known, o.Continues)
	}
	return b, nil
}

// settle gives a demo its workspace. The copy is left behind: what was done in it
// is there to be looked at.
func (a *App) settle(o cli.SessionOptions) (err error) {
	if !o.Demo || a.demo != "" {
		return nil
	}
	if a.env.Dir, _, err = demo.Open(); err != nil {
		return err
	}
	a.demo = a.env.Dir
	a.env.Notice("The demo works on a copy of its sample project: " + a.env.Dir)
	return nil
}

// open opens the files, locks and processes of a session; b owns them.
func (a *App) open(ctx context.Context, o cli.SessionOptions, b *built) (*session.Options, error) {
	root, err := a.openRoot()
	if err != nil {
		return nil, err
	}
	b.kept, b.dir = append(b.kept, root), root.Dir()
	models, closer, err := a.model(o)
	if err != nil {
		return nil, err
	}
	b.own(closer)
	b.models = models
	approvals := approval.Open(a.env.Home, root.Dir())
	id, again, err := a.identify(ctx, o, root, approvals)
	if err != nil {
		return nil, err
	}
	if !o.Ask || again { // a log has one writer, also for a question
		held, err := lock.Workspace(a.env.Home, root.Dir(), id)
		if err != nil {
			return nil, busy(err)
		}
		b.own(held)
	}
	var past []event.Event
	var whole int64
	if again { // under the lock: another process may have gone on with it until now
		if past, whole, err = (sessions{&store{app: a, root: root, approvals: approvals}}).read(id); err != nil {
			return nil, err
		}
	}
	log, err := openLog(root, id, past, whole)
	if err != nil {
		return nil, err
	}
	b.kept = append(b.kept, log)
	if err := approvals.Register(id); err != nil {
		return nil, fmt.Errorf("register the session: %w", err)
	}
	box, err := a.Sandbox(ctx)
	if err != nil {
		return nil, err
	}
	b.own(box)
	return &session.Options{
		ID: id, Root: root, Specs: spec.NewStore(root.Specs()), Log: log, Approvals: approvals,
		Sandbox: box, History: history.Open(a.env.Home, root.Dir()), Model: models.main, Past: past,
	}, nil
}

func (a *App) request(o cli.SessionOptions) session.Request {
	return session.Request{
		Text: o.Request, Continues: o.Continues, Spec: o.Spec, Approve: o.Approve, Yes: o.Yes, PlanOnly: o.PlanOnly, ReadOnly: o.Ask,
	}
}

func (a *App) limits() session.Limits {
	c := a.env.Config
	return session.Limits{
		MaxIter: c.Agent.MaxIter, MaxToolTurns: c.Agent.MaxToolTurns, MaxTokens: c.Agent.MaxTokens,
		Temperature: c.Agent.Temperature, RequireEvidence: c.Agent.RequireEvidence,
	}
}

func (a *App) budget(o cli.SessionOptions) *agent.Budget {
	c := a.env.Config
	b := &agent.Budget{MaxTurns: o.MaxTurns, MaxSeconds: int(c.Agent.MaxSeconds), MaxCostUSD: o.MaxCost}
	if b.MaxCostUSD == 0 && c.Session.MaxCostUSD != nil {
		b.MaxCostUSD = *c.Session.MaxCostUSD
	}
	return b
}

func (a *App) userGuidance() string {
	base := a.env.Getenv("XDG_CONFIG_HOME")
	if base == "" {
		home := a.env.Getenv("HOME")
		if home == "" {
			return ""
		}
		base = filepath.Join(home, ".config")
	}
	return filepath.Join(base, "AGENTS.md")
}

// identify names the session: a new id, or the one that is opened again. Only a log
// that this user's Coderrr wrote is.
func (a *App) identify(ctx context.Context, o cli.SessionOptions, root *workspace.Root, known *approval.Store) (id string, again bool, err error) {
	logs := sessions{&store{app: a, root: root, approvals: known}}
	id = o.Resume
	if o.Continue {
		list, err := logs.List(ctx)
		if err != nil {
			return "", false, err
		}
		for _, s := range list {
			if s.Known {
				id = s.ID
				break
			}
		}
		if id == "" {
			return "", false, &cli.Failure{Code: cli.ExitUsage, Err: errors.New("there is no session to continue here"), Remedy: "Start one: coderrr run \"…\""}
		}
	}
	if id == "" {
		return cmp.Or(o.ID, newID()), false, nil
	}
	if err := logs.exists(id); err != nil {
		return "", false, err
	}
	if !known.Known(id) {
		return "", false, &cli.Failure{
			Code:   cli.ExitApproval,
			Err:    fmt.Errorf("session %s was not made by your Coderrr: its log came with the folder and is not resumed", id),
			Remedy: "Read it with coderrr session show " + id + ", or plan anew.",
		}
	}
	return id, true, nil
}

// newID is a session id: sortable by time, and not to be guessed.
func newID() string {
	return time.Now().UTC().Format(idTime) + "-" + strings.ToLower(rand.Text()[:6])
}

// idTime begins a session's id.
const idTime = "20060102-150405"

// openLog opens the log of a session for appending. What follows the whole bytes
// that past was read from is torn, and cut off.
func openLog(root *workspace.Root, id string, past []event.Event, whole int64) (*event.Log, error) {
	f, err := root.Sessions().Append(id + suffix)
	if err != nil {
		return nil, fmt.Errorf("open the session's log: %w", err)
	}
	if len(past) > 0 {
		_ = f.Chmod(0o600) // it may come from a backup; some file systems have no modes
		if err := f.Truncate(whole); err != nil {
			return nil, errors.Join(fmt.Errorf("cut the torn end of the session's log: %w", err), f.Close())
		}
	}
	return event.NewLog(past, event.NewFileSink(f)), nil
}

func busy(err error) error {
	var held *lock.Held
	if errors.As(err, &held) {
		return &cli.Failure{Code: cli.ExitFailure, Err: err, Remedy: "Wait for it, or stop it. To look on: coderrr session show " + held.Holder.Session}
	}
	return err
}

func (b *built) own(c io.Closer) { b.running = append(b.running, c) }

// release frees what only a running session needs.
func (b *built) release() error {
	err := closeAll(b.running)
	b.running = nil
	return err
}

// Close frees the rest.
func (b *built) Close() error {
	err := closeAll(b.kept)
	b.kept = nil
	return err
}

// closeAll closes in reverse order.
func closeAll(cs []io.Closer) error {
	var errs []error
	for _, c := range slices.Backward(cs) {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// ID implements cli.Session.
func (b *built) ID() string { return b.session.ID() }

// Log implements cli.Session.
func (b *built) Log() *event.Log { return b.session.Log() }

// Run implements cli.Session. What the session held is free when it returns.
func (b *built) Run(ctx context.Context) (event.SessionFinished, error) {
	fin, err := b.run(ctx)
	return fin, errors.Join(err, b.Close())
}

// run is Run for a front end that stays: log and workspace stay open.
func (b *built) run(ctx context.Context) (event.SessionFinished, error) {
	fin := b.session.Run(ctx, b.request)
	return fin, errors.Join(b.session.Log().Err(), b.release())
}

// Say implements cli.Control.
func (b *built) Say(text string) error {
	return b.session.Say(text)
}

// Compact shortens the conversation before the next turn.
func (b *built) Compact() { b.session.Compact() }

// SetModel lets another model ([provider/]model) answer from the next turn on. A
// recording goes on with it.
func (b *built) SetModel(ctx context.Context, ref string) error {
	m, err := b.models.choose(ref)
	if err != nil {
		return err
	}
	b.session.SetModel(ctx, m)
	return nil
}

// Stop implements cli.Control.
func (b *built) Stop() { b.session.Stop() }

// SetConfirmWrites implements cli.Control.
func (b *built) SetConfirmWrites(on bool) { b.session.SetConfirmWrites(on) }
