package workspace

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// renameNew renames between two open directories and fails with fs.ErrExist when
// the new name is taken. errors.ErrUnsupported means that the file system cannot.
func renameNew(from *os.Root, name string, to *os.Root, newName string) error {
	a, err := from.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = a.Close() }()
	b, err := to.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }()
	err = unix.Renameat2(int(a.Fd()), name, int(b.Fd()), newName, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return errors.ErrUnsupported
	}
	return err
}

// mountPoint reports whether a name in d is where something is mounted, a bind
// mount of the same file system too.
func mountPoint(d *os.Root, name string) bool {
	f, err := d.Open(".")
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	var st unix.Statx_t
	err = unix.Statx(int(f.Fd()), name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, 0, &st)
	return err == nil && st.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT != 0 && st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
}
