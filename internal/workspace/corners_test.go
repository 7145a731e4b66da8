package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/policy"
)

func TestLinksUpwards(t *testing.T) {
	ctx := context.Background()
	r, _ := tree(t, map[string]string{"a/b/up": "-> ..", "a/b/top": "-> ../..", "a/b/end": "-> ../../c/.", "c/x": "x", "a/b/gone": "-> nothing/../x", "a/y": "y"})
	list, err := r.List(ctx, "a/b/up")
	require.NoError(t, err)
	require.Equal(t, "a/b", list[0].Path)
	list, err = r.List(ctx, "a/b/top")
	require.NoError(t, err)
	require.Equal(t, "a", list[0].Path)
	f, err := r.Read(ctx, "a/b/up/y", 10)
	require.NoError(t, err)
	require.Equal(t, "a/y", f.Path)
	f, err = r.Read(ctx, "a/b/top/a/b/end/x", 10)
	require.NoError(t, err)
	require.Equal(t, "c/x", f.Path)
	_, err = r.Read(ctx, "a/b/gone", 10)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "leads nowhere")
	require.ErrorIs(t, r.RemoveAll(ctx, "a/b/top/c/../..", nil), ErrOutside)
	_, err = r.Read(ctx, "a/b/top", 10)
	require.ErrorIs(t, err, ErrIsFolder)
	_, _, err = r.Flags(ctx, "a/b/up/y", nil)
	require.NoError(t, err)
}

func TestNewNamesAreNeverReplaced(t *testing.T) {
	r, dir := tree(t, map[string]string{"temp": "new", "taken": "old", "temp2": "new", "other": "new"})
	require.ErrorIs(t, linkNew(r.root, "temp", "taken"), fs.ErrExist)
	require.NoError(t, linkNew(r.root, "temp", "free"))
	require.Equal(t, "new", content(t, dir, "free"))
	require.Error(t, linkNew(r.root, "gone", "free2"))
	require.ErrorIs(t, renamePlain(r.root, "temp2", "taken"), fs.ErrExist)
	require.NoError(t, renamePlain(r.root, "temp2", "free3"))
	require.ErrorIs(t, renameNew(r.root, "other", r.root, "taken"), fs.ErrExist)
	require.Equal(t, "old", content(t, dir, "taken"))

	// A file appears, or another takes the place, between the look and the rename.
	ctx := context.Background()
	s, err := r.find(ctx, "late", stop)
	require.NoError(t, err)
	defer s.close()
	plant(t, dir, map[string]string{"late": "theirs"})
	require.ErrorIs(t, s.replace(ctx, Write{Path: "late", Data: []byte("ours")}), ErrMoved)
	require.Equal(t, "theirs", content(t, dir, "late"))
	for name, swap := range map[string]func(p string){
		"other content": func(p string) { require.NoError(t, os.WriteFile(p, []byte("longer text"), 0o644)) },
		"gone":          func(p string) { require.NoError(t, os.Remove(p)) },
		"a folder":      func(p string) { require.NoError(t, os.Remove(p)); require.NoError(t, os.Mkdir(p, 0o755)) },
	} {
		plant(t, dir, map[string]string{"swapped": "old"})
		s, err := r.find(ctx, "swapped", stop)
		require.NoError(t, err)
		swap(filepath.Join(dir, "swapped"))
		require.ErrorIs(t, s.replace(ctx, Write{Data: []byte("ours"), Expect: HashOf([]byte("old"))}), ErrMoved, name)
		s.close()
		require.NoError(t, os.RemoveAll(filepath.Join(dir, "swapped")))
	}
	// Touched but the same: it lands.
	plant(t, dir, map[string]string{"same": "old"})
	s2, err := r.find(ctx, "same", stop)
	require.NoError(t, err)
	defer s2.close()
	require.NoError(t, os.Remove(filepath.Join(dir, "same")))
	plant(t, dir, map[string]string{"same": "old"})
	require.NoError(t, s2.replace(ctx, Write{Data: []byte("ours"), Expect: HashOf([]byte("old"))}))
	require.Equal(t, "ours", content(t, dir, "same"))
}

func TestMoveOntoALateName(t *testing.T) {
	ctx := context.Background()
	r, dir := tree(t, map[string]string{"a": "a"})
	src, err := r.find(ctx, "a", stop)
	require.NoError(t, err)
	defer src.close()
	dst, err := r.find(ctx, "b", stop)
	require.NoError(t, err)
	defer dst.close()
	plant(t, dir, map[string]string{"b": "theirs"})
	require.ErrorIs(t, r.rename(src, dst), ErrMoved)
	require.Equal(t, "theirs", content(t, dir, "b"))
	dst.name = "c"
	require.NoError(t, os.Remove(filepath.Join(dir, "a")))
	require.ErrorIs(t, r.rename(src, dst), fs.ErrNotExist)
}

