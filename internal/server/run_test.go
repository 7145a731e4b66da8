package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/event"
)

// TestReadingIsOneLine: each call is sent once, into its run, and the line counts.
func TestReadingIsOneLine(t *testing.T) {
	st := start(t)
	l := st.b.add("s1", "r")
	tb, _ := st.open(nil)
	read := func(id, path string) message {
		l.log.Append(event.ToolStarted{ID: id, Name: "read_file", Class: "read", Input: []byte(`{"path":"` + path + `"}`)})
		l.log.Append(event.ToolFinished{ID: id, Name: "read_file", OK: true, Display: path + " was read"})
		return tb.until(path + " was read")
	}
	read("a", "one.go")
	m := read("b", "two.go")
	require.Contains(t, m.html(), "Read 2 files")
	require.NotContains(t, m.html(), "one.go was read")
	for _, p := range m.Patch {
		if p.ID == "i2" {
			require.Equal(t, "run-i1-in", p.In)
		}
	}
	_, snap := st.open(nil)
	require.Contains(t, snap.html(), "Read 2 files")
}
