package sandboxtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Name is what a test binary is called when it is the program that tries to get
// out. Its TestMain must then call Main.
const Name = "coderrr-probe"

// Target is what the probe is to reach, written to target.json.
type Target struct {
	Secret, Outside, OutsideDir, Socket, Abstract string
	TCP, TCP6, UDP                                string
	PID                                           int
}

// attempt tries one way out. A nil error means that it got through.
type attempt func() error

// attempts are what the probe tries.
func attempts(x Target) map[string]attempt {
	out := map[string]attempt{}
	for _, group := range []map[string]attempt{files(x), network(x), processes(x), namespaces(), kernel()} {
		maps.Copy(out, group)
	}
	return out
}

func sys(nr uintptr, a ...uintptr) attempt {
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

func read(p string) attempt {
	return func() error { _, err := os.ReadFile(p); return err }
}

func change(p string) attempt {
	return func() error { return os.WriteFile(p, []byte("x"), 0o644) }
}

func dial(network, addr string) attempt {
	return func() error {
		c, err := net.DialTimeout(network, addr, time.Second)
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		if strings.HasPrefix(network, "udp") {
			if _, err = c.Write([]byte("x")); err == nil {
				time.Sleep(20 * time.Millisecond) // a refusal comes back as an error of the next call
				_, err = c.Write([]byte("x"))
			}
		}
		return err
	}
}

func socket(domain, typ, proto int) attempt {
	return func() error {
		fd, err := unix.Socket(domain, typ, proto)
		if err == nil {
			_ = unix.Close(fd)
		}
		return err
	}
}

func str(s string) uintptr {
	p, _ := unix.BytePtrFromString(s)
	return uintptr(unsafe.Pointer(p))
}

func files(x Target) map[string]attempt {
	return map[string]attempt{
		"file: read secret":          read(x.Secret),
		"file: read secret by link":  read("link-to-secret"),
		"file: read secret by /proc": read("/proc/self/root" + x.Secret),
		"file: read /etc/shadow":     read("/etc/shadow"),
		"file: stat outside":         func() error { _, err := os.Stat(x.Outside); return err },
		"file: write outside":        change(x.Outside),
		"file: make outside":         change(filepath.Join(x.OutsideDir, "made")),
		"file: chmod outside":        func() error { return os.Chmod(x.Outside, 0o600) },
		"file: write /usr":           change("/usr/coderrr-probe"),
		"file: write /etc":           change("/etc/coderrr-probe"),
		"file: write /proc/sys":      change("/proc/sys/kernel/core_pattern"),
		"file: write sysrq":          change("/proc/sysrq-trigger-none"),
		"file: mknod device":         func() error { return unix.Mknod("disk", unix.S_IFBLK|0o600, int(unix.Mkdev(254, 0))) },
		"file: /dev/mem":             read("/dev/mem"),
		"file: own copy":             change("README"),
		"file: own /tmp":             change(filepath.Join(os.TempDir(), "probe-file")),
		"file: own home":             change(filepath.Join(os.Getenv("HOME"), "probe-file")),
		"file: handles":              func() error { _, _, err := unix.NameToHandleAt(unix.AT_FDCWD, "/usr", 0); return err },
	}
}

func network(x Target) map[string]attempt {
	return map[string]attempt{
		"net: tcp host":        dial("tcp4", x.TCP),
		"net: tcp6 host":       dial("tcp6", x.TCP6),
		"net: udp host":        dial("udp4", x.UDP),
		"net: mptcp host":      func() error { return mptcp(x.TCP) },
		"net: path socket":     dial("unix", x.Socket),
		"net: abstract socket": dial("unix", x.Abstract),
		"net: raw":             socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP),
		"net: packet":          socket(unix.AF_PACKET, unix.SOCK_RAW, 0),
		"net: vsock":           socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0),
		"net: alg":             socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0),
		"net: own server":      ownServer,
		"net: own socket":      ownSocket,
	}
}

func processes(x Target) map[string]attempt {
	proc := "/proc/" + strconv.Itoa(x.PID)
	return map[string]attempt{
		"proc: signal host":         func() error { return unix.Kill(x.PID, 0) },
		"proc: see host":            func() error { _, err := os.Stat(proc); return err },
		"proc: environ of host":     read(proc + "/environ"),
		"proc: ptrace host":         func() error { return unix.PtraceSeize(x.PID) },
		"proc: memory of host":      func() error { return vmRead(x.PID) },
		"proc: kill process 1":      func() error { return killInit() },
		"proc: exe of process 1":    func() error { _, err := os.Readlink("/proc/1/exe"); return err },
		"proc: memory of process 1": func() error { return vmRead(1) },
		"proc: open descriptors":    openDescriptors,
		"user: become root":         func() error { return unix.Setresuid(0, 0, 0) },
		"user: sudo":                suRoot,
		"tty: open":                 func() error { _, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); return err },
		"tty: TIOCSTI":              tiocsti,
	}
}

