package history_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/history"
	"github.com/coderrr/coderrr/internal/workspace"
)

func TestStore(t *testing.T) {
	home := t.TempDir()
	s := history.Open(home, "/ws")
	for _, data := range []string{"", "a\n", "\x00\xff", strings.Repeat("x", 1<<20)} {
		name, err := s.Put([]byte(data))
		require.NoError(t, err)
		require.Equal(t, workspace.HashOf([]byte(data)), name)
		got, err := s.Get(name)
		require.NoError(t, err)
		require.Equal(t, data, string(got))
		again, err := s.Put([]byte(data))
		require.NoError(t, err)
		require.Equal(t, name, again)
	}
	_, err := s.Get(workspace.HashOf([]byte("never")))
	require.ErrorIs(t, err, fs.ErrNotExist)
	for _, bad := range []string{"", "x", "../../etc/passwd", strings.Repeat("A", 64)} {
		_, err = s.Get(bad)
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.False(t, s.Has(bad))
	}
	_, err = history.Open(home, "/other").Get(workspace.HashOf([]byte("a\n")))
	require.ErrorIs(t, err, fs.ErrNotExist, "each workspace has its own")
}

func TestStoreIsPrivate(t *testing.T) {
	home := t.TempDir()
	_, err := history.Open(home, "/ws").Put([]byte("secret"))
	require.NoError(t, err)
	files := 0
	require.NoError(t, filepath.WalkDir(filepath.Join(home, "history"), func(p string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		want := fs.FileMode(0o700)
		if !d.IsDir() {
			want, files = 0o600, files+1
		}
		require.Equal(t, want, info.Mode().Perm(), p)
		return nil
	}))
	require.Equal(t, 1, files, "no temp file is left")
}

func TestStoreDamaged(t *testing.T) {
	dir := t.TempDir()
	s := history.OpenDir(dir)
	name, err := s.Put([]byte("content"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, name[:2], name[2:]), []byte("cont"), 0o600))
	_, err = s.Get(name)
	require.ErrorIs(t, err, history.ErrDamaged)
	_, err = s.Put([]byte("content"))
	require.NoError(t, err)
	require.True(t, s.Has(name), "and is healed by the next Put")
}

func TestStoreManyAtOnce(t *testing.T) {
	s := history.OpenDir(t.TempDir())
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			name, err := s.Put(fmt.Append(nil, i%4))
			if err != nil || !s.Has(name) {
				t.Error(name, err)
			}
		})
	}
	wg.Wait()
}

func TestPrune(t *testing.T) {
	dir := t.TempDir()
	s := history.OpenDir(dir)
	freed, err := history.OpenDir(filepath.Join(dir, "none")).Prune(time.Now())
	require.NoError(t, err)
	require.Zero(t, freed)
	old, _ := s.Put([]byte("old"))
	kept, _ := s.Put([]byte("used again"))
	for _, name := range []string{old, kept} {
		long := time.Now().Add(-time.Hour)
		require.NoError(t, os.Chtimes(filepath.Join(dir, name[:2], name[2:]), long, long))
	}
	_, err = s.Put([]byte("used again"))
	require.NoError(t, err)
	freed, err = s.Prune(time.Now().Add(-time.Minute))
	require.NoError(t, err)
	require.EqualValues(t, 3, freed)
	require.False(t, s.Has(old))
	require.True(t, s.Has(kept))
}

// world is a workspace with a log and a store, in which changes are made as the
// write tools make them.
type world struct {
	t     fataler
	dir   string
	root  *workspace.Root
	store *history.Store
	log   []event.Event
}

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

func newWorld(t fataler, base string) *world {
	t.Helper()
	w := &world{t: t, dir: filepath.Join(base, "ws"), store: history.OpenDir(filepath.Join(base, "history"))}
	w.must(os.MkdirAll(w.dir, 0o755))
	root, err := workspace.Open(w.dir, workspace.Options{})
	w.must(err)
	w.root = root
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("%v", err)
	}
}

func (w *world) file(path, content string) {
	w.t.Helper()
	w.must(os.MkdirAll(filepath.Dir(filepath.Join(w.dir, path)), 0o755))
	w.must(os.WriteFile(filepath.Join(w.dir, path), []byte(content), 0o644))
}

func (w *world) read(path string) string {
	data, err := os.ReadFile(filepath.Join(w.dir, path))
	if errors.Is(err, fs.ErrNotExist) {
		return "(none)"
	}
	w.must(err)
	return string(data)
}

func (w *world) append(e event.FileChanged) error {
	w.log = append(w.log, event.Event{Seq: int64(len(w.log) + 1), Data: e})
	return nil
}

