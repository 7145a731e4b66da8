//go:build unix

package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func modeOf(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Mode().Perm()
}

func TestSetAndUnset(t *testing.T) {
	home := filepath.Join(t.TempDir(), "new", "home")
	for key, text := range map[string]string{
		"provider.name": "ollama", "agent.max_iter": "7", "ui.stream": "false", "verify.temperature": "1",
		"sandbox.env": "A, B", "mcp.servers.x.args": `["-c", "a, b"]`, "mcp.servers.x.command": "sh", "agent.temperature": "0",
	} {
		_, err := Set(t.Context(), home, key, text)
		if key == "mcp.servers.x.args" && err != nil {
			continue // map order: a server without a command is refused
		}
		require.NoError(t, err, key)
	}
	_, err := Set(t.Context(), home, "mcp.servers.x.args", `["-c", "a, b"]`)
	require.NoError(t, err)
	c, warnings, err := Load(home)
	require.NoError(t, err)
	require.Empty(t, warnings)
	require.Equal(t, 7, c.Agent.MaxIter)
	require.Equal(t, []string{"A", "B"}, c.Sandbox.Env)
	require.Equal(t, []string{"-c", "a, b"}, c.MCP.Servers["x"].Args)
	require.InDelta(t, 0, *c.Agent.Temperature, 0)

	_, err = Unset(t.Context(), home, "agent.temperature")
	require.NoError(t, err)
	_, err = Unset(t.Context(), home, "agent.temperature")
	require.ErrorContains(t, err, "is not set in the file")
	c, _, err = Load(home)
	require.NoError(t, err)
	require.Nil(t, c.Agent.Temperature)
}

func TestSetRefuses(t *testing.T) {
	home := write(t, "[ui]\nstream = true\n")
	for key, tt := range map[string][2]string{
		"agent.max_itr":  {"5", `did you mean "agent.max_iter"?`},
		"what.ever":      {"5", "config show"},
		"agent.max_iter": {"many", "takes a whole number"},
		"ui.stream":      {"perhaps", "takes true or false"},
		"sandbox.tier":   {"none", "is not one of auto"},
		"not a key":      {"x", "is not a key"},
	} {
		_, err := Set(t.Context(), home, key, tt[0])
		require.ErrorContains(t, err, tt[1], key)
	}
	now, err := os.ReadFile(Path(home))
	require.NoError(t, err)
	require.Equal(t, "[ui]\nstream = true\n", string(now))
}

func TestSetValuesIsAllOrNothing(t *testing.T) {
	home := write(t, "")
	_, err := SetValues(t.Context(), home, [][2]string{{"provider.name", "ollama"}, {"agent.max_iter", "0"}})
	require.Error(t, err)
	now, err := os.ReadFile(Path(home))
	require.NoError(t, err)
	require.Empty(t, now)
}

func TestClearKeepsABackup(t *testing.T) {
	home := write(t, "[ui]\n")
	backup, err := Clear(t.Context(), home)
	require.NoError(t, err)
	text, err := os.ReadFile(backup)
	require.NoError(t, err)
	require.Equal(t, "[ui]\n", string(text))
	backup, err = Clear(t.Context(), home)
	require.NoError(t, err)
	require.Empty(t, backup)
}

// C10: whatever the umask and whatever was there, nobody else can read it.
func TestC10Modes(t *testing.T) {
	old := syscall.Umask(0)
	t.Cleanup(func() { syscall.Umask(old) })
	home := filepath.Join(t.TempDir(), "home")
	_, err := Set(t.Context(), home, "ui.stream", "false")
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o700), modeOf(t, home))
	require.Equal(t, fs.FileMode(0o600), modeOf(t, Path(home)))

	require.NoError(t, os.Chmod(home, 0o755))
	require.NoError(t, os.Chmod(Path(home), 0o644))
	_, warnings, err := Load(home)
	require.NoError(t, err)
	require.Len(t, warnings, 2)
	require.Contains(t, warnings[0].String(), "it is 0600 now")
	require.Contains(t, warnings[1].String(), "it is 0700 now")
	require.Equal(t, fs.FileMode(0o700), modeOf(t, home))
	require.Equal(t, fs.FileMode(0o600), modeOf(t, Path(home)))

	require.NoError(t, os.Chmod(Path(home), 0o666))
	notes, err := Set(t.Context(), home, "ui.stream", "true")
	require.NoError(t, err)
	require.Len(t, notes, 1)
	require.Equal(t, fs.FileMode(0o600), modeOf(t, Path(home)))
}

