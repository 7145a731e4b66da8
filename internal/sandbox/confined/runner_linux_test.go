package confined_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/sandbox/confined"
	"github.com/coderrr/coderrr/internal/sandbox/sandboxtest"
	"github.com/coderrr/coderrr/internal/sandbox/scratch"
)

// openCopy opens a sandbox on a copy of ws that a runner contains.
func openCopy(t testing.TB, ws string, kind confined.Kind, change ...func(*scratch.Options)) *scratch.Sandbox {
	t.Helper()
	s, err := openCopyAt(ws, t.TempDir(), self(t), kind, change...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func openCopyAt(ws, dir, helper string, kind confined.Kind, change ...func(*scratch.Options)) (*scratch.Sandbox, error) {
	home := filepath.Join(dir, "home")
	r, err := confined.NewRunner(kind, confined.Options{
		Workspace: ws, Dir: dir, HomeCache: home, Helper: helper, DiskMB: 64, Processes: 64,
	})
	if err != nil {
		return nil, err
	}
	o := scratch.Options{
		Workspace: ws, Dir: filepath.Join(dir, "s"), Home: home, Runner: r, Info: r.Info(false), Entries: r.Entries(),
		Network: kind == confined.WritesOnly, MemoryMB: 256, Timeout: 20 * time.Second,
	}
	for _, f := range change {
		f(&o)
	}
	return scratch.Open(o)
}

// kinds are the runners that must work here. Root needs no bubblewrap.
func kinds(t testing.TB) map[string]confined.Kind {
	t.Helper()
	out := map[string]confined.Kind{"landlock": confined.ByLandlock, "scratch": confined.WritesOnly}
	if os.Geteuid() != 0 {
		if have("/usr/bin/bwrap") {
			out["bwrap"] = confined.ByBwrap
		} else {
			require.NotEqual(t, "true", os.Getenv("CI"), "bubblewrap is not installed")
		}
	}
	return out
}

// outcome is what a tier must do with an attempt of the probe.
func outcome(tier, name string) string {
	wanted := strings.Fields("own")
	group, what, _ := strings.Cut(name, ": ")
	own := strings.HasPrefix(what, wanted[0]+" ")
	switch tier {
	case "bwrap":
		if own {
			return "allowed"
		}
	case "landlock":
		switch name {
		case "net: own server":
			return "denied"
		case "file: stat outside", "file: chmod outside", "net: path socket", "proc: see host":
			return "allowed" // said in the tier's limits
		case "user: become root", "user: sudo":
			return "any" // root is root already, without its capabilities
		}
		if own {
			return "allowed"
		}
	case "scratch":
		switch name {
		case "file: write outside", "file: make outside", "file: write /usr", "file: write /etc", "file: write /proc/sys",
			"file: mknod device", "proc: signal host", "proc: ptrace host", "proc: memory of host", "proc: environ of host",
			"net: abstract socket", "proc: open descriptors", "file: read /etc/shadow":
			if name == "file: read /etc/shadow" && os.Geteuid() == 0 {
				return "any"
			}
			return "denied"
		}
		if own || group == "file" && what != "own" && strings.HasPrefix(what, "read secret") {
			return "allowed" // the tier says "not contained"
		}
		return "any"
	}
	return "denied"
}

func TestProbeOnACopy(t *testing.T) {
	for tier, kind := range kinds(t) {
		t.Run(tier, func(t *testing.T) {
			ws := t.TempDir()
			x := sandboxtest.Reach(t, ws)
			s := openCopy(t, ws, kind)
			res := run(t, s, "./"+sandboxtest.Name, true)
			got := sandboxtest.Parse(t, res.Output)
			for name, how := range got {
				if want := outcome(tier, name); want != "any" {
					require.True(t, strings.HasPrefix(how, want), "%s: %s, must be %s", name, how, want)
				}
			}
			b, err := os.ReadFile(x.Outside)
			require.NoError(t, err)
			require.Equal(t, "CANARY-OUT", string(b))
		})
	}
}

func TestRunOnACopy(t *testing.T) {
	for tier, kind := range kinds(t) {
		t.Run(tier, func(t *testing.T) {
			ws := t.TempDir()
			write(t, ws, "a", "one\n")
			s := openCopy(t, ws, kind)
			res := run(t, s, "cat a; echo x > a; echo y > made; echo z > ~/z; echo t > $TMPDIR/t; cat ~/z; mkdir d && mv a d/b && ls; echo $CODERRR_SANDBOX; exit 7", true)
			require.Equal(t, 7, res.ExitCode, res.Output)
			tier := strings.Replace(tier, "bwrap", "confined", 1)
			require.Equal(t, "one\nz\nd\nmade\n"+tier+"\n", res.Output)
			require.Equal(t, []string{"d/b", "made"}, res.Changed)
			require.Equal(t, "one\n", run(t, s, "cat a", true).Output)
			require.Equal(t, 128+11, run(t, s, "kill -SEGV $$", true).ExitCode)
			require.Equal(t, sandbox.Tier(tier), s.Info().Tier)
			require.NotEmpty(t, s.Explain().Entries)
			if kind != confined.WritesOnly {
				res = run(t, s, "echo 'Could not resolve host: x'; exit 6", true)
				require.True(t, res.NetworkDenied)
			}
			out := run(t, s, "env | cut -d= -f1 | sort | grep -v -x -e PWD -e OLDPWD -e SHLVL -e _", true).Output
			require.Equal(t, "AGENT CI CODERRR_SANDBOX HOME LANG PATH TERM TMPDIR", strings.Join(strings.Fields(out), " "))
		})
	}
}

func TestS07TreeStaysTheSameOnACopy(t *testing.T) {
	for tier, kind := range kinds(t) {
		t.Run(tier, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			dir := t.TempDir()
			ws, out := filepath.Join(dir, "ws"), filepath.Join(dir, "out")
			for _, f := range []string{"a", "src/a.go", ".git/config", ".git/HEAD", ".coderrr/config.toml"} {
				write(t, ws, f, "content of a "+f+"\n")
			}
			write(t, out, "file", "CANARY-OUT a\n")
			require.NoError(t, os.Symlink(out, filepath.Join(ws, "link")))
			before := treeContents(t, ws, out)
			s := openCopy(t, ws, kind, func(o *scratch.Options) { o.Timeout = 400 * time.Millisecond })
			lines := sandboxtest.Hostile(ws, out)
			for i, line := range lines {
				if strings.Contains(line, "kill -9 -1") || strings.Contains(line, "pkill") || strings.Contains(line, "kill -9 ${p") {
					if kind == confined.WritesOnly && os.Geteuid() == 0 {
						continue // Landlock confines signals; what root could do if it did not is not worth the try
					}
				}
				if strings.Contains(line, ":|:") || strings.Contains(line, "f | f") {
					continue // R02: without a process namespace a bomb is only found by looking, see TestR02ManyOnACopy
				}
				if os.Getenv("CI") != "true" && i%8 != 0 {
					continue
				}
				treeContents(t, ws, out) // gives back modes that Landlock does not guard
				_, err := s.Run(t.Context(), sandbox.Command{Line: line, Refresh: i%16 == 0})
				require.NoError(t, err, line)
				if i%24 == 0 {
					require.Equal(t, before, treeContents(t, ws, out), line)
				}
			}
			require.Equal(t, before, treeContents(t, ws, out))
		})
	}
}

// treeContents is what treeHash is without modes and times, which Landlock does
// not guard.
func treeContents(t testing.TB, dirs ...string) string {
	t.Helper()
	var sb strings.Builder
	for _, dir := range dirs {
		// The callback comes before a directory is read.
		require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				err = os.Chmod(path, 0o755)
			}
			if err != nil {
				return err
			}
			fmt.Fprintln(&sb, path, d.Type())
			if d.Type().IsRegular() {
				require.NoError(t, os.Chmod(path, 0o644))
				b, err := os.ReadFile(path)
				require.NoError(t, err)
				fmt.Fprintf(&sb, "%q\n", b)
			}
			return nil
		}))
	}
	return sb.String()
}

