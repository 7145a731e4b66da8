package view_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/view"
)

// TestReadingCallsInARow are one run; anything between begins another.
func TestReadingCallsInARow(t *testing.T) {
	s := &view.State{}
	for i, data := range []event.Payload{
		event.ToolStarted{ID: "a", Name: "read_file", Class: "read"},
		event.ToolStarted{ID: "b", Name: "grep", Class: "read"},
		event.ToolFinished{ID: "a", Name: "read_file", OK: true},
		event.ToolStarted{ID: "c", Name: "run_in_sandbox", Class: "system"},
		event.ToolStarted{ID: "d", Name: "read_file", Class: "read"},
		event.TextDone{Text: "Now."},
		event.ToolStarted{ID: "e", Name: "tree", Class: "read"},
	} {
		s.Apply(event.Event{Seq: int64(i + 1), Data: data})
	}
	var runs []string
	for _, it := range s.Items {
		runs = append(runs, it.Run)
	}
	require.Equal(t, []string{"i1", "i1", "", "i4", "", "i6"}, runs)
	require.Len(t, s.Run("i1"), 2)
	require.Empty(t, s.Run(""))
}
