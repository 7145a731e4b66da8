package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func scanRoot(t *testing.T, files map[string]string) (*Root, string) {
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	r, err := Open(dir, Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r, dir
}

func TestScanVisitsTheFilesOfWalkInItsOrder(t *testing.T) {
	r, dir := scanRoot(t, map[string]string{
		".gitignore": "*.log\n/out/\n", ".coderrrignore": "private*\n", "a/.gitignore": "!b.log\n", "a/b.log": "", "a/c.log": "",
		"a.go": "", "a/z/y.go": "", "a-b/c": "", "out/x": "", "d/out/x": "", "private1": "", ".git/config": "", ".git/info/exclude": "excluded\n", "excluded": "",
		".coderrr/session/x": "", ".hidden/x": "",
	})
	require.NoError(t, os.Symlink("a.go", filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink("a", filepath.Join(dir, "linked")))
	for _, from := range []string{".", "a", "linked"} {
		var walked, scanned []string
		require.NoError(t, r.Walk(t.Context(), from, WalkOptions{}, func(e Entry) error {
			if e.Kind == KindFile {
				walked = append(walked, e.Path)
			}
			return nil
		}))
		require.NoError(t, r.Scan(t.Context(), from, func(s Scanned) error {
			scanned = append(scanned, s.Path)
			s.Done()
			return nil
		}))
		require.Equal(t, walked, scanned)
		require.True(t, slices.IsSortedFunc(scanned, ComparePaths))
		require.NotEmpty(t, scanned)
	}
}

// A file or a folder that is replaced by a link while a scan runs does not lead it
// out of the workspace.
func TestScanFollowsNoSwap(t *testing.T) {
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "f"), []byte("secret"), 0o644))
	r, dir := scanRoot(t, map[string]string{"a": "a", "b": "b", "c/f": "c", "d": "d"})
	var read []string
	require.NoError(t, r.Scan(t.Context(), ".", func(s Scanned) error {
		defer s.Done()
		if s.Path == "a" {
			for name, to := range map[string]string{"b": filepath.Join(outside, "f"), "c": outside} {
				require.NoError(t, os.RemoveAll(filepath.Join(dir, name)))
				require.NoError(t, os.Symlink(to, filepath.Join(dir, name)))
			}
		}
		var in Reader
		if err := s.Open(&in); err != nil {
			require.Equal(t, "b", s.Path)
			return nil
		}
		defer in.Close()
		text, err := io.ReadAll(&in)
		require.NoError(t, err)
		read = append(read, string(text))
		return nil
	}))
	require.Equal(t, []string{"a", "d"}, read)
}

func TestScanStops(t *testing.T) {
	r, _ := scanRoot(t, map[string]string{"a": "", "b": "", "c/d": ""})
	seen := 0
	visit := func(err error) func(Scanned) error {
		return func(s Scanned) error { seen++; s.Done(); return err }
	}
	require.NoError(t, r.Scan(t.Context(), ".", visit(fs.SkipAll)))
	require.Equal(t, 1, seen)
	broken := errors.New("broken")
	require.ErrorIs(t, r.Scan(t.Context(), ".", visit(broken)), broken)
	ctx, cancel := context.WithCancel(t.Context())
	err := r.Scan(ctx, ".", func(s Scanned) error { cancel(); s.Done(); return nil })
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, r.Scan(t.Context(), "missing", visit(nil)), fs.ErrNotExist)
}
