package confined

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/coderrr/coderrr/internal/sandbox/fence"
)

// loopbackUp gives the empty network namespace a working 127.0.0.1.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("starting the loopback interface: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("starting the loopback interface: %w", err)
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req); err != nil {
		return fmt.Errorf("starting the loopback interface: %w", err)
	}
	return nil
}

// start gives up every right, starts the command and reaps until it ends; the
// kernel then kills all that is left in these namespaces.
func (s *spec) start(t task) (int, error) {
	// The more memory a machine lacks, the sooner the kernel takes it here.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("900"), 0o644)
	limits := fence.Limits{Processes: s.Processes, FileSize: int64(s.DiskMB) << 20}
	if err := errors.Join(limits.Apply(), Harden(), fence.NoNewPrivs(), fence.DropCapabilities()); err != nil {
		return 0, err
	}
	if s.Landlock {
		if err := fence.Landlock(fence.Files{
			Read:  []string{"/"},
			Write: []string{s.Workspace, s.Home, "/tmp", "/var/tmp", "/dev"},
		}); err != nil {
			return 0, err
		}
	}
	if err := fence.Seccomp(fence.Calls{}); err != nil {
		return 0, err
	}
	attr := &syscall.ProcAttr{Dir: s.Workspace, Env: t.Env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true}}
	if s.Root {
		attr.Sys.Credential = &syscall.Credential{Uid: sandboxUID, Gid: sandboxUID}
	}
	unix.Umask(t.Umask)
	pid, err := syscall.ForkExec("/bin/sh", []string{"/bin/sh", "-c", t.Line}, attr)
	if err != nil {
		return 0, fmt.Errorf("starting /bin/sh: %w", err)
	}
	// A signal that a command sends to process 1 must not end it. Only now, for
	// what is ignored before is ignored by the command too.
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM,
		unix.SIGPIPE, unix.SIGPROF, unix.SIGVTALRM, unix.SIGIO, unix.SIGPWR, unix.SIGXCPU, unix.SIGXFSZ, unix.SIGSYS)
	// A command's end of output must not wait for process 1.
	closeAll([]int{0, 1, 2})
	for {
		var ws syscall.WaitStatus
		got, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR) || got != pid && err == nil:
		case err != nil:
			return 0, fmt.Errorf("waiting for the command: %w", err)
		case ws.Signaled():
			return 128 + int(ws.Signal()), nil
		case ws.Exited():
			return ws.ExitStatus(), nil
		}
	}
}
