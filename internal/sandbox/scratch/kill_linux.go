package scratch

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/coderrr/coderrr/internal/sandbox/procs"
)

func sessionAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitExit returns when the process has ended, and leaves it to be waited for.
func awaitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// observe remembers the command's processes, so that one that leaves its
// session and its parent is still found, and returns their number and their
// memory in bytes.
func (w *watch) observe() (n int, memory int64) {
	ours := w.ours()
	for _, p := range ours {
		if w.known == nil {
			w.known = map[int]string{}
		}
		w.known[p.PID] = p.Start
	}
	return len(ours), procs.Memory(ours, int64(w.process.MemoryMB)<<20)
}

// maxProcesses bounds a fork bomb.
const maxProcesses = 2048

// killAll kills the command and all it started, and returns when they are gone.
func (w *watch) killAll() {
	_ = unix.Kill(-w.pid, unix.SIGKILL)
	procs.End(func() []procs.Proc {
		return slices.DeleteFunc(w.ours(), func(p procs.Proc) bool { return p.PID == w.pid })
	})
}

// ours lists the living processes that belong to the command: its descendants,
// its session, those seen before, and those that carry its private TMPDIR in
// their environment.
func (w *watch) ours() []procs.Proc {
	return procs.Below(procs.List(), w.pid, func(p procs.Proc) bool {
		return p.Session == w.pid || w.known[p.PID] == p.Start || w.marked(p.PID)
	})
}

func (w *watch) marked(pid int) bool {
	if pid == os.Getpid() {
		return false
	}
	dir := "/proc/" + strconv.Itoa(pid)
	env, err := os.ReadFile(dir + "/environ")
	return err == nil && slices.ContainsFunc(bytes.Split(env, []byte{0}), func(v []byte) bool {
		return string(v) == "TMPDIR="+w.process.Temp
	})
}
