package confined

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coderrr/coderrr/internal/sandbox/fence"
)

// waiting is process 1 of namespaces in which there is no command yet. It has
// mounted all that does not depend on the command, so that a command waits
// neither for a program to start nor for that. There is never more than one,
// for two overlays must not share what is added to a cache.
type waiting struct {
	cmd     *exec.Cmd
	socket  int
	report  *os.File
	network bool
	print   string // of what it has mounted
}

// prepare starts a spare one for the next command, which likely wants the
// network as the last one did. Where it fails the next command says why.
func (h *host) prepare(network bool) {
	if w, err := h.newWaiting(network); err == nil {
		h.spare = w
	}
}

// take returns the spare one if it fits, or a new one.
func (h *host) take(network bool) (*waiting, error) {
	w := h.spare
	h.spare = nil
	if w != nil {
		if w.network == network && w.print == h.fingerprint() {
			return w, nil
		}
		w.drop()
	}
	return h.newWaiting(network)
}

// newWaiting starts process 1 of new namespaces.
func (h *host) newWaiting(network bool) (*waiting, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	theirs := os.NewFile(uintptr(pair[1]), "spec")
	reportR, reportW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, unix.Close(pair[0]), theirs.Close())
	}
	w := &waiting{socket: pair[0], report: reportR, network: network, print: h.fingerprint(), cmd: h.process1(network, theirs, reportW)}
	err = w.cmd.Start()
	_, _ = theirs.Close(), reportW.Close()
	if err != nil {
		w.close()
		return nil, fmt.Errorf("making namespaces: %w", err)
	}
	// One that died says so itself.
	_ = send(w.socket, spec{config: h.config, Network: network, Root: h.root, Landlock: fence.LandlockABI() > 0})
	return w, nil
}

// process1 is the helper as the first process of new namespaces.
func (h *host) process1(network bool, spec, report *os.File) *exec.Cmd {
	cmd := self("init")
	cmd.Env = []string{"GOMAXPROCS=1", "GOGC=off"} // it lives for a few milliseconds of work
	cmd.ExtraFiles = []*os.File{spec, report}
	if h.idmap != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, h.idmap)
	}
	flags := uintptr(unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS)
	if !network {
		flags |= unix.CLONE_NEWNET
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL, Cloneflags: flags}
	return cmd
}

// fingerprint changes when a directory that is shown to commands is replaced
// by another one: a mount of the old one would still show that.
func (h *host) fingerprint() string {
	var b strings.Builder
	add := func(path string) {
		var st unix.Stat_t
		_ = unix.Stat(path, &st) // what is not there is all zero
		fmt.Fprintln(&b, st.Dev, st.Ino, st.Mode)
		// A file has a copy there; what only root may enter is shown entry by entry.
		if st.Mode&unix.S_IFMT != unix.S_IFDIR || h.root && st.Mode&0o005 != 0o005 {
			fmt.Fprintln(&b, st.Mtim)
		}
	}
	for _, dir := range systemDirs() {
		add(dir)
	}
	for _, d := range h.Binds {
		add(d.Source)
	}
	add(h.HomeCache)
	add("/etc/resolv.conf")
	return b.String()
}

func (w *waiting) close() { _, _ = unix.Close(w.socket), w.report.Close() }

// drop ends one that is not needed.
func (w *waiting) drop() {
	_ = w.cmd.Process.Kill()
	_ = w.cmd.Wait()
	w.close()
}

func (h *host) run(req request, out []int) reply {
	session, err := h.upper.prepare(req.Refresh)
	if err != nil {
		closeAll(out)
		return reply{Code: -1, Error: err.Error()}
	}
	begun := time.Now()
	r := h.start(task{Line: req.Line, Env: req.Env, Session: filepath.Base(session), Umask: h.umask}, req, out)
	if r.Error == "" {
		r.Changed = h.upper.finish(begun)
	}
	return r
}

// begin hands the command to a process 1.
func (h *host) begin(t task, req request, out []int) (*waiting, error) {
	w, err := h.take(req.Network)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.killed >= req.ID {
		w.drop()
		return nil, errors.New("stopped before it started")
	}
	err = send(w.socket, t, out...)
	if err != nil && !errors.Is(err, errTooLong) { // it died while it waited
		w.drop()
		if w, err = h.newWaiting(req.Network); err != nil {
			return nil, err
		}
		_ = send(w.socket, t, out...) // now it says itself why it died
	}
	if err != nil {
		w.drop()
		return nil, err
	}
	h.running, h.id = w.cmd.Process, req.ID
	return w, nil
}

// start runs one command in its namespaces and waits for it.
func (h *host) start(t task, req request, out []int) reply {
	fail := func(err error) reply { return reply{Code: -1, Error: err.Error()} }
	w, err := h.begin(t, req, out)
	closeAll(out)
	if err != nil {
		return fail(err)
	}
	defer w.close()
	guard := h.guard(w.cmd.Process)
	why, _ := io.ReadAll(w.report)
	waitErr := w.cmd.Wait()
	reason := guard.stop()
	h.mu.Lock()
	h.running = nil
	killed := h.killed >= req.ID
	h.mu.Unlock()
	ws, _ := w.cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case killed || reason != "":
		return reply{Code: -1, Killed: true, Reason: reason}
	case len(why) > 0:
		return reply{Code: -1, Error: string(why)}
	case ws.Signaled():
		return reply{Code: -1, Killed: true, Reason: "the sandbox's first process was killed from outside, " +
			"most likely because the machine ran out of memory"}
	case waitErr != nil && ws.ExitStatus() < 0:
		return fail(waitErr)
	}
	return reply{Code: ws.ExitStatus()}
}
