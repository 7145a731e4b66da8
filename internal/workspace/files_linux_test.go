package workspace

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestP07HardLinkIsBroken(t *testing.T) {
	ctx := context.Background()
	r, dir := tree(t, nil)
	outside := filepath.Join(filepath.Dir(dir), "bashrc")
	require.NoError(t, os.WriteFile(outside, []byte("CANARY-OUT"), 0o644))
	require.NoError(t, os.Link(outside, filepath.Join(dir, "notes")))
	f, err := r.Read(ctx, "notes", 100)
	require.NoError(t, err)
	require.Equal(t, 2, f.Links)
	require.NoError(t, r.Write(ctx, Write{Path: "notes", Data: []byte("new"), Expect: f.Hash}))
	require.Equal(t, "CANARY-OUT", content(t, outside))
	require.Equal(t, "new", content(t, dir, "notes"))
}

// quick fails when fn takes a second: it waits for something.
func quick(t *testing.T, fn func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); fn() }()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Fatal("it hangs")
	}
}

func TestP16FIFO(t *testing.T) {
	ctx := context.Background()
	r, dir := tree(t, map[string]string{"a": "a", "link": "-> fifo", ".coderrr/specs/": ""})
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o644))
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, ".gitignore"), 0o644))
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, ".coderrr/specs/f.md"), 0o644))
	quick(t, func() {
		for _, p := range []string{"fifo", "link"} {
			_, err := r.Read(ctx, p, 10)
			require.ErrorIs(t, err, ErrNotRegular)
			require.ErrorContains(t, err, "not a regular file")
			require.ErrorIs(t, r.Write(ctx, Write{Path: p, Data: []byte("x")}), ErrNotRegular)
		}
		require.ErrorIs(t, r.Move(ctx, "fifo", "b", ""), ErrNotRegular)
		require.ErrorIs(t, r.Remove(ctx, "fifo", ""), ErrNotRegular)
		_, err := r.Specs().Read("f.md")
		require.ErrorIs(t, err, ErrNotRegular)
		_, err = r.Specs().Append("f.md")
		require.ErrorIs(t, err, ErrNotRegular)
		n := 0
		require.NoError(t, r.Walk(ctx, ".", WalkOptions{}, func(e Entry) error {
			n++
			_, _, err := e.Open()
			require.Equal(t, e.Name == "a", err == nil, e.Name)
			return nil
		}))
		require.Equal(t, 4, n)
	})
}

func TestP17UnusualNodes(t *testing.T) {
	ctx := context.Background()
	chain := map[string]string{"end": "end", "a": "-> b", "b": "-> a", "self": "-> self", "environ": "-> /proc/self/environ", "dirloop": "-> ."}
	for i := range 10 {
		next := "end"
		if i < 9 {
			next = fmt.Sprintf("l%d", i+1)
		}
		chain[fmt.Sprintf("l%d", i)] = "-> " + next
	}
	r, dir := tree(t, chain)
	sock, err := net.Listen("unix", filepath.Join(dir, "s"))
	require.NoError(t, err)
	defer func() { _ = sock.Close() }()
	quick(t, func() {
		for p, cause := range map[string]error{
			"s": ErrNotRegular, "a": ErrOutside, "self": ErrOutside, "environ": ErrOutside, "l0": ErrOutside, "end/x": ErrNotDirectory, ".": ErrIsFolder,
		} {
			_, err := r.Read(ctx, p, 1<<20)
			require.ErrorIs(t, err, cause, p)
			require.NotContains(t, err.Error(), "PATH=")
		}
		f, err := r.Read(ctx, "l2", 10) // eight links are followed
		require.NoError(t, err)
		require.Equal(t, "end", f.Path)
		f, err = r.Read(ctx, "dirloop/dirloop/dirloop/end", 10)
		require.NoError(t, err)
		require.Equal(t, "end", f.Path)
		list, err := r.List(ctx, "dirloop")
		require.NoError(t, err)
		require.Len(t, list, 17)
		info, err := r.Lstat(ctx, "s")
		require.NoError(t, err)
		require.Equal(t, KindOther, info.Kind)
		require.Equal(t, "a FIFO a device a special file", nodeName(fs.ModeNamedPipe)+" "+nodeName(fs.ModeDevice)+" "+nodeName(fs.ModeIrregular))
	})
}

