package confined

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// maxChanged bounds the list of files that a command changed.
const maxChanged = 200

// clockStep is more than the step in which times of files move.
const clockStep = 10 * time.Millisecond

// upper is where changes to the workspace go: one directory tree for as long
// as commands build on each other.
type upper struct {
	stage, workspace string
	root             bool
	n                int
	lower            map[string]mark // what lay below each entry after the last command
	ended            time.Time
}

// mark tells whether a file of the workspace is still the same.
type mark struct {
	ino     uint64
	size    int64
	changed unix.Timespec
	dir     bool
}

func (u *upper) dir() string { return filepath.Join(u.stage, "s"+strconv.Itoa(u.n)) }

// prepare returns the directory that holds upper, work and tmp: a new one, or
// the last one less what has been edited in the workspace since.
func (u *upper) prepare(refresh bool) (string, error) {
	if refresh || u.n == 0 {
		if u.n > 0 {
			if err := removeTree(u.dir()); err != nil {
				return "", fmt.Errorf("removing what commands left: %w", err)
			}
		}
		u.n++
		u.lower = nil
		return u.dir(), u.make()
	}
	// A command that took away the right to enter its working directory must
	// not keep the next one from starting.
	if info, err := os.Stat(u.workspace); err == nil {
		if err := os.Chmod(filepath.Join(u.dir(), "upper"), info.Mode().Perm()|0o700); err != nil {
			return "", fmt.Errorf("mending what commands left: %w", err)
		}
	}
	if err := u.dropStale(); err != nil {
		return "", fmt.Errorf("bringing later edits to what commands left: %w", err)
	}
	return u.dir(), nil
}

func (u *upper) make() error {
	info, err := os.Stat(u.workspace)
	if err != nil {
		return fmt.Errorf("looking at the workspace: %w", err)
	}
	if err := os.Mkdir(u.dir(), 0o755); err != nil {
		return fmt.Errorf("making the sandbox's directories: %w", err)
	}
	for name, mode := range map[string]fs.FileMode{
		"upper": info.Mode().Perm() | 0o700, // it shows as the workspace's mode
		"work":  0o755,
		"tmp":   0o777 | fs.ModeSticky, "vartmp": 0o777 | fs.ModeSticky, "shm": 0o777 | fs.ModeSticky,
	} {
		at := filepath.Join(u.dir(), name)
		err := errors.Join(os.Mkdir(at, 0o755), os.Chmod(at, mode))
		if u.root {
			err = errors.Join(err, os.Chown(at, sandboxUID, sandboxUID))
		}
		if err != nil {
			return fmt.Errorf("making the sandbox's directories: %w", err)
		}
	}
	return nil
}

// finish remembers the workspace below each change and lists files changed
// since begun.
func (u *upper) finish(begun time.Time) []string {
	u.lower = map[string]mark{}
	var changed []string
	base := filepath.Join(u.dir(), "upper")
	begun = begun.Add(-clockStep)
	_ = filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(base, path)
		if err != nil || relErr != nil || rel == "." {
			return nil
		}
		u.lower[rel] = u.look(rel)
		var st unix.Stat_t
		if d.Type().IsRegular() && unix.Lstat(path, &st) == nil && time.Unix(st.Ctim.Unix()).After(begun) {
			changed = append(changed, filepath.ToSlash(rel))
		}
		return nil
	})
	u.ended = time.Now().Add(-clockStep)
	slices.Sort(changed)
	return changed[:min(len(changed), maxChanged)]
}

func (u *upper) look(rel string) mark {
	var st unix.Stat_t
	if unix.Lstat(filepath.Join(u.workspace, rel), &st) != nil {
		return mark{}
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return mark{ino: st.Ino, dir: true}
	}
	return mark{ino: st.Ino, size: st.Size, changed: st.Ctim}
}

// dropStale takes out of upper what hides a later edit of the workspace.
func (u *upper) dropStale() error {
	base := filepath.Join(u.dir(), "upper")
	var opaque []string
	err := filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(base, path)
		if err != nil || relErr != nil || rel == "." {
			return nil // a directory that cannot be read hides nothing new
		}
		now := u.look(rel)
		was, known := u.lower[rel]
		switch {
		case known && was != now:
			if err := removeTree(path); err != nil {
				return err
			}
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.IsDir() && now.dir && u.isOpaque(path):
			opaque = append(opaque, rel)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, rel := range opaque {
		if err := u.bringNew(rel); err != nil {
			return err
		}
	}
	return nil
}

// isOpaque reports whether a directory of upper hides all of the workspace's.
func (u *upper) isOpaque(path string) bool {
	name := "user.overlay.opaque"
	if u.root {
		name = "trusted.overlay.opaque"
	}
	var buf [4]byte
	n, err := unix.Lgetxattr(path, name, buf[:])
	return err == nil && n > 0 && buf[0] == 'y'
}

// bringNew copies what was edited in a directory of the workspace since the
// last command into one that hides it. Commands may have left links there, so
// nothing is written but through a root that no link leads out of.
func (u *upper) bringNew(dir string) error {
	to, err := os.OpenRoot(filepath.Join(u.dir(), "upper"))
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }()
	return filepath.WalkDir(filepath.Join(u.workspace, dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		var st unix.Stat_t
		rel, err := filepath.Rel(u.workspace, path)
		if err != nil || unix.Lstat(path, &st) != nil || time.Unix(st.Ctim.Unix()).Before(u.ended) {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		_ = to.RemoveAll(rel)
		err = errors.Join(to.MkdirAll(filepath.Dir(rel), 0o755), to.WriteFile(rel, b, fs.FileMode(st.Mode).Perm()))
		if u.root {
			err = errors.Join(err, to.Lchown(rel, sandboxUID, sandboxUID))
		}
		return err
	})
}

// removeTree removes path also where modes are in the way; the overlay's own
// work directory has mode 0.
func removeTree(path string) error {
	if err := os.RemoveAll(path); err == nil {
		return nil
	}
	_ = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(p, 0o700)
		}
		return nil
	})
	return os.RemoveAll(path)
}
