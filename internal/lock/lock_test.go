package lock_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/lock"
)

// TestMain lets this test binary stand in for another Coderrr.
func TestMain(m *testing.M) {
	if home := os.Getenv("LOCK_TEST_HOLD"); home != "" {
		l, err := lock.Workspace(home, "/ws", "other-session")
		if err != nil {
			panic(err)
		}
		fmt.Println("held")
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = l.Close()
		os.Exit(0)
	}
	if file := os.Getenv("LOCK_TEST_COUNT"); file != "" {
		for range 20 {
			if err := increment(file); err != nil {
				panic(err)
			}
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestR13OneSessionPerWorkspace: the second process is told who holds the
// workspace, and kill -9 frees it.
func TestR13OneSessionPerWorkspace(t *testing.T) {
	home := t.TempDir()
	other := self(t, "LOCK_TEST_HOLD="+home)
	stdin, err := other.StdinPipe()
	require.NoError(t, err)
	out, err := other.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, other.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "held\n", line)

	_, err = lock.Workspace(home, "/ws", "mine")
	var held *lock.Held
	require.ErrorAs(t, err, &held)
	require.Equal(t, other.Process.Pid, held.Holder.PID)
	require.Equal(t, "other-session", held.Holder.Session)
	require.WithinDuration(t, time.Now(), held.Holder.Since, time.Minute)
	require.Contains(t, held.Error(), "session other-session (process "+strconv.Itoa(other.Process.Pid))
	require.Contains(t, held.Error(), "/ws; wait for it or stop it")

	h, ok, err := lock.Of(home, "/ws")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "other-session", h.Session)

	elsewhere, err := lock.Workspace(home, "/elsewhere", "mine")
	require.NoError(t, err, "another workspace is free")
	require.NoError(t, elsewhere.Close())

	require.NoError(t, other.Process.Kill())
	_ = other.Wait()
	_ = stdin.Close()
	_, ok, err = lock.Of(home, "/ws")
	require.NoError(t, err)
	require.False(t, ok, "the note of a dead process says nothing")
	mine, err := lock.Workspace(home, "/ws", "mine")
	require.NoError(t, err)
	require.NoError(t, mine.Close())
}

func TestWorkspaceAgainInTheSameProcess(t *testing.T) {
	home := t.TempDir()
	first, err := lock.Workspace(home, "/ws", "one")
	require.NoError(t, err)
	_, err = lock.Workspace(home, "/ws", "two")
	var held *lock.Held
	require.ErrorAs(t, err, &held)
	require.Equal(t, "one", held.Holder.Session)
	require.NoError(t, first.Close())
	second, err := lock.Workspace(home, "/ws", "two")
	require.NoError(t, err)
	require.NoError(t, second.Close())
}

// TestDamagedNote: who holds a lock may be unknown; that it is held may not.
func TestDamagedNote(t *testing.T) {
	home := t.TempDir()
	l, err := lock.Workspace(home, "/ws", "one")
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(home, "locks", "*.lock"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.NoError(t, os.WriteFile(files[0], []byte("\x00garbage"), 0o600))
	_, err = lock.Workspace(home, "/ws", "two")
	var held *lock.Held
	require.ErrorAs(t, err, &held)
	require.Contains(t, held.Error(), "another session is working in /ws")
	require.NoError(t, l.Close())
}

func TestOfWithoutALock(t *testing.T) {
	_, ok, err := lock.Of(t.TempDir(), "/ws")
	require.NoError(t, err)
	require.False(t, ok)
}

func TestPrivate(t *testing.T) {
	home := t.TempDir()
	l, err := lock.Workspace(home, "/ws", "one")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	dir, err := os.Stat(filepath.Join(home, "locks"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), dir.Mode().Perm())
	files, _ := filepath.Glob(filepath.Join(home, "locks", "*"))
	info, err := os.Stat(files[0])
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestHomeThatCannotBeMade(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := lock.Workspace(file, "/ws", "one")
	require.ErrorContains(t, err, "make the folder of the lock")
	require.ErrorContains(t, err, file)
}

func TestFileWaitsUntilTheContextEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "config.lock")
	first, err := lock.File(t.Context(), path)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, err = lock.File(ctx, path)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, path)
	require.NoError(t, first.Close())
	again, err := lock.File(t.Context(), path)
	require.NoError(t, err)
	require.NoError(t, again.Close())
}

// TestC14LostUpdate: processes and goroutines that read, change and write the
// same file lose nothing.
func TestC14LostUpdate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "count")
	var wg sync.WaitGroup
	errs := make(chan error, 8)
	for range 4 {
		cmd := self(t, "LOCK_TEST_COUNT="+file)
		wg.Go(func() { errs <- cmd.Run() })
		wg.Go(func() {
			var err error
			for range 20 {
				err = errors.Join(err, increment(file))
			}
			errs <- err
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, strconv.Itoa(8*20), strings.TrimSpace(string(got)))
}

func increment(file string) error {
	l, err := lock.File(context.Background(), file+".lock")
	if err != nil {
		return err
	}
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	n, _ := strconv.Atoi(string(data))
	return errors.Join(os.WriteFile(file, []byte(strconv.Itoa(n+1)), 0o600), l.Close())
}

func self(t *testing.T, env string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^$")
	cmd.Env = append(os.Environ(), env)
	return cmd
}
