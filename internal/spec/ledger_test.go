package spec

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/event"
)

func ok(command string) event.Evidence { return event.Evidence{Command: command} }

func failing(command string) event.Evidence { return event.Evidence{Command: command, ExitCode: 1} }

func TestLedger(t *testing.T) {
	plan := &Plan{Tasks: []Task{{ID: "T001", Files: []string{"a.go", "lib", "web/*.js", "docs/**"}}, {ID: "T002", Files: []string{"b.go"}}}}
	l := NewLedger()
	require.Empty(t, l.Ran(ok("early")), "a run before any task proves nothing")
	require.Empty(t, l.Wrote("a.go", plan))

	l.Started("T1")
	require.Empty(t, l.Ran(failing("go test")))
	require.Nil(t, l.Evidence("T001"))
	require.Equal(t, "T001", l.Ran(ok("go test")))
	require.Equal(t, "go test", l.Evidence("t1").Command)
	require.Equal(t, []string{"T001"}, l.Wrote("unlisted.txt", plan), "a write while it is in progress is its write")
	require.Nil(t, l.Evidence("T001"))

	l.Ran(ok("go test"))
	require.Empty(t, l.Ran(failing("ls nothing")), "another command that fails says nothing about it")
	require.NotNil(t, l.Evidence("T001"))
	require.Equal(t, "T001", l.Ran(failing("go test")), "the same command fails: proved no more")
	require.Nil(t, l.Evidence("T001"))
	l.Ran(ok("go vet"))
	l.Ended("T001", Done)
	require.Equal(t, "go vet", l.Evidence("T001").Command)
	require.Empty(t, l.Ran(ok("after")), "no task is in progress")

	l.Started("T002")
	l.Ran(ok("x"))
	for _, file := range []string{"c.go", "library/x", "web/sub/a.js"} {
		require.NotContains(t, l.Wrote(file, plan), "T001", file)
	}
	l.Ran(ok("x"))
	require.Equal(t, []string{"T001", "T002"}, l.Wrote("a.go", plan), "a later write to its files clears it")
	for _, file := range []string{"lib/x/y.go", "web/a.js", "docs/a/b.md"} {
		l.Started("T001")
		l.Ran(ok("x"))
		l.Ended("T001", Done)
		require.Equal(t, []string{"T001"}, l.Wrote(file, plan), file)
	}

	l.Started("T002")
	l.Ended("T002", Done) // not proved: a run that comes now still can
	require.Equal(t, "T002", l.Ran(ok("late")))
	l.Ended("T002", Done)
	require.Empty(t, l.Ran(ok("too late")))
	l.Ended("T002", Pending)
	require.Nil(t, l.Evidence("T002"))
	l.Started("T002")
	l.Started("T001")
	require.Equal(t, "T001", l.Ran(ok("x")), "one task is in progress at a time")
	l.Ended("T001", Blocked)
	require.Nil(t, l.Evidence("T001"))
	require.Empty(t, l.Wrote("x", nil))
}

// TestR12Rebuild: a log that ends anywhere gives a ledger that claims no more than
// the log shows.
func TestR12Rebuild(t *testing.T) {
	proof := &event.Evidence{Command: "make test", Tree: "t"}
	var log []event.Event
	add := func(p event.Payload) { log = append(log, event.Event{Seq: int64(len(log) + 1), Data: p}) }
	add(event.PlanReady{Spec: "001-x", Tasks: []event.PlanTask{{ID: "T001", Files: []string{"a.go"}}, {ID: "T2", Files: []string{"b.go"}}}})
	add(event.TaskUpdated{ID: "T001", Status: "in_progress"})
	add(event.FileChanged{Path: "a.go"})
	add(event.TaskUpdated{ID: "T001", Status: "in_progress", Evidence: proof})
	add(event.TaskUpdated{ID: "T001", Status: "done", Evidence: proof})
	add(event.TaskUpdated{ID: "T002", Status: "in_progress"})
	add(event.FileChanged{Path: "c.go", From: "a.go"})
	want := [][2]bool{{}, {}, {}, {}, {true, false}, {true, false}, {true, false}, {false, false}}
	for n := range len(log) + 1 {
		l := NewLedger()
		l.Rebuild(log[:n])
		require.Equal(t, want[n], [2]bool{l.Evidence("T001") != nil, l.Evidence("T002") != nil}, "after %d events", n)
	}
	l := NewLedger()
	l.Rebuild(log)
	require.Equal(t, "T002", l.Ran(ok("make test")), "the task in progress goes on")
}

func TestTree(t *testing.T) {
	a := Tree(map[string]string{"b": "2", "a": "1"}, "head")
	require.Len(t, a, 64)
	require.Equal(t, a, Tree(map[string]string{"a": "1", "b": "2"}, "head"))
	for _, other := range []string{
		Tree(map[string]string{"a": "1", "b": "2"}, ""), Tree(map[string]string{"a": "1", "b": ""}, "head"),
		Tree(map[string]string{"a": "1"}, "head"), Tree(nil, ""), Tree(nil, "head"),
	} {
		require.NotEqual(t, a, other)
	}
}
