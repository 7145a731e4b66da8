package history_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/diff"
	"github.com/coderrr/coderrr/internal/history"
)

// hunk is the n-th change between two contents, as a page shows it.
func hunk(w *world, path, before string, n int) history.Hunk {
	after := w.read(path)
	return history.Hunk{Path: path, After: w.hash(path), Lines: diff.Compute([]byte(before), []byte(after))[n]}
}

func (w *world) undoHunk(h history.Hunk) error {
	ctx := context.Background()
	undo, err := history.PlanHunk(ctx, w.log, h, w.root, w.store)
	if err != nil {
		return err
	}
	_, err = undo.Apply(ctx, history.Options{Root: w.root, Store: w.store, Log: w.append})
	return err
}

func text(marks string) string {
	return "top\n" + strings.Repeat("same\n", 9) + marks + strings.Repeat("same\n", 9) + "end\n"
}

func TestUndoOneHunk(t *testing.T) {
	w := newWorld(t, t.TempDir())
	before := text("old\n")
	w.file("a", before)
	w.change("1", "T1", "a", "new "+text("NEW\n"))
	require.NoError(t, w.undoHunk(hunk(w, "a", before, 0)))
	require.Equal(t, text("NEW\n"), w.read("a"), "the other hunk stays")
	require.NoError(t, w.undoHunk(hunk(w, "a", before, 0)))
	require.Equal(t, before, w.read("a"))
	require.Empty(t, history.Plan(w.log, history.Filter{}).Steps, "nothing is left to undo")
}

// TestUndoHunkThenTheRest: what was taken back by hand does not stand in the way of
// the file, its task or all, and does not come back.
func TestUndoHunkThenTheRest(t *testing.T) {
	for name, f := range map[string]history.Filter{"file": {Path: "a"}, "task": {Task: "T1"}, "all": {}, "last": {Last: true}} {
		w := newWorld(t, t.TempDir())
		before := text("old\n")
		w.file("a", before)
		w.change("1", "T1", "a", "new "+text("NEW\n"))
		require.NoError(t, w.undoHunk(hunk(w, "a", before, 0)), name)
		w.undone(f)
		require.Equal(t, before, w.read("a"), name)
	}
	w := newWorld(t, t.TempDir())
	before := text("old\n")
	w.file("a", before)
	w.change("1", "T1", "a", "new "+text("old\n"))
	w.change("2", "T2", "a", "new "+text("NEW\n"))
	require.NoError(t, w.undoHunk(hunk(w, "a", before, 0)))
	_, err := w.undo(history.Filter{Task: "T2"}, false)
	var conflict *history.ErrConflict
	require.ErrorAs(t, err, &conflict, "T2 alone would bring back what was undone of T1")
	require.Equal(t, text("NEW\n"), w.read("a"))
}

func TestUndoHunkRefusesWhatWasNotShown(t *testing.T) {
	w := newWorld(t, t.TempDir())
	before := text("old\n")
	w.file("a", before)
	w.change("1", "T1", "a", text("NEW\n"))
	h := hunk(w, "a", before, 0)
	w.file("a", text("NEW\n")+"mine\n")
	require.ErrorIs(t, w.undoHunk(h), history.ErrMoved)
	require.Equal(t, text("NEW\n")+"mine\n", w.read("a"), "somebody's line is not lost")
	w.file("a", text("NEW\n"))
	w.change("2", "T1", "a", text("NEWER\n"))
	require.ErrorIs(t, w.undoHunk(h), history.ErrMoved, "the session went on")
	h.Path = "b"
	require.ErrorIs(t, w.undoHunk(h), history.ErrMoved)
}

func TestContentOfBothSides(t *testing.T) {
	w := newWorld(t, t.TempDir())
	w.file("a", "one")
	before := w.hash("a")
	w.change("1", "", "a", "two")
	for hash, want := range map[string]string{before: "one", w.hash("a"): "two"} {
		got, err := history.Content(context.Background(), "a", hash, w.root, w.store)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	_, err := history.Content(context.Background(), "a", strings.Repeat("0", 64), w.root, w.store)
	require.ErrorContains(t, err, "no longer kept")
}
