//go:build unix

package browser

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func env(pairs ...string) func(string) string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(k string) string { return m[k] }
}

func stub(t *testing.T, dir, name, script string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755))
	return path
}

// W14: the opener sees a file and never the token: not in its arguments, not in
// its environment. Keys of providers do not reach it either.
func TestW14TokenIsNotInArguments(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "seen")
	opener := stub(t, dir, "opener", `{ tr '\0' ' ' < /proc/$$/cmdline; echo; tr '\0' '\n' < /proc/$$/environ; stat -c %a "$1"; cat "$1"; } > `+out+`.tmp; mv `+out+`.tmp `+out)
	getenv := env("DISPLAY", ":0", "BROWSER", opener, "PATH", os.Getenv("PATH"), "OPENAI_API_KEY", "CANARY-KEY")
	remove, err := Open(t.Context(), "http://127.0.0.1:1/#token=CANARY-TOKEN&x", Options{Getenv: getenv, Dir: filepath.Join(dir, "run")})
	require.NoError(t, err)
	var seen []byte
	require.Eventually(t, func() bool { seen, err = os.ReadFile(out); return err == nil }, 10*time.Second, 5*time.Millisecond)
	head, page, ok := strings.Cut(string(seen), "\n600\n")
	require.True(t, ok, "%s", seen)
	require.NotContains(t, head, "CANARY")
	require.Contains(t, page, `url=http://127.0.0.1:1/#token=CANARY-TOKEN&amp;x"`)
	info, err := os.Stat(filepath.Join(dir, "run"))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o700), info.Mode().Perm())
	require.NoError(t, remove())
	require.NoError(t, remove(), "twice is fine")
	left, err := os.ReadDir(filepath.Join(dir, "run"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestCommand(t *testing.T) {
	bin, ws := t.TempDir(), t.TempDir()
	xdg := stub(t, bin, "xdg-open", "")
	view := stub(t, bin, "wslview", "")
	mine := stub(t, bin, "firefox", "")
	stub(t, ws, "xdg-open", "")
	for _, tt := range []struct {
		name, goos string
		env        func(string) string
		want       []string
	}{
		{"no display", "linux", env("PATH", bin), nil},
		{"a browser but no display", "linux", env("PATH", bin, "BROWSER", "firefox"), nil},
		{"x11", "linux", env("PATH", bin, "DISPLAY", ":0"), []string{xdg, "%s"}},
		{"wayland", "linux", env("PATH", bin, "WAYLAND_DISPLAY", "w"), []string{xdg, "%s"}},
		{"wsl", "linux", env("PATH", bin, "WSL_DISTRO_NAME", "Debian"), []string{view, "%s"}},
		{"macOS", "darwin", env("PATH", bin), []string{"/usr/bin/open", "%s"}},
		{"chosen", "linux", env("PATH", bin, "DISPLAY", ":0", "BROWSER", "none:firefox -P x"), []string{mine, "-P", "x", "%s"}},
		{"chosen with a place", "linux", env("PATH", bin, "DISPLAY", ":0", "BROWSER", mine+" %s -x"), []string{mine, "%s", "-x"}},
		{"a relative browser is not started", "linux", env("PATH", bin, "DISPLAY", ":0", "BROWSER", "./firefox"), []string{xdg, "%s"}},
		{"not from the workspace", "linux", env("PATH", ws+":.:"+bin, "DISPLAY", ":0"), []string{xdg, "%s"}},
		{"nothing there", "linux", env("PATH", ws, "DISPLAY", ":0"), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := command(tt.goos, Options{Getenv: tt.env, Avoid: ws})
			if tt.want == nil {
				require.ErrorIs(t, err, ErrNoDisplay)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	opener := stub(t, dir, "opener", "")
	o := Options{Getenv: env("DISPLAY", ":0", "BROWSER", opener), Dir: filepath.Join(dir, "run")}
	for _, bad := range []string{"file:///etc/passwd", "javascript:alert(1)", "%", ""} {
		_, err := Open(t.Context(), bad, o)
		require.Error(t, err, bad)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Open(ctx, "http://h/", o)
	require.ErrorIs(t, err, context.Canceled)
	left, err := os.ReadDir(o.Dir)
	require.NoError(t, err)
	require.Empty(t, left, "no page is left behind")
}
