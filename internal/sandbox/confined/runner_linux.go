package confined

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/sandbox/fence"
)

// Kind says how a runner contains commands on a copy of the workspace.
type Kind int

const (
	// ByBwrap starts commands in namespaces that /usr/bin/bwrap makes.
	ByBwrap Kind = iota
	// ByLandlock confines files, and takes the network away.
	ByLandlock
	// WritesOnly lets commands read everything and use the network, but change
	// only what belongs to the sandbox.
	WritesOnly
)

// bwrapPath is the one place that bubblewrap is taken from: distributions
// exempt that path from AppArmor's rule, and nothing in a workspace is there.
const bwrapPath = "/usr/bin/bwrap"

// Runner starts commands on a copy with what the kernel gives besides
// namespaces of our own.
type Runner struct {
	kind  Kind
	o     Options
	binds []bind
	home  string // HOME inside bubblewrap
}

var _ sandbox.Runner = (*Runner)(nil)

// NewRunner returns a runner of that kind. Of o it takes Workspace, Host,
// Helper and the limits; HomeCache is what the caller gives commands as HOME.
func NewRunner(kind Kind, o Options) (*Runner, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	if isHelper(os.Args[0]) {
		return nil, fmt.Errorf("%w: this program is a sandbox's helper and did not call confined.Init", sandbox.ErrUnavailable)
	}
	abi := fence.LandlockABI()
	switch {
	case kind == ByBwrap:
		if info, err := os.Stat(bwrapPath); err != nil || !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%w: there is no %s", sandbox.ErrUnavailable, bwrapPath)
		}
	case kind == ByLandlock && abi < 6:
		return nil, fmt.Errorf("%w: it needs Landlock 6 (Linux 6.12), here is %d", sandbox.ErrUnavailable, abi)
	case abi == 0:
		return nil, fmt.Errorf("%w: this kernel has no Landlock", sandbox.ErrUnavailable)
	}
	return &Runner{kind: kind, o: o, binds: layout(&o), home: homeInside(&o)}, nil
}

// Check runs a command that does nothing in dir, which must exist.
func (r *Runner) Check(ctx context.Context, dir string) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("opening %s: %w", os.DevNull, err)
	}
	defer func() { _ = null.Close() }()
	exit, err := r.Run(ctx, sandbox.Process{Dir: dir, Home: dir, Temp: dir, Line: "exit 0", Stdout: null, Stderr: null})
	if err == nil && exit.Code != 0 {
		err = fmt.Errorf("%w: a command that does nothing ended with %d", sandbox.ErrUnavailable, exit.Code)
	}
	return err
}

// Close implements sandbox.Runner.
func (r *Runner) Close() error { return nil }

