package guidance

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/workspace"
)

// tree makes a folder with files and returns its resolved path. A name that ends
// in "/" is a folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Setenv("HOME", filepath.Join(dir, "home"))
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if strings.HasSuffix(name, "/") {
			require.NoError(t, os.MkdirAll(path, 0o755))
		} else {
			require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		}
	}
	return dir
}

func load(t *testing.T, ws, user string) ([]Doc, []string) {
	t.Helper()
	root, err := workspace.Open(ws, workspace.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, root.Close()) }()
	return Load(context.Background(), root, user)
}

func paths(docs []Doc) []string {
	var out []string
	for _, d := range docs {
		out = append(out, d.Path)
	}
	return out
}

func TestLoad(t *testing.T) {
	dir := tree(t, map[string]string{
		"AGENTS.md": "outside the repository", "repo/.git/": "", "repo/AGENTS.md": "root", "repo/CLAUDE.md": "not used",
		"repo/mid/other.md": "", "repo/mid/ws/CLAUDE.md": "\ufeffnear\n", "repo/mid/ws/sub/AGENTS.md": "below", "user.md": "mine",
	})
	docs, warnings := load(t, filepath.Join(dir, "repo/mid/ws"), filepath.Join(dir, "user.md"))
	require.Empty(t, warnings)
	require.Equal(t, []Doc{
		{Path: filepath.Join(dir, "user.md"), Text: "mine", Note: "4 bytes"},
		{Path: filepath.Join(dir, "repo/AGENTS.md"), Text: "root", Note: "4 bytes"},
		{Path: "CLAUDE.md", Text: "near\n", Note: "8 bytes"},
	}, docs)

	docs, warnings = load(t, filepath.Join(dir, "repo"), filepath.Join(dir, "no such file"))
	require.Empty(t, warnings)
	require.Equal(t, []string{"AGENTS.md"}, paths(docs), "a repository's root is where looking ends")
}

func TestAboveOnlyInARepository(t *testing.T) {
	dir := tree(t, map[string]string{"AGENTS.md": "x", "ws/": "", "home/.git/": "", "home/AGENTS.md": "dotfiles", "home/p/AGENTS.md": " \n"})
	docs, warnings := load(t, filepath.Join(dir, "ws"), "")
	require.Empty(t, docs)
	require.Empty(t, warnings)
	docs, _ = load(t, filepath.Join(dir, "home/p"), "")
	require.Empty(t, docs, "the home directory is no project, and an empty file says nothing")

	deep := strings.Repeat("d/", maxAbove+1)
	dir = tree(t, map[string]string{".git/": "", "AGENTS.md": "x", deep: ""})
	require.Empty(t, above(filepath.Join(dir, deep)))
	require.Len(t, above(filepath.Join(dir, "d/d")), 2)
	require.Empty(t, above("/"))
}

func TestSizeIsBounded(t *testing.T) {
	dir := tree(t, map[string]string{"ws/AGENTS.md": strings.Repeat("line of text\n", 8000), "one/AGENTS.md": strings.Repeat("x", MaxFile+5)})
	docs, _ := load(t, filepath.Join(dir, "ws"), "")
	require.Len(t, docs, 1)
	require.Less(t, len(docs[0].Text), MaxFile+200)
	require.Contains(t, docs[0].Note, "104000 bytes, only the first 32760 are used")
	require.True(t, strings.HasSuffix(docs[0].Text, "line of text\n\n[The file goes on: 32760 of its 104000 bytes are given here.]\n"))
	docs, _ = load(t, filepath.Join(dir, "one"), "")
	require.Contains(t, docs[0].Text, "[The file goes on: 32768 of its 32773 bytes")
}

// TestT05HiddenInstructions: tag characters in AGENTS.md are seen by the model, and
// people are told.
func TestT05HiddenInstructions(t *testing.T) {
	dir := tree(t, map[string]string{"ws/AGENTS.md": "Be nice\U000E0041\U000E0042 \u202eevil"})
	docs, _ := load(t, filepath.Join(dir, "ws"), "")
	require.Equal(t, "Be nice⟨U+E0041⟩⟨U+E0042⟩ ⟨U+202E⟩evil", docs[0].Text)
	require.Contains(t, docs[0].Note, "3 hidden characters are shown as markers")
}

// TestLinksAndOthers: outside the workspace only regular files, and no links; in it
// what the workspace allows.
func TestLinksAndOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // links need a privilege there; the rules are the same
	}
	dir := tree(t, map[string]string{
		"secret": "CANARY", "repo/.git/": "", "repo/CLAUDE.md": "fallback", "repo/ws/docs/agents.md": "inside", "repo/ws2/": "", "real.md": "mine",
	})
	require.NoError(t, os.Symlink("../secret", filepath.Join(dir, "repo/AGENTS.md")))
	require.NoError(t, os.Symlink("docs/agents.md", filepath.Join(dir, "repo/ws/AGENTS.md")))
	require.NoError(t, os.Symlink(filepath.Join(dir, "real.md"), filepath.Join(dir, "user.md")))
	docs, warnings := load(t, filepath.Join(dir, "repo/ws"), filepath.Join(dir, "user.md"))
	require.Empty(t, warnings)
	require.Equal(t, []string{filepath.Join(dir, "user.md"), filepath.Join(dir, "repo/CLAUDE.md"), "AGENTS.md"}, paths(docs))
	require.Equal(t, "inside", docs[2].Text)

	require.NoError(t, os.Remove(filepath.Join(dir, "repo/CLAUDE.md")))
	require.NoError(t, os.Symlink(filepath.Join(dir, "secret"), filepath.Join(dir, "repo/ws2/AGENTS.md")))
	docs, warnings = load(t, filepath.Join(dir, "repo/ws2"), dir)
	require.Empty(t, docs)
	require.Len(t, warnings, 3)
	require.Contains(t, warnings[0], "it is not a regular file")
	require.Contains(t, warnings[1], "repo/AGENTS.md was not used: it is not a regular file")
	require.Contains(t, warnings[2], "Guidance in AGENTS.md was not used: ")
	require.NotContains(t, strings.Join(warnings, ""), "CANARY")
}
