package confined_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/sandbox/confined"
)

// Real projects build and test offline, with what is installed, and without an
// install step.

func longer(o *confined.Options) { o.Timeout = 5 * time.Minute }

func TestProjectMakeAndC(t *testing.T) {
	ws := t.TempDir()
	write(t, ws, "Makefile", "CFLAGS = -O1 -Wall\ntest: prog\n\t./prog\nprog: main.o lib.o\n\t$(CC) -o $@ $^\nclean:\n\trm -f *.o prog\n")
	write(t, ws, "main.c", "#include <stdio.h>\nint twice(int);\nint main(void) { printf(\"%d\\n\", twice(21)); return twice(21) != 42; }\n")
	write(t, ws, "lib.c", "int twice(int x) { return x * 2; }\n")
	s := open(t, ws, longer)
	require.Contains(t, passes(t, s, "make test && make clean && make -j2 test"), "42\n")
	require.NoFileExists(t, filepath.Join(ws, "prog"))
	// A build goes on where it was left.
	require.Contains(t, run(t, s, "make -q prog && ./prog", false).Output, "42\n")
}

func TestProjectGoModule(t *testing.T) {
	if os.Geteuid() != 0 && os.Getenv("CODERRR_TEST_CHILD") != "" {
		t.Log("the modules are in root's home; root has run this")
		return
	}
	ws := t.TempDir()
	sum, err := os.ReadFile("../../../go.sum")
	require.NoError(t, err)
	// A module that this test itself is built with, so it is on the machine.
	version, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", "golang.org/x/sys").Output()
	require.NoError(t, err)
	write(t, ws, "go.mod", "module example.com/x\n\ngo 1.26.5\n\nrequire golang.org/x/sys "+string(version)+"\n")
	write(t, ws, "go.sum", string(sum))
	write(t, ws, "x_test.go", `package x

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestX(t *testing.T) {
	if unix.Getpid() == 0 {
		t.Fatal("no process")
	}
}
`)
	s := open(t, ws, longer)
	require.Contains(t, passes(t, s, "go vet ./... && go test ./..."), "ok  \texample.com/x")
	// The build cache is kept in the private HOME.
	begun := time.Now()
	passes(t, s, "go test -count=1 ./...")
	t.Log("second run", time.Since(begun))
}

func TestProjectNode(t *testing.T) {
	// What is installed in somebody's home is not to be seen from inside.
	if npm, err := exec.LookPath("npm"); err != nil || !strings.HasPrefix(npm, "/usr/") {
		t.Log("npm is not installed here")
		require.NotEqual(t, "true", os.Getenv("CI"))
		return
	}
	ws := t.TempDir()
	write(t, ws, "package.json", `{"name": "x", "version": "1.0.0", "scripts": {"test": "node --test", "build": "tool > out.txt"}, "dependencies": {"dep": "1.0.0"}}`)
	write(t, ws, "node_modules/dep/package.json", `{"name": "dep", "version": "1.0.0", "main": "index.js"}`)
	write(t, ws, "node_modules/dep/index.js", "exports.twice = x => x * 2\n")
	write(t, ws, "node_modules/.bin/tool", "#!/usr/bin/env node\nconsole.log(require('dep').twice(21))\n")
	require.NoError(t, os.Chmod(filepath.Join(ws, "node_modules/.bin/tool"), 0o755))
	write(t, ws, "x.test.js", "require('node:test').test('x', () => require('node:assert').equal(require('dep').twice(1), 2))\n")
	s := open(t, ws, longer)
	out := passes(t, s, "npm test && npm run build && cat out.txt && npm ls")
	require.Contains(t, out, "42\n")
	require.NoFileExists(t, filepath.Join(ws, "out.txt"))
	res := run(t, s, "npm install left-pad --fetch-retries=0 --fetch-timeout=3000", true)
	require.NotZero(t, res.ExitCode)
	require.True(t, res.NetworkDenied, res.Output)
	require.Contains(t, res.Reason, "sandbox.network")
}

