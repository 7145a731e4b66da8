package workspace

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// calls makes the system calls of a scan. On a local disk the scheduler is not
// told of each: those calls return at once, and telling it costs a quarter of the
// time of a search. A network or FUSE file system may keep a call waiting, so
// there it is told.
type calls struct{ quick bool }

// maxQuick bounds a read that the scheduler is not told of.
const maxQuick = 256 << 10

func callsFor(fd int) calls {
	var st unix.Statfs_t
	if unix.Fstatfs(fd, &st) != nil {
		return calls{}
	}
	switch int64(st.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC:
		return calls{quick: true}
	}
	return calls{}
}

// call may be given pointers: they are kept where they are while it runs.
//
//go:uintptrescapes
func (c calls) call(trap, a, b, d, e uintptr) (int, error) {
	for {
		var n uintptr
		var errno unix.Errno
		if c.quick {
			n, _, errno = unix.RawSyscall6(trap, a, b, d, e, 0, 0)
		} else {
			n, _, errno = unix.Syscall6(trap, a, b, d, e, 0, 0)
		}
		switch errno {
		case 0:
			return int(n), nil
		case unix.EINTR:
			continue
		}
		return -1, errno
	}
}

func (c calls) openat(dir int, name string, flags int) (int, error) {
	p, err := unix.BytePtrFromString(name)
	if err != nil {
		return -1, err
	}
	return c.call(unix.SYS_OPENAT, uintptr(dir), uintptr(unsafe.Pointer(p)), uintptr(flags|unix.O_CLOEXEC|unix.O_LARGEFILE), 0)
}

func (c calls) read(fd int, b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	c.quick = c.quick && len(b) <= maxQuick
	return c.call(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), 0)
}

func (c calls) getdents(fd int, b []byte) (int, error) {
	return c.call(unix.SYS_GETDENTS64, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), 0)
}

// close is never tried again: the descriptor is gone whatever the result.
func (c calls) close(fd int) {
	if c.quick {
		_, _, _ = unix.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0)
		return
	}
	_ = unix.Close(fd)
}
