package confined_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// probeName is what this binary is called when it is the program that tries to
// get out.
const probeName = "coderrr-probe"

// target is what the probe is to reach, written to target.json.
type target struct {
	Secret, Outside, OutsideDir, Socket, Abstract string
	TCP, TCP6, UDP                                string
	PID                                           int
}

// attempts are what the probe tries. A nil error means that it got through.
func attempts(x target) map[string]func() error {
	sys := func(nr uintptr, a ...uintptr) func() error {
		return func() error {
			var v [6]uintptr
			copy(v[:], a)
			_, _, errno := unix.Syscall6(nr, v[0], v[1], v[2], v[3], v[4], v[5])
			if errno != 0 {
				return errno
			}
			return nil
		}
	}
	read := func(p string) func() error {
		return func() error { _, err := os.ReadFile(p); return err }
	}
	write := func(p string) func() error {
		return func() error { return os.WriteFile(p, []byte("x"), 0o644) }
	}
	dial := func(network, addr string) func() error {
		return func() error {
			c, err := net.DialTimeout(network, addr, time.Second)
			if err == nil {
				if strings.HasPrefix(network, "udp") {
					_, err = c.Write([]byte("x"))
					time.Sleep(20 * time.Millisecond) // a refusal comes back as an error of the next call
					if err == nil {
						_, err = c.Write([]byte("x"))
					}
				}
				_ = c.Close()
			}
			return err
		}
	}
	socket := func(domain, typ, proto int) func() error {
		return func() error {
			fd, err := unix.Socket(domain, typ, proto)
			if err == nil {
				_ = unix.Close(fd)
			}
			return err
		}
	}
	str := func(s string) uintptr { p, _ := unix.BytePtrFromString(s); return uintptr(unsafe.Pointer(p)) }
	proc := "/proc/" + strconv.Itoa(x.PID)
	return map[string]func() error{
		"file: read secret":          read(x.Secret),
		"file: read secret by link":  read("link-to-secret"),
		"file: read secret by /proc": read("/proc/self/root" + x.Secret),
		"file: read /etc/shadow":     read("/etc/shadow"),
		"file: stat outside":         func() error { _, err := os.Stat(x.Outside); return err },
		"file: write outside":        write(x.Outside),
		"file: make outside":         write(filepath.Join(x.OutsideDir, "made")),
		"file: chmod outside":        func() error { return os.Chmod(x.Outside, 0o600) },
		"file: write /usr":           write("/usr/coderrr-probe"),
		"file: write /etc":           write("/etc/coderrr-probe"),
		"file: write /proc/sys":      write("/proc/sys/kernel/core_pattern"),
		"file: write sysrq":          write("/proc/sysrq-trigger-none"),
		"file: mknod device":         func() error { return unix.Mknod("disk", unix.S_IFBLK|0o600, int(unix.Mkdev(254, 0))) },
		"file: /dev/mem":             read("/dev/mem"),
		"file: own copy":             write("README"),
		"file: own /tmp":             write(filepath.Join(os.TempDir(), "probe-file")),
		"file: own home":             write(filepath.Join(os.Getenv("HOME"), "probe-file")),
		"file: handles":              func() error { _, _, err := unix.NameToHandleAt(unix.AT_FDCWD, "/usr", 0); return err },
		"net: tcp host":              dial("tcp4", x.TCP),
		"net: tcp6 host":             dial("tcp6", x.TCP6),
		"net: udp host":              dial("udp4", x.UDP),
		"net: mptcp host":            func() error { return mptcp(x.TCP) },
		"net: path socket":           dial("unix", x.Socket),
		"net: abstract socket":       dial("unix", x.Abstract),
		"net: raw":                   socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP),
		"net: packet":                socket(unix.AF_PACKET, unix.SOCK_RAW, 0),
		"net: vsock":                 socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0),
		"net: alg":                   socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0),
		"net: own server":            ownServer,
		"net: own socket":            ownSocket,
		"proc: signal host":          func() error { return unix.Kill(x.PID, 0) },
		"proc: see host":             func() error { _, err := os.Stat(proc); return err },
		"proc: environ of host":      read(proc + "/environ"),
		"proc: ptrace host":          func() error { return unix.PtraceSeize(x.PID) },
		"proc: memory of host":       func() error { return vmRead(x.PID) },
		"proc: kill process 1":       func() error { return killInit() },
		"proc: exe of process 1":     func() error { _, err := os.Readlink("/proc/1/exe"); return err },
		"proc: memory of process 1":  func() error { return vmRead(1) },
		"proc: open descriptors":     openDescriptors,
		"ns: unshare user":           sys(unix.SYS_UNSHARE, unix.CLONE_NEWUSER),
		"ns: unshare mount":          sys(unix.SYS_UNSHARE, unix.CLONE_NEWNS),
		"ns: clone user":             sys(unix.SYS_CLONE, unix.CLONE_NEWUSER|unix.CLONE_THREAD), // EINVAL if it is not filtered
		"ns: clone3":                 sys(unix.SYS_CLONE3, 0, 0),
		"ns: setns":                  sys(unix.SYS_SETNS, 0, 0),
		"mount: tmpfs":               func() error { return unix.Mount("x", ".", "tmpfs", 0, "") },
		"mount: umount":              func() error { return unix.Unmount("/tmp", unix.MNT_DETACH) },
		"mount: fsopen":              sys(unix.SYS_FSOPEN, str("tmpfs"), 0),
		"mount: open_tree":           sys(unix.SYS_OPEN_TREE, ^uintptr(99), str("/"), unix.OPEN_TREE_CLONE),
		"mount: chroot":              func() error { return unix.Chroot("/tmp") },
		"kernel: bpf":                sys(unix.SYS_BPF, 0, 0, 0),
		"kernel: perf":               sys(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, 0),
		"kernel: userfaultfd":        sys(unix.SYS_USERFAULTFD, 0),
		"kernel: io_uring":           sys(unix.SYS_IO_URING_SETUP, 1, 0),
		"kernel: keyring":            func() error { _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true); return err },
		"kernel: key": func() error {
			_, err := unix.AddKey("user", "x", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
			return err
		},
		"kernel: x32":       sys(0x40000000 | unix.SYS_GETPID),
		"user: become root": func() error { return unix.Setresuid(0, 0, 0) },
		"user: sudo":        func() error { return exec.Command("su", "-c", "true").Run() },
		"tty: open":         func() error { _, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); return err },
		"tty: TIOCSTI":      tiocsti,
	}
}

