//go:build unix

package scratch_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/sandbox/scratch"
	"github.com/coderrr/coderrr/internal/sandbox/tree"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, ws string, change ...func(*scratch.Options)) *scratch.Sandbox {
	t.Helper()
	o := scratch.Options{Workspace: ws, Dir: filepath.Join(t.TempDir(), "s")}
	for _, f := range change {
		f(&o)
	}
	s, err := scratch.Open(o)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.NoError(t, s.Close())
		left, err := os.ReadDir(o.Dir)
		require.NoError(t, err)
		require.Empty(t, left)
	})
	return s
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	p := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
	require.NoError(t, os.WriteFile(p, []byte(text), 0o644))
}

func run(t *testing.T, s sandbox.Sandbox, line string, refresh bool) sandbox.Result {
	t.Helper()
	res, err := s.Run(t.Context(), sandbox.Command{Line: line, Refresh: refresh, Timeout: 20 * time.Second})
	require.NoError(t, err)
	return res
}

func TestRunOnACopy(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	write(t, ws, "a.txt", "one\n")
	write(t, ws, "sub/b.txt", "two\n")
	write(t, ws, ".coderrr/session/x.jsonl", "CANARY")
	s := open(t, ws)

	var live strings.Builder
	res, err := s.Run(t.Context(), sandbox.Command{
		Line:    "cat a.txt sub/b.txt; echo oops >&2; ls -A; rm -r sub; echo new > made.txt; exit 3",
		Refresh: true, Output: func(stream, text string) { live.WriteString(stream + ":" + text) },
	})
	require.NoError(t, err)
	require.Equal(t, 3, res.ExitCode)
	require.Contains(t, res.Output, "one\ntwo\n")
	require.Contains(t, live.String(), "stderr:oops\n")
	require.NotContains(t, res.Output, ".coderrr")
	require.Equal(t, []string{"made.txt"}, res.Changed)
	require.NotEmpty(t, res.LogSHA256)
	require.FileExists(t, filepath.Join(ws, "sub/b.txt"))
	require.NoFileExists(t, filepath.Join(ws, "made.txt"))
}

// S28: a kept copy shows the agent's later edits, and keeps what commands made.
func TestS28KeepShowsLaterEdits(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	write(t, ws, "a", "old")
	write(t, ws, "b", "b")
	write(t, ws, "gone", "x")
	s := open(t, ws)
	run(t, s, "echo command > a; echo mine > made; rm b", true)
	require.Equal(t, "command\n", run(t, s, "cat a", false).Output)

	write(t, ws, "a", "agent")
	write(t, ws, "fresh", "fresh")
	require.NoError(t, os.Remove(filepath.Join(ws, "gone")))
	require.Equal(t, "agentfreshmine\n", run(t, s, "cat a fresh made; test ! -e b && test ! -e gone", false).Output)

	res := run(t, s, "ls; cat a", true)
	require.Equal(t, "a\nb\nfresh\nagent", res.Output)
}

// A command that puts size and times back is still undone by a refresh.
func TestRefreshIsNotFooledByTimes(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	write(t, ws, "a", "good")
	write(t, ws, "d/x", "x")
	require.NoError(t, os.Chtimes(filepath.Join(ws, "a"), time.Unix(1e9, 0), time.Unix(1e9, 0)))
	s := open(t, ws)
	run(t, s, "touch -r a keep; printf evil > a; touch -r keep a; rm -r d; ln -s /etc d; mkdir -p z/z; chmod 0 z", true)
	res := run(t, s, "cat a d/x; ls", true)
	require.Equal(t, "goodxa\nd\n", res.Output)
}

func TestS02Environment(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), func(o *scratch.Options) {
		o.Host = []string{"PATH=/usr/bin:/bin", "ANTHROPIC_API_KEY=CANARY-KEY", "LD_PRELOAD=/x", "FOO=bar"}
		o.Env = []string{"FOO"}
	})
	for _, refresh := range []bool{true, false, true} {
		out := run(t, s, "env | cut -d= -f1 | sort | grep -v -x -e PWD -e OLDPWD -e SHLVL -e _", refresh).Output
		require.Equal(t, "AGENT CI CODERRR_SANDBOX FOO HOME LANG PATH TERM TMPDIR", strings.Join(strings.Fields(out), " "))
	}
}

