package confined_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/sandbox/confined"
	"github.com/coderrr/coderrr/internal/sandbox/sandboxtest"
)

// TestS07TreeStaysTheSame runs hundreds of hostile commands: the working tree
// and what lies outside are the same afterwards, byte for byte.
func TestS07TreeStaysTheSame(t *testing.T) {
	dir := t.TempDir()
	ws, out := filepath.Join(dir, "ws"), filepath.Join(dir, "out")
	for _, f := range []string{"a", "src/a.go", "src/deep/b", ".git/config", ".git/HEAD", ".git/hooks/x.sample", ".coderrr/config.toml", ".env"} {
		write(t, ws, f, "content of a "+f+"\n")
	}
	write(t, out, "file", "CANARY-OUT a\n")
	write(t, out, "d/file", "CANARY-OUT a\n")
	require.NoError(t, os.Symlink(out, filepath.Join(ws, "link")))
	require.NoError(t, os.Chmod(out, 0o777))
	require.NoError(t, os.Chmod(filepath.Join(out, "file"), 0o666))
	before := treeHash(t, ws, out)
	system := treeHash(t, "/etc/passwd", "/etc/group")
	exe := self(t)
	s := open(t, ws, func(o *confined.Options) {
		o.MemoryMB, o.DiskMB, o.Timeout, o.Processes = 256, 64, 400*time.Millisecond, 64
	})
	lines := sandboxtest.Hostile(ws, out)
	require.GreaterOrEqual(t, len(lines), 200)
	if os.Getenv("CI") != "true" {
		var some []string
		for i, line := range lines {
			if i%4 == 0 || i > len(lines)-70 {
				some = append(some, line)
			}
		}
		lines = some
	}
	begun := time.Now()
	for i, line := range lines {
		res, err := s.Run(t.Context(), sandbox.Command{Line: line, Refresh: i%5 == 0})
		require.NoError(t, err, line)
		require.Less(t, res.Duration, 5*time.Second, line)
		if i%20 == 0 || i > len(lines)-90 {
			require.Equal(t, before, treeHash(t, ws, out), line)
		}
	}
	t.Logf("%d commands in %s", len(lines), time.Since(begun))
	time.Sleep(1200 * time.Millisecond) // what was to strike later
	require.Equal(t, before, treeHash(t, ws, out))
	require.Equal(t, system, treeHash(t, "/etc/passwd", "/etc/group"))
	require.FileExists(t, exe)
	require.Equal(t, "ok\n", run(t, s, "cat a >/dev/null && echo ok", true).Output)
}

// R02: a fork bomb ends by the limit, and the machine stays usable.
func TestR02ForkBomb(t *testing.T) {
	s := open(t, t.TempDir(), func(o *confined.Options) { o.Processes = 64 })
	begun := time.Now()
	_, err := s.Run(t.Context(), sandbox.Command{Line: "f() { f | f & }; f; sleep 5", Timeout: 2 * time.Second})
	require.NoError(t, err)
	require.Less(t, time.Since(begun), 5*time.Second)
	require.Equal(t, "ok\n", run(t, s, "echo ok", true).Output)
}

// R03: a command that takes too much memory is stopped and told so.
func TestR03MemoryHog(t *testing.T) {
	s := open(t, t.TempDir(), func(o *confined.Options) { o.MemoryMB = 200 })
	res := run(t, s, `head -c 20G /dev/zero | tail`, true)
	require.Equal(t, -1, res.ExitCode)
	require.Contains(t, res.Reason, "out of memory")
	require.Contains(t, res.Reason, "sandbox.memory_mb")
	res = run(t, s, `for i in 1 2 3 4; do head -c 80M /dev/zero | (tail; sleep 5) & done; wait`, true)
	require.Contains(t, res.Reason, "out of memory", "many processes together")
}

// R04: the disk does not fill up.
func TestR04DiskFill(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	s := open(t, t.TempDir(), func(o *confined.Options) { o.DiskMB, o.HomeCache = 64, home })
	for _, path := range []string{"x", "/tmp/x", "/var/tmp/x", "/dev/shm/x"} {
		res := run(t, s, "yes > "+path, true)
		require.NotZero(t, res.ExitCode, path)
		require.NotEmpty(t, res.Reason, path)
	}
	res := run(t, s, "i=0; while :; do i=$((i+1)); head -c 30M /dev/zero > ~/x$i; done", true)
	require.Equal(t, -1, res.ExitCode)
	require.Contains(t, res.Reason, "HOME")
	var left int64
	require.NoError(t, filepath.Walk(home, func(_ string, i os.FileInfo, err error) error {
		if err == nil && i.Mode().IsRegular() {
			left += i.Size()
		}
		return err
	}))
	require.Zero(t, left, "the space is back")
	require.Equal(t, "ok\n", run(t, s, "echo ok", true).Output)
}

// R01: output without end is counted, hashed and dropped.
func TestR01OutputFlood(t *testing.T) {
	s := open(t, t.TempDir())
	for _, line := range []string{"yes | head -c 100M", "head -c 100M /dev/zero | tr '\\0' x", "yes | head -c 100M >&2", "head -c 100M /dev/zero"} {
		live := 0
		res, err := s.Run(t.Context(), sandbox.Command{Line: line, Output: func(_, text string) { live += len(text) }})
		require.NoError(t, err)
		require.Less(t, len(res.Output), 200<<10, line)
		require.Less(t, live, 2<<20, line)
		require.Greater(t, res.Dropped, int64(99<<20), line)
	}
	require.True(t, strings.HasSuffix(run(t, s, "yes | head -c 9M; echo; echo the end", true).Output, "the end\n"))
}
