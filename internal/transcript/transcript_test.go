package transcript_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/transcript"
)

func TestMarkdown(t *testing.T) {
	var out strings.Builder
	doc := transcript.Markdown{W: &out}
	for _, data := range []event.Payload{
		event.SessionStarted{SessionID: "s1", Request: "Add it"},
		event.UserMessage{Text: "Add it\nnow"},
		event.PlanReady{Spec: "001-add", Title: "Add", Hash: "h", Documents: map[string]string{"tasks": "```\n# T\n```"}},
		event.AskClosed{Choice: "approve", By: "browser"},
		event.ToolStarted{Name: "read_file", Class: "read", Input: []byte("{}")},
		event.FileChanged{Path: "a\u202e.go", Op: "edit", Added: 1, Removed: 1, Diff: "@@ -1 +1 @@\n-a\n+b\n"},
		event.TaskUpdated{ID: "T001", Status: "done", Evidence: &event.Evidence{Command: "go test"}},
		event.ContextChanged{What: "title", Name: "x"},
		event.SessionFinished{Status: "ok", Summary: "Added."},
	} {
		require.NoError(t, doc.Print(event.Event{Data: data}))
	}
	for _, want := range []string{
		"# Add it\n", "> Add it\n> now\n", "## Plan: Add", "````markdown\n```\n# T\n```\n````", "*Decided: approve, by browser.*",
		"- `read_file {}`", "### edit a⟨U+202E⟩.go (+1 −1)", "proved by `go test` (exit 0)", "## Result: ok (exit 0)\n\nAdded.",
	} {
		require.Contains(t, out.String(), want)
	}
}
