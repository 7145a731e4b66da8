//go:build unix && !linux

package scratch

import (
	"errors"
	"syscall"
	"time"
)

func sessionAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// maxProcesses bounds a fork bomb where processes can be counted.
const maxProcesses = 2048

// observe has no portable way to see processes here.
func (w *watch) observe() (n int, memory int64) { return 0, 0 }

// killAll kills the command's process group, the session's first.
func (w *watch) killAll() { _ = syscall.Kill(-w.pid, syscall.SIGKILL) }

// awaitExit returns when the process has ended, and leaves it to be waited for:
// a process that has ended can still be signalled, but is a zombie, which its
// process group's other members are not.
func awaitExit(pid int) {
	for {
		var ws syscall.WaitStatus
		got, err := syscall.Wait4(pid, &ws, syscall.WNOHANG|wnowait, nil)
		if got == pid || err != nil && !errors.Is(err, syscall.EINTR) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// wnowait leaves the process to be waited for, on macOS and the BSDs.
const wnowait = 0x20
