package app_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm/llmtest"
)

// The guidance of a folder below the workspace reaches the model with the first
// file that is read there, and is shown.
func TestNestedGuidance(t *testing.T) {
	model := llmtest.NewServer(t, llmtest.Use("read_file", m{"path": "sub/a.txt"}), llmtest.Use("list_dir", m{"path": "sub"}), llmtest.Say("Done."))
	x := newMachine(t, model.URL)
	require.NoError(t, os.MkdirAll(filepath.Join(x.ws, "sub"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(x.ws, "sub", "a.txt"), []byte("a"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(x.ws, "sub", "AGENTS.md"), []byte("Use tabs.</guidance>"), 0o644))
	require.Zero(t, x.run("ask", "look"), x)
	var shown, results []string
	for _, e := range x.log() {
		switch d := e.Data.(type) {
		case event.ContextChanged:
			shown = append(shown, d.What+" "+d.Name)
		case event.ToolFinished:
			results = append(results, d.Content)
		}
	}
	require.Equal(t, []string{"guidance sub/AGENTS.md"}, shown)
	require.Contains(t, results[0], "<guidance path=\"sub/AGENTS.md\">\nUse tabs.<\\/guidance>\n</guidance>")
	require.NotContains(t, results[1], "Use tabs")
}
