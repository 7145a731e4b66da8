package confined

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// host is the broker: it owns the namespaces that outlive a command.
type host struct {
	config
	root  bool
	umask int      // the user's
	idmap *os.File // as root, the user namespace that maps owners
	upper *upper
	spare *waiting // what the next command starts in, nil for none

	mu      sync.Mutex
	running *os.Process // the command's process 1
	id      int         // of the command that runs or ran last
	killed  int         // the newest command that was to be killed
}

func broker() int {
	// Nobody but Coderrr may see what goes through here; that also keeps other
	// processes of the user from tracing this one, which has capabilities.
	_ = unix.CloseRange(fdSocket+1, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC)
	unix.CloseOnExec(fdSocket)
	// What is made for commands must not be closed to them by the user's umask.
	h := &host{root: os.Geteuid() == 0, umask: unix.Umask(0o022)}
	if _, err := receive(fdSocket, &h.config); err != nil {
		return exitSetup
	}
	if err := h.open(); err != nil {
		return refuse(err)
	}
	if err := send(fdSocket, reply{Kind: "ready"}); err != nil {
		return exitSetup
	}
	h.serve()
	return 0
}

// open makes the memory file system that holds what commands write.
func (h *host) open() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keeping mounts private: %w", err)
	}
	opts := fmt.Sprintf("mode=755,size=%dm", h.DiskMB)
	if err := unix.Mount("tmpfs", h.Stage, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, opts); err != nil {
		return fmt.Errorf("making the sandbox's memory file system: %w", err)
	}
	for _, d := range []string{"root", "lower", "empty", "caches", "text"} {
		if err := os.Mkdir(filepath.Join(h.Stage, d), 0o755); err != nil {
			return fmt.Errorf("making the sandbox's directories: %w", err)
		}
	}
	h.upper = &upper{stage: h.Stage, workspace: h.Workspace, root: h.root}
	if err := h.openCaches(); err != nil {
		return err
	}
	if !h.root {
		return nil
	}
	if err := os.Chown(h.HomeCache, sandboxUID, sandboxUID); err != nil {
		return fmt.Errorf("making the sandbox's home: %w", err)
	}
	return h.mapOwners()
}

// openCaches makes the directories for what commands add to the caches: on
// disk, to be found by the next session too, unless another session has them
// now, for two overlays must not share one.
func (h *host) openCaches() error {
	at := filepath.Join(h.Stage, "caches")
	keep := cachesDir(h.HomeCache)
	if err := os.MkdirAll(keep, 0o700); err != nil {
		return fmt.Errorf("making the sandbox's caches: %w", err)
	}
	lock, err := unix.Open(keep, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0) // held as long as this process lives
	if err != nil {
		return fmt.Errorf("making the sandbox's caches: %w", err)
	}
	if unix.Flock(lock, unix.LOCK_EX|unix.LOCK_NB) == nil {
		if err := unix.Mount(keep, at, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("making the sandbox's caches: %w", err)
		}
	}
	for _, b := range h.Binds {
		if b.Kind != bindCache {
			continue
		}
		for _, d := range []string{"upper", "work"} {
			dir := filepath.Join(at, cacheName(b.Path), d)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return fmt.Errorf("making the sandbox's caches: %w", err)
			}
			if h.root {
				if err := os.Chown(dir, sandboxUID, sandboxUID); err != nil {
					return fmt.Errorf("making the sandbox's caches: %w", err)
				}
			}
		}
	}
	return nil
}

// cachesDir is where additions to caches are kept, beside HOME.
func cachesDir(home string) string { return home + "-caches" }

// cacheName is one path as the name of a directory.
func cacheName(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:8])
}

// mapOwners makes the user namespace through which the workspace's owner looks
// like the sandbox's user. Everybody else keeps their number.
func (h *host) mapOwners() error {
	var st unix.Stat_t
	if err := unix.Stat(h.Workspace, &st); err != nil {
		return fmt.Errorf("looking at the workspace: %w", err)
	}
	cmd := self("idmap")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER, Pdeathsig: syscall.SIGKILL,
		UidMappings: idMappings(int(st.Uid)), GidMappings: idMappings(int(st.Gid)),
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("mapping owners: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("mapping owners: %w", err)
	}
	h.idmap, err = os.Open("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/ns/user")
	_ = in.Close()
	_ = cmd.Wait()
	if err != nil {
		return fmt.Errorf("mapping owners: %w", err)
	}
	return nil
}

// idMappings maps owner to sandboxUID and every other id to itself, less
// sandboxUID's own, which would be there twice.
func idMappings(owner int) []syscall.SysProcIDMap {
	out := []syscall.SysProcIDMap{{ContainerID: owner, HostID: sandboxUID, Size: 1}}
	next := 0
	for _, cut := range []int{min(owner, sandboxUID), max(owner, sandboxUID), 1<<32 - 1} {
		if cut > next {
			out = append(out, syscall.SysProcIDMap{ContainerID: next, HostID: next, Size: cut - next})
		}
		next = max(next, cut+1)
	}
	return out
}

// serve runs commands until the socket closes. They are started by this
// thread, with which they die.
func (h *host) serve() {
	type job struct {
		req request
		out []int
	}
	jobs := make(chan job)
	go func() {
		defer close(jobs)
		for {
			var req request
			fds, err := receive(fdSocket, &req)
			switch {
			case errors.Is(err, io.EOF):
				unix.Exit(0) // Coderrr is gone: process 1 dies with this one
			case err != nil:
				continue
			case req.Kind == "run" && len(fds) == 2:
				jobs <- job{req, fds}
				continue
			case req.Kind == "kill":
				h.kill(req.ID)
			}
			closeAll(fds)
		}
	}()
	h.prepare(false)
	for j := range jobs {
		r := h.run(j.req, j.out)
		r.Kind, r.ID = "exit", j.req.ID
		_ = send(fdSocket, r)
		h.prepare(j.req.Network)
	}
}

// kill ends the command id, also when it has not started yet.
func (h *host) kill(id int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.killed = max(h.killed, id)
	if h.running != nil && h.id <= id {
		_ = h.running.Kill()
	}
}
