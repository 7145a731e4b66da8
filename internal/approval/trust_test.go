package approval

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/ask"
)

// TestC03Trust: the word on a workspace is kept outside it and covers what was
// listed, nothing else.
func TestC03Trust(t *testing.T) {
	home, one, two := t.TempDir(), strings.Repeat("1", 64), strings.Repeat("2", 64)
	s := Open(home, "/ws")
	require.False(t, s.Trusted(one))
	require.ErrorIs(t, s.Trust("yes", ask.ByTerminal), ErrName)
	require.NoError(t, s.Trust(one, ask.ByTerminal))
	require.True(t, s.Trusted(one))
	require.False(t, s.Trusted(two))
	require.False(t, s.Trusted(""))
	require.False(t, Open(home, "/other").Trusted(one))
	files, err := filepath.Glob(filepath.Join(home, "approvals", "*", "trust.json"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	info, err := os.Stat(files[0])
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.NoError(t, os.WriteFile(files[0], []byte("{"), 0o600))
	require.False(t, s.Trusted(one))
}
