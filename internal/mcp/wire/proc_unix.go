//go:build unix

package wire

import (
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// isolate gives the process a group of its own, so that what it starts can be
// ended with it and Ctrl-C in the terminal does not reach it.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

func terminateGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGTERM) }

func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// guard is a small process that waits for this one to end, and then ends the
// server's group: a kill -9 of this process runs no code of it, and closing the
// server's stdin alone does not end its children.
type guard struct {
	cmd  *exec.Cmd
	pipe io.Closer
}

// guardScript ends the group named by $1 once its stdin, which only this process
// holds open, is closed.
// No "--" before the number: not every sh knows it there.
const guardScript = `read -r _; kill -TERM "-$1"; sleep 1; kill -KILL "-$1"`

// watch starts a guard; without one (no /bin/sh) the server has its stdin closed
// when this process ends, which is enough for those that heed it.
func watch(pid int) *guard {
	r, w, err := os.Pipe()
	if err != nil {
		return nil
	}
	cmd := &exec.Cmd{
		Path: "/bin/sh", Args: []string{"sh", "-c", guardScript, "coderrr-guard", strconv.Itoa(pid)},
		Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/", Stdin: r,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	err = cmd.Start()
	_ = r.Close()
	if err != nil {
		_ = w.Close()
		return nil
	}
	return &guard{cmd: cmd, pipe: w}
}

// stop ends the guard before it can act: the server's group is gone, and its
// number may be another's soon.
func (g *guard) stop() {
	if g == nil {
		return
	}
	_ = g.cmd.Process.Kill()
	_ = g.cmd.Wait()
	_ = g.pipe.Close()
}