// S12: odd nodes are skipped with a note; sparse files stay sparse.
func TestS12OddNodes(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(ws, "pipe"), 0o644))
	write(t, ws, "x", "x")
	require.NoError(t, os.Link(filepath.Join(ws, "x"), filepath.Join(ws, "y")))
	require.NoError(t, os.Symlink("/nowhere", filepath.Join(ws, "dangling")))
	require.NoError(t, os.Symlink("x", filepath.Join(ws, "link")))
	f, err := os.Create(filepath.Join(ws, "sparse"))
	require.NoError(t, err)
	require.NoError(t, f.Truncate(8<<30))
	_, err = f.WriteAt([]byte("end"), 8<<30-3)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	deep := ws
	for range 300 {
		deep = filepath.Join(deep, "d")
	}
	require.NoError(t, os.MkdirAll(deep, 0o755))
	s := open(t, ws)
	start := time.Now()
	res := run(t, s, "echo more >> x; cat y link; readlink dangling; tail -c3 sparse; du -k sparse | cut -f1", true)
	require.Less(t, time.Since(start), 5*time.Second)
	require.True(t, strings.HasPrefix(res.Output, "xxmore\n/nowhere\nend"), res.Output)
	require.Equal(t, []string{"pipe is not in the sandbox's copy: it is not a file, a directory or a link"}, res.Notes)
	if runtime.GOOS == "linux" {
		require.Less(t, len(strings.TrimSpace(res.Output[len("xxmore\n/nowhere\nend"):])), 5, "the sparse file was filled")
	}
	b, err := os.ReadFile(filepath.Join(ws, "x"))
	require.NoError(t, err)
	require.Equal(t, "x", string(b))
}

// S19, R19: a daemon that holds the output neither delays nor survives.
func TestS19DaemonIsKilled(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	start := time.Now()
	res := run(t, s, "(setsid nohup sh -c 'echo $$ > pid; exec sleep 987' &) ; while ! test -s pid; do :; done; cat pid; echo done", true)
	require.Less(t, time.Since(start), 5*time.Second)
	require.Equal(t, 0, res.ExitCode)
	requireGone(t, strings.Fields(res.Output)[0])
}

// S20: a timeout stops what ignores signals, within a second.
func TestS20TimeoutStopsAll(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	start := time.Now()
	res, err := s.Run(t.Context(), sandbox.Command{
		Line:    `trap '' TERM INT HUP; setsid sh -c 'trap "" TERM HUP; echo $$; sleep 988' & sleep 989`,
		Timeout: time.Second, Refresh: true,
	})
	require.NoError(t, err)
	require.Less(t, time.Since(start), 2*time.Second)
	require.True(t, res.TimedOut)
	require.Equal(t, -1, res.ExitCode)
	require.Contains(t, res.Reason, "stopped after 1s")
	requireGone(t, strings.Fields(res.Output)[0])
}

func TestR20CancelStopsAll(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	pid := make(chan string, 1)
	time.AfterFunc(5*time.Second, cancel)
	start := time.Now()
	_, err := s.Run(ctx, sandbox.Command{Line: "echo $$; sleep 986", Output: func(_, text string) {
		pid <- strings.TrimSpace(text)
		cancel()
	}})
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, time.Since(start), 3*time.Second)
	requireGone(t, <-pid)
}

func TestCloseStopsWhatRuns(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	begun := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		_, err := s.Run(context.Background(), sandbox.Command{Line: "echo go; sleep 985", Output: func(string, string) { close(begun) }})
		ended <- err
	}()
	<-begun
	require.NoError(t, s.Close())
	require.ErrorIs(t, <-ended, context.Canceled)
	_, err := s.Run(t.Context(), sandbox.Command{Line: "true"})
	require.ErrorIs(t, err, sandbox.ErrUnavailable)
}

// S22: what a killed Coderrr left behind is swept at the next start.
func TestS22SweepAtNextStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	left := filepath.Join(dir, "sbx-1")
	write(t, left, "tree/x/y", "y")
	require.NoError(t, os.Chmod(filepath.Join(left, "tree/x"), 0))
	require.NoError(t, os.WriteFile(left+".lock", nil, 0o600))
	s := open(t, t.TempDir(), func(o *scratch.Options) { o.Dir = dir })
	require.NoDirExists(t, left)
	other := open(t, t.TempDir(), func(o *scratch.Options) { o.Dir = t.TempDir() })
	require.Equal(t, 0, tree.Sweep(dir), "a living sandbox is not swept")
	run(t, s, "true", true)
	run(t, other, "true", true)
}

func TestBadCommands(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	for _, line := range []string{"", "  \n", "echo \x00"} {
		_, err := s.Run(t.Context(), sandbox.Command{Line: line})
		require.Error(t, err, "%q", line)
	}
	require.Equal(t, 127, run(t, s, "no-such-program-here", true).ExitCode)
	require.Equal(t, 128+int(syscall.SIGSEGV), run(t, s, "kill -SEGV $$", true).ExitCode)
}

func requireGone(t *testing.T, pid string) {
	t.Helper()
	require.Eventually(t, func() bool {
		b, err := os.ReadFile("/proc/" + pid + "/stat")
		return err != nil || strings.Contains(string(b), ") Z ")
	}, 3*time.Second, 20*time.Millisecond, "process %s survives", pid)
}
