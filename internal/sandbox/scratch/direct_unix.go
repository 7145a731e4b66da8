//go:build unix

package scratch

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/coderrr/coderrr/internal/sandbox"
)

// direct runs commands as children of this process, each in a session of its
// own.
type direct struct{}

// Direct returns the runner that contains nothing: the command is a child of
// this process, and it and what it started are killed together.
func Direct() sandbox.Runner { return direct{} }

func (direct) Close() error { return nil }

func (direct) Run(ctx context.Context, p sandbox.Process) (sandbox.Exit, error) {
	if err := ctx.Err(); err != nil {
		return sandbox.Exit{Code: -1}, err
	}
	// The death signal is tied to the thread that starts the child, so the
	// thread must live as long as the child.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command("/bin/sh", "-c", p.Line)
	cmd.Dir, cmd.Env = p.Dir, p.Env
	cmd.Stdout, cmd.Stderr = p.Stdout, p.Stderr
	cmd.SysProcAttr = sessionAttr()
	if err := cmd.Start(); err != nil {
		return sandbox.Exit{Code: -1}, fmt.Errorf("starting the command: %w", err)
	}
	w := watch{pid: cmd.Process.Pid, process: p}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { w.run(ctx, done) })
	// Until it is waited for, the ended process keeps its id, so that the id
	// cannot name somebody else's process while its group is killed.
	awaitExit(cmd.Process.Pid)
	close(done)
	wg.Wait()
	w.killAll()
	return w.exit(cmd.Wait())
}

// watch looks after one running command.
type watch struct {
	pid     int
	process sandbox.Process
	killed  bool
	reason  string
	known   map[int]string // pid to start time of what the command started
}

// interval is how often the command's processes are looked at.
const interval = 250 * time.Millisecond

func (w *watch) run(ctx context.Context, done <-chan struct{}) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-ctx.Done():
			w.killed = true
			w.killAll()
			return
		case <-tick.C:
			n, memory := w.observe()
			limit := int64(w.process.MemoryMB) << 20
			switch {
			case n > maxProcesses:
				w.reason = sandbox.ProcessReason(strconv.Itoa(maxProcesses))
			case limit > 0 && memory > limit:
				w.reason = sandbox.MemoryReason(strconv.Itoa(w.process.MemoryMB))
			default:
				continue
			}
			w.killed = true
			w.killAll()
			return
		}
	}
}

func (w *watch) exit(err error) (sandbox.Exit, error) {
	if w.killed {
		return sandbox.Exit{Code: -1, Reason: w.reason}, nil
	}
	var ee *exec.ExitError
	switch {
	case err == nil:
		return sandbox.Exit{}, nil
	case errors.As(err, &ee):
		if ws, ok := ee.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			return sandbox.Exit{Code: 128 + int(ws.Signal())}, nil
		}
		return sandbox.Exit{Code: ee.ExitCode()}, nil
	default:
		return sandbox.Exit{Code: -1}, fmt.Errorf("waiting for the command: %w", err)
	}
}