// The folder is swapped while it is deleted, or its content grows a repository.
func TestP12RemoveTreeLooksAgain(t *testing.T) {
	ctx := context.Background()
	r, dir := tree(t, map[string]string{"d/x": "x", "e/.git/HEAD": "h", "e/a": "a"})
	s, err := r.find(ctx, "d", stop)
	require.NoError(t, err)
	defer s.close()
	require.NoError(t, os.Rename(filepath.Join(dir, "d"), filepath.Join(dir, "was")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
	require.ErrorIs(t, s.removeTree(ctx, s.dir(), "d", s.info), ErrMoved)
	e, err := r.find(ctx, "e", stop)
	require.NoError(t, err)
	defer e.close()
	require.ErrorIs(t, e.removeTree(ctx, e.dir(), "e", e.info), policy.ErrDenied)
	require.FileExists(t, filepath.Join(dir, "e/.git/HEAD"))
}

func TestErrorsInWords(t *testing.T) {
	for cause, part := range map[error]string{
		syscall.EACCES: "permission denied", syscall.ENOENT: "does not exist", syscall.ENAMETOOLONG: "too long", syscall.ENOSPC: "full", syscall.EDQUOT: "quota",
		syscall.EIO: "input/output error",
	} {
		for _, err := range []error{cause, &fs.PathError{Op: "x", Path: "/secret/place", Err: cause}, &os.LinkError{Op: "x", Old: "/secret/place", Err: cause}} {
			got := broken("a\nb", "write", err)
			require.ErrorContains(t, got, part)
			require.ErrorIs(t, got, cause)
			require.NotContains(t, got.Error(), "/secret")
			require.True(t, strings.HasPrefix(got.Error(), `"a\nb": `))
		}
	}
	mine := errors.New("mine")
	s := &spot{asked: "x", dirs: []*os.Root{nil}, name: "x"}
	require.Equal(t, mine, s.denied(mine))
	require.Equal(t, mine, s.inside("y", mine))
	require.ErrorIs(t, s.partly(fail("x", "t", ErrMount)), ErrMount)
}

func TestClosedRoot(t *testing.T) {
	r, _ := tree(t, map[string]string{"a": "a"})
	require.NoError(t, r.Close())
	require.True(t, r.Moved())
	for how, err := range door(context.Background(), r, "a") {
		require.Error(t, err, how)
	}
	require.Error(t, r.Specs().Write("a.md", nil))
	_, err := r.List(context.Background(), ".")
	require.Error(t, err)
}

func TestCancelledCalls(t *testing.T) {
	r, _ := tree(t, map[string]string{"a": "a", "d/x": "x"})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for how, err := range door(ctx, r, "d/x") {
		require.ErrorIs(t, err, context.Canceled, how)
	}
	_, err := r.Hash(ctx, "a")
	require.ErrorIs(t, err, context.Canceled)
	s, err := r.find(context.Background(), "a", stop)
	require.NoError(t, err)
	defer s.close()
	_, err = s.hash(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, s.replace(ctx, Write{Data: []byte("x"), Expect: HashOf([]byte("a"))}), context.Canceled)
}

// No path, however made, reaches outside or a protected name.
func FuzzDoor(f *testing.F) {
	for _, s := range []string{"a", "../x", "/etc/passwd", `"a\x00"`, "d/l/x", ".git/x", "a//b/.", "d/../..", `d/"..`, `"..\/x"`, "d/\"\\x2e\\x2e\"/x"} {
		f.Add(s)
	}
	base := f.TempDir()
	dir := filepath.Join(base, "proj")
	for _, d := range []string{"proj/d", "proj/.git", "out"} {
		if err := os.MkdirAll(filepath.Join(base, d), 0o755); err != nil {
			f.Fatal(err)
		}
	}
	for p, target := range map[string]string{"proj/d/l": "../../out", "proj/g": ".git", "proj/s": "-"} {
		if err := os.Symlink(target, filepath.Join(base, p)); err != nil {
			f.Fatal(err)
		}
	}
	r, err := Open(dir, Options{Home: "/nowhere"})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = r.Close() })
	f.Fuzz(func(t *testing.T, p string) {
		ctx := context.Background()
		if rel, err := r.Resolve(p); err == nil {
			if !filepath.IsLocal(rel) || strings.ContainsRune(rel, 0) {
				t.Fatalf("%q resolves to %q", p, rel)
			}
			if again, err := r.Resolve(Quote(rel)); err != nil || again != rel {
				t.Fatalf("%q does not round-trip: %q, %v", rel, again, err)
			}
		}
		if r.Write(ctx, Write{Path: p, Data: []byte("fuzz")}) == nil {
			if err := r.RemoveAll(ctx, p, nil); err != nil {
				t.Fatalf("%q was written but not removed: %v", p, err)
			}
		}
		for _, guarded := range []string{filepath.Join(base, "out"), filepath.Join(dir, ".git")} {
			if entries, err := os.ReadDir(guarded); err != nil || len(entries) > 0 {
				t.Fatalf("%q reached %s: %v", p, guarded, entries)
			}
		}
	})
}
