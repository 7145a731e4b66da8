package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/policy"
)

func walked(t *testing.T, r *Root, p string, o WalkOptions) []string {
	t.Helper()
	var out []string
	require.NoError(t, r.Walk(context.Background(), p, o, func(e Entry) error {
		out = append(out, e.Path)
		return nil
	}))
	return out
}

func sample(t *testing.T) *Root {
	r, _ := tree(t, map[string]string{
		".git/HEAD": "x", ".git/info/exclude": "excluded\n", ".gitignore": "*.log\n/build/\nnode_modules\n!important.log\n",
		".coderrr/session/1.jsonl": "x", ".coderrr/specs/001-x/tasks.md": "x", ".coderrrignore": "private\n",
		"a.go": "a", "a.log": "x", "important.log": "x", "build/out": "x", "excluded": "x", "private/k": "x",
		"node_modules/m/index.js": "x", "node_modules/m/a.log": "x", "sub/.gitignore": "!b.log\n/only-here\n", "sub/b.log": "x", "sub/c.log": "x",
		"sub/only-here": "x", "sub/deep/only-here": "x", "sub/build/x": "x", "sub/.hg/store": "x", tempPrefix + "0011": "half",
	})
	return r
}

func TestWalkHonoursIgnoreFiles(t *testing.T) {
	r := sample(t)
	require.Equal(t, []string{
		".coderrrignore", ".gitignore", "a.go", "important.log", "sub", "sub/.gitignore", "sub/b.log", "sub/build", "sub/build/x",
		"sub/deep", "sub/deep/only-here",
	}, walked(t, r, ".", WalkOptions{}))
	require.Equal(t, []string{"sub/.gitignore", "sub/b.log", "sub/build", "sub/build/x", "sub/deep", "sub/deep/only-here"}, walked(t, r, "sub", WalkOptions{}))
	require.Equal(t, []string{".coderrrignore", ".gitignore", "a.go", "important.log", "sub"}, walked(t, r, ".", WalkOptions{MaxDepth: 1}))
	// What was named on purpose is walked, though it is ignored.
	require.Equal(t, []string{"node_modules/m", "node_modules/m/a.log", "node_modules/m/index.js"}, walked(t, r, "node_modules", WalkOptions{}))
	require.Equal(t, []string{"build/out"}, walked(t, r, "build", WalkOptions{}))
	require.Equal(t, []string{".coderrr/specs/001-x"}, walked(t, r, ".coderrr/specs", WalkOptions{MaxDepth: 1}))
	all := walked(t, r, ".", WalkOptions{All: true})
	require.Contains(t, all, "node_modules/m/index.js")
	for _, p := range all {
		require.False(t, strings.Contains(p, ".git/") || strings.Contains(p, ".coderrr/") || strings.Contains(p, ".hg") || isTemp(p), p)
	}
}

func TestWalkMatchesGit(t *testing.T) {
	git, err := exec.LookPath("git")
	require.NoError(t, err, "this test compares with git; install it")
	r := sample(t)
	require.NoError(t, os.RemoveAll(filepath.Join(r.Dir(), ".git")))
	for _, p := range []string{".coderrrignore", ".coderrr", tempPrefix + "0011", "sub/.hg"} {
		require.NoError(t, os.RemoveAll(filepath.Join(r.Dir(), p)))
	}
	for _, args := range [][]string{{"init", "-q"}, {"ls-files", "-z", "-co", "--exclude-standard"}} {
		cmd := exec.Command(git, args...)
		cmd.Dir = r.Dir()
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.Output()
		require.NoError(t, err)
		if args[0] == "init" {
			plant(t, r.Dir(), map[string]string{".git/info/exclude": "excluded\n"})
			continue
		}
		var files []string
		for _, p := range walked(t, r, ".", WalkOptions{}) {
			if info, _ := r.Lstat(context.Background(), p); info.Kind == KindFile {
				files = append(files, p)
			}
		}
		require.ElementsMatch(t, strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), files)
	}
}