func TestSurvivorsOnACopy(t *testing.T) {
	for tier, kind := range kinds(t) {
		t.Run(tier, func(t *testing.T) {
			mark := marker(10 + int(kind))
			s := openCopy(t, t.TempDir(), kind)
			begun := time.Now()
			res := run(t, s, "(setsid nohup sleep "+mark+" &) ; (trap '' TERM HUP; env -i setsid sleep "+mark+") & echo done", true)
			require.Equal(t, "done\n", res.Output)
			require.Less(t, time.Since(begun), 3*time.Second)
			requireNone(t, mark)

			begun = time.Now()
			res, err := s.Run(t.Context(), sandbox.Command{
				Line: "trap '' TERM INT; setsid sh -c 'trap \"\" TERM; sleep " + mark + "' & sleep " + mark, Timeout: time.Second,
			})
			require.NoError(t, err)
			require.True(t, res.TimedOut)
			require.Less(t, time.Since(begun), 2*time.Second)
			requireNone(t, mark)

			ctx, cancel := context.WithCancel(t.Context())
			_, err = s.Run(ctx, sandbox.Command{
				Line: "setsid sleep " + mark + " & echo go; sleep " + mark, Output: func(string, string) { cancel() },
			})
			require.ErrorIs(t, err, context.Canceled)
			requireNone(t, mark)
			cancel()
		})
	}
}

