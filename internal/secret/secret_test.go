//go:build unix

package secret

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zalando/go-keyring"
)

// ring is a keyring in memory; err, when set, is what every call returns.
type ring struct {
	mu  sync.Mutex
	m   map[string]string
	err error
}

func (r *ring) Get(_, account string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return "", r.err
	}
	if v, ok := r.m[account]; ok {
		return v, nil
	}
	return "", ErrNotFound
}

func (r *ring) Set(_, account, value string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.m[account] = value
	}
	return r.err
}

func (r *ring) Delete(_, account string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.m[account]; !ok && r.err == nil {
		return ErrNotFound
	}
	if r.err == nil {
		delete(r.m, account)
	}
	return r.err
}

func vaultIn(t *testing.T, k Keyring) Vault {
	t.Helper()
	return Vault{Keyring: k, File: filepath.Join(t.TempDir(), "home", "credentials.json")}
}

func TestKeyringFirst(t *testing.T) {
	r := &ring{m: map[string]string{}}
	v := vaultIn(t, r)
	where, err := v.Set("openai", "one")
	require.NoError(t, err)
	require.Equal(t, "keyring", where)
	require.NoFileExists(t, v.File)
	got, ok, err := v.Get("openai")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "one", got)
	require.NoError(t, v.Available())
	found, err := v.Delete("openai")
	require.NoError(t, err)
	require.True(t, found)
	_, ok, err = v.Get("openai")
	require.NoError(t, err)
	require.False(t, ok)
}

func TestFileWithoutAKeyring(t *testing.T) {
	old := syscall.Umask(0)
	t.Cleanup(func() { syscall.Umask(old) })
	v := vaultIn(t, nil)
	where, err := v.Set("openai", "one")
	require.NoError(t, err)
	require.Equal(t, v.File, where)
	info, err := os.Stat(v.File)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	got, ok, err := v.Get("openai")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "one", got)
	require.ErrorIs(t, v.Available(), ErrUnavailable)
	found, err := v.Delete("openai")
	require.NoError(t, err)
	require.True(t, found)
	found, err = v.Delete("openai")
	require.NoError(t, err)
	require.False(t, found)
}

func TestC10FileModeIsRepaired(t *testing.T) {
	v := vaultIn(t, nil)
	_, err := v.Set("a", "b")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(v.File, 0o644))
	_, _, err = v.Get("a")
	require.NoError(t, err)
	info, err := os.Stat(v.File)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
}

func TestBrokenKeyringFallsBack(t *testing.T) {
	r := &ring{m: map[string]string{}, err: errors.New("no such interface")}
	v := vaultIn(t, r)
	where, err := v.Set("openai", "one")
	require.NoError(t, err)
	require.Equal(t, v.File, where)
	got, ok, err := v.Get("openai")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "one", got)
	_, _, err = v.Get("other")
	require.ErrorContains(t, err, "no such interface")
	_, err = v.Delete("openai")
	require.Error(t, err)
}

func TestSetRemovesTheOldCopy(t *testing.T) {
	v := vaultIn(t, nil)
	_, err := v.Set("openai", "old")
	require.NoError(t, err)
	v.Keyring = &ring{m: map[string]string{}}
	_, err = v.Set("openai", "new")
	require.NoError(t, err)
	text, err := os.ReadFile(v.File)
	require.NoError(t, err)
	require.NotContains(t, string(text), "old")
}

// C09: neither a broken file nor an error of it shows a secret.
func TestC09ErrorsHoldNoSecret(t *testing.T) {
	v := vaultIn(t, nil)
	require.NoError(t, os.MkdirAll(filepath.Dir(v.File), 0o700))
	require.NoError(t, os.WriteFile(v.File, []byte(`{"openai": CANARY-KEY}`), 0o600))
	_, _, err := v.Get("openai")
	require.ErrorContains(t, err, "is not valid JSON")
	require.NotContains(t, err.Error(), "CANARY")
	_, err = v.Set("openai", "CANARY-KEY")
	require.Error(t, err)
	require.NotContains(t, err.Error(), "CANARY")
	text, err := os.ReadFile(v.File)
	require.NoError(t, err)
	require.Equal(t, `{"openai": CANARY-KEY}`, string(text), "a file that cannot be read is not replaced")

	require.NoError(t, os.Remove(v.File))
	require.NoError(t, syscall.Mkfifo(v.File, 0o600))
	_, _, err = v.Get("openai")
	require.ErrorContains(t, err, "regular file")
}

func TestC14WritersLoseNothing(t *testing.T) {
	v := vaultIn(t, nil)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			_, err := v.Set(fmt.Sprint("a", i), "x")
			require.NoError(t, err)
		})
	}
	wg.Wait()
	all, err := load(v.File)
	require.NoError(t, err)
	require.Len(t, all, 20)
}

type stuck struct{ free chan struct{} }

func (s stuck) Get(string, string) (string, error) { <-s.free; return "", ErrNotFound }
func (s stuck) Set(string, string, string) error   { <-s.free; return nil }
func (s stuck) Delete(string, string) error        { <-s.free; return nil }

func TestALockedKeyringDoesNotHang(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials.json")
	synctest.Test(t, func(t *testing.T) {
		s := stuck{make(chan struct{})}
		begin := time.Now()
		_, ok, err := Vault{Keyring: s, File: file}.Get("a")
		require.NoError(t, err)
		require.False(t, ok)
		require.Equal(t, wait, time.Since(begin))
		close(s.free)
	})
}

func TestSystemKeyringIsMapped(t *testing.T) {
	keyring.MockInit()
	_, err := system{}.Get("coderrr-test", "a")
	require.ErrorIs(t, err, ErrNotFound)
	require.NoError(t, system{}.Set("coderrr-test", "a", "b"))
	v, err := system{}.Get("coderrr-test", "a")
	require.NoError(t, err)
	require.Equal(t, "b", v)
	require.NoError(t, system{}.Delete("coderrr-test", "a"))
	keyring.MockInitWithError(errors.New("locked"))
	_, err = system{}.Get("coderrr-test", "a")
	require.ErrorIs(t, err, ErrUnavailable)
	require.Nil(t, System(func(string) string { return "" }), "no bus, no keyring")
	require.NotNil(t, System(func(string) string { return "unix:path=/x" }))
}
