package confined

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coderrr/coderrr/internal/sandbox/fence"
	"github.com/coderrr/coderrr/internal/sandbox/procs"
)

// fenceSpec says how a command on a copy is started where namespaces of our
// own cannot be had.
type fenceSpec struct {
	Line, Dir string
	Env       []string
	Read      []string // what Landlock lets it read
	Write     []string // and change
	ReadAll   bool
	Network   bool
	NoSeccomp bool
	MemoryMB  int
	FileMB    int
	Processes int      // more than the user has now
	Through   []string // a command line to start the fence stage with, such as bwrap's
}

// supervise runs one command without namespaces. It adopts whatever the
// command orphans, so that it can end it, and ends everything when Coderrr
// goes away. Landlock keeps the command from signalling it.
func supervise() int {
	var s fenceSpec
	life := os.NewFile(fdSpec, "spec")
	if err := json.NewDecoder(life).Decode(&s); err != nil {
		return report(fmt.Errorf("reading the set-up: %w", err))
	}
	if err := errors.Join(
		unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0),
		Harden(),
		unix.CloseRange(fdSpec, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC),
	); err != nil {
		return report(fmt.Errorf("watching over the command: %w", err))
	}
	pid, err := s.fork()
	if err != nil {
		return report(fmt.Errorf("starting the command: %w", err))
	}
	closeAll([]int{0, 1, 2})
	w := &warden{spec: s, self: os.Getpid()}
	go w.untilGone(life)
	go w.untilTooLarge()
	code := exitSetup
	for {
		var ws syscall.WaitStatus
		got, err := syscall.Wait4(-1, &ws, 0, nil)
		if errors.Is(err, syscall.EINTR) || err == nil && got != pid {
			continue
		}
		if err == nil {
			code = exitCode(ws)
		}
		break
	}
	w.killAll()
	reapAll()
	if why := w.why.Load(); why != nil {
		return report(errors.New(*why))
	}
	return code
}

// reapAll waits for what was killed: until then it counts against the user's
// number of processes, and not every machine's process 1 is quick to do it.
func reapAll() {
	for {
		if _, err := syscall.Wait4(-1, nil, 0, nil); err != nil && !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

func exitCode(ws syscall.WaitStatus) int {
	if ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return ws.ExitStatus()
}

// fork starts the fence stage, which becomes the command.
func (s *fenceSpec) fork() (int, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer func() { _ = r.Close() }()
	argv := append(append([]string(nil), s.Through...), Arg0, "fence")
	path := "/proc/self/exe"
	if len(s.Through) > 0 {
		path = s.Through[0]
		argv[len(s.Through)] = insideHelper
	}
	pid, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{
		Dir: "/", Env: []string{}, Files: []uintptr{0, 1, 2, r.Fd(), fdReport},
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		_ = w.Close()
		return 0, err
	}
	go func() {
		_ = json.NewEncoder(w).Encode(s) // a stage that died says so itself
		_ = w.Close()
	}()
	return pid, nil
}

// warden ends a command without namespaces.
type warden struct {
	spec fenceSpec
	self int
	why  atomic.Pointer[string]
}

// untilGone waits until Coderrr closes its end, which it does to stop the
// command as well.
func (w *warden) untilGone(life *os.File) {
	_, _ = life.Read(make([]byte, 1))
	why := reportStopped
	w.why.CompareAndSwap(nil, &why)
	w.killAll()
}

// untilTooLarge bounds what the kernel bounds for nobody, or not for root: the
// memory of all processes together, and their number.
func (w *warden) untilTooLarge() {
	limit := int64(w.spec.MemoryMB) << 20
	for {
		time.Sleep(guardInterval)
		list, why := w.below(), ""
		switch {
		case w.spec.Processes > 0 && len(list) > w.spec.Processes:
			why = reportMany + strconv.Itoa(w.spec.Processes)
		case limit > 0 && procs.Memory(list, limit) > limit:
			why = reportMemory + strconv.Itoa(w.spec.MemoryMB)
		default:
			continue
		}
		w.why.CompareAndSwap(nil, &why)
		w.killAll()
		return
	}
}

// What the supervisor reports besides errors.
const (
	reportStopped = "\x00stopped"
	reportMemory  = "\x00memory"
	reportMany    = "\x00many"
)

func (w *warden) below() []procs.Proc {
	all := procs.Below(procs.List(), w.self, nil)
	for i, p := range all {
		if p.PID == w.self {
			return append(all[:i], all[i+1:]...)
		}
	}
	return all
}

// killAll kills every descendant until there is none.
func (w *warden) killAll() { procs.End(w.below) }

// fenceStage gives up rights and becomes the command.
func fenceStage() int {
	var s fenceSpec
	f := os.NewFile(fdSpec, "spec")
	if err := json.NewDecoder(f).Decode(&s); err != nil {
		return report(fmt.Errorf("reading the set-up: %w", err))
	}
	_ = f.Close()
	return report(s.exec())
}

// exec returns only an error.
func (s *fenceSpec) exec() error {
	if err := os.Chdir(s.Dir); err != nil {
		return fmt.Errorf("entering the copy: %w", err)
	}
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("900"), 0o644)
	limits := fence.Limits{FileSize: int64(s.FileMB) << 20}
	if s.Processes > 0 {
		// The supervisor counts exactly; this is for what is faster than it. The
		// kernel counts the user's other processes too, and those just ended.
		limits.Processes = procs.Threads(os.Getuid()) + 4*s.Processes
	}
	if err := errors.Join(
		unix.CloseRange(fdSpec, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC),
		limits.Apply(), fence.NoNewPrivs(), fence.DropCapabilities(),
	); err != nil {
		return err
	}
	if err := fence.Landlock(fence.Files{Read: s.Read, Write: s.Write, ReadAll: s.ReadAll, NoTCP: s.noInternet()}); err != nil {
		return err
	}
	if !s.NoSeccomp {
		if err := fence.Seccomp(fence.Calls{NoInternet: s.noInternet()}); err != nil {
			return err
		}
	}
	if err := syscall.Exec("/bin/sh", []string{"/bin/sh", "-c", s.Line}, s.Env); err != nil {
		return fmt.Errorf("starting /bin/sh: %w", err)
	}
	return nil
}

// noInternet is how the network is taken away where no namespace does it.
func (s *fenceSpec) noInternet() bool { return !s.Network && len(s.Through) == 0 }

// isHelper reports whether arg0 names the helper. Bubblewrap can only start it
// by its path.
func isHelper(arg0 string) bool { return arg0 == Arg0 || arg0 == insideHelper }

// insideHelper is where bubblewrap shows the helper.
const insideHelper = "/run/" + Arg0
