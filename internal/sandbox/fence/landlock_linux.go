package fence

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock's rights by the ABI that brought them, from linux/landlock.h.
const (
	readRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_READ_DIR
	fileRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	allRights = 1<<13 - 1 // ABI 1

	scopeAbstractSocket = 1 << 0
	scopeSignal         = 1 << 1
)

// Files says what a thread may still do with files and the network.
type Files struct {
	Read  []string // directories and files to read and execute, all below included
	Write []string // the same to change as well
	// ReadAll leaves reading and executing alone everywhere.
	ReadAll bool
	// NoTCP forbids TCP (ABI 4). UDP and others need seccomp.
	NoTCP bool
}

// LandlockABI is the version of Landlock that the kernel has, 0 for none.
func LandlockABI() int {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

// rulesetAttr is struct landlock_ruleset_attr up to ABI 6.
type rulesetAttr struct {
	fs, net, scoped uint64
}

// pathBeneathAttr is struct landlock_path_beneath_attr, which is packed.
type pathBeneathAttr struct {
	access uint64
	parent int32
}

// Landlock applies f to the calling thread, which must be locked to its
// goroutine and have no_new_privs set. Paths that do not exist are left out.
func Landlock(f Files) error {
	abi := LandlockABI()
	if abi == 0 {
		return errors.New("this kernel has no Landlock")
	}
	attr := rulesetAttr{fs: handled(abi)}
	size := uintptr(8)
	if abi >= 4 {
		size = 16
		if f.NoTCP {
			attr.net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		}
	}
	if abi >= 6 {
		size = 24
		attr.scoped = scopeAbstractSocket | scopeSignal
	}
	if f.ReadAll {
		attr.fs &^= readRights
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return fmt.Errorf("making the Landlock rules: %w", errno)
	}
	defer func() { _ = unix.Close(int(fd)) }()
	for _, p := range f.Read {
		if err := allow(int(fd), p, readRights&attr.fs); err != nil {
			return err
		}
	}
	for _, p := range f.Write {
		if err := allow(int(fd), p, attr.fs); err != nil {
			return err
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("applying the Landlock rules: %w", errno)
	}
	return nil
}

func handled(abi int) uint64 {
	fs := uint64(allRights)
	if abi >= 2 {
		fs |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		fs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 5 {
		fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	return fs
}

func allow(ruleset int, path string, rights uint64) error {
	if rights == 0 {
		return nil
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EACCES) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("opening %s for the Landlock rules: %w", path, err)
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("opening %s for the Landlock rules: %w", path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileRights
	}
	attr := pathBeneathAttr{access: rights, parent: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset),
		unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("adding %s to the Landlock rules: %w", path, errno)
	}
	return nil
}
