package confined

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// sandboxUID owns commands when Coderrr runs as root: they must not be root
// anywhere. It is a number that neither Debian nor systemd gives to anybody.
const sandboxUID = 65532

// spec is what process 1 needs to know before there is a command.
type spec struct {
	config
	Network  bool
	Root     bool // Coderrr runs as root: map owners, drop to sandboxUID
	Landlock bool // the kernel has it, so it is not optional
}

// task is the command. It must not be longer than the request that it is of.
type task struct {
	Line    string
	Session string // the directory in the stage that holds upper, work and tmp
	Env     []string
	Umask   int // the user's
}

// run makes what is the same for all commands, waits for one and runs it.
func (s *spec) run(next func() (task, error)) (int, error) {
	// Whatever was open in the shell that started Coderrr stays out.
	if err := unix.CloseRange(fdSpec, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return 0, fmt.Errorf("closing descriptors: %w", err)
	}
	root, err := s.makeRoot()
	if err != nil {
		return 0, err
	}
	early, late := s.points(root)
	if err := s.build(root, early); err != nil {
		return 0, err
	}
	if !s.Network {
		if err := loopbackUp(); err != nil {
			return 0, err
		}
	}
	t, err := next()
	if err != nil {
		return 0, err
	}
	if err := s.build(root, append(late, s.own(t)...)); err != nil {
		return 0, err
	}
	if err := s.enter(); err != nil {
		return 0, err
	}
	return s.start(t)
}

// point is one thing to mount, at a path as commands see it.
type point struct {
	path  string
	file  bool
	mount func(dst string) error
}

// makeRoot makes the stage's root directory an empty file system.
func (s *spec) makeRoot() (string, error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return "", fmt.Errorf("keeping mounts private: %w", err)
	}
	root := filepath.Join(s.Stage, "root")
	if err := unix.Mount("tmpfs", root, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755,size=8m"); err != nil {
		return "", fmt.Errorf("making the sandbox's root: %w", err)
	}
	return root, nil
}

// points is what all commands have alike. What lies below something that each
// command has for itself is late.
func (s *spec) points(root string) (early, late []point) {
	own := s.own(task{})
	for _, p := range slices.Concat(s.system(root), s.private(root), s.binds()) {
		if slices.ContainsFunc(own, func(o point) bool { return within(p.path, o.path) }) {
			late = append(late, p)
		} else {
			early = append(early, p)
		}
	}
	return early, late
}

// build mounts points below root. Shorter paths come first, so that what lies
// below them is mounted on top.
func (s *spec) build(root string, points []point) error {
	slices.SortStableFunc(points, func(a, b point) int { return depth(a.path) - depth(b.path) })
	t := places{root: root, home: s.Home, owner: -1}
	if s.Root {
		t.owner = sandboxUID
	}
	for _, p := range points {
		at := t.mkdirs
		if p.file {
			at = t.mkfile
		}
		dst, err := at(p.path)
		if err != nil {
			return err
		}
		if err := p.mount(dst); err != nil {
			return err
		}
	}
	return nil
}

func depth(path string) int { return strings.Count(strings.TrimRight(path, "/"), "/") }

// private is what commands have for themselves instead of the user's.
func (s *spec) private(root string) []point {
	out := []point{
		{path: "/run", mount: func(string) error { return nil }},
		{path: "/proc", mount: mountProc},
		{path: "/dev", mount: s.mountDev},
		{path: s.Home, mount: func(dst string) error { return bindMount(s.HomeCache, dst, bindOptions{write: true}) }},
	}
	files := map[string]string{"/etc/passwd": s.passwd(), "/etc/group": s.group()}
	if s.Network {
		if b, err := os.ReadFile("/etc/resolv.conf"); err == nil {
			real, err := filepath.EvalSymlinks("/etc/resolv.conf")
			if err == nil && !strings.HasPrefix(real, "/etc/") {
				files[real] = string(b) // such as one in /run/systemd
			}
		}
	}
	for path, text := range files {
		out = append(out, point{path: path, file: true, mount: func(dst string) error {
			return s.mountText(root, dst, text)
		}})
	}
	return out
}

func mountProc(dst string) error {
	if err := unix.Mount("proc", dst, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	return nil
}

// mountText shows a read-only file that holds text. Another command may see
// the same one at the same time.
func (s *spec) mountText(root, dst, text string) error {
	src := filepath.Join(s.Stage, "text", cacheName(text))
	if _, err := os.Stat(src); err != nil {
		if err := os.WriteFile(src, []byte(text), 0o644); err != nil {
			return fmt.Errorf("making %s: %w", strings.TrimPrefix(dst, root), err)
		}
	}
	return bindMount(src, dst, bindOptions{})
}

func (s *spec) ids() (uid, gid int) {
	if s.Root {
		return sandboxUID, sandboxUID
	}
	return os.Getuid(), os.Getgid()
}

func (s *spec) passwd() string {
	uid, gid := s.ids()
	return fmt.Sprintf("root:x:0:0:root:/nonexistent:/bin/sh\n%s:x:%d:%d:%s:%s:/bin/sh\n"+
		"nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n", s.User, uid, gid, s.User, s.Home)
}

func (s *spec) group() string {
	_, gid := s.ids()
	return fmt.Sprintf("root:x:0:\n%s:x:%d:\ntty:x:5:\nnogroup:x:65534:\n", s.User, gid)
}

// mountDev makes a /dev with the harmless devices and terminals of its own.
func (s *spec) mountDev(dst string) error {
	if err := unix.Mount("tmpfs", dst, "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC, "mode=755,size=1m"); err != nil {
		return fmt.Errorf("making /dev: %w", err)
	}
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		at := filepath.Join(dst, name)
		if err := os.WriteFile(at, nil, 0o666); err != nil {
			return fmt.Errorf("making /dev/%s: %w", name, err)
		}
		if err := bindMount("/dev/"+name, at, bindOptions{write: true, dev: true}); err != nil {
			return err
		}
	}
	links := map[string]string{
		"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
		"ptmx": "pts/ptmx",
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(dst, name)); err != nil {
			return fmt.Errorf("making /dev/%s: %w", name, err)
		}
	}
	for _, name := range []string{"pts", "shm"} {
		if err := os.Mkdir(filepath.Join(dst, name), 0o755); err != nil {
			return fmt.Errorf("making /dev/%s: %w", name, err)
		}
	}
	if err := unix.Mount("devpts", filepath.Join(dst, "pts"), "devpts", unix.MS_NOSUID|unix.MS_NOEXEC,
		"newinstance,ptmxmode=0666,mode=0620"); err != nil {
		return fmt.Errorf("making /dev/pts: %w", err)
	}
	return nil
}