func namespaces() map[string]attempt {
	return map[string]attempt{
		"ns: unshare user":  sys(unix.SYS_UNSHARE, unix.CLONE_NEWUSER),
		"ns: unshare mount": sys(unix.SYS_UNSHARE, unix.CLONE_NEWNS),
		"ns: clone user":    sys(unix.SYS_CLONE, unix.CLONE_NEWUSER|unix.CLONE_THREAD), // EINVAL if it is not filtered
		"ns: clone3":        sys(unix.SYS_CLONE3, 0, 0),
		"ns: setns":         sys(unix.SYS_SETNS, 0, 0),
		"mount: tmpfs":      func() error { return unix.Mount("x", ".", "tmpfs", 0, "") },
		"mount: umount":     func() error { return unix.Unmount("/tmp", unix.MNT_DETACH) },
		"mount: fsopen":     sys(unix.SYS_FSOPEN, str("tmpfs"), 0),
		"mount: open_tree":  sys(unix.SYS_OPEN_TREE, ^uintptr(99), str("/"), unix.OPEN_TREE_CLONE),
		"mount: chroot":     func() error { return unix.Chroot("/tmp") },
	}
}

func kernel() map[string]attempt {
	return map[string]attempt{
		"kernel: bpf":         sys(unix.SYS_BPF, 0, 0, 0),
		"kernel: perf":        sys(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, 0),
		"kernel: userfaultfd": sys(unix.SYS_USERFAULTFD, 0),
		"kernel: io_uring":    sys(unix.SYS_IO_URING_SETUP, 1, 0),
		"kernel: keyring":     func() error { _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true); return err },
		"kernel: key": func() error {
			_, err := unix.AddKey("user", "x", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
			return err
		},
		"kernel: x32": sys(0x40000000 | unix.SYS_GETPID),
	}
}

// suRoot runs su without a password.
func suRoot() error {
	p, err := os.StartProcess("/bin/su", []string{"su", "-c", "true"}, &os.ProcAttr{Files: []*os.File{nil, nil, nil}})
	if err != nil {
		return err
	}
	state, err := p.Wait()
	if err == nil && !state.Success() {
		err = errors.New(state.String())
	}
	return err
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
	return errors.Join(err, errors.New("none"))
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

// Main tries everything and prints one line for each: its name and the error.
func Main(w io.Writer) {
	var x Target
	b, err := os.ReadFile("target.json")
	if err == nil {
		err = json.Unmarshal(b, &x)
	}
	if err != nil {
		_, _ = fmt.Fprintln(w, "FAILED", err)
		return
	}
	for name, try := range attempts(x) {
		err := try()
		if err == nil {
			_, _ = fmt.Fprintf(w, "%s\tallowed\n", name)
		} else {
			_, _ = fmt.Fprintf(w, "%s\tdenied: %v\n", name, err)
		}
	}
}

// Reach prepares what the probe is to reach, and returns what it left of it.
func Reach(t testing.TB, ws string) Target {
	t.Helper()
	dir := t.TempDir()
	x := Target{
		Secret: filepath.Join(dir, "id_test"), Outside: filepath.Join(dir, "file"), OutsideDir: filepath.Join(dir, "d"),
		Socket: filepath.Join(dir, "sock"), Abstract: "@coderrr-test-" + filepath.Base(filepath.Dir(dir)), PID: os.Getpid(),
	}
	write(t, dir, "id_test", "CANARY-SSH")
	write(t, dir, "file", "CANARY-OUT")
	must(t, os.Mkdir(x.OutsideDir, 0o777))
	listen := func(network, addr string) string {
		l, err := net.Listen(network, addr)
		must(t, err)
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
	must(t, err)
	t.Cleanup(func() { _ = u.Close() })
	x.UDP = u.LocalAddr().String()
	b, err := json.Marshal(x)
	must(t, err)
	write(t, ws, "target.json", string(b))
	write(t, ws, "README", "readme")
	must(t, os.Symlink(x.Secret, filepath.Join(ws, "link-to-secret")))
	must(t, copySelf(filepath.Join(ws, Name)))
	return x
}

// Parse reads what Main printed: the name of each attempt and how it ended, in
// words that begin with "allowed" or "denied". All attempts must be there.
func Parse(t testing.TB, out string) map[string]string {
	t.Helper()
	got := map[string]string{}
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "warning: GOCOVERDIR") {
			continue // the probe is the test binary: measured for coverage, it says so when it ends
		}
		name, rest, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok {
			t.Fatal(out)
		}
		got[name] = rest
	}
	if n := len(attempts(Target{})); len(got) != n || n < 34 {
		t.Fatalf("%d attempts, not %d: %s", len(got), n, out)
	}
	return got
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
}

func copySelf(to string) error {
	b, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o755)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