// change writes (content) or deletes ("(none)") a file and logs it.
func (w *world) change(call, task, path, content string) {
	w.t.Helper()
	ctx := context.Background()
	before := w.hash(path)
	if before != "" {
		_, err := w.store.Put([]byte(w.read(path)))
		w.must(err)
	}
	e := event.FileChanged{Path: path, Before: before, Call: call, Task: task}
	if info, err := os.Stat(filepath.Join(w.dir, path)); err == nil && info.Mode().Perm() != 0o644 {
		e.Mode = fmt.Sprintf("%04o", info.Mode().Perm())
	}
	if content == "(none)" {
		w.must(w.append(e))
		w.must(w.root.Remove(ctx, path, before))
		return
	}
	e.After = workspace.HashOf([]byte(content))
	if dir := filepath.Dir(path); w.missing(dir) {
		e.Made = []string{dir}
	}
	w.must(w.append(e))
	w.must(w.root.Write(ctx, workspace.Write{Path: path, Data: []byte(content), Expect: before}))
}

// missing reports whether a folder is not there yet.
func (w *world) missing(dir string) bool {
	_, err := os.Stat(filepath.Join(w.dir, dir))
	return errors.Is(err, fs.ErrNotExist)
}

func (w *world) move(call, from, to string) {
	w.t.Helper()
	hash := w.hash(from)
	w.must(w.append(event.FileChanged{Path: to, From: from, Op: "move", Before: hash, After: hash, Call: call}))
	w.must(w.root.Move(context.Background(), from, to, hash))
}

func (w *world) hash(path string) string {
	h, err := w.root.Hash(context.Background(), path)
	w.must(err)
	return h
}

func (w *world) undo(f history.Filter, force bool) ([]string, error) {
	return history.Plan(w.log, f).Apply(context.Background(), history.Options{Root: w.root, Store: w.store, Log: w.append, Force: force})
}

func (w *world) undone(f history.Filter) {
	w.t.Helper()
	_, err := w.undo(f, false)
	w.must(err)
}

func TestUndoAll(t *testing.T) {
	w := newWorld(t, t.TempDir())
	w.file("a", "a0")
	w.file("gone", "g0")
	w.must(os.Chmod(filepath.Join(w.dir, "gone"), 0o750))
	w.file("old", "o0")
	w.change("1", "T1", "a", "a1")
	w.change("2", "T1", "a", "a2")
	w.change("3", "T2", "new/deep", "n")
	w.change("4", "T2", "gone", "(none)")
	w.move("5", "old", "moved")
	done, err := w.undo(history.Filter{}, false)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"a", "new/deep", "gone", "old"}, done)
	require.Equal(t, "a0", w.read("a"))
	require.Equal(t, "g0", w.read("gone"))
	require.Equal(t, "o0", w.read("old"))
	require.Equal(t, "(none)", w.read("moved"))
	require.NoDirExists(t, filepath.Join(w.dir, "new"), "a folder that was made for it goes too")
	info, err := os.Stat(filepath.Join(w.dir, "gone"))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o750), info.Mode().Perm())

	require.Empty(t, history.Plan(w.log, history.Filter{}).Steps, "nothing is left to undo")
	for _, e := range w.log[5:] {
		c := e.Data.(event.FileChanged)
		require.Equal(t, history.Call, c.Call)
	}
}

func TestUndoKeepsModeOfAnEditedFile(t *testing.T) {
	w := newWorld(t, t.TempDir())
	w.file("run.sh", "one")
	w.must(os.Chmod(filepath.Join(w.dir, "run.sh"), 0o755))
	w.change("1", "", "run.sh", "two")
	w.undone(history.Filter{})
	info, err := os.Stat(filepath.Join(w.dir, "run.sh"))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o755), info.Mode().Perm())
}

func TestUndoLastGoesBackStepByStep(t *testing.T) {
	w := newWorld(t, t.TempDir())
	w.file("a", "0")
	for _, v := range []string{"1", "2", "3"} {
		w.change("call-"+v, "", "a", v)
	}
	for _, want := range []string{"2", "1", "0", "0"} {
		w.undone(history.Filter{Last: true})
		require.Equal(t, want, w.read("a"))
	}
	w.change("call-4", "", "a", "4")
	w.undone(history.Filter{Last: true})
	require.Equal(t, "0", w.read("a"))
}

