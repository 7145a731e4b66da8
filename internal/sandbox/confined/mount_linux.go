package confined

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// bindOptions say how a path of the host is shown.
type bindOptions struct {
	write bool
	dev   bool // device files work
	idmap int  // the user namespace that maps owners, 0 for none
}

// bindMount shows the host's src at dst, which must exist, with all that is
// mounted below it.
func bindMount(src, dst string, o bindOptions) error {
	fd, err := unix.OpenTree(unix.AT_FDCWD, src, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return fmt.Errorf("showing %s: %w", src, err)
	}
	defer func() { _ = unix.Close(fd) }()
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID}
	if !o.write {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if !o.dev {
		attr.Attr_set |= unix.MOUNT_ATTR_NODEV
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		return fmt.Errorf("protecting %s: %w", src, err)
	}
	if o.idmap > 0 {
		m := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(o.idmap)}
		if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &m); err != nil {
			return fmt.Errorf("mapping the owners of %s: %w", src, err)
		}
	}
	if err := unix.MoveMount(fd, "", unix.AT_FDCWD, dst, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("showing %s: %w", src, err)
	}
	return nil
}

// overlay is a view of lower in which changes go to upper.
type overlay struct {
	src                string // what it is of, for errors
	lower, upper, work string // relative to the working directory, without : and \\
	user               bool   // in a user namespace
}

// mount puts the view at dst.
func (o overlay) mount(dst string) error {
	fd, err := unix.Fsopen("overlay", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return fmt.Errorf("opening the overlay file system: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	set := func(key, value string) error {
		if err := unix.FsconfigSetString(fd, key, value); err != nil {
			return fmt.Errorf("setting up the overlay of %s (%s): %w", o.src, key, err)
		}
		return nil
	}
	_ = unix.FsconfigSetString(fd, "source", "workspace") // only a name in /proc/mounts
	if err := errors.Join(set("lowerdir", o.lower), set("upperdir", o.upper), set("workdir", o.work)); err != nil {
		return err
	}
	if o.user {
		err = unix.FsconfigSetFlag(fd, "userxattr")
	} else {
		err = set("redirect_dir", "on") // directories can be renamed
	}
	if err != nil {
		return fmt.Errorf("setting up the overlay of %s: %w", o.src, err)
	}
	if err := unix.FsconfigCreate(fd); err != nil {
		return fmt.Errorf("making the overlay of %s: %w", o.src, err)
	}
	m, err := unix.Fsmount(fd, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return fmt.Errorf("making the overlay of %s: %w", o.src, err)
	}
	defer func() { _ = unix.Close(m) }()
	if err := unix.MoveMount(m, "", unix.AT_FDCWD, dst, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("mounting the overlay of %s: %w", o.src, err)
	}
	return nil
}

// places makes directories and files to mount on below root.
type places struct {
	root  string
	home  string // what is made below it belongs to owner
	owner int    // negative for whoever makes it
}

// mkdirs makes the directories of path, which commands see as path. What is in
// the way (a command can have left a link there) is removed.
func (t places) mkdirs(path string) (string, error) {
	root := t.root
	at := root
	for _, name := range strings.Split(strings.Trim(path, "/"), "/") {
		if name == "" {
			continue
		}
		at = filepath.Join(at, name)
		if info, err := os.Lstat(at); err == nil {
			if info.IsDir() {
				continue
			}
			if err := os.Remove(at); err != nil {
				return "", fmt.Errorf("making %s in the sandbox: %w", path, err)
			}
		}
		if err := os.Mkdir(at, 0o755); err != nil {
			return "", fmt.Errorf("making %s in the sandbox: %w", path, err)
		}
		if t.owner >= 0 && within(strings.TrimPrefix(at, root), t.home) {
			if err := os.Lchown(at, t.owner, t.owner); err != nil {
				return "", fmt.Errorf("making %s in the sandbox: %w", path, err)
			}
		}
	}
	return at, nil
}

// mkfile makes an empty file to mount another one on.
func (t places) mkfile(path string) (string, error) {
	dir, err := t.mkdirs(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	at := filepath.Join(dir, filepath.Base(path))
	if info, err := os.Lstat(at); err == nil {
		if info.Mode().IsRegular() || info.Mode()&os.ModeDevice != 0 {
			return at, nil
		}
		return "", fmt.Errorf("making %s in the sandbox: it is there already and no file", path)
	}
	if err := os.WriteFile(at, nil, 0o644); err != nil {
		return "", fmt.Errorf("making %s in the sandbox: %w", path, err)
	}
	return at, nil
}
