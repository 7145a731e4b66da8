package scratch

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
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

// proc is what /proc says about a process.
type proc struct {
	pid, ppid, sid int
	start          string // with pid, names a process for ever
	rss            int64
}

// observe remembers the command's processes, so that one that leaves its
// session and its parent is still found, and returns their memory in bytes.
func (w *watch) observe() int64 {
	var rss int64
	for _, p := range w.ours() {
		if w.known == nil {
			w.known = map[int]string{}
		}
		w.known[p.pid] = p.start
		rss += p.rss
	}
	return rss
}

// killAll kills the command and all it started, and returns when they are gone
// or when it cannot find more.
func (w *watch) killAll() {
	for range 200 {
		_ = unix.Kill(-w.pid, unix.SIGKILL)
		left := w.ours()
		left = slices.DeleteFunc(left, func(p proc) bool { return p.pid == w.pid })
		if len(left) == 0 {
			return
		}
		for _, p := range left {
			_ = unix.Kill(p.pid, unix.SIGKILL)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// ours lists the living processes that belong to the command: its descendants,
// its session, those seen before, and those that carry its private home in
// their environment or work in its directories.
func (w *watch) ours() []proc {
	all := processes()
	mine := map[int]bool{w.pid: true}
	for range 64 { // children may be listed before their parents
		grew := false
		for _, p := range all {
			if !mine[p.pid] && (mine[p.ppid] || p.sid == w.pid || w.known[p.pid] == p.start || w.marked(p.pid)) {
				mine[p.pid] = true
				grew = true
			}
		}
		if !grew {
			break
		}
	}
	return slices.DeleteFunc(all, func(p proc) bool { return !mine[p.pid] })
}

func (w *watch) marked(pid int) bool {
	if pid == os.Getpid() {
		return false
	}
	dir := "/proc/" + strconv.Itoa(pid)
	if cwd, err := os.Readlink(dir + "/cwd"); err == nil && within(cwd, w.process.Dir, w.process.Temp) {
		return true
	}
	env, err := os.ReadFile(dir + "/environ")
	return err == nil && slices.ContainsFunc(bytes.Split(env, []byte{0}), func(v []byte) bool {
		return string(v) == "TMPDIR="+w.process.Temp
	})
}

func within(path string, dirs ...string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool {
		return path == d || strings.HasPrefix(path, d+string(filepath.Separator))
	})
}

// processes lists the living processes of this user that are visible here.
func processes() []proc {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	page := int64(os.Getpagesize())
	var out []proc
	for _, n := range names {
		pid, err := strconv.Atoi(n.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + n.Name() + "/stat")
		if err != nil {
			continue
		}
		end := bytes.LastIndexByte(stat, ')')
		f := strings.Fields(string(stat[end+1:]))
		if end < 0 || len(f) < 22 || f[0] == "Z" || f[0] == "X" {
			continue
		}
		p := proc{pid: pid, start: f[19]}
		p.ppid, _ = strconv.Atoi(f[1])
		p.sid, _ = strconv.Atoi(f[3])
		rss, _ := strconv.ParseInt(f[21], 10, 64)
		p.rss = rss * page
		out = append(out, p)
	}
	return out
}
