package workspace

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// tree makes a workspace from path → content; a content that begins with "-> " is
// a link, a path that ends in a slash a folder.
func tree(t *testing.T, files map[string]string) (*Root, string) {
	t.Helper()
	return treeIn(t, t.TempDir(), files)
}

func treeIn(t *testing.T, base string, files map[string]string) (*Root, string) {
	t.Helper()
	dir := filepath.Join(base, "proj")
	require.NoError(t, os.Mkdir(dir, 0o755))
	plant(t, dir, files)
	r, err := Open(dir, Options{Home: "/nowhere"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	return r, dir
}

func plant(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if name[len(name)-1] == '/' {
			require.NoError(t, os.MkdirAll(full, 0o755))
			continue
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o755))
		if len(content) > 3 && content[:3] == "-> " {
			require.NoError(t, os.Symlink(content[3:], full))
			continue
		}
		require.NoError(t, os.WriteFile(full, []byte(content), 0o644))
	}
}

func content(t *testing.T, p ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p...))
	require.NoError(t, err)
	return string(data)
}

func TestReadAndWrite(t *testing.T) {
	ctx := context.Background()
	r, dir := tree(t, map[string]string{"a.txt": "one\n", "sub/b.txt": "two"})
	f, err := r.Read(ctx, "a.txt", 100)
	require.NoError(t, err)
	require.Equal(t, "one\n", string(f.Data))
	require.Equal(t, HashOf([]byte("one\n")), f.Hash)
	require.Equal(t, 1, f.Links)

	require.NoError(t, r.Write(ctx, Write{Path: "a.txt", Data: []byte("new"), Expect: f.Hash}))
	require.Equal(t, "new", content(t, dir, "a.txt"))
	require.ErrorIs(t, r.Write(ctx, Write{Path: "a.txt", Data: []byte("x"), Expect: f.Hash}), ErrMoved)
	require.ErrorIs(t, r.Write(ctx, Write{Path: "a.txt", Data: []byte("x")}), ErrMoved)
	require.ErrorIs(t, r.Write(ctx, Write{Path: "gone.txt", Data: []byte("x"), Expect: f.Hash}), ErrMoved)

	require.NoError(t, r.Write(ctx, Write{Path: "new/deep/c.txt", Data: []byte("c")}))
	require.Equal(t, "c", content(t, dir, "new/deep/c.txt"))
	require.NoError(t, r.Move(ctx, "new/deep/c.txt", "other/d.txt", HashOf([]byte("c"))))
	require.NoError(t, r.Remove(ctx, "other/d.txt", HashOf([]byte("c"))))
	_, err = r.Lstat(ctx, "other/d.txt")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, r.RemoveAll(ctx, "new", nil))
	list, err := r.List(ctx, ".")
	require.NoError(t, err)
	var names []string
	for _, i := range list {
		names = append(names, i.Name)
	}
	require.Equal(t, []string{"a.txt", "other", "sub"}, names)
}
