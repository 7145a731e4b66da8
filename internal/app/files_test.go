package app_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/app"
	"github.com/coderrr/coderrr/internal/cli"
)

func TestFilesToComplete(t *testing.T) {
	ws, home := t.TempDir(), t.TempDir()
	for _, name := range []string{"main.go", "main_test.go", "internal/app/app.go", "internal/term/x.go", "node_modules/app/app.go", ".coderrr/config.toml"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(ws, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(ws, name), nil, 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(ws, ".gitignore"), []byte("node_modules\n"), 0o600))
	a, err := app.Build(t.Context(), cli.Env{Dir: ws, Home: home, Getenv: func(string) string { return "" }})
	require.NoError(t, err)
	for prefix, want := range map[string][]string{
		"ma":           {"main.go", "main_test.go"},
		"internal/":    {"internal/app/", "internal/term/"},
		"internal/a":   {"internal/app/"},
		"App":          {"internal/app/", "internal/app/app.go"},
		"zzz":          nil,
		".coderrr/":    nil,
		"../":          nil,
		"/etc/pass":    nil,
		"node_modules": nil,
	} {
		got, _ := a.Files(t.Context(), prefix)
		require.Equal(t, want, got, prefix)
	}
}
