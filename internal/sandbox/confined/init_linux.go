package confined

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// exitSetup is how a stage ends that could not do its work.
const exitSetup = 125

// Descriptors that a stage finds open.
const (
	fdSocket = 3 // launch, broker: to Coderrr
	fdSpec   = 3 // init: what to set up
	fdReport = 4 // init: where to say what failed
	fdIDMap  = 5 // init, as root: the user namespace that maps owners
)

// Init must be the first thing that main does. In an ordinary run it returns
// at once; in a run as the helper it does the helper's work and does not
// return.
func Init() {
	if !isHelper(os.Args[0]) {
		return
	}
	stage := ""
	if len(os.Args) > 1 {
		stage = os.Args[1]
	}
	// A death signal comes when the thread that started a process ends, and
	// what a thread gives up is inherited by what that thread starts.
	runtime.LockOSThread()
	// Not os.Exit: a binary with the race detector waits a second in it.
	unix.Exit(runStage(stage))
}

func runStage(stage string) int {
	switch stage {
	case "launch":
		return launch()
	case "broker":
		return broker()
	case "idmap":
		_, _ = os.Stdin.Read(make([]byte, 1)) // until the broker has what it needs
		return 0
	case "init":
		return initStage()
	case "supervise":
		return supervise()
	case "fence":
		return fenceStage()
	}
	return exitSetup
}

// Harden makes the calling process's memory and environment unreadable for
// other processes of the same user, commands that are not contained among
// them. It turns off core dumps too.
func Harden() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("protecting the process's memory: %w", err)
	}
	return nil
}

// launch starts the broker. It exists because Coderrr may be undumpable, and
// such a process cannot make a user namespace for a child; this one can, and
// holds no secrets.
func launch() int {
	attr := &syscall.SysProcAttr{
		Pdeathsig:  syscall.SIGKILL,
		Cloneflags: unix.CLONE_NEWNS,
	}
	if os.Geteuid() != 0 {
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		attr.AmbientCaps = []uintptr{
			unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_DAC_OVERRIDE,
			unix.CAP_FOWNER, unix.CAP_CHOWN, unix.CAP_FSETID,
		}
	}
	cmd := self("broker")
	cmd.ExtraFiles = []*os.File{os.NewFile(fdSocket, "socket")}
	cmd.SysProcAttr = attr
	if err := cmd.Start(); err != nil {
		return refuse(fmt.Errorf("making namespaces: %w", err))
	}
	// Only the broker may hold the socket now: its end must be seen.
	_ = cmd.ExtraFiles[0].Close()
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode()
}

// self is this program as its own helper at another stage.
func self(stage string) *exec.Cmd {
	return &exec.Cmd{Path: "/proc/self/exe", Args: []string{Arg0, stage}, Env: []string{}}
}

func refuse(err error) int {
	_ = send(fdSocket, reply{Kind: "failed", Error: err.Error()})
	return exitSetup
}

// initStage is process 1 of a command's namespaces. The broker starts it before
// there is a command.
func initStage() int {
	var s spec
	if _, err := receive(fdSpec, &s); err != nil {
		return report(fmt.Errorf("reading the set-up: %w", err))
	}
	code, err := s.run(nextTask)
	if err != nil {
		return report(err)
	}
	return code
}

// nextTask waits for the command and takes its output as process 1's own.
func nextTask() (task, error) {
	var t task
	fds, err := receive(fdSpec, &t)
	if err == nil && len(fds) == 2 {
		err = errors.Join(unix.Dup3(fds[0], 1, 0), unix.Dup3(fds[1], 2, 0), unix.Close(fdSpec))
	} else if err == nil {
		err = errors.New("it came without its output")
	}
	if err != nil {
		return t, fmt.Errorf("reading the command: %w", err)
	}
	closeAll(fds)
	return t, nil
}

// report tells the broker why there is no command.
func report(err error) int {
	f := os.NewFile(fdReport, "report")
	_, _ = f.WriteString(err.Error())
	_ = f.Close()
	return exitSetup
}