func TestUndoLastTakesTheWholeCall(t *testing.T) {
	w := newWorld(t, t.TempDir())
	w.file("a", "a0")
	w.file("b", "b0")
	w.change("1", "", "a", "(none)")
	w.change("1", "", "b", "(none)")
	w.undone(history.Filter{Last: true})
	require.Equal(t, "a0", w.read("a"))
	require.Equal(t, "b0", w.read("b"))
}

func TestUndoOneFileOrFolder(t *testing.T) {
	w := newWorld(t, t.TempDir())
	for _, p := range []string{"d/a", "d/b", "dd"} {
		w.file(p, "0")
		w.change("1", "", p, "1")
	}
	w.undone(history.Filter{Path: "d/a"})
	require.Equal(t, []string{"0", "1", "1"}, []string{w.read("d/a"), w.read("d/b"), w.read("dd")})
	w.undone(history.Filter{Path: "d/"})
	require.Equal(t, []string{"0", "0", "1"}, []string{w.read("d/a"), w.read("d/b"), w.read("dd")})
}

func TestUndoFollowsRenames(t *testing.T) {
	for _, path := range []string{"a", "b"} {
		w := newWorld(t, t.TempDir())
		w.file("a", "0")
		w.change("1", "", "a", "1")
		w.move("2", "a", "b")
		w.change("3", "", "b", "2")
		w.undone(history.Filter{Path: path})
		require.Equal(t, "0", w.read("a"), path)
		require.Equal(t, "(none)", w.read("b"), path)
	}
}

func TestUndoMoveThenNewFileOfTheOldName(t *testing.T) {
	w := newWorld(t, t.TempDir())
	w.file("a", "0")
	w.move("1", "a", "b")
	_, err := w.store.Put([]byte("0"))
	require.NoError(t, err)
	w.change("2", "", "a", "new")
	w.undone(history.Filter{})
	require.Equal(t, "0", w.read("a"))
	require.Equal(t, "(none)", w.read("b"))
}

func TestUndoFileWhereAFolderWas(t *testing.T) {
	w := newWorld(t, t.TempDir())
	w.file("x", "file")
	w.change("1", "", "x", "(none)")
	w.change("2", "", "x/inner", "now a folder")
	w.undone(history.Filter{})
	require.Equal(t, "file", w.read("x"))
}

func TestUndoTask(t *testing.T) {
	w := newWorld(t, t.TempDir())
	w.file("a", "0")
	w.file("b", "0")
	w.change("1", "T1", "a", "1")
	w.change("2", "T2", "b", "1")
	w.undone(history.Filter{Task: "T1"})
	require.Equal(t, "0", w.read("a"))
	require.Equal(t, "1", w.read("b"))

	w.change("3", "T3", "b", "2")
	_, err := w.undo(history.Filter{Task: "T2"}, false)
	var conflict *history.ErrConflict
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, []history.Conflict{{Path: "b", Why: "a later change that stays was made to it"}}, conflict.Conflicts)
	require.Equal(t, "2", w.read("b"))
}

