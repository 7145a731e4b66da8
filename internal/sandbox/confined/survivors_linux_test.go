package confined_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/sandbox/confined"
)

// marker is an argument of sleep that names one test's processes.
func marker(n int) string { return strconv.Itoa(700000 + os.Getpid()%100000*10 + n) }

func survivors(mark string) []string {
	var out []string
	dirs, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range dirs {
		b, err := os.ReadFile(f)
		if err == nil && strings.Contains(string(b), mark) && !strings.Contains(string(b), "-test.") {
			out = append(out, f+" "+strings.ReplaceAll(string(b), "\x00", " "))
		}
	}
	return out
}

func requireNone(t *testing.T, mark string) {
	t.Helper()
	require.Eventually(t, func() bool { return len(survivors(mark)) == 0 }, 3*time.Second, 20*time.Millisecond,
		"%v", survivors(mark))
}

func mounts(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	return string(b)
}

// S19, R19: a normal end leaves no daemon, and does not wait for it.
func TestS19DaemonIsKilled(t *testing.T) {
	before := mounts(t)
	mark := marker(1)
	s := open(t, t.TempDir())
	begun := time.Now()
	res := run(t, s, "setsid nohup sleep "+mark+" & (trap '' TERM HUP; sleep "+mark+") & disown 2>/dev/null; echo done", true)
	require.Equal(t, 0, res.ExitCode)
	require.Contains(t, res.Output, "done")
	require.Less(t, time.Since(begun), 3*time.Second)
	requireNone(t, mark)
	require.Equal(t, before, mounts(t))
}

// S20: a timeout stops what ignores signals, within a second.
func TestS20TimeoutStopsAll(t *testing.T) {
	mark := marker(2)
	s := open(t, t.TempDir())
	run(t, s, "true", true)
	begun := time.Now()
	res, err := s.Run(t.Context(), sandbox.Command{
		Line:    "trap '' TERM INT; setsid sh -c 'trap \"\" TERM; sleep " + mark + "' & sleep " + mark,
		Timeout: time.Second, Refresh: true,
	})
	require.NoError(t, err)
	require.Less(t, time.Since(begun), 2*time.Second)
	require.True(t, res.TimedOut)
	require.Equal(t, -1, res.ExitCode)
	require.Contains(t, res.Reason, "stopped after 1s")
	requireNone(t, mark)
	require.Equal(t, "alive\n", run(t, s, "echo alive", false).Output)
}

func TestR20CancelStopsAll(t *testing.T) {
	mark := marker(3)
	s := open(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	begun := time.Now()
	_, err := s.Run(ctx, sandbox.Command{
		Line: "(trap '' TERM; setsid sleep " + mark + ") & echo go; sleep " + mark, Output: func(string, string) { cancel() },
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, time.Since(begun), 3*time.Second)
	requireNone(t, mark)
	_, err = s.Run(ctx, sandbox.Command{Line: "true"})
	require.ErrorIs(t, err, context.Canceled)
}

func TestCloseStopsWhatRuns(t *testing.T) {
	mark := marker(4)
	s := open(t, t.TempDir())
	begun := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		_, err := s.Run(context.Background(), sandbox.Command{Line: "echo go; sleep " + mark, Output: func(string, string) { close(begun) }})
		ended <- err
	}()
	<-begun
	require.NoError(t, s.Close())
	require.ErrorIs(t, <-ended, context.Canceled)
	requireNone(t, mark)
	_, err := s.Run(t.Context(), sandbox.Command{Line: "true"})
	require.ErrorIs(t, err, sandbox.ErrUnavailable)
}

// A helper that is killed takes the command with it, and the next command gets
// another helper.
func TestHelperKilled(t *testing.T) {
	mark := marker(5)
	s := open(t, t.TempDir())
	run(t, s, "true", true)
	begun := make(chan struct{})
	go func() {
		<-begun
		for _, pid := range children(os.Getpid(), "launch") {
			p, err := os.FindProcess(pid)
			if err == nil {
				_ = p.Kill()
			}
		}
	}()
	_, err := s.Run(t.Context(), sandbox.Command{Line: "echo go; sleep " + mark, Output: func(string, string) { close(begun) }})
	require.ErrorContains(t, err, "helper ended")
	requireNone(t, mark)
	require.Equal(t, "again\n", run(t, s, "echo again", true).Output)
}

func children(parent int, arg string) []int {
	var out []int
	dirs, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range dirs {
		b, _ := os.ReadFile(f)
		stat, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "stat"))
		if string(b) == confined.Arg0+"\x00"+arg+"\x00" && strings.Contains(string(stat), fmt.Sprintf(" S %d ", parent)) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
			out = append(out, pid)
		}
	}
	return out
}

