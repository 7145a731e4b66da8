package guidance

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/workspace"
)

func TestFallbacks(t *testing.T) {
	all := map[string]string{}
	for _, name := range Names() {
		all["ws/"+name] = name
	}
	for _, name := range Names() {
		dir := tree(t, all)
		docs, warnings := load(t, filepath.Join(dir, "ws"), "")
		require.Empty(t, warnings)
		require.Equal(t, []string{name}, paths(docs), "one file of a folder is used")
		delete(all, "ws/"+name)
	}
}

func TestNested(t *testing.T) {
	files := map[string]string{"ws/AGENTS.md": "root", "ws/a/AGENTS.md": "a", "ws/a/b/CLAUDE.md": "b", "ws/a/b/f.go": "", "ws/c/f.go": "", "ws/e/AGENTS.md": " "}
	for i := range maxNested + 3 {
		files[fmt.Sprintf("ws/many/%d/AGENTS.md", i)] = "x"
	}
	root, err := workspace.Open(filepath.Join(tree(t, files), "ws"), workspace.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, root.Close()) }()
	n := NewNested(root)
	for _, p := range []string{".", "f", "c/f.go", "none/x", "../x", "/etc/passwd", "e", "a/none/../../.."} {
		require.Empty(t, n.For(t.Context(), p), p)
	}
	require.Equal(t, []string{"a/AGENTS.md", "a/b/CLAUDE.md"}, paths(n.For(t.Context(), "a/b/f.go")))
	require.Empty(t, n.For(t.Context(), "a/b/f.go"), "each once")
	for i := range maxNested + 3 {
		n.For(t.Context(), fmt.Sprintf("many/%d/AGENTS.md", i))
	}
	require.Equal(t, maxNested, n.given)
}
