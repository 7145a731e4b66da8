package confined_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/sandbox/confined"
	"github.com/coderrr/coderrr/internal/sandbox/sandboxtest"
)

func self(t testing.TB) string {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	return exe
}

func open(t testing.TB, ws string, change ...func(*confined.Options)) *confined.Sandbox {
	t.Helper()
	dir := t.TempDir()
	o := confined.Options{
		Workspace: ws, Dir: filepath.Join(dir, "s"), HomeCache: filepath.Join(dir, "home"), Helper: self(t),
		Timeout: 20 * time.Second,
	}
	for _, f := range change {
		f(&o)
	}
	s, err := confined.Open(context.Background(), o)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		left, err := os.ReadDir(o.Dir)
		require.NoError(t, err)
		require.Empty(t, left)
	})
	return s
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	p := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
	require.NoError(t, os.WriteFile(p, []byte(text), 0o644))
}

func run(t testing.TB, s sandbox.Sandbox, line string, refresh bool) sandbox.Result {
	t.Helper()
	res, err := s.Run(t.Context(), sandbox.Command{Line: line, Refresh: refresh})
	require.NoError(t, err)
	return res
}

// passes runs a line that must end well.
func passes(t testing.TB, s sandbox.Sandbox, line string) string {
	t.Helper()
	res := run(t, s, line, true)
	require.Equal(t, 0, res.ExitCode, "%s\n%s\n%s", line, res.Output, res.Reason)
	return res.Output
}

func TestRunOnAView(t *testing.T) {
	ws := t.TempDir()
	write(t, ws, "a.txt", "one\n")
	write(t, ws, "sub/b.txt", "two\n")
	write(t, ws, ".coderrr/x", "CANARY")
	s := open(t, ws)
	var live strings.Builder
	res, err := s.Run(t.Context(), sandbox.Command{
		Line:    "pwd; cat a.txt sub/b.txt; rm -r sub; echo new >> a.txt; echo n > made; ls -A .coderrr; id -u; sleep 0.1; echo oops >&2; exit 3",
		Refresh: true, Output: func(stream, text string) { live.WriteString(stream + ":" + text + "\n") },
	})
	require.NoError(t, err)
	require.Equal(t, 3, res.ExitCode, res.Output)
	require.True(t, strings.HasPrefix(res.Output, ws+"\none\ntwo\n"), res.Output)
	require.NotContains(t, "\n"+res.Output, "\n0\n", "a command is root")
	require.NotContains(t, res.Output, "x\n")
	require.Contains(t, live.String(), "stderr:oops\n")
	require.Equal(t, []string{"a.txt", "made"}, res.Changed)
	require.NotEmpty(t, res.LogSHA256)
	require.FileExists(t, filepath.Join(ws, "sub/b.txt"))
	require.NoFileExists(t, filepath.Join(ws, "made"))
	require.Equal(t, sandbox.Confined, s.Info().Tier)
}

// S28: what commands left is kept, under the agent's later edits.
func TestS28KeepShowsLaterEdits(t *testing.T) {
	ws := t.TempDir()
	for _, f := range []string{"a", "b", "gone", "d/one", "e/one"} {
		write(t, ws, f, "old "+f+"\n")
	}
	s := open(t, ws)
	passes(t, s, "echo command > a; echo mine > made; rm b; rm -r d; mkdir d; echo new > d/new; echo c > gone; rm -r e")
	require.Equal(t, "command\n", run(t, s, "cat a", false).Output)

	write(t, ws, "a", "agent\n")
	write(t, ws, "fresh", "fresh\n")
	write(t, ws, "d/two", "two\n")
	write(t, ws, "e/two", "two\n")
	require.NoError(t, os.Remove(filepath.Join(ws, "gone")))
	res := run(t, s, "cat a fresh made d/new d/two; test ! -e b && test ! -e gone && ls d", false)
	require.Equal(t, "agent\nfresh\nmine\nnew\ntwo\nnew\ntwo\n", res.Output)
	require.Equal(t, "a\nb\nd\ne\nfresh\nagent\n", run(t, s, "ls; cat a", true).Output)
}