func TestWalkStops(t *testing.T) {
	ctx := context.Background()
	r, _ := tree(t, map[string]string{"a/x": "1", "a/y": "2", "b": "3", "c/z": "4"})
	for stop, want := range map[string]string{"a": "a b c c/z", "a/x": "a a/x b c c/z", "b": "a a/x a/y b"} {
		var seen []string
		require.NoError(t, r.Walk(ctx, ".", WalkOptions{}, func(e Entry) error {
			seen = append(seen, e.Path)
			if e.Path == stop {
				return fs.SkipDir
			}
			return nil
		}))
		require.Equal(t, want, strings.Join(seen, " "), stop)
	}
	n := 0
	require.NoError(t, r.Walk(ctx, ".", WalkOptions{}, func(Entry) error { n++; return fs.SkipAll }))
	require.Equal(t, 1, n)
	mine := errors.New("mine")
	require.ErrorIs(t, r.Walk(ctx, ".", WalkOptions{}, func(Entry) error { return mine }), mine)
	require.ErrorIs(t, r.Walk(ctx, "gone", WalkOptions{}, nil), fs.ErrNotExist)
	require.ErrorIs(t, r.Walk(ctx, "b", WalkOptions{}, nil), ErrNotDirectory)
}

func TestWalkOpensAndDescribes(t *testing.T) {
	ctx := context.Background()
	r, dir := tree(t, map[string]string{"a/x": "content", "a/l": "-> x"})
	require.NoError(t, r.Walk(ctx, ".", WalkOptions{Stat: true}, func(e Entry) error {
		switch e.Path {
		case "a":
			require.Equal(t, 1, e.Depth)
			_, _, err := e.Open()
			require.ErrorIs(t, err, ErrIsFolder)
		case "a/l":
			require.Equal(t, "x", e.Target)
		case "a/x":
			require.Equal(t, 2, e.Depth)
			require.Equal(t, int64(7), e.Size)
			require.Equal(t, 1, e.Links)
			f, info, err := e.Open()
			require.NoError(t, err)
			require.Equal(t, "a/x", info.Path)
			data, err := io.ReadAll(f)
			require.NoError(t, err)
			require.Equal(t, "content", string(data))
			require.NoError(t, f.Close())
			require.NoError(t, os.Remove(filepath.Join(dir, "a/x")))
			_, _, err = e.Open()
			require.ErrorIs(t, err, fs.ErrNotExist)
		}
		return nil
	}))
}

func TestBelowAndRemoveAllKnown(t *testing.T) {
	ctx := context.Background()
	r, dir := tree(t, map[string]string{".gitignore": "*.log\n", "d/a": "1", "d/sub/b.log": "22", "d/l": "-> a", "d/empty/": "", "f": "f"})
	files, err := r.Below(ctx, "d", 10, 100)
	require.NoError(t, err)
	known := map[string]string{}
	var names []string
	for _, f := range files {
		known[f.Path] = f.Hash
		names = append(names, f.Path+"="+string(f.Data))
	}
	require.Equal(t, []string{"d/a=1", "d/l=a", "d/sub/b.log=22"}, names)
	_, err = r.Below(ctx, "d", 2, 100)
	require.ErrorIs(t, err, ErrTooLarge)
	_, err = r.Below(ctx, "d", 10, 2)
	require.ErrorIs(t, err, ErrTooLarge)
	_, err = r.Below(ctx, "f", 10, 2)
	require.ErrorIs(t, err, ErrNotDirectory)
	_, err = r.Below(ctx, "gone", 10, 2)
	require.ErrorIs(t, err, fs.ErrNotExist)

	plant(t, dir, map[string]string{"d/new": "n"})
	require.ErrorIs(t, r.RemoveAll(ctx, "d", known), ErrMoved)
	require.NoError(t, os.Remove(filepath.Join(dir, "d/new")))
	plant(t, dir, map[string]string{"d/a": "changed"})
	require.ErrorIs(t, r.RemoveAll(ctx, "d", known), ErrMoved)
	require.Equal(t, "changed", content(t, dir, "d/a"))
	plant(t, dir, map[string]string{"d/a": "1"})
	require.NoError(t, r.RemoveAll(ctx, "d", known))
	require.NoDirExists(t, filepath.Join(dir, "d"))
	require.ErrorIs(t, r.RemoveAll(ctx, "d", nil), fs.ErrNotExist)
	require.ErrorIs(t, r.RemoveAll(ctx, "f", map[string]string{}), ErrMoved)
	require.ErrorIs(t, r.RemoveAll(ctx, "f", map[string]string{"f": "other"}), ErrMoved)
	require.NoError(t, r.RemoveAll(ctx, "f", nil))
	require.ErrorIs(t, r.Remove(ctx, "f", ""), fs.ErrNotExist)
}

