//go:build amd64 || arm64

package fence

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data, from linux/seccomp.h.
const (
	offNr   = 0
	offArch = 4
	offArg0 = 16
	offArg1 = 24
)

// retErrno makes a system call fail with the error in the low bits.
const retErrno = 0x00050000

// retAllow lets a system call through.
const retAllow = 0x7fff0000

// newNamespaces are the clone flags that make namespaces.
const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWTIME

// Calls says which system calls a thread loses besides those that no build or
// test needs.
type Calls struct {
	// NoInternet takes away sockets of every family but AF_UNIX.
	NoInternet bool
}

// Seccomp applies the filter to the calling thread, which must be locked to its
// goroutine and have no_new_privs set.
func Seccomp(c Calls) error {
	prog := filter(c)
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&fprog)))
	runtime.KeepAlive(prog)
	if errno != 0 {
		return fmt.Errorf("applying the system call filter: %w", errno)
	}
	return nil
}

func load(off uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: off}
}

func ret(k uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k}
}

// jump compares the loaded word with k by op, and skips yes or no instructions.
func jump(op uint16, k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | op, K: k, Jt: yes, Jf: no}
}

// filter is a deny list: it must not break what builds and tests do, and the
// namespaces around it already hide what an allow list would protect.
func filter(c Calls) []unix.SockFilter {
	prog := []unix.SockFilter{
		load(offArch),
		jump(unix.BPF_JEQ, auditArch, 1, 0),
		ret(retErrno | uint32(unix.ENOSYS)), // another instruction set, as int 0x80
		load(offNr),
	}
	if x32Bit != 0 {
		prog = append(prog,
			jump(unix.BPF_JGE, x32Bit, 0, 1),
			ret(retErrno|uint32(unix.ENOSYS)))
	}
	for _, nr := range denied() {
		prog = append(prog,
			jump(unix.BPF_JEQ, uint32(nr), 0, 1),
			ret(retErrno|uint32(unix.EPERM)))
	}
	// glibc falls back to clone, whose flags a filter can see.
	prog = append(prog,
		jump(unix.BPF_JEQ, unix.SYS_CLONE3, 0, 1),
		ret(retErrno|uint32(unix.ENOSYS)))
	prog = append(prog,
		jump(unix.BPF_JEQ, unix.SYS_CLONE, 0, 4),
		load(offArg0),
		jump(unix.BPF_JSET, newNamespaces, 0, 1),
		ret(retErrno|uint32(unix.EPERM)),
		ret(retAllow))
	// Typing into the user's terminal.
	prog = append(prog,
		jump(unix.BPF_JEQ, unix.SYS_IOCTL, 0, 5),
		load(offArg1),
		jump(unix.BPF_JEQ, unix.TIOCSTI, 1, 0),
		jump(unix.BPF_JEQ, tiocLinux, 0, 1),
		ret(retErrno|uint32(unix.EPERM)),
		ret(retAllow))
	prog = append(prog, sockets(c)...)
	return append(prog, ret(retAllow))
}

// tiocLinux is TIOCLINUX: it pastes into a virtual console.
const tiocLinux = 0x541C

// sockets judges the family of socket and socketpair.
func sockets(c Calls) []unix.SockFilter {
	var body []unix.SockFilter
	if c.NoInternet {
		body = []unix.SockFilter{
			load(offArg0),
			jump(unix.BPF_JEQ, unix.AF_UNIX, 1, 0),
			ret(retErrno | uint32(unix.EACCES)),
		}
	} else {
		body = []unix.SockFilter{load(offArg0)}
		for _, family := range []uint32{unix.AF_VSOCK, unix.AF_ALG, unix.AF_PACKET, unix.AF_KEY, unix.AF_TIPC, unix.AF_RDS} {
			body = append(body,
				jump(unix.BPF_JEQ, family, 0, 1),
				ret(retErrno|uint32(unix.EAFNOSUPPORT)))
		}
	}
	head := []unix.SockFilter{
		jump(unix.BPF_JEQ, unix.SYS_SOCKET, 1, 0),
		jump(unix.BPF_JEQ, unix.SYS_SOCKETPAIR, 0, uint8(len(body))),
	}
	return append(head, body...)
}

// denied lists system calls for namespaces, mounts, other processes' memory,
// kernel keys, programs in the kernel, and the machine itself.
func denied() []int {
	return append([]int{
		unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT,
		unix.SYS_FSOPEN, unix.SYS_FSMOUNT, unix.SYS_FSCONFIG, unix.SYS_FSPICK, unix.SYS_MOVE_MOUNT,
		unix.SYS_OPEN_TREE, unix.SYS_MOUNT_SETATTR, sysOpenTreeAttr,
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
		unix.SYS_PROCESS_MADVISE,
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
		unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT,
		unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_REBOOT, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_SYSLOG,
		unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
		unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_VHANGUP, unix.SYS_FANOTIFY_INIT,
		unix.SYS_LOOKUP_DCOOKIE,
	}, deniedHere()...)
}

// sysOpenTreeAttr is open_tree_attr of Linux 6.15, the same on every machine.
const sysOpenTreeAttr = 467
