package confined

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/sandbox/fence"
	"github.com/coderrr/coderrr/internal/sandbox/tree"
)

// Sandbox is the confined tier.
type Sandbox struct {
	o     Options
	cfg   config
	place *tree.Place
	gate  *sandbox.Gate
	copy  *tree.Mirror // nil where the workspace is the lower layer of an overlay

	mu   sync.Mutex // guards conn
	conn *conn
	last int // the newest command's number
}

var (
	_ sandbox.Sandbox   = (*Sandbox)(nil)
	_ sandbox.Explainer = (*Sandbox)(nil)
)

// Open prepares the sandbox and starts its helper in the background. Whether
// the machine allows it is seen by the first Run or by Probe.
func Open(_ context.Context, o Options) (*Sandbox, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	if os.Args[0] == Arg0 {
		return nil, fmt.Errorf("%w: this program is a sandbox's helper and did not call confined.Init", sandbox.ErrUnavailable)
	}
	if err := os.MkdirAll(o.HomeCache, 0o700); err != nil {
		return nil, fmt.Errorf("making the sandbox's home: %w", err)
	}
	p, err := tree.NewPlace(o.Dir)
	if err != nil {
		return nil, err
	}
	s := &Sandbox{o: o, place: p, gate: sandbox.NewGate(), cfg: config{
		Stage: filepath.Join(p.Dir(), "stage"), Workspace: o.Workspace, Home: homeInside(&o), HomeCache: o.HomeCache,
		User: userName(o.Host), Binds: layout(&o), DiskMB: o.DiskMB, MemoryMB: o.MemoryMB, Processes: o.Processes, Hide: o.Hide,
	}}
	if err := os.Mkdir(s.cfg.Stage, 0o700); err != nil {
		return nil, errors.Join(fmt.Errorf("making the sandbox's directories: %w", err), p.Remove())
	}
	if o.Copy || foreignGroup(o.Workspace) {
		if err := s.useCopy(); err != nil {
			return nil, errors.Join(err, p.Remove())
		}
	}
	s.conn = connect(&s.o, s.cfg)
	return s, nil
}

// foreignGroup reports whether the workspace's files belong to a group that an
// ordinary user's namespace cannot map: an overlay of them cannot be written.
func foreignGroup(workspace string) bool {
	var st unix.Stat_t
	return os.Geteuid() != 0 && unix.Stat(workspace, &st) == nil && int(st.Gid) != os.Getegid()
}

// useCopy prepares a copy of the workspace for commands to work on.
func (s *Sandbox) useCopy() error {
	s.cfg.Copy = filepath.Join(s.place.Dir(), "copy")
	owner := -1
	if os.Geteuid() == 0 {
		owner = sandboxUID
	}
	var err error
	if owner < 0 {
		s.copy, err = tree.Open(s.o.Workspace, s.cfg.Copy, s.cfg.Hide...)
	} else {
		s.copy, err = tree.OpenFor(owner, s.o.Workspace, s.cfg.Copy, s.cfg.Hide...)
	}
	return err
}

// syncCopy brings the copy, if there is one, up to date and returns what it
// had to leave out.
func (s *Sandbox) syncCopy(ctx context.Context, refresh bool) ([]string, error) {
	if s.copy == nil {
		return nil, nil
	}
	mode := tree.Keep
	if refresh {
		mode = tree.Reset
	}
	r, err := s.copy.Sync(ctx, mode)
	return r.Notes(), err
}

// homeInside is the path of HOME for commands: the user's own, so that
// toolchains are where they were installed.
func homeInside(o *Options) string {
	home := filepath.Clean(sandbox.Lookup(o.Host, "HOME"))
	if !filepath.IsAbs(home) || home == "/" || within(home, o.Workspace) {
		return "/home/sandbox"
	}
	for _, dir := range append(systemDirs(), "/proc", "/dev", "/sys") {
		if within(home, dir) {
			return "/home/sandbox"
		}
	}
	return home
}

