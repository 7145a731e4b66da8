// Package scratch runs commands on a copy of the workspace. Its one rule: the
// copy is all that it promises. A command is stopped as a whole and gets no
// keys, but what it may reach is not contained unless a Runner contains it.
package scratch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/sandbox/tree"
)

// DefaultTimeout is how long a command may take when nobody says.
const DefaultTimeout = 300 * time.Second

// maxChanged bounds Result.Changed.
const maxChanged = 200

// Options configure Open. Workspace and Dir are required.
type Options struct {
	Workspace string // resolved, absolute
	Dir       string // where sandboxes of this user live; made with mode 0700
	Home      string // kept between sessions; empty means one that is removed
	Timeout   time.Duration
	MemoryMB  int
	Network   bool           // told to the runner
	Env       []string       // names to pass on besides the allow-list
	Host      []string       // the environment to take from; nil means os.Environ
	Runner    sandbox.Runner // nil means directly, not contained
	Info      sandbox.Info
	Skip      []string        // paths left out of the copy besides .coderrr
	Entries   []sandbox.Entry // what commands see besides, for Explain
}

// Sandbox is the scratch tier, or one that contains a copy by its Runner.
type Sandbox struct {
	o      Options
	place  *tree.Place
	temp   string
	mirror *tree.Mirror
	runner sandbox.Runner
	gate   *sandbox.Gate
}

var (
	_ sandbox.Sandbox   = (*Sandbox)(nil)
	_ sandbox.Explainer = (*Sandbox)(nil)
)

// Open makes the sandbox's directories. The copy is made by the first command.
func Open(o Options) (*Sandbox, error) {
	if o.Workspace == "" || o.Dir == "" {
		return nil, errors.New("scratch sandbox: Workspace and Dir must be set")
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Host == nil {
		o.Host = os.Environ()
	}
	if o.Info.Tier == "" {
		o.Info = Info()
	}
	p, err := tree.NewPlace(o.Dir)
	if err != nil {
		return nil, err
	}
	if o.Home == "" {
		o.Home = filepath.Join(p.Dir(), "home")
	}
	temp := filepath.Join(p.Dir(), "tmp")
	for _, dir := range []string{o.Home, temp} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, errors.Join(fmt.Errorf("making the sandbox's directories: %w", err), p.Remove())
		}
	}
	m, err := tree.Open(o.Workspace, copyDir(p, o.Workspace), append([]string{".coderrr"}, o.Skip...)...)
	if err != nil {
		return nil, errors.Join(err, p.Remove())
	}
	s := &Sandbox{o: o, place: p, temp: temp, mirror: m, runner: o.Runner, gate: sandbox.NewGate()}
	if s.runner == nil {
		s.runner = Direct()
	}
	return s, nil
}

// copyDir ends in the workspace's own name, for some tools show or use it.
func copyDir(p *tree.Place, workspace string) string {
	name := filepath.Base(workspace)
	if name == "/" || name == "." {
		name = "workspace"
	}
	return filepath.Join(p.Dir(), "tree", name)
}

// Info is what the scratch tier is when nothing contains it.
func Info() sandbox.Info {
	return sandbox.Info{
		Tier:      sandbox.Scratch,
		Network:   true,
		Isolation: sandbox.Isolation{Secrets: true},
		Summary:   "scratch: commands run on a copy of the workspace; they are not contained",
		Limits: "A command can read and change anything you can, by its full path, and it has the network. " +
			"So it can change your working tree too, if it names it. Your environment's variables are withheld.",
		Better: "coderrr doctor says what a contained tier (confined or docker) needs here.",
	}
}

// Info implements sandbox.Sandbox.
func (s *Sandbox) Info() sandbox.Info { return s.o.Info }

// Dir is where the copy is, for listing what commands made.
func (s *Sandbox) Dir() string { return s.mirror.Dir() }

// Explain implements sandbox.Explainer.
func (s *Sandbox) Explain() sandbox.Explanation {
	e := sandbox.Explanation{Info: s.o.Info, Env: s.env(), Entries: []sandbox.Entry{
		{Path: s.o.Workspace, Access: sandbox.Private, Why: "commands work on a copy of it, brought up to date before each"},
		{Path: filepath.Join(s.o.Workspace, ".coderrr"), Access: sandbox.Hidden, Why: "Coderrr's own files are not copied"},
		{Path: s.o.Home, Access: sandbox.Write, Why: "HOME for commands, kept for this workspace"},
		{Path: s.temp, Access: sandbox.Write, Why: "TMPDIR for commands"},
	}}
	if s.o.Entries == nil {
		e.Entries = append(e.Entries, sandbox.Entry{
			Path: "everything else", Access: sandbox.Write, Why: "this tier does not contain commands: they may do what you may",
		})
	}
	e.Entries = append(e.Entries, s.o.Entries...)
	e.Limits = []string{fmt.Sprintf("time: %s unless the command says otherwise", s.o.Timeout)}
	if s.o.MemoryMB > 0 {
		e.Limits = append(e.Limits, fmt.Sprintf("memory: %d MB for all processes of a command together", s.o.MemoryMB))
	}
	return e
}

func (s *Sandbox) env() []string {
	return sandbox.Env(sandbox.EnvOptions{
		Host: s.o.Host, Tier: s.o.Info.Tier, Home: s.o.Home, Temp: s.temp, Extra: s.o.Env,
	})
}

// Run implements sandbox.Sandbox.
func (s *Sandbox) Run(ctx context.Context, cmd sandbox.Command) (sandbox.Result, error) {
	ctx, done, err := s.gate.Enter(ctx, cmd)
	if err != nil {
		return sandbox.Result{}, err
	}
	defer done()
	mode := tree.Keep
	if cmd.Refresh {
		mode = tree.Reset
	}
	report, err := s.mirror.Sync(ctx, mode)
	if err != nil {
		return sandbox.Result{}, err
	}
	res, err := s.run(ctx, cmd)
	if err != nil {
		return res, err
	}
	res.Notes = report.Notes()
	res.Changed = s.mirror.Changed(ctx, maxChanged)
	return res, nil
}

func (s *Sandbox) run(ctx context.Context, cmd sandbox.Command) (sandbox.Result, error) {
	network := s.o.Network || cmd.Network
	if cmd.Timeout <= 0 {
		cmd.Timeout = s.o.Timeout
	}
	return sandbox.Execute(ctx, cmd, network, func(ctx context.Context, stdout, stderr *os.File) (sandbox.Exit, error) {
		return s.runner.Run(ctx, sandbox.Process{
			Dir: s.mirror.Dir(), Line: cmd.Line, Home: s.o.Home, Temp: s.temp,
			Env:    s.env(),
			Stdout: stdout, Stderr: stderr, Network: network, MemoryMB: s.o.MemoryMB,
		})
	})
}

// Close implements sandbox.Sandbox.
func (s *Sandbox) Close() error {
	return s.gate.Close(func() error { return errors.Join(s.runner.Close(), s.place.Remove()) })
}
