package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, write(dir, "v1.2.3", "2026-01-02"))
	for _, name := range []string{"coderrr", "coderrr-run", "coderrr-mcp-add", "coderrr-acp", "coderrr-completion-zsh"} {
		data, err := os.ReadFile(filepath.Join(dir, "man", name+".1"))
		require.NoError(t, err)
		page := string(data)
		require.True(t, strings.HasPrefix(page, ".TH "+strings.ToUpper(strings.ReplaceAll(name, "-", `\-`))+` 1 "2026-01-02" "Coderrr v1.2.3"`), page)
		require.Contains(t, page, ".SH NAME\n"+strings.ReplaceAll(name, "-", `\-`)+` \- `)
		for line := range strings.SplitSeq(page, "\n") {
			if strings.HasPrefix(line, ".") {
				require.Regexp(t, `^\.(TH|SH|B|TP|PP|nf|fi)( |$)`, line)
			}
		}
	}
	run, err := os.ReadFile(filepath.Join(dir, "man", "coderrr-run.1"))
	require.NoError(t, err)
	require.Contains(t, string(run), `\-\-plan\-only`)
	require.Contains(t, string(run), ".SH GLOBAL OPTIONS")
	for _, name := range []string{"coderrr.bash", "_coderrr", "coderrr.fish", "coderrr.ps1"} {
		info, err := os.Stat(filepath.Join(dir, "completions", name))
		require.NoError(t, err)
		require.NotZero(t, info.Size(), name)
	}
	require.Error(t, write(filepath.Join(dir, "man", "coderrr.1"), "v", "d"))
}