func userName(env []string) string {
	name := sandbox.Lookup(env, "USER")
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.' {
			return "sandbox"
		}
	}
	if name == "" || name == "root" {
		return "sandbox"
	}
	return name
}

func (s *Sandbox) env() []string {
	return sandbox.Env(sandbox.EnvOptions{
		Host: s.o.Host, Tier: sandbox.Confined, Home: s.cfg.Home, Temp: "/tmp", Extra: s.o.Env,
	})
}

// Info implements sandbox.Sandbox.
func (s *Sandbox) Info() sandbox.Info {
	i := sandbox.Info{
		Tier: sandbox.Confined, Network: s.o.Network,
		Isolation: sandbox.Isolation{WorkingTree: true, Files: true, Network: !s.o.Network, Processes: true, Secrets: true},
		Summary:   "confined: own namespaces, a copy-on-write view of the workspace, no network",
		Limits: "Commands can read the whole workspace, system files that everybody can read, and your toolchains. " +
			"They share the kernel with you.",
	}
	if s.o.Network {
		i.Summary = "confined: own namespaces, a copy-on-write view of the workspace, with network"
		i.Limits += " With the network they reach servers on this machine and can send out what they can read."
	}
	if s.copy != nil {
		i.Summary = strings.Replace(i.Summary, "copy-on-write view", "copy", 1)
	}
	if fence.LandlockABI() == 0 {
		i.Limits += " This kernel has no Landlock, so there is one fence less."
	}
	return i
}

func (s *Sandbox) limits() []string {
	return []string{
		fmt.Sprintf("time: %s unless the command says otherwise", s.o.Timeout),
		fmt.Sprintf("memory: %d MB for all processes of a command together", s.o.MemoryMB),
		fmt.Sprintf("disk: %d MB for all that commands write outside HOME, and for one file", s.o.DiskMB),
		fmt.Sprintf("processes and threads: %d", s.o.Processes),
		"renaming a directory of the working tree fails with EXDEV unless Coderrr runs as root; mv copies instead",
		"files whose group is not your own primary group cannot be changed (EOVERFLOW); they can be replaced",
	}
}

// Run implements sandbox.Sandbox.
func (s *Sandbox) Run(ctx context.Context, cmd sandbox.Command) (sandbox.Result, error) {
	ctx, done, err := s.gate.Enter(ctx, cmd)
	if err != nil {
		return sandbox.Result{}, err
	}
	defer done()
	if cmd.Timeout <= 0 {
		cmd.Timeout = s.o.Timeout
	}
	c, err := s.ready(ctx)
	if err != nil {
		return sandbox.Result{}, err
	}
	notes, err := s.syncCopy(ctx, cmd.Refresh)
	if err != nil {
		return sandbox.Result{}, err
	}
	network := s.o.Network || cmd.Network
	s.last++
	id := s.last
	res, err := sandbox.Execute(ctx, cmd, network, func(ctx context.Context, stdout, stderr *os.File) (sandbox.Exit, error) {
		return c.run(ctx, request{
			Kind: "run", ID: id, Line: cmd.Line, Env: s.env(), Network: network, Refresh: cmd.Refresh,
		}, stdout, stderr)
	})
	res.Notes = notes
	if s.copy != nil && err == nil {
		res.Changed = s.copy.Changed(ctx, maxChanged)
	}
	return res, err
}

// ready returns a connection to a helper that works, starting another if the
// last one is gone; what commands left behind is then gone as well.
func (s *Sandbox) ready(ctx context.Context) (*conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn.gone() {
		s.conn.close()
		s.conn = connect(&s.o, s.cfg)
	}
	return s.conn, s.conn.wait(ctx)
}

// Close implements sandbox.Sandbox.
func (s *Sandbox) Close() error {
	return s.gate.Close(func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.conn.close()
		return s.place.Remove()
	})
}

// conn is the socket to one helper.
type conn struct {
	fd      int
	helper  chan struct{} // closed when the helper has ended
	first   chan reply    // ready or failed
	replies chan reply
	kill    func()
	once    sync.Once
	state   reply // what first said
	asked   bool
}