func TestP17ClosedToUs(t *testing.T) {
	if !asUser(t) {
		return
	}
	ctx := context.Background()
	r, dir := tree(t, map[string]string{"f": "secret", "d/x": "x", "ok": "ok", "ro/f": "old", "tree/in/f": "f"})
	for _, p := range []string{"f", "d"} {
		require.NoError(t, os.Chmod(filepath.Join(dir, p), 0))
	}
	require.NoError(t, os.Chmod(filepath.Join(dir, "ro"), 0o555))
	require.NoError(t, os.Chmod(filepath.Join(dir, "tree/in"), 0o555))
	t.Cleanup(func() {
		for _, p := range []string{"d", "ro", "tree/in"} {
			_ = os.Chmod(filepath.Join(dir, p), 0o755)
		}
	})
	for _, p := range []string{"f", "d/x"} {
		_, err := r.Read(ctx, p, 10)
		require.ErrorIs(t, err, fs.ErrPermission, p)
		require.ErrorContains(t, err, "permission denied")
		_, err = r.Hash(ctx, p)
		require.ErrorIs(t, err, fs.ErrPermission, p)
	}
	_, err := r.List(ctx, "d")
	require.ErrorIs(t, err, fs.ErrPermission)
	require.ErrorIs(t, r.Walk(ctx, "d", WalkOptions{}, func(Entry) error { return nil }), fs.ErrPermission)
	require.ErrorIs(t, r.Write(ctx, Write{Path: "f", Data: []byte("x"), Expect: "h"}), fs.ErrPermission)
	var seen []string
	require.NoError(t, r.Walk(ctx, ".", WalkOptions{}, func(e Entry) error { seen = append(seen, e.Path); return nil }))
	require.Equal(t, []string{"d", "f", "ok", "ro", "ro/f", "tree", "tree/in", "tree/in/f"}, seen)

	// P25: a read-only folder gives an error and an intact file.
	err = r.Write(ctx, Write{Path: "ro/f", Data: []byte("new"), Expect: HashOf([]byte("old"))})
	require.ErrorIs(t, err, fs.ErrPermission)
	require.Equal(t, "old", content(t, dir, "ro/f"))
	require.ErrorIs(t, r.Write(ctx, Write{Path: "ro/new/n", Data: []byte("new")}), fs.ErrPermission)
	require.ErrorIs(t, r.Remove(ctx, "ro/f", ""), fs.ErrPermission)
	require.ErrorIs(t, r.Move(ctx, "ro/f", "g", ""), fs.ErrPermission)
	require.ErrorIs(t, r.Move(ctx, "ok", "ro/ok", ""), fs.ErrPermission)
	require.ErrorIs(t, r.RemoveAll(ctx, "tree", nil), fs.ErrPermission)
	_, err = r.Below(ctx, "d", 10, 10)
	require.ErrorIs(t, err, fs.ErrPermission)
	require.NoError(t, os.Chmod(dir, 0o555))
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	require.ErrorIs(t, r.Specs().Write("a.md", nil), fs.ErrPermission)
	_, err = Open(filepath.Join(dir, "d"), Options{})
	require.ErrorIs(t, err, fs.ErrPermission)
}