func TestProjectPythonVenv(t *testing.T) {
	needPython(t)
	ws := t.TempDir()
	out, err := exec.Command("python3", "-m", "venv", "--without-pip", filepath.Join(ws, ".venv")).CombinedOutput()
	require.NoError(t, err, string(out))
	site, err := filepath.Glob(filepath.Join(ws, ".venv/lib/python*/site-packages"))
	require.NoError(t, err)
	require.NotEmpty(t, site)
	write(t, site[0], "dep.py", "def twice(x): return x * 2\n")
	write(t, ws, "test_x.py", "import unittest, dep\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(dep.twice(21), 42)\n")
	s := open(t, ws, longer)
	require.Contains(t, passes(t, s, ". .venv/bin/activate && python -m unittest -v && .venv/bin/python -c 'import dep; print(dep.twice(21))'"), "42\n")
}

// Some containers have an /etc that only root may enter. Of root's own files
// nothing is seen from inside even so.
func TestRootsOwnEtc(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("only root's commands run as somebody else")
		return
	}
	cmd := exec.Command("unshare", withEtc(t.TempDir(), "700", os.Args[0], "-test.run=^(TestS32StaysUsable|TestProjectMakeAndC|TestProjectNode|TestProjectGitWorktree|TestSystemForAll)$")...)
	cmd.Env = append(os.Environ(), "CODERRR_TEST_CHILD=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

func TestSystemForAll(t *testing.T) {
	s := open(t, t.TempDir())
	out := passes(t, s, "cat /etc/passwd /etc/group; ls -d /etc/alternatives/awk; cat /etc/shadow || :")
	require.Contains(t, out, "/etc/alternatives/awk\n")
	require.Contains(t, out, "/etc/shadow: ")
	require.NotContains(t, out, ":$")
}

// What is made for commands is not closed by the user's umask, which is theirs
// as well.
func TestUmask(t *testing.T) {
	old := unix.Umask(0o077)
	defer unix.Umask(old)
	ws := filepath.Join(t.TempDir(), "a", "b")
	write(t, ws, "f", "f")
	require.Equal(t, "f\n0077\n", passes(t, open(t, ws), "cat f; echo; umask"))
}

// A linked working tree finds its repository, and cannot change it; a forged
// link shows nothing.
func TestProjectGitWorktree(t *testing.T) {
	dir := t.TempDir()
	git := func(at string, args ...string) {
		cmd := exec.Command("git", append([]string{"-c", "user.email=a@b", "-c", "user.name=n"}, args...)...)
		cmd.Dir = at
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	main, ws := filepath.Join(dir, "main"), filepath.Join(dir, "tree")
	require.NoError(t, os.Mkdir(main, 0o755))
	write(t, main, "f", "f")
	git(main, "init", "-q")
	git(main, "add", ".")
	git(main, "commit", "-qm", "first")
	git(main, "worktree", "add", "-q", ws)
	before := treeHash(t, filepath.Join(main, ".git"))
	s := open(t, ws)
	require.Contains(t, passes(t, s, "git log --oneline && echo x > f && git -c user.email=a@b -c user.name=n commit -qam second && git status --short"), "first")
	require.Equal(t, before, treeHash(t, filepath.Join(main, ".git")))

	secret := filepath.Join(dir, "secret")
	write(t, secret, "worktrees/x/id", "CANARY")
	forged := filepath.Join(dir, "forged")
	write(t, forged, ".git", "gitdir: "+secret+"/worktrees/x\n")
	res := run(t, open(t, forged), "cat "+secret+"/worktrees/x/id", true)
	require.NotContains(t, res.Output, "CANARY")
}

// R06: how many files the workspace has does not matter.
func TestR06StartDoesNotDependOnTheTree(t *testing.T) {
	best := func(files int) time.Duration {
		ws := t.TempDir()
		for i := range files {
			name := filepath.Join("d"+string(rune('a'+i%20)), "f"+strings.Repeat("x", i%7)+string(rune('a'+i/20%26))+string(rune('a'+i/520%26)))
			write(t, ws, name, "x")
		}
		s := open(t, ws)
		low := time.Hour
		for range 8 {
			res, err := s.Run(t.Context(), sandbox.Command{Line: "true", Refresh: true})
			require.NoError(t, err)
			low = min(low, res.Duration)
		}
		return low
	}
	small, large := best(10), best(5000)
	t.Logf("10 files: %s, 5000 files: %s", small, large)
	require.Less(t, large, small*2+20*time.Millisecond)
}