// connect starts a helper and sends it cfg.
func connect(o *Options, cfg config) *conn {
	c := &conn{fd: -1, helper: make(chan struct{}), first: make(chan reply, 1), replies: make(chan reply, 1), kill: func() {}}
	fail := func(err error) *conn {
		c.first <- reply{Kind: "failed", Error: err.Error()}
		close(c.helper)
		return c
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fail(err)
	}
	c.fd = pair[0]
	theirs := os.NewFile(uintptr(pair[1]), "socket")
	cmd := &exec.Cmd{
		Path: o.Helper, Args: []string{Arg0, "launch"}, Env: []string{}, Dir: "/", ExtraFiles: []*os.File{theirs},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the helper dies with the thread that started it
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		_ = theirs.Close()
		started <- err
		if err == nil {
			_ = cmd.Wait()
			close(c.helper)
		}
	}()
	if err := <-started; err != nil {
		return fail(fmt.Errorf("starting the helper: %w", err))
	}
	c.kill = func() { _ = cmd.Process.Kill() }
	if err := send(c.fd, cfg); err != nil {
		c.first <- reply{Kind: "failed", Error: err.Error()}
	}
	go c.read()
	return c
}

func (c *conn) read() {
	defer close(c.replies)
	for {
		var r reply
		if _, err := receive(c.fd, &r); err != nil {
			select {
			case c.first <- reply{Kind: "failed", Error: "the helper ended before it was ready"}:
			default:
			}
			return
		}
		if r.Kind == "exit" {
			c.replies <- r
			continue
		}
		select {
		case c.first <- r:
		default:
		}
	}
}

// readyTimeout is how long a helper may take to be ready. One that does not
// call Init runs something else; it must not run for long.
const readyTimeout = 10 * time.Second

func (c *conn) wait(ctx context.Context) error {
	if !c.asked {
		timer := time.NewTimer(readyTimeout)
		defer timer.Stop()
		select {
		case c.state = <-c.first:
		case <-timer.C:
			c.state = reply{Kind: "failed", Error: "the helper did not answer"}
			c.kill()
		case <-ctx.Done():
			return fmt.Errorf("starting the sandbox: %w", ctx.Err())
		}
		c.asked = true
	}
	if c.state.Kind != "ready" {
		return fmt.Errorf("%w: %s", sandbox.ErrUnavailable, c.state.Error)
	}
	return nil
}

func (c *conn) gone() bool {
	select {
	case <-c.helper:
		return true
	default:
		return false
	}
}

func (c *conn) run(ctx context.Context, req request, stdout, stderr *os.File) (sandbox.Exit, error) {
	if err := send(c.fd, req, int(stdout.Fd()), int(stderr.Fd())); err != nil {
		return sandbox.Exit{Code: -1}, err
	}
	var r reply
	var ok bool
	select {
	case r, ok = <-c.replies:
	case <-ctx.Done():
		_ = send(c.fd, request{Kind: "kill", ID: req.ID}) // a helper that is gone has killed it
		r, ok = <-c.replies
	}
	switch {
	case !ok:
		return sandbox.Exit{Code: -1}, errors.New("the sandbox's helper ended, and the command with it")
	case r.Error != "" && ctx.Err() == nil:
		return sandbox.Exit{Code: -1}, fmt.Errorf("%w: %s", sandbox.ErrUnavailable, r.Error)
	}
	return sandbox.Exit{Code: r.Code, Reason: r.Reason, Changed: r.Changed}, nil
}

// close ends the helper, which ends all that it started, and waits for it.
func (c *conn) close() {
	c.once.Do(func() {
		if c.fd < 0 {
			return
		}
		_ = unix.Shutdown(c.fd, unix.SHUT_RDWR)
		timer := time.NewTimer(3 * time.Second)
		defer timer.Stop()
		select {
		case <-c.helper:
		case <-timer.C:
			c.kill()
			<-c.helper
		}
		for range c.replies { // until the reader has seen the end
		}
		_ = unix.Close(c.fd)
	})
}