func TestMove(t *testing.T) {
	ctx := context.Background()
	r, dir := tree(t, map[string]string{"a": "1", "b": "2", "d/x": "x", "d/sub/y": "y"})
	require.ErrorIs(t, r.Move(ctx, "a", "b", ""), fs.ErrExist)
	require.ErrorIs(t, r.Move(ctx, "a", "a", ""), fs.ErrExist)
	require.ErrorIs(t, r.Move(ctx, "gone", "c", ""), fs.ErrNotExist)
	require.ErrorIs(t, r.Move(ctx, "d", "d/in", ""), ErrName)
	require.ErrorIs(t, r.Move(ctx, "a", "b/c", ""), ErrNotDirectory)
	require.ErrorIs(t, r.Move(ctx, "a", "c", "other"), ErrMoved)
	require.NoError(t, r.Move(ctx, "d", "e/f", ""))
	require.Equal(t, "y", content(t, dir, "e/f/sub/y"))
	require.Equal(t, "1", content(t, dir, "a"))
}

func TestSweep(t *testing.T) {
	r, dir := tree(t, map[string]string{tempPrefix + "1": "x", "d/" + tempPrefix + "2": "x", ".gitignore": "d\n", "keep": "k", tempPrefix + "dir/x": "x"})
	n, err := r.Sweep(context.Background())
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.FileExists(t, filepath.Join(dir, "keep"))
	require.NoFileExists(t, filepath.Join(dir, "d", tempPrefix+"2"))
}

func TestSeen(t *testing.T) {
	var s Seen
	_, ok := s.Hash("a")
	require.False(t, ok)
	s.Forget("a")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() { s.Note(fmt.Sprint(i), "h"); s.Hash("0"); s.Note("a", "x") })
	}
	wg.Wait()
	h, ok := s.Hash("a")
	require.True(t, ok)
	require.Equal(t, "x", h)
	s.Forget("a")
	_, ok = s.Hash("a")
	require.False(t, ok)
}

func TestR05LargeFiles(t *testing.T) {
	ctx := context.Background()
	r, dir := tree(t, map[string]string{"ten": "0123456789"})
	require.NoError(t, os.Truncate(filepath.Join(dir, "ten"), 8<<30)) // sparse
	_, err := r.Read(ctx, "ten", 1<<20)
	require.ErrorIs(t, err, ErrTooLarge)
	require.ErrorContains(t, err, "8589934592 bytes")
	f, info, err := r.Open(ctx, "ten")
	require.NoError(t, err)
	require.Equal(t, int64(8<<30), info.Size)
	require.NoError(t, f.Close())
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = r.Read(cancelled, "ten", 9<<30)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, r.Write(cancelled, Write{Path: "n", Data: []byte("x")}), context.Canceled)
}

// R07: a file that grows while it is read.
func TestR07GrowingFile(t *testing.T) {
	_, err := readUpTo(context.Background(), endless{}, 10, 1<<20)
	require.ErrorIs(t, err, ErrTooLarge)
	_, err = readUpTo(context.Background(), io.MultiReader(strings.NewReader("ab"), failing{}), 2, 10)
	require.ErrorContains(t, err, "broken disk")
	require.ErrorContains(t, wrapRead("x", err, 1, 2), "cannot read it: broken disk")
	data, err := readUpTo(context.Background(), strings.NewReader(strings.Repeat("x", 100_000)), 5, 1<<20)
	require.NoError(t, err)
	require.Len(t, data, 100_000)
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("broken disk") }

func TestReadFlags(t *testing.T) {
	ctx := context.Background()
	r, _ := tree(t, map[string]string{".env": "K=1", "l": "-> .env", ".git/config": "[core]"})
	for _, p := range []string{".env", "l", ".git/config"} {
		flags, rel, err := r.ReadFlags(ctx, p)
		require.NoError(t, err)
		require.Equal(t, []policy.Flag{policy.FlagSecret}, flags)
		require.NotEqual(t, "l", rel)
	}
	_, _, err := r.ReadFlags(ctx, "../x")
	require.ErrorIs(t, err, ErrOutside)
}