// C11: a link to one's own dotfiles is followed; nothing but a .toml file is ever
// written.
func TestC11Links(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	require.NoError(t, os.Mkdir(home, 0o700))
	dotfile := filepath.Join(t.TempDir(), "c.toml")
	require.NoError(t, os.WriteFile(dotfile, []byte("# mine\n"), 0o600))
	require.NoError(t, os.Symlink(dotfile, Path(home)))
	_, err := Set(t.Context(), home, "ui.stream", "false")
	require.NoError(t, err)
	text, err := os.ReadFile(dotfile)
	require.NoError(t, err)
	require.Equal(t, "# mine\n\n[ui]\nstream = false\n", string(text))
	info, err := os.Lstat(Path(home))
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&fs.ModeSymlink, "the link stays a link")

	rc := filepath.Join(t.TempDir(), ".bashrc")
	require.NoError(t, os.WriteFile(rc, []byte("# shell\n"), 0o644))
	require.NoError(t, os.Remove(Path(home)))
	require.NoError(t, os.Symlink(rc, Path(home)))
	_, err = Set(t.Context(), home, "ui.stream", "false")
	require.ErrorContains(t, err, "is not a .toml file")
	_, _, err = Load(home)
	require.NoError(t, err)
	text, err = os.ReadFile(rc)
	require.NoError(t, err)
	require.Equal(t, "# shell\n", string(text))
	require.Equal(t, fs.FileMode(0o644), modeOf(t, rc), "its mode is not ours to change")

	require.NoError(t, os.Remove(Path(home)))
	require.NoError(t, os.Symlink(filepath.Join(home, "gone.toml"), Path(home)))
	_, _, err = Load(home)
	require.ErrorContains(t, err, "a link to a file that does not exist")
	_, err = Set(t.Context(), home, "ui.stream", "false")
	require.Error(t, err)

	linked := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Remove(Path(home)))
	require.NoError(t, os.Symlink(home, linked))
	_, err = Set(t.Context(), linked, "ui.stream", "false")
	require.NoError(t, err)
	require.FileExists(t, Path(home))
}

// C13, C14: twenty writers of different keys lose nothing, and a reader at any
// moment finds a whole file.
func TestC14NoLostUpdate(t *testing.T) {
	home := write(t, "# begin\n[provider]\nname = \"ollama\"\n")
	var wg sync.WaitGroup
	errs := make(chan error, 40)
	for i := range 20 {
		wg.Go(func() {
			_, err := Set(t.Context(), home, fmt.Sprintf("providers.p%d.name", i), "openai")
			errs <- err
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 200 {
			c, _, err := Load(home)
			if err == nil && c.Provider.Name != "ollama" {
				err = fmt.Errorf("read half a file: %+v", c.Provider)
			}
			if err != nil {
				errs <- err
				return
			}
		}
	}()
	wg.Wait()
	<-done
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	c, _, err := Load(home)
	require.NoError(t, err)
	require.Len(t, c.Providers, 20)
	left, err := os.ReadDir(home)
	require.NoError(t, err)
	require.Len(t, left, 2, "the file and its lock, no temporary files")
}

// C13: when the new file cannot be written, the old one is whole.
func TestC13FailedWriteKeepsTheOldFile(t *testing.T) {
	text := strings.Repeat("# a comment\n", 30_000)
	home := write(t, text)
	var old syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old))
	// A write past the limit fails with EFBIG, as a full disk does with ENOSPC.
	limit := old
	limit.Cur = uint64(len(text))
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
	_, err := Set(t.Context(), home, "provider.name", "ollama")
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old))
	require.ErrorContains(t, err, "the old file is unchanged")
	now, readErr := os.ReadFile(Path(home))
	require.NoError(t, readErr)
	require.Equal(t, text, string(now))
	left, err := os.ReadDir(home)
	require.NoError(t, err)
	require.Len(t, left, 2, "no temporary file is left")
}