// Run implements sandbox.Runner.
func (r *Runner) Run(ctx context.Context, p sandbox.Process) (sandbox.Exit, error) {
	fail := func(err error) (sandbox.Exit, error) {
		return sandbox.Exit{Code: -1}, fmt.Errorf("starting the command: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return fail(err)
	}
	spec, err := json.Marshal(r.spec(p))
	if err != nil {
		return fail(err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fail(err)
	}
	life, theirs := os.NewFile(uintptr(pair[0]), "life"), os.NewFile(uintptr(pair[1]), "spec")
	reportR, reportW, err := os.Pipe()
	if err != nil {
		return fail(errors.Join(err, life.Close(), theirs.Close()))
	}
	defer func() { _ = reportR.Close() }()
	cmd := &exec.Cmd{
		Path: r.o.Helper, Args: []string{Arg0, "supervise"}, Env: []string{}, Dir: "/",
		Stdout: p.Stdout, Stderr: p.Stderr, ExtraFiles: []*os.File{theirs, reportW},
		// No death signal: the supervisor sees Coderrr's end and must live to
		// end what the command started.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = cmd.Start()
	_, _ = theirs.Close(), reportW.Close()
	if err != nil {
		_ = life.Close()
		return fail(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = unix.Shutdown(pair[0], unix.SHUT_WR) })
	_, _ = life.Write(append(spec, '\n')) // a supervisor that died is seen below
	why, _ := io.ReadAll(reportR)
	waitErr := cmd.Wait()
	stop()
	_ = life.Close()
	return r.outcome(string(why), cmd.ProcessState, waitErr)
}

func (r *Runner) outcome(why string, state *os.ProcessState, waitErr error) (sandbox.Exit, error) {
	killed := sandbox.Exit{Code: -1}
	memory, isMemory := strings.CutPrefix(why, reportMemory)
	many, isMany := strings.CutPrefix(why, reportMany)
	switch {
	case why == reportStopped:
		return killed, nil
	case isMemory:
		killed.Reason = sandbox.MemoryReason(memory)
		return killed, nil
	case isMany:
		killed.Reason = sandbox.ProcessReason(many)
		return killed, nil
	case why != "":
		return killed, fmt.Errorf("%w: %s", sandbox.ErrUnavailable, why)
	case state.ExitCode() < 0:
		return killed, fmt.Errorf("the sandbox's supervisor ended: %w", waitErr)
	}
	return sandbox.Exit{Code: state.ExitCode()}, nil
}

func (r *Runner) spec(p sandbox.Process) fenceSpec {
	s := fenceSpec{
		Line: p.Line, Dir: p.Dir, Env: p.Env, Network: p.Network, MemoryMB: p.MemoryMB, FileMB: r.o.DiskMB,
		Processes: r.o.Processes, Write: append([]string{p.Dir, p.Home, p.Temp}, harmlessDevices()...),
	}
	switch r.kind {
	case WritesOnly:
		s.ReadAll, s.NoSeccomp, s.Network = true, true, true
		s.Write = append(s.Write, r.sharedTemp(p)...)
	case ByLandlock:
		s.Read = append(readableSystem(), "/proc")
		for _, b := range r.binds {
			s.Read = append(s.Read, b.Source)
		}
	case ByBwrap:
		s.Through = r.bwrap(p)
		s.Dir = r.o.Workspace
		s.Read = []string{"/"}
		s.Write = []string{r.o.Workspace, r.home, "/tmp", "/var/tmp", "/dev"}
		for i, e := range s.Env {
			switch {
			case strings.HasPrefix(e, "HOME="):
				s.Env[i] = "HOME=" + r.home
			case strings.HasPrefix(e, "TMPDIR="):
				s.Env[i] = "TMPDIR=/tmp"
			}
		}
	}
	return s
}

// harmlessDevices are the parts of the machine's own /dev that a command may
// use: terminals, which may be the user's, are not among them.
func harmlessDevices() []string {
	return []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/shm"}
}

// readableSystem is the system without what is only for root: rules for files
// grant all below a directory, so root's /etc is given entry by entry.
func readableSystem() []string {
	dirs := systemDirs()
	if os.Geteuid() != 0 {
		return dirs
	}
	var out []string
	for _, dir := range dirs {
		if dir != "/etc" {
			out = append(out, dir)
		}
	}
	entries, _ := os.ReadDir("/etc")
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().Perm()&0o004 != 0 {
			out = append(out, filepath.Join("/etc", e.Name()))
		}
	}
	return out
}

// sharedTemp is where programs write that do not ask for TMPDIR, unless the
// workspace is there.
func (r *Runner) sharedTemp(p sandbox.Process) []string {
	var out []string
	for _, dir := range []string{"/tmp", "/var/tmp"} {
		if !within(r.o.Workspace, dir) && !within(p.Dir, dir) {
			out = append(out, dir)
		}
	}
	return out
}

// bwrap is bubblewrap's command line, up to the program to run.
func (r *Runner) bwrap(p sandbox.Process) []string {
	a := []string{
		bwrapPath, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent",
		"--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", "/var/tmp", "--dir", "/run",
	}
	if !p.Network {
		a = append(a, "--unshare-net")
	}
	for _, dir := range systemDirs() {
		info, err := os.Lstat(dir)
		switch {
		case err != nil:
		case info.Mode()&os.ModeSymlink != 0:
			if target, err := os.Readlink(dir); err == nil {
				a = append(a, "--symlink", target, dir)
			}
		default:
			a = append(a, "--ro-bind", dir, dir)
		}
	}
	if p.Network {
		if real, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil && !within(real, "/etc") {
			a = append(a, "--ro-bind", real, real)
		}
	}
	a = append(a, "--bind", p.Home, r.home)
	for _, b := range r.binds {
		a = append(a, "--ro-bind", b.Source, b.Path)
	}
	return append(a, "--bind", p.Dir, r.o.Workspace, "--ro-bind", r.o.Helper, insideHelper, "--remount-ro", "/", "--")
}

// Info says what this runner isolates.
func (r *Runner) Info(network bool) sandbox.Info {
	i := sandbox.Info{Network: network, Isolation: sandbox.Isolation{WorkingTree: true, Secrets: true}}
	switch r.kind {
	case ByBwrap:
		i.Tier = sandbox.Confined
		i.Isolation = sandbox.Isolation{WorkingTree: true, Files: true, Network: !network, Processes: true, Secrets: true}
		i.Summary = "confined: namespaces made by bubblewrap, a copy of the workspace"
		i.Limits = "Commands can read the whole workspace, system files that everybody can read, and your toolchains. " +
			"They share the kernel with you."
		i.Better = "Own namespaces start faster and need no copy. " + Remedy(errors.New(""))
	case ByLandlock:
		i.Tier = sandbox.Landlock
		i.Isolation = sandbox.Isolation{WorkingTree: true, Files: true, Network: !network, Processes: true, Secrets: true}
		i.Summary = "landlock: a copy of the workspace, files confined, network off; not fully contained"
		i.Limits = "Commands can see that other files exist, change the modes of your own, and connect to sockets that are files. " +
			"Servers on 127.0.0.1 do not work, not even their own."
		i.Better = "The confined tier hides all of that. " + Remedy(errors.New(""))
	case WritesOnly:
		i.Tier, i.Network = sandbox.Scratch, true
		i.Summary = "scratch: commands run on a copy of the workspace; they are not contained"
		i.Limits = "A command can read anything you can and has the network. It can change only its copy, its HOME and " +
			"temporary files, and your environment's variables are withheld."
		i.Better = "The confined tier contains commands. " + Remedy(errors.New(""))
	}
	return i
}

// Entries explain what commands see besides their own directories.
func (r *Runner) Entries() []sandbox.Entry {
	if r.kind == WritesOnly {
		return []sandbox.Entry{{Path: "everything else", Access: sandbox.Read, Why: "this tier does not hide files"}}
	}
	var out []sandbox.Entry
	for _, dir := range systemDirs() {
		if _, err := os.Lstat(dir); err == nil {
			out = append(out, sandbox.Entry{Path: dir, Access: sandbox.Read, Why: "the system"})
		}
	}
	for _, b := range r.binds {
		out = append(out, sandbox.Entry{Path: b.Source, Access: sandbox.Read, Why: b.Why})
	}
	return append(out, sandbox.Entry{Path: "everything else", Access: sandbox.Hidden, Why: "it cannot be read"})
}