func mptcp(addr string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 262)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	_, port, _ := net.SplitHostPort(addr)
	n, _ := strconv.Atoi(port)
	return unix.Connect(fd, &unix.SockaddrInet4{Port: n, Addr: [4]byte{127, 0, 0, 1}})
}

func ownServer() error {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }()
	c, err := net.DialTimeout("tcp4", l.Addr().String(), time.Second)
	if err == nil {
		_ = c.Close()
	}
	return err
}

func ownSocket() error {
	l, err := net.Listen("unix", "own.sock")
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }()
	c, err := net.Dial("unix", "own.sock")
	if err == nil {
		_ = c.Close()
	}
	return err
}

// killInit reports that process 1 lives on: a signal to it may be accepted, but
// the kernel does not deliver it.
func killInit() error {
	for _, sig := range []unix.Signal{unix.SIGKILL, unix.SIGTERM, unix.SIGINT, unix.SIGSTOP, unix.SIGHUP, unix.SIGUSR1} {
		_ = unix.Kill(1, sig)
	}
	time.Sleep(50 * time.Millisecond)
	return errors.New("this process would be gone as well")
}

func vmRead(pid int) error {
	buf := make([]byte, 8)
	local := []unix.Iovec{{Base: &buf[0], Len: 8}}
	_, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
	if errors.Is(err, unix.EFAULT) {
		return nil // let through, only the address was wrong
	}
	return err
}

