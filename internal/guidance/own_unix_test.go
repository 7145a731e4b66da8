//go:build unix

package guidance

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestP16FIFO: a FIFO named AGENTS.md does not hang the start.
func TestP16FIFO(t *testing.T) {
	dir := tree(t, map[string]string{"repo/.git/": "", "repo/ws/": ""})
	for _, p := range []string{"repo/AGENTS.md", "repo/ws/AGENTS.md", "user.md"} {
		require.NoError(t, syscall.Mkfifo(filepath.Join(dir, p), 0o644))
	}
	docs, warnings := load(t, filepath.Join(dir, "repo/ws"), filepath.Join(dir, "user.md"))
	require.Empty(t, docs)
	require.Len(t, warnings, 3)
}

// TestForeignOwner: what another user put above the workspace is not believed.
func TestForeignOwner(t *testing.T) {
	dir := tree(t, map[string]string{"a": "", "b": ""})
	a, err := os.Stat(filepath.Join(dir, "a"))
	require.NoError(t, err)
	b, err := os.Stat(filepath.Join(dir, "b"))
	require.NoError(t, err)
	require.True(t, trusted(a, b))
	mine := a.Sys().(*syscall.Stat_t).Uid
	a.Sys().(*syscall.Stat_t).Uid = mine + 4711
	require.False(t, trusted(a, b))
	b.Sys().(*syscall.Stat_t).Uid = mine + 4711
	require.True(t, trusted(a, b))
	a.Sys().(*syscall.Stat_t).Uid = 0
	require.True(t, trusted(a, b))
}