func TestP17HundredThousandEntries(t *testing.T) {
	ctx := context.Background()
	r, dir := treeIn(t, inMemory(t), nil)
	for i := range 100_000 {
		fd, err := unix.Open(filepath.Join(dir, fmt.Sprintf("f%06d", i)), unix.O_CREAT|unix.O_WRONLY, 0o644)
		require.NoError(t, err)
		require.NoError(t, unix.Close(fd))
	}
	begin, n := time.Now(), 0
	require.NoError(t, r.Walk(ctx, ".", WalkOptions{}, func(Entry) error { n++; return nil }))
	require.Equal(t, 100_000, n)
	list, err := r.List(ctx, ".")
	require.NoError(t, err)
	require.Len(t, list, 100_000)
	require.Less(t, time.Since(begin), 10*time.Second) // seconds at most; a hang or a quadratic loop takes minutes

	// R06: cancelling is noticed at once.
	ctx, cancel := context.WithCancel(ctx)
	n = 0
	err = r.Walk(ctx, ".", WalkOptions{}, func(Entry) error {
		if n++; n == 10 {
			cancel()
		}
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 10, n)
	_, err = r.List(ctx, ".")
	require.ErrorIs(t, err, context.Canceled)
}

func TestP18NamesRoundTrip(t *testing.T) {
	ctx := context.Background()
	r, dir := tree(t, nil)
	names := []string{
		"new\nline", "tab\there", "esc\x1b[2J", "<b>x", "filler\u3164", "bad\xff\xfeutf8", strings.Repeat("n", 255), "-rf", "--pre=sh", "CON", "dot.",
		"space ", " lead", `"quoted"`, `"half`, `back\slash`, "bidi\u202Ename", "tag\U000E0041", "é漢", "a:b", "$(x)", "*", "[a]", "\u200b", `\n`,
	}
	for _, n := range names {
		require.NoError(t, os.WriteFile(filepath.Join(dir, n), []byte(n), 0o644), "%q", n)
	}
	list, err := r.List(ctx, ".")
	require.NoError(t, err)
	require.Len(t, list, len(names))
	for _, e := range list {
		shown := Quote(e.Path)
		require.NotContains(t, shown, "\x1b")
		require.NotContains(t, shown, "\n")
		require.NotContains(t, shown, "\u202E")
		f, err := r.Read(ctx, shown, 1000)
		require.NoError(t, err, "%q", shown)
		require.Equal(t, e.Name, string(f.Data))
		require.Equal(t, e.Name, f.Path)
		require.NoError(t, r.Write(ctx, Write{Path: shown, Data: []byte("new"), Expect: f.Hash}))
		require.NoError(t, r.Remove(ctx, shown, HashOf([]byte("new"))))
	}
	require.Equal(t, "plain/name.go", Quote("plain/name.go"))
	_, err = r.Read(ctx, "esc\x1b[2J", 10)
	require.ErrorContains(t, err, `"esc\x1b[2J": does not exist`)
}

func TestP23WideWorkspaces(t *testing.T) {
	home := filepath.Join(t.TempDir(), "people", "me")
	require.NoError(t, os.MkdirAll(filepath.Join(home, "src"), 0o755))
	require.NoError(t, os.Symlink(home, filepath.Join(filepath.Dir(home), "alias")))
	for _, dir := range []string{"/", "/etc", "/usr", "/usr/bin", "/tmp", "/proc", home, filepath.Dir(home), filepath.Dir(filepath.Dir(home)), filepath.Join(filepath.Dir(home), "alias")} {
		_, err := Open(dir, Options{Home: home})
		require.ErrorIs(t, err, ErrTooWide, dir)
		require.ErrorContains(t, err, "--dir")
		r, err := Open(dir, Options{Home: home, AllowWide: true})
		require.NoError(t, err, dir)
		require.ErrorContains(t, r.RemoveAll(context.Background(), ".", nil), "workspace itself")
		require.NoError(t, r.Close())
	}
	r, err := Open(filepath.Join(home, "src"), Options{Home: home})
	require.NoError(t, err)
	require.NoError(t, r.Close())
	t.Setenv("HOME", home)
	_, err = Open(home, Options{})
	require.ErrorIs(t, err, ErrTooWide)
}

func TestOpenWhatIsNoFolder(t *testing.T) {
	_, dir := tree(t, map[string]string{"f": "x"})
	_, err := Open(filepath.Join(dir, "f"), Options{})
	require.ErrorIs(t, err, ErrNotDirectory)
	_, err = Open(filepath.Join(dir, "gone"), Options{})
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestP24WorkspaceSwapped(t *testing.T) {
	ctx := context.Background()
	r, dir := tree(t, map[string]string{"f": "mine"})
	base := filepath.Dir(dir)
	require.False(t, r.Moved())
	plant(t, filepath.Join(base, "out"), map[string]string{"f": "CANARY-OUT"})
	require.NoError(t, os.Rename(dir, filepath.Join(base, "moved")))
	require.True(t, r.Moved())
	require.NoError(t, os.Symlink(filepath.Join(base, "out"), dir))
	require.NoError(t, r.Write(ctx, Write{Path: "f", Data: []byte("new"), Expect: HashOf([]byte("mine"))}))
	require.Equal(t, "new", content(t, base, "moved/f"))
	require.Equal(t, "CANARY-OUT", content(t, base, "out/f"))
	require.True(t, r.Moved())
}

func TestP25MetadataIsKept(t *testing.T) {
	ctx := context.Background()
	old := syscall.Umask(0o022)
	defer syscall.Umask(old)
	r, dir := tree(t, nil)
	for name, c := range map[string]struct {
		mode fs.FileMode
		data string
	}{
		"script.sh": {0o755, "#!/bin/sh\n"}, "private": {0o600, "p"}, "crlf": {0o644, "a\r\nb\r\n"}, "bom": {0o640, "\uFEFFx"}, "open": {0o666, "no newline"}, "exec-only": {0o700, ""},
	} {
		p := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(p, []byte(c.data), 0o600))
		require.NoError(t, os.Chmod(p, c.mode))
		data := c.data + "\x00\xff\r"
		require.NoError(t, r.Write(ctx, Write{Path: name, Data: []byte(data), Expect: HashOf([]byte(c.data))}))
		info, err := os.Stat(p)
		require.NoError(t, err)
		require.Equal(t, c.mode, info.Mode().Perm(), name)
		require.Equal(t, data, content(t, p))
		require.NoError(t, r.Write(ctx, Write{Path: name, Data: nil, Mode: 0o751, Expect: HashOf([]byte(data))}))
		info, err = os.Stat(p)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o751), info.Mode().Perm(), name)
	}
	require.NoError(t, r.Write(ctx, Write{Path: "new", Data: nil}))
	require.NoError(t, r.Write(ctx, Write{Path: "tool", Data: nil, Mode: 0o755}))
	require.NoError(t, os.Chmod(filepath.Join(dir, "tool"), 0o4755))
	require.NoError(t, r.Write(ctx, Write{Path: "tool", Data: []byte("x"), Expect: HashOf(nil)}))
	for name, mode := range map[string]fs.FileMode{"new": 0o644, "tool": 0o755} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode(), name) // a set-uid bit does not survive
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 8) // no temp file is left
}

