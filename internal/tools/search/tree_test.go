package search

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestListDir(t *testing.T) {
	b := setup(t, map[string]string{"a.go": "x", "d/x": "x", "l": "-> d", ".hidden": ""})
	require.Equal(t, ".hidden  0 bytes\na.go  1 byte\nd/\nl -> d  (link)", b.ok("list_dir", args{}))
	require.Equal(t, "x  1 byte", b.ok("list_dir", "l"))
	b.fails("list_dir", "a.go", "not a folder")
	b.fails("list_dir", "gone", "does not exist")
	for i := range 1100 {
		b.put(fmt.Sprintf("many/f%04d", i), "")
	}
	require.Contains(t, b.ok("list_dir", "many"), "[1000 of 1100 entries shown;")
	require.NoError(t, b.root.RemoveAll(t.Context(), "d/x", nil))
	require.Equal(t, "[the folder is empty]", b.ok("list_dir", "d"))
}

func TestTree(t *testing.T) {
	files := map[string]string{"a.go": "", "z/deep/er/x": "", ".gitignore": "out\n", "out/x": ""}
	for i := range 10 {
		files[fmt.Sprintf("big/s%d/f", i)] = ""
	}
	b := setup(t, files)
	want := ".\n  .gitignore\n  a.go\n  big/\n"
	for i := range 10 {
		want += fmt.Sprintf("    s%d/\n      f\n", i)
	}
	want += "  z/\n    deep/\n      er/\n        x"
	require.Equal(t, want, b.ok("tree", args{}))
	require.Equal(t, ".\n  .gitignore\n  a.go\n  big/\n  z/\n[1 level is shown]", b.ok("tree", args{"max_depth": 1}))
	got := b.ok("tree", args{"max_entries": 20})
	require.Contains(t, got, "    deep/\n[2 levels are shown, what is deeper did not fit; name a folder in it]")
	require.NotContains(t, got, "      f")
	require.Equal(t, ".\n  .gitignore\n  a.go\n[2 of 4 entries shown; name a folder in it, or give max_entries]", b.ok("tree", args{"max_entries": 2}))
	require.Contains(t, b.ok("tree", args{"max_depth": 3, "max_entries": 5}), "[5 of 26 entries shown;")
	require.Contains(t, b.ok("tree", "out"), "out\n  x")
	b.put("only/.gitignore", "*\n")
	require.Equal(t, "only\n[nothing in it, or all of it is ignored; list_dir shows what is ignored]", b.ok("tree", "only"))
	b.fails("tree", "a.go", "not a folder")
	require.Equal(t, "Tree of big (20 entries)", b.call("tree", "big").Display)
	require.False(t, strings.Contains(b.ok("tree", "."), "\t"))
}