// TestR14UndoConflicts: what a person did since is not lost.
func TestR14UndoConflicts(t *testing.T) {
	for _, tc := range []struct {
		name   string
		make   func(w *world)
		spoil  func(w *world)
		path   string
		why    string
		hard   bool
		forced string
	}{
		{
			"edited since", func(w *world) { w.file("a", "0"); w.change("1", "", "a", "1") },
			func(w *world) { w.file("a", "mine") }, "a", "it was changed since", false, "0",
		},
		{
			"deleted since", func(w *world) { w.file("a", "0"); w.change("1", "", "a", "1") },
			func(w *world) { w.must(os.Remove(filepath.Join(w.dir, "a"))) }, "a", "it was deleted since", false, "0",
		},
		{
			"made again since", func(w *world) { w.file("a", "0"); w.change("1", "", "a", "(none)") },
			func(w *world) { w.file("a", "mine") }, "a", "a file of that name was made since", false, "0",
		},
		{
			"a created file edited since", func(w *world) { w.change("1", "", "a", "1") },
			func(w *world) { w.file("a", "mine") }, "a", "it was changed since", false, "(none)",
		},
		{
			"edited between two changes",
			func(w *world) {
				w.file("a", "0")
				w.change("1", "", "a", "1")
				w.file("a", "mine")
				w.change("2", "", "a", "2")
			},
			func(*world) {}, "a", "someone else changed it between the changes to be undone", false, "0",
		},
		{
			"moved file edited since", func(w *world) { w.file("a", "0"); w.move("1", "a", "b") },
			func(w *world) { w.file("b", "mine") }, "b", "it was changed since it was moved", false, "mine",
		},
		{
			"moved file's old name taken", func(w *world) { w.file("a", "0"); w.move("1", "a", "b") },
			func(w *world) { w.file("a", "mine") }, "a", "a file of that name was made since", true, "",
		},
		{
			"moved file gone", func(w *world) { w.file("a", "0"); w.move("1", "a", "b") },
			func(w *world) { w.must(os.Remove(filepath.Join(w.dir, "b"))) }, "a", "b, where it was moved to, is gone", true, "",
		},
		{
			"old content pruned", func(w *world) { w.file("a", "0"); w.change("1", "", "a", "1") },
			func(w *world) { _, err := w.store.Prune(time.Now().Add(time.Hour)); w.must(err) }, "a", "its old content is no longer kept", true, "",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, t.TempDir())
			tc.make(w)
			w.file("other", "0")
			w.change("9", "", "other", "1")
			tc.spoil(w)
			now := w.read("a")
			_, err := w.undo(history.Filter{}, false)
			var conflict *history.ErrConflict
			require.ErrorAs(t, err, &conflict)
			require.Equal(t, tc.path, conflict.Conflicts[0].Path)
			require.Equal(t, tc.why, conflict.Conflicts[0].Why)
			require.Contains(t, err.Error(), tc.path+": "+tc.why)
			require.Equal(t, now, w.read("a"), "nothing is touched")
			if tc.name != "old content pruned" {
				require.Equal(t, "1", w.read("other"), "all or nothing")
			}
			_, err = w.undo(history.Filter{}, true)
			if tc.hard {
				require.ErrorAs(t, err, &conflict)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.forced, w.read("a"))
			require.Equal(t, "0", w.read("other"))
			if now != "(none)" && tc.forced != now {
				require.True(t, w.store.Has(workspace.HashOf([]byte(now))), "what was there is kept")
			}
		})
	}
}

func TestUndoWhatIsBackAlready(t *testing.T) {
	w := newWorld(t, t.TempDir())
	w.file("a", "0")
	w.change("1", "", "a", "1")
	w.file("a", "0") // git checkout
	done, err := w.undo(history.Filter{}, false)
	require.NoError(t, err)
	require.Empty(t, done)
}

func TestUndoOfALink(t *testing.T) {
	w := newWorld(t, t.TempDir())
	w.must(w.append(event.FileChanged{Path: "l", Before: workspace.HashOf([]byte("target")), Mode: history.LinkMode, Call: "1"}))
	_, err := w.undo(history.Filter{}, true)
	require.ErrorContains(t, err, "it was a symbolic link; make it again by hand")
}

// TestTakeBack: a change that failed after it was logged counts as not made, to
// a reader who knows nothing of failures too.
func TestTakeBack(t *testing.T) {
	w := newWorld(t, t.TempDir())
	w.file("a", "0")
	w.change("1", "", "a", "1")
	one, two := workspace.HashOf([]byte("1")), workspace.HashOf([]byte("2"))
	failed := event.FileChanged{Path: "a", Op: "edit", Before: one, After: two, Added: 3, Removed: 1, Call: "2", Task: "T1"}
	w.must(w.append(failed))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, history.TakeBack(ctx, w.root, failed, errors.New("no space left\nmore"), w.append))
	require.Equal(t, event.FileChanged{Path: "a", Op: "edit", Before: two, After: one, Added: 1, Removed: 3, Call: "2", Task: "T1", Failed: "no space left"}, w.log[2].Data)
	w.undone(history.Filter{Last: true})
	require.Equal(t, "0", w.read("a"))

	n := len(w.log)
	require.NoError(t, history.TakeBack(ctx, w.root, event.FileChanged{Path: "a", After: w.hash("a")}, errors.New("x"), w.append))
	require.Len(t, w.log, n, "what did happen is not taken back")

	move := event.FileChanged{Path: "b", From: "a", Op: "move", Before: w.hash("a"), After: w.hash("a")}
	require.NoError(t, history.TakeBack(ctx, w.root, move, errors.New("x"), w.append))
	back := w.log[n].Data.(event.FileChanged)
	require.Equal(t, "a", back.Path)
	require.Equal(t, "b", back.From)
	require.Equal(t, w.hash("a"), back.After)
}