func TestP25OwnerIsKeptWherePossible(t *testing.T) {
	ctx := context.Background()
	r, dir := tree(t, map[string]string{"f": "old"})
	p := filepath.Join(dir, "f")
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(p, ordinary, ordinary))
	}
	before, err := os.Stat(p)
	require.NoError(t, err)
	require.NoError(t, r.Write(ctx, Write{Path: "f", Data: []byte("new"), Expect: HashOf([]byte("old"))}))
	after, err := os.Stat(p)
	require.NoError(t, err)
	uid, gid, _ := ownerOf(before)
	newUID, newGID, _ := ownerOf(after)
	require.Equal(t, []int{uid, gid}, []int{newUID, newGID})
}

// A file of someone else, in a folder of ours, becomes ours: any editor does that.
func TestP25ForeignOwner(t *testing.T) {
	if dir := os.Getenv("WORKSPACE_TEST_FOREIGN"); dir != "" {
		r, err := Open(dir, Options{})
		require.NoError(t, err)
		require.NoError(t, r.Write(context.Background(), Write{Path: "f", Data: []byte("new"), Expect: HashOf([]byte("old"))}))
		return
	}
	if os.Geteuid() != 0 {
		return // only root can make a foreign file, and .ci/run is root
	}
	base, err := os.MkdirTemp("", "ws-foreign-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	plant(t, base, map[string]string{"proj/f": "old"})
	for _, p := range []string{base, filepath.Join(base, "proj")} {
		require.NoError(t, os.Chown(p, ordinary, ordinary))
	}
	t.Setenv("WORKSPACE_TEST_FOREIGN", filepath.Join(base, "proj"))
	require.False(t, asUser(t))
	require.Equal(t, "new", content(t, base, "proj/f"))
}

func TestP26SymlinkedWorkspacePath(t *testing.T) {
	ctx := context.Background()
	_, dir := tree(t, map[string]string{"sub/f": "x"})
	alias := filepath.Join(filepath.Dir(dir), "alias")
	require.NoError(t, os.Symlink(dir, alias))
	r, err := Open(alias, Options{Home: "/nowhere"})
	require.NoError(t, err)
	defer func() { _ = r.Close() }()
	require.Equal(t, dir, r.Dir())
	for _, p := range []string{"sub/f", dir + "/sub/f", alias + "/sub/f"} {
		f, err := r.Read(ctx, p, 10)
		require.NoError(t, err, p)
		require.Equal(t, "sub/f", f.Path)
	}
}

func TestP27Mounts(t *testing.T) {
	if !withMounts(t) {
		return
	}
	ctx := context.Background()
	require.NoError(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	r, dir := tree(t, map[string]string{"top/sub/m/": "", "top/tmp/": "", "plain/f": "f"})
	out := filepath.Join(filepath.Dir(dir), "out")
	plant(t, out, map[string]string{"x": "CANARY-OUT"})
	bind, tmp := filepath.Join(dir, "top/sub/m"), filepath.Join(dir, "top/tmp")
	require.NoError(t, unix.Mount(out, bind, "", unix.MS_BIND, ""))
	require.NoError(t, unix.Mount("tmpfs", tmp, "tmpfs", 0, ""))
	t.Cleanup(func() { _ = unix.Unmount(bind, 0); _ = unix.Unmount(tmp, 0) })
	for _, p := range []string{"top", "top/sub", "top/sub/m", "top/tmp"} {
		require.ErrorIs(t, r.RemoveAll(ctx, p, nil), ErrMount, p)
		require.ErrorIs(t, r.Move(ctx, p, "elsewhere", ""), ErrMount, p)
		_, err := r.Below(ctx, p, 100, 100)
		require.ErrorIs(t, err, ErrMount, p)
	}
	require.Equal(t, "CANARY-OUT", content(t, out, "x"))
	// Reading and writing cross a mount (docs/security.md); moving files between
	// file systems does not.
	f, err := r.Read(ctx, "top/sub/m/x", 100)
	require.NoError(t, err)
	require.Equal(t, "CANARY-OUT", string(f.Data))
	require.NoError(t, r.Write(ctx, Write{Path: "top/tmp/new", Data: []byte("n")}))
	require.ErrorIs(t, r.Move(ctx, "top/tmp/new", "plain/new", ""), ErrMount)
	require.NoError(t, r.RemoveAll(ctx, "plain", nil))
}

// The disk is full: the old file is whole and nothing is left over.
func TestDiskFullKeepsTheOldFile(t *testing.T) {
	if !inChild(t, nil) {
		return
	}
	ctx := context.Background()
	r, dir := tree(t, map[string]string{"f": "old"})
	var was unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &was))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 4096, Max: was.Max}))
	defer func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &was)) }()
	data := make([]byte, 100_000)
	err := r.Write(ctx, Write{Path: "f", Data: data, Expect: HashOf([]byte("old"))})
	require.ErrorContains(t, err, "full")
	require.ErrorContains(t, r.Write(ctx, Write{Path: "new/deep/f", Data: data}), "full")
	require.Error(t, r.Specs().Write("001-x/tasks.md", data))
	require.Equal(t, "old", content(t, dir, "f"))
	require.NoDirExists(t, filepath.Join(dir, "new"))
	require.NoError(t, filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		require.False(t, isTemp(filepath.Base(p)), p)
		return err
	}))
}