func openDescriptors() error {
	f, err := os.Open("/proc/self/fd")
	if err != nil {
		return err
	}
	names, err := f.Readdirnames(-1)
	_ = f.Close()
	for _, n := range names {
		to, err := os.Readlink("/proc/self/fd/" + n)
		if fd, _ := strconv.Atoi(n); fd > 2 && err == nil && !strings.HasPrefix(to, "anon_inode:") && !strings.HasPrefix(to, "/proc/") &&
			!strings.HasPrefix(to, "/sys/") { // the Go runtime looks at its control group
			return nil // something was inherited
		}
	}
	return firstOf(err, errors.New("none"))
}

func tiocsti() error {
	c := byte('x')
	for fd := range uintptr(3) {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, unix.TIOCSTI, uintptr(unsafe.Pointer(&c)))
		if errno == 0 {
			return nil
		}
		if errno != unix.EPERM {
			continue
		}
		return errno
	}
	return errors.New("no terminal")
}

// probe tries everything and prints one line for each: its name and the error.
func probe() {
	var x target
	b, err := os.ReadFile("target.json")
	if err == nil {
		err = json.Unmarshal(b, &x)
	}
	if err != nil {
		fmt.Println("FAILED", err)
		return
	}
	for name, try := range attempts(x) {
		err := try()
		if err == nil {
			fmt.Printf("%s\tallowed\n", name)
		} else {
			fmt.Printf("%s\tdenied: %v\n", name, err)
		}
	}
}

// reach prepares what the probe is to reach, and returns what it left of it.
func reach(t *testing.T, ws string) target {
	t.Helper()
	dir := t.TempDir()
	x := target{
		Secret: filepath.Join(dir, "id_test"), Outside: filepath.Join(dir, "file"), OutsideDir: filepath.Join(dir, "d"),
		Socket: filepath.Join(dir, "sock"), Abstract: "@coderrr-test-" + filepath.Base(filepath.Dir(dir)), PID: os.Getpid(),
	}
	write(t, dir, "id_test", "CANARY-SSH")
	write(t, dir, "file", "CANARY-OUT")
	require.NoError(t, os.Mkdir(x.OutsideDir, 0o777))
	listen := func(network, addr string) string {
		l, err := net.Listen(network, addr)
		require.NoError(t, err)
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_ = c.Close()
			}
		}()
		return l.Addr().String()
	}
	x.TCP, x.TCP6 = listen("tcp4", "127.0.0.1:0"), listen("tcp6", "[::1]:0")
	listen("unix", x.Socket)
	listen("unix", x.Abstract)
	u, err := net.ListenPacket("udp4", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = u.Close() })
	x.UDP = u.LocalAddr().String()
	b, err := json.Marshal(x)
	require.NoError(t, err)
	write(t, ws, "target.json", string(b))
	write(t, ws, "README", "readme")
	require.NoError(t, os.Symlink(x.Secret, filepath.Join(ws, "link-to-secret")))
	require.NoError(t, copyFile("/proc/self/exe", filepath.Join(ws, probeName)))
	return x
}

func parseProbe(t *testing.T, out string) map[string]string {
	t.Helper()
	got := map[string]string{}
	for line := range strings.Lines(out) {
		name, rest, ok := strings.Cut(strings.TrimSpace(line), "\t")
		require.True(t, ok, out)
		got[name] = rest
	}
	return got
}

func TestProbeConfined(t *testing.T) {
	ws := t.TempDir()
	x := reach(t, ws)
	s := open(t, ws)
	res := run(t, s, "./"+probeName, true)
	got := parseProbe(t, res.Output)
	require.Len(t, got, len(attempts(x)))
	require.GreaterOrEqual(t, len(got), 34)
	wanted := map[string]bool{
		"file: own copy": true, "file: own /tmp": true, "file: own home": true, "net: own server": true, "net: own socket": true,
	}
	for name, how := range got {
		require.Equal(t, wanted[name], how == "allowed", "%s: %s", name, how)
	}
	b, err := os.ReadFile(x.Outside)
	require.NoError(t, err)
	require.Equal(t, "CANARY-OUT", string(b))
}
