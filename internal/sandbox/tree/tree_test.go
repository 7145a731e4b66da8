package tree_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coderrr/coderrr/internal/sandbox/tree"
)

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	p := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
	require.NoError(t, os.WriteFile(p, []byte(text), 0o644))
}

// state is every entry below dir with its kind, mode and content.
func state(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += string(b) + info.ModTime().String()
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			text = "link " + to
		}
		out[rel] = text
		return nil
	}))
	return out
}

// Whatever happens to both sides, a Reset makes them equal and leaves the
// source alone.
func TestResetMakesEqual(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		src, dst := t.TempDir(), t.TempDir()
		m, err := tree.Open(src, dst)
		require.NoError(rt, err)
		for range rapid.IntRange(1, 2).Draw(rt, "rounds") {
			for _, dir := range []string{src, dst} {
				for range rapid.IntRange(0, 4).Draw(rt, "changes") {
					mutate(rt, dir)
				}
			}
			before := state(t, src)
			_, err := m.Sync(context.Background(), tree.Reset)
			require.NoError(rt, err)
			require.Equal(rt, before, state(t, src))
			require.Equal(rt, before, state(t, dst))
		}
	})
}

// mutate stays in dir, also where a link that an earlier change left leads out.
func mutate(t *rapid.T, dir string) {
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer func() { _ = root.Close() }()
	names := []string{"a", "b", "d/a", "d/b", "d/e/a", "e"}
	p := rapid.SampledFrom(names).Draw(t, "name")
	switch rapid.IntRange(0, 6).Draw(t, "what") {
	case 0, 1:
		_ = root.MkdirAll(filepath.Dir(p), 0o755)
		_ = root.WriteFile(p, []byte(rapid.SampledFrom([]string{"", "x", "y", "long text"}).Draw(t, "text")), 0o644)
	case 2:
		_ = root.RemoveAll(p)
	case 3:
		_ = root.Chmod(p, rapid.SampledFrom([]fs.FileMode{0o600, 0o644, 0o755}).Draw(t, "mode"))
	case 4:
		_ = root.RemoveAll(p)
		_ = root.Symlink(rapid.SampledFrom([]string{"/etc", "a", "nowhere"}).Draw(t, "to"), p)
	case 5:
		_ = root.RemoveAll(p)
		_ = root.MkdirAll(p, 0o755)
	case 6:
		_ = root.Chtimes(p, time.Unix(1e9, 0), time.Unix(1e9, 0))
	}
}

func TestKeepBringsOnlyWhatChanged(t *testing.T) {
	t.Parallel()
	src, dst := t.TempDir(), t.TempDir()
	for _, f := range []string{"a", "b", "c", "d/x", "e/x"} {
		write(t, src, f, "src "+f)
	}
	m, err := tree.Open(src, dst)
	require.NoError(t, err)
	r, err := m.Sync(t.Context(), tree.Keep) // the first is a Reset
	require.NoError(t, err)
	require.Equal(t, 5, r.Copied)
	write(t, dst, "a", "dst")
	write(t, dst, "made", "dst")
	require.NoError(t, os.RemoveAll(filepath.Join(dst, "d")))
	require.NoError(t, os.RemoveAll(filepath.Join(dst, "b")))
	write(t, src, "c", "again")
	require.NoError(t, os.RemoveAll(filepath.Join(src, "e")))
	r, err = m.Sync(t.Context(), tree.Keep)
	require.NoError(t, err)
	require.Equal(t, 1, r.Copied)
	require.Equal(t, []string{"a", "c", "made"}, slices.Sorted(maps.Keys(state(t, dst))))
	require.Empty(t, m.Changed(t.Context(), 10), "a Sync is not a change")
	write(t, dst, "later", "x")
	require.Equal(t, []string{"later"}, m.Changed(t.Context(), 10))
}

// A command that was not contained put a link where the copy was: what it leads
// to stays as it is.
func TestALinkInPlaceOfTheCopy(t *testing.T) {
	t.Parallel()
	src, dst, other := t.TempDir(), filepath.Join(t.TempDir(), "copy"), t.TempDir()
	write(t, src, "a", "a")
	write(t, other, "precious", "p")
	m, err := tree.Open(src, dst)
	require.NoError(t, err)
	_, err = m.Sync(t.Context(), tree.Reset)
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(dst))
	require.NoError(t, os.Symlink(other, dst))
	_, err = m.Sync(t.Context(), tree.Reset)
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(other, "precious"))
	require.NoFileExists(t, filepath.Join(other, "a"))
	require.FileExists(t, filepath.Join(dst, "a"))
}

func TestSyncStopsWithItsContext(t *testing.T) {
	t.Parallel()
	src := t.TempDir()
	write(t, src, "a", "a")
	m, err := tree.Open(src, t.TempDir())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = m.Sync(ctx, tree.Reset)
	require.ErrorIs(t, err, context.Canceled)
	_, err = m.Sync(t.Context(), tree.Reset)
	require.NoError(t, err, "the next one mends it")
}

func TestACopyDoesNotHoldItself(t *testing.T) {
	t.Parallel()
	src := t.TempDir()
	write(t, src, "a", "a")
	write(t, src, ".coderrr/x", "x")
	m, err := tree.Open(src, filepath.Join(src, "in/copy"), ".coderrr")
	require.NoError(t, err)
	_, err = m.Sync(t.Context(), tree.Reset)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "in"}, slices.Sorted(maps.Keys(state(t, filepath.Join(src, "in/copy")))))
}

func many(t testing.TB, n int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		write(t, dir, fmt.Sprintf("d%d/e%d/f%d.go", i%50, i/50%20, i), fmt.Sprintf("package x // %d\n", i))
	}
	return dir
}

// Refresh after one edit, against one walk that stats every file.
func BenchmarkRefreshAfterOneEdit(b *testing.B) {
	src := many(b, 10_000)
	m, err := tree.Open(src, b.TempDir())
	require.NoError(b, err)
	_, err = m.Sync(b.Context(), tree.Reset)
	require.NoError(b, err)
	var walk, refresh time.Duration
	for i := range b.N {
		begun := time.Now()
		require.NoError(b, filepath.WalkDir(src, func(_ string, d fs.DirEntry, err error) error {
			if err == nil {
				_, err = d.Info()
			}
			return err
		}))
		walk += time.Since(begun)
		write(b, src, "d1/e0/f1.go", fmt.Sprint(i))
		time.Sleep(15 * time.Millisecond)
		begun = time.Now()
		_, err = m.Sync(b.Context(), tree.Reset)
		require.NoError(b, err)
		refresh += time.Since(begun)
	}
	b.ReportMetric(float64(refresh)/float64(walk), "x-stat-walk")
	b.ReportMetric(float64(runtime.GOMAXPROCS(0)), "procs")
}