func TestS02Environment(t *testing.T) {
	s := open(t, t.TempDir(), func(o *confined.Options) {
		o.Host = append(os.Environ(), "ANTHROPIC_API_KEY=CANARY-KEY", "LD_PRELOAD=/x", "FOO=bar", "AWS_SECRET_ACCESS_KEY=CANARY-KEY")
		o.Env = []string{"FOO", "ANTHROPIC_API_KEY"}
	})
	for _, refresh := range []bool{true, false, true, false, true} {
		out := run(t, s, "env | cut -d= -f1 | sort | grep -v -x -e PWD -e OLDPWD -e SHLVL -e _", refresh).Output
		require.Equal(t, "AGENT CI CODERRR_SANDBOX FOO HOME LANG PATH TERM TMPDIR", strings.Join(strings.Fields(out), " "))
	}
	// S03: nor by way of a process.
	require.NotContains(t, run(t, s, "cat /proc/*/environ | tr '\\0' '\\n'; ps eww 2>&1", true).Output, "CANARY")
}

// S01, S37: nothing of the rest of HOME is there.
func TestS01HomeIsPrivate(t *testing.T) {
	home, ws := t.TempDir(), t.TempDir()
	for _, f := range []string{
		".ssh/id_test", ".coderrr/config.toml", ".aws/credentials", ".netrc", ".cargo/credentials.toml", ".npmrc", "notes.txt",
	} {
		write(t, home, f, "CANARY")
	}
	write(t, home, ".cargo/bin/tool", "#!/bin/sh\necho tool runs\n")
	require.NoError(t, os.Chmod(filepath.Join(home, ".cargo/bin/tool"), 0o755))
	require.NoError(t, os.Chmod(home, 0o700))
	require.NoError(t, os.Symlink(home, filepath.Join(ws, "home")))
	s := open(t, ws, func(o *confined.Options) {
		o.Host = []string{"HOME=" + home, "PATH=" + home + "/.cargo/bin:/usr/bin:/bin"}
	})
	out := run(t, s, `cd; grep -r CANARY . /proc/self/root`+home+` `+ws+`/home/ 2>/dev/null; ls -A ~ ~/.cargo; tool; echo x > kept`, true).Output
	require.NotContains(t, out, "CANARY")
	require.Contains(t, out, "tool runs\n")
	require.Contains(t, out, ".cargo\n")
	require.Equal(t, "x\n", run(t, s, "cat ~/kept", true).Output, "HOME is kept")
	require.NoFileExists(t, filepath.Join(home, "kept"))
}

// S13: descriptors that Coderrr inherited do not reach commands.
func TestS13Descriptors(t *testing.T) {
	f, err := os.Open("/etc/hostname")
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	for _, fd := range []int{210, 251} {
		require.NoError(t, unix.Dup3(int(f.Fd()), fd, 0))
		defer func() { _ = unix.Close(fd) }()
	}
	s := open(t, t.TempDir())
	out := strings.Fields(run(t, s, "ls /proc/self/fd", true).Output)
	require.Equal(t, []string{"0", "1", "2", "3"}, out, "3 is the listing itself")
}

// S26: paths that mount options would misread.
func TestS26WorkspacePaths(t *testing.T) {
	for _, name := range []string{
		"with space", "a:b", "a,b", `back\slash`, `quote"'`, "new\nline", "$(id)", "häß世", strings.Repeat("l", 200), "-x", "%s",
	} {
		ws := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.Mkdir(ws, 0o755))
		write(t, ws, "f", "f")
		s := open(t, ws)
		require.Equal(t, ws+"\nf", passes(t, s, "pwd; cat f; echo x > g"), name)
	}
}

// S31: a directory of the tree can be renamed; where it cannot, mv copies and
// the failure is explained.
func TestS31DirectoryRename(t *testing.T) {
	ws := t.TempDir()
	write(t, ws, "src/a", "a")
	s := open(t, ws)
	require.Equal(t, "a", passes(t, s, "mv src src2 && cat src2/a && test ! -e src"))
	needPython(t)
	res := run(t, s, `python3 -c 'import os; os.rename("src", "src3")'`, true)
	if os.Geteuid() == 0 {
		require.Equal(t, 0, res.ExitCode, res.Output)
	} else {
		require.Contains(t, res.Reason, "cannot be renamed in place")
	}
}