// binds are toolchains and caches of the user.
func (s *spec) binds() []point {
	var out []point
	for _, b := range s.Binds {
		p := point{path: b.Path}
		if b.Kind == bindCache {
			p.mount = func(dst string) error {
				if err := s.cache(b, dst); err == nil || s.Copy == "" {
					return err
				}
				// Where the workspace takes no overlay, its neighbours may not either.
				return bindMount(b.Source, dst, bindOptions{})
			}
		} else {
			p.mount = func(dst string) error {
				err := bindMount(b.Source, dst, bindOptions{idmap: s.idmap()})
				if err != nil && s.Root { // what only root may read is then not readable
					err = bindMount(b.Source, dst, bindOptions{})
				}
				return err
			}
		}
		out = append(out, p)
	}
	return out
}

func (s *spec) idmap() int {
	if s.Root {
		return fdIDMap
	}
	return 0
}

func (s *spec) cache(b bind, dst string) error {
	dir := filepath.Join(s.Stage, "caches", cacheName(b.Path))
	return s.overlay(b.Source, filepath.Join(dir, "upper"), filepath.Join(dir, "work"), dst)
}

// overlay mounts a copy-on-write view of src. As root, src is seen with its
// owner mapped to the sandbox's user first. Mount options take no more than
// 255 bytes and read some characters their own way, so all names are relative
// to the stage.
func (s *spec) overlay(src, upper, work, dst string) error {
	// It stays mounted until the old root goes: taking it away alone waits for
	// all processors each time.
	lower := filepath.Join("lower", cacheName(src))
	if err := os.MkdirAll(filepath.Join(s.Stage, lower), 0o755); err != nil {
		return fmt.Errorf("setting up the overlay of %s: %w", src, err)
	}
	if err := bindMount(src, filepath.Join(s.Stage, lower), bindOptions{idmap: s.idmap()}); err != nil {
		return err
	}
	if err := os.Chdir(s.Stage); err != nil {
		return fmt.Errorf("setting up the overlay of %s: %w", src, err)
	}
	o := overlay{src: src, lower: lower, user: !s.Root}
	var err1, err2 error
	o.upper, err1 = filepath.Rel(s.Stage, upper)
	o.work, err2 = filepath.Rel(s.Stage, work)
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("setting up the overlay of %s: %w", src, err)
	}
	return o.mount(dst)
}

// own is what a command has for itself: the working tree at its own path, with
// covers over what is not for commands, and what it writes elsewhere.
func (s *spec) own(t task) []point {
	session := filepath.Join(s.Stage, t.Session)
	private := func(path, name string) point {
		return point{path: path, mount: func(dst string) error {
			return bindMount(filepath.Join(session, name), dst, bindOptions{write: true})
		}}
	}
	out := []point{private("/tmp", "tmp"), private("/var/tmp", "vartmp"), private("/dev/shm", "shm")}
	out = append(out, point{path: s.Workspace, mount: func(dst string) error {
		if s.Copy != "" {
			return bindMount(s.Copy, dst, bindOptions{write: true})
		}
		return s.overlay(s.Workspace, filepath.Join(session, "upper"), filepath.Join(session, "work"), dst)
	}})
	for _, rel := range s.Hide {
		info, err := os.Lstat(filepath.Join(s.Workspace, rel))
		if err != nil || info.Mode()&os.ModeSymlink != 0 {
			continue // nothing there, or a link that leads to what is not visible
		}
		p := point{path: filepath.Join(s.Workspace, rel), file: !info.IsDir()}
		p.mount = func(dst string) error { return bindMount(filepath.Join(s.Stage, "empty"), dst, bindOptions{}) }
		if p.file {
			p.mount = func(dst string) error { return bindMount("/dev/null", dst, bindOptions{dev: true}) }
		}
		out = append(out, p)
	}
	return out
}

// enter makes the tree the root and leaves the old one.
func (s *spec) enter() error {
	if err := os.Chdir(filepath.Join(s.Stage, "root")); err != nil {
		return fmt.Errorf("entering the sandbox: %w", err)
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("entering the sandbox: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leaving the old root: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return fmt.Errorf("entering the sandbox: %w", err)
	}
	ro := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", 0, &ro); err != nil {
		return fmt.Errorf("protecting the sandbox's root: %w", err)
	}
	if err := os.Chdir(s.Workspace); err != nil {
		return fmt.Errorf("entering the workspace: %w", err)
	}
	return nil
}