func TestLimitsOnACopy(t *testing.T) {
	for tier, kind := range kinds(t) {
		t.Run(tier, func(t *testing.T) {
			s := openCopy(t, t.TempDir(), kind)
			res := run(t, s, "head -c 20G /dev/zero | tail", true)
			require.Contains(t, res.Reason, "out of memory", res.Output)
			require.NotZero(t, run(t, s, "yes > x", true).ExitCode, "one file has a limit")
		})
	}
}

// R02: too many processes are found and ended together. Their number is
// bounded here, for root has no limit in the kernel.
func TestR02ManyOnACopy(t *testing.T) {
	for tier, kind := range kinds(t) {
		t.Run(tier, func(t *testing.T) {
			mark := marker(30 + int(kind))
			s := openCopy(t, t.TempDir(), kind)
			begun := time.Now()
			res := run(t, s, "i=0; while [ $i -lt 200 ]; do i=$((i+1)); sleep "+mark+" & done; wait", true)
			require.NotZero(t, res.ExitCode)
			require.Less(t, time.Since(begun), 10*time.Second)
			requireNone(t, mark)
		})
	}
}

// S22 without namespaces: the supervisor outlives Coderrr just as long as it
// takes to end what the command started.
func TestS22KillNineOnACopy(t *testing.T) {
	for tier, kind := range kinds(t) {
		t.Run(tier, func(t *testing.T) {
			dir := t.TempDir()
			mark := marker(20 + int(kind))
			write(t, dir, "ws/f", "f")
			cmd := exec.Command(self(t))
			cmd.Env = append(os.Environ(), agentEnv+"="+dir, fmt.Sprintf("CODERRR_TEST_KIND=%d", kind),
				"CODERRR_TEST_LINE=trap '' TERM; (trap '' TERM HUP; setsid sleep "+mark+") & echo go; sleep "+mark)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			line, err := bufio.NewReader(out).ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, "go\n", line)
			require.NotEmpty(t, survivors(mark))
			require.NoError(t, cmd.Process.Kill())
			_ = cmd.Wait()
			requireNone(t, mark)
		})
	}
}