func needPython(t testing.TB) {
	t.Helper()
	if !have("/usr/bin/python3") && os.Getenv("CI") != "true" {
		t.Skip("python3 is not installed for everybody")
	}
}

func have(path string) bool { _, err := os.Stat(path); return err == nil }

// S14, S15, S16 and more are rows of the probe. This is what must still work.
func TestS32StaysUsable(t *testing.T) {
	ws := t.TempDir()
	write(t, ws, "f", "f")
	s := open(t, ws)
	for name, line := range map[string]string{
		"git":   `git init -q . && git config user.email a@b && git config user.name n && git add . && git commit -qm x && git log --oneline`,
		"flock": `flock f true`, "tmp": `mktemp && mktemp -d`, "shm": `echo x > /dev/shm/x`, "fifo": `mkfifo p && (echo x > p &) && cat p`,
		"links": `ln f g && ln -s f h && cat g h`, "modes": `chmod 600 f && touch -d 2001-01-01 f && truncate -s 1M f`,
		"devices": `echo x > /dev/null && head -c 4 /dev/urandom | wc -c && head -c 4 /dev/zero | wc -c`,
		"user":    `test "$(id -un)" != root && test -n "$(id -un)" && cd ~ && pwd`, "nice": "nice -n 5 true", "script": `script -qec true /dev/null`,
	} {
		res := run(t, s, line, true)
		require.Equal(t, 0, res.ExitCode, "%s: %s", name, res.Output)
	}
	if have("/usr/bin/node") {
		passes(t, s, `node -e '
const {Worker} = require("worker_threads"), cp = require("child_process"), http = require("http");
new Worker("require(\"worker_threads\").parentPort.postMessage(1)", {eval: true}).on("message", () =>
  console.log(cp.execSync("echo child") + ""));
const srv = http.createServer((q, r) => r.end("ok")).listen(0, "127.0.0.1", () =>
  http.get({port: srv.address().port, host: "127.0.0.1"}, r => { console.log(r.statusCode); srv.close(); }));'`)
	}
	needPython(t)
	passes(t, s, `python3 - <<'EOF'
import multiprocessing, mmap, os, pty, socket, threading, fcntl
def f(x): return x * x
if __name__ == "__main__":
    assert multiprocessing.Pool(2).map(f, [1, 2]) == [1, 4]
    m = open("m", "w+b"); m.truncate(8192); mm = mmap.mmap(m.fileno(), 8192); mm[0] = 1
    os.setxattr("m", "user.test", b"x"); assert os.getxattr("m", "user.test") == b"x"
    pid, fd = pty.fork()
    if pid == 0: os.execvp("true", ["true"])
    os.waitpid(pid, 0)
    t = threading.Thread(target=lambda: None); t.start(); t.join()
    fcntl.flock(m, fcntl.LOCK_EX)
EOF`)
}

// S26 and R06: a command that fails for the sandbox's doing says so.
func TestFailuresAreExplained(t *testing.T) {
	s := open(t, t.TempDir(), func(o *confined.Options) { o.DiskMB = 64 })
	for line, want := range map[string]string{
		"echo x > /usr/x": "read-only",
		"dd if=/dev/zero of=big bs=1M count=100 2>&1; dd if=/dev/zero of=/tmp/big bs=1M count=100": "disk space",
		"getent hosts example.org || { echo 'Could not resolve host: example.org'; exit 6; }":      "no network",
	} {
		res := run(t, s, line, true)
		require.NotZero(t, res.ExitCode, line)
		require.Contains(t, res.Reason, want, "%s: %s", line, res.Output)
		require.Equal(t, want == "no network", res.NetworkDenied)
	}
}