// agentEnv makes this binary a Coderrr that runs one command in a sandbox.
const agentEnv = "CODERRR_TEST_AGENT"

func agent(dir string) {
	exe, _ := os.Executable()
	if err := confined.Harden(); err != nil { // as main does
		fmt.Println("FAILED", err)
		return
	}
	if kind := os.Getenv("CODERRR_TEST_KIND"); kind != "" {
		n, _ := strconv.Atoi(kind)
		s, err := openCopyAt(filepath.Join(dir, "ws"), dir, exe, confined.Kind(n))
		var res sandbox.Result
		if err == nil {
			res, err = s.Run(context.Background(), sandbox.Command{
				Line: os.Getenv("CODERRR_TEST_LINE"), Output: func(_, text string) { fmt.Print(text) },
			})
		}
		fmt.Println("FAILED", err, res)
		return
	}
	s, err := confined.Open(context.Background(), confined.Options{
		Workspace: filepath.Join(dir, "ws"), Dir: filepath.Join(dir, "s"), HomeCache: filepath.Join(dir, "home"), Helper: exe,
	})
	if err != nil {
		fmt.Println("FAILED", err)
		return
	}
	_, err = s.Run(context.Background(), sandbox.Command{
		Line: os.Getenv("CODERRR_TEST_LINE"), Output: func(_, text string) { fmt.Print(text) },
	})
	fmt.Println("FAILED", err)
}

// S22: kill -9 of Coderrr leaves no process and no mount, and the next start
// removes the directories.
func TestS22KillNineOfCoderrr(t *testing.T) {
	before := mounts(t)
	dir := t.TempDir()
	mark := marker(6)
	write(t, dir, "ws/f", "f")
	cmd := exec.Command(self(t))
	cmd.Env = append(os.Environ(), agentEnv+"="+dir,
		"CODERRR_TEST_LINE=trap '' TERM; (trap '' TERM HUP; setsid sleep "+mark+") & echo go; sleep "+mark)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "go\n", line)
	require.NotEmpty(t, survivors(mark))
	requireClosed(t, cmd.Process.Pid)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	requireNone(t, mark)
	require.Eventually(t, func() bool { return len(children(1, "launch")) == 0 }, 3*time.Second, 20*time.Millisecond)
	require.Equal(t, before, mounts(t))
	left, err := os.ReadDir(filepath.Join(dir, "s"))
	require.NoError(t, err)
	require.NotEmpty(t, left)
	s := open(t, filepath.Join(dir, "ws"), func(o *confined.Options) { o.Dir = filepath.Join(dir, "s") })
	left, err = os.ReadDir(filepath.Join(dir, "s"))
	require.NoError(t, err)
	require.Len(t, left, 2, "the lock and the directory of the one that lives")
	passes(t, s, "true")
}

// S03: another process of the same user reads neither a hardened Coderrr's
// environment nor its memory. Root may read everybody's.
func requireClosed(t *testing.T, pid int) {
	t.Helper()
	if os.Geteuid() == 0 {
		return
	}
	for _, name := range []string{"environ", "mem"} {
		_, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
		require.ErrorIs(t, err, os.ErrPermission, name)
	}
}
