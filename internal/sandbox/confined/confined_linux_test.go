package confined_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/sandbox/confined"
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
	s, err := confined.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
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

func TestRunOnAView(t *testing.T) {
	ws := t.TempDir()
	write(t, ws, "a.txt", "one\n")
	write(t, ws, "sub/b.txt", "two\n")
	write(t, ws, ".coderrr/x", "CANARY")
	s := open(t, ws)
	res := run(t, s, "pwd; cat a.txt sub/b.txt; rm -r sub; echo new >> a.txt; echo n > made; ls -A . .coderrr; id; exit 3", true)
	require.Equal(t, 3, res.ExitCode, res.Output)
	require.Contains(t, res.Output, ws+"\none\ntwo\n")
	require.NotContains(t, res.Output, "uid=0")
	require.Equal(t, []string{"a.txt", "made"}, res.Changed)
	require.FileExists(t, filepath.Join(ws, "sub/b.txt"))
	require.NoFileExists(t, filepath.Join(ws, "made"))
	t.Log(res.Output, res.Duration)
	for range 5 {
		t.Log(run(t, s, "true", true).Duration, run(t, s, "true", false).Duration)
	}
	t.Log(run(t, s, "mount; env; ls -la / /dev ~; cat /etc/passwd; cat /proc/self/status | grep -i -E 'cap|nonew|secc'", true).Output)
}