// TestReconcile: kill -9 between the event and the replacement.
func TestReconcile(t *testing.T) {
	hash := func(s string) string { return workspace.HashOf([]byte(s)) }
	finished := func(id string) event.Event { return event.Event{Data: event.ToolFinished{ID: id}} }
	for _, tc := range []struct {
		name string
		log  []event.Event
		want []event.FileChanged
	}{
		{"made", []event.Event{{Data: event.FileChanged{Path: "a", Before: hash("x"), After: hash("0"), Call: "1"}}}, nil},
		{
			"not made",
			[]event.Event{{Data: event.FileChanged{Path: "a", Before: hash("0"), After: hash("1"), Call: "1"}}},
			[]event.FileChanged{{Path: "a", Op: "edit", Before: hash("1"), After: hash("0"), Call: "1", Failed: "interrupted before the file was replaced"}},
		},
		{"finished call", []event.Event{{Data: event.FileChanged{Path: "a", Before: hash("0"), After: hash("1"), Call: "1"}}, finished("1")}, nil},
		{"someone else's content", []event.Event{{Data: event.FileChanged{Path: "a", Before: hash("x"), After: hash("y"), Call: "1"}}}, nil},
		{
			"create not made",
			[]event.Event{{Data: event.FileChanged{Path: "n", After: hash("1"), Call: "1"}}},
			[]event.FileChanged{{Path: "n", Op: "delete", Before: hash("1"), Call: "1", Failed: "interrupted before the file was replaced"}},
		},
		{
			"move not made",
			[]event.Event{{Data: event.FileChanged{Path: "b", From: "a", Op: "move", Before: hash("0"), After: hash("0"), Call: "1"}}},
			[]event.FileChanged{{Path: "a", From: "b", Op: "move", Before: hash("0"), After: hash("0"), Call: "1", Failed: "interrupted before the file was replaced"}},
		},
		{"taken back already", []event.Event{{Data: event.FileChanged{Path: "a", Before: hash("1"), After: hash("0"), Call: "1", Failed: "x"}}}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, t.TempDir())
			w.file("a", "0")
			var got []event.FileChanged
			require.NoError(t, history.Reconcile(t.Context(), w.root, tc.log, func(e event.FileChanged) error {
				got = append(got, e)
				return nil
			}))
			require.Equal(t, tc.want, got)
		})
	}
}

// TestUndoThatCannotBeLogged: what is not logged is not done.
func TestUndoThatCannotBeLogged(t *testing.T) {
	w := newWorld(t, t.TempDir())
	w.file("a", "0")
	w.change("1", "", "a", "1")
	stop := errors.New("the disk is full")
	_, err := history.Plan(w.log, history.Filter{}).Apply(t.Context(), history.Options{
		Root: w.root, Store: w.store, Log: func(event.FileChanged) error { return stop },
	})
	require.ErrorIs(t, err, stop)
	require.Equal(t, "1", w.read("a"), "what is not logged is not done")
	w.undone(history.Filter{})
	require.Equal(t, "0", w.read("a"))
}

// TestUndoAnything: whatever a session did, undoing all of it gives back the files
// as they were, and undoing the last call again and again does too.
func TestUndoAnything(t *testing.T) {
	base := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		w := newWorld(t, filepath.Join(base, fmt.Sprint(n)))
		defer func() { _ = w.root.Close() }()
		paths := []string{"a", "b", "d/c"}
		start := map[string]string{}
		for _, p := range paths {
			start[p] = rapid.SampledFrom([]string{"(none)", "0", "1"}).Draw(t, "start "+p)
			if start[p] != "(none)" {
				w.file(p, start[p])
			}
		}
		for i := range rapid.IntRange(0, 8).Draw(t, "changes") {
			call, p := fmt.Sprint("call", i), rapid.SampledFrom(paths).Draw(t, "path")
			to := rapid.SampledFrom(paths).Draw(t, "to")
			switch rapid.SampledFrom([]string{"write", "delete", "move", "undo"}).Draw(t, "op") {
			case "write":
				content := rapid.SampledFrom([]string{"0", "1", "2", "3"}).Draw(t, "content")
				if content != w.read(p) {
					w.change(call, "", p, content)
				}
			case "delete":
				if w.read(p) != "(none)" {
					w.change(call, "", p, "(none)")
				}
			case "move":
				if w.read(p) != "(none)" && w.read(to) == "(none)" {
					_, err := w.store.Put([]byte(w.read(p)))
					w.must(err)
					w.move(call, p, to)
				}
			case "undo":
				w.undone(history.Filter{Last: true})
			}
		}
		if rapid.Bool().Draw(t, "step by step") {
			for range 20 {
				w.undone(history.Filter{Last: true})
			}
		} else {
			w.undone(history.Filter{})
		}
		for _, p := range paths {
			if got := w.read(p); got != start[p] {
				t.Fatalf("%s is %q, was %q\n%+v", p, got, start[p], w.log)
			}
		}
	})
}