func TestNetworkOnRequest(t *testing.T) {
	ws := t.TempDir()
	x := sandboxtest.Reach(t, ws)
	s := open(t, ws)
	line := fmt.Sprintf("exec 3<>/dev/tcp/%s", strings.Replace(x.TCP, ":", "/", 1))
	line = "bash -c '" + line + "'"
	require.NotZero(t, run(t, s, line, true).ExitCode)
	res, err := s.Run(t.Context(), sandbox.Command{Line: line, Network: true, Refresh: true})
	require.NoError(t, err)
	require.Zero(t, res.ExitCode, res.Output)
	require.NotZero(t, run(t, s, line, true).ExitCode, "only that one command had it")
}

func TestS17HelperIsNotWritable(t *testing.T) {
	sum := func() [32]byte {
		b, err := os.ReadFile("/proc/self/exe")
		require.NoError(t, err)
		return sha256.Sum256(b)
	}
	before := sum()
	s := open(t, t.TempDir())
	run(t, s, "echo evil > /proc/1/exe; cat /proc/1/exe > x; (sleep 1; echo evil > "+self(t)+") & wait; ls -l /proc/1/exe", true)
	require.Equal(t, before, sum())
}

// S30: files of a group that is not the user's own, and file systems that allow
// no overlay: commands get a copy, in the same confinement.
func TestS30Copy(t *testing.T) {
	ws := t.TempDir()
	write(t, ws, "d/f", "f\n")
	write(t, ws, "g", "g\n")
	if os.Geteuid() != 0 {
		for _, f := range []string{".", "d", "d/f", "g"} {
			require.NoError(t, os.Chown(filepath.Join(ws, f), -1, ordinaryUser+1))
		}
	}
	s := open(t, ws, func(o *confined.Options) { o.Copy = os.Geteuid() == 0 })
	res := run(t, s, "pwd; echo x >> d/f && mv d/f d/h && cat d/h && mv d e && rm g && id -u", true)
	require.Zero(t, res.ExitCode, res.Output)
	require.True(t, strings.HasPrefix(res.Output, ws+"\nf\nx\n"), res.Output)
	require.NotContains(t, "\n"+res.Output, "\n0\n")
	require.Contains(t, res.Changed, "e/h")
	write(t, ws, "new", "new\n")
	require.Equal(t, "new\ne\nnew\n", run(t, s, "cat new; ls", false).Output)
	require.NoError(t, os.Remove(filepath.Join(ws, "new")))
	require.Equal(t, "f\ng\nd\ng\n", run(t, s, "cat d/f g; ls", true).Output)
	require.NoError(t, os.RemoveAll(filepath.Join(ws, "new")))
	require.Contains(t, s.Info().Summary, "a copy of the workspace")
}

func TestExplain(t *testing.T) {
	ws := t.TempDir()
	s := open(t, ws)
	e := s.Explain()
	access := map[string]sandbox.Access{}
	for _, entry := range e.Entries {
		require.NotEmpty(t, entry.Why, entry.Path)
		access[entry.Path] = entry.Access
	}
	require.Equal(t, sandbox.Write, access[ws])
	require.Equal(t, sandbox.Hidden, access[filepath.Join(ws, ".coderrr")])
	require.Equal(t, sandbox.Read, access["/usr"])
	require.Equal(t, sandbox.Private, access["/tmp"])
	require.NotEmpty(t, e.Limits)
	require.Contains(t, e.Env, "CODERRR_SANDBOX=confined")
}

// treeHash is over names, modes and contents of all below dirs.
func treeHash(t testing.TB, dirs ...string) string {
	t.Helper()
	h := sha256.New()
	for _, dir := range dirs {
		require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			st := info.Sys().(*syscall.Stat_t)
			_, _ = fmt.Fprintf(h, "%q %v %d %d %v\n", path, info.Mode(), st.Uid, st.Gid, info.ModTime())
			switch {
			case info.Mode().IsRegular():
				b, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				_, _ = fmt.Fprintf(h, "%x\n", sha256.Sum256(b))
			case info.Mode()&fs.ModeSymlink != 0:
				to, _ := os.Readlink(path)
				_, _ = fmt.Fprintln(h, to)
			}
			return nil
		}))
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}
