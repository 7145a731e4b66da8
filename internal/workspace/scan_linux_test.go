package workspace

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/coderrr/coderrr/internal/workspace/ignore"
)

// On a file system that may keep a call waiting, a scan finds and reads the same.
func TestScanOnASlowFileSystem(t *testing.T) {
	_, dir := scanRoot(t, map[string]string{"a": "one", "b/c": "two", "b/.gitignore": "d\n", "b/d": ""})
	top, err := os.Open(dir)
	require.NoError(t, err)
	defer func() { _ = top.Close() }()
	got := map[string]string{}
	s := &scanner{top: ".", rules: new(ignore.Stack), buf: make([]byte, 64<<10), fn: func(f Scanned) error {
		defer f.Done()
		var in Reader
		if err := f.Open(&in); err != nil {
			return err
		}
		defer in.Close()
		text, err := io.ReadAll(&in)
		got[f.Path] = string(text)
		return err
	}}
	require.False(t, s.sys.quick)
	fd, err := s.sys.openat(int(top.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY)
	require.NoError(t, err)
	require.NoError(t, s.folder(t.Context(), fd, "."))
	require.Equal(t, map[string]string{"a": "one", "b/.gitignore": "d\n", "b/c": "two"}, got)
}

func TestOnlyLocalDisksAreQuick(t *testing.T) {
	proc, err := os.Open("/proc")
	require.NoError(t, err)
	defer func() { _ = proc.Close() }()
	require.False(t, callsFor(int(proc.Fd())).quick)
	require.False(t, callsFor(-1).quick)
}

// What is not the regular file any more that a scan saw is not opened, and a FIFO
// in its place holds nothing up.
func TestScannedFileThatIsAnotherNow(t *testing.T) {
	for name, swap := range map[string]func(path string) error{
		"folder": func(p string) error { return os.Mkdir(p, 0o755) },
		"link":   func(p string) error { return os.Symlink("b", p) },
		"fifo":   func(p string) error { return unix.Mkfifo(p, 0o644) },
		"gone":   func(string) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := scanRoot(t, map[string]string{"a": "a", "b": "b"})
			want := ErrMoved
			if name == "gone" {
				want = os.ErrNotExist
			}
			require.NoError(t, r.Scan(t.Context(), ".", func(f Scanned) error {
				defer f.Done()
				if f.Path == "b" {
					return nil
				}
				require.NoError(t, os.Remove(filepath.Join(dir, "a")))
				require.NoError(t, swap(filepath.Join(dir, "a")))
				var in Reader
				require.ErrorIs(t, f.Open(&in), want)
				return nil
			}))
		})
	}
}

// What ends a scan ends it from any depth, and a folder that went away is left out.
func TestScanStopsBelow(t *testing.T) {
	r, dir := scanRoot(t, map[string]string{"a": "", "b/c": "", "d/e": ""})
	broken := errors.New("broken")
	err := r.Scan(t.Context(), ".", func(f Scanned) error {
		defer f.Done()
		if f.Path == "a" {
			require.NoError(t, os.RemoveAll(filepath.Join(dir, "b")))
			return nil
		}
		require.Equal(t, "d/e", f.Path)
		return broken
	})
	require.ErrorIs(t, err, broken)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	fd, err := calls{}.openat(unix.AT_FDCWD, dir, unix.O_RDONLY|unix.O_DIRECTORY)
	require.NoError(t, err)
	s := &scanner{top: ".", rules: new(ignore.Stack), buf: make([]byte, 4096)}
	require.ErrorIs(t, s.folder(ctx, fd, "."), context.Canceled)
}

// An ignore file that is none, or is too large, decides nothing.
func TestScanWithoutUsableIgnoreFiles(t *testing.T) {
	r, dir := scanRoot(t, map[string]string{"a/.gitignore": strings.Repeat("x\n", maxIgnore), "a/x": ""})
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".gitignore"), 0o755))
	var seen []string
	require.NoError(t, r.Scan(t.Context(), ".", func(f Scanned) error {
		seen = append(seen, f.Path)
		f.Done()
		return nil
	}))
	require.Equal(t, []string{"a/.gitignore", "a/x"}, seen)
}

// Some file systems list names without their kinds.
func TestKindAt(t *testing.T) {
	_, dir := scanRoot(t, map[string]string{"file": "", "folder/x": ""})
	require.NoError(t, os.Symlink("file", filepath.Join(dir, "link")))
	top, err := os.Open(dir)
	require.NoError(t, err)
	defer func() { _ = top.Close() }()
	for name, want := range map[string]byte{"file": unix.DT_REG, "folder": unix.DT_DIR, "link": unix.DT_UNKNOWN, "none": unix.DT_UNKNOWN} {
		require.Equal(t, want, kindAt(int(top.Fd()), name), name)
	}
}

func TestCalls(t *testing.T) {
	_, err := calls{}.openat(unix.AT_FDCWD, "a\x00b", unix.O_RDONLY)
	require.ErrorIs(t, err, unix.EINVAL)
	n, err := calls{}.read(-1, nil)
	require.NoError(t, err)
	require.Zero(t, n)
	_, err = calls{quick: true}.read(-1, make([]byte, 1))
	require.ErrorIs(t, err, unix.EBADF)
}

func TestComparePaths(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"a", "a", 0},
		{"a/b", "a.go", -1},
		{"a.go", "a/b", 1},
		{"a", "b", -1},
		{"b", "a", 1},
		{"a", "a/b", -1},
	} {
		require.Equal(t, tt.want, ComparePaths(tt.a, tt.b), "%s %s", tt.a, tt.b)
	}
}
