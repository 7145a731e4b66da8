package workspace

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDirKeepsFiles(t *testing.T) {
	r, dir := tree(t, nil)
	specs := r.Specs()
	list, err := specs.List(".")
	require.NoError(t, err)
	require.Empty(t, list)
	require.False(t, specs.Exists("001-x/tasks.md"))
	require.NoError(t, specs.Mkdir("001-x"))
	require.ErrorIs(t, specs.Mkdir("001-x"), fs.ErrExist)
	require.NoError(t, specs.Write("001-x/tasks.md", []byte("one")))
	require.NoError(t, specs.Write("001-x/tasks.md", []byte("two")))
	require.NoError(t, specs.Write("002-y/design.md", []byte("d")))
	data, err := specs.Read("001-x/tasks.md")
	require.NoError(t, err)
	require.Equal(t, "two", string(data))
	require.True(t, specs.Exists("001-x/tasks.md"))
	require.True(t, specs.Exists("001-x"))
	list, err = specs.List(".")
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, ".coderrr/specs/001-x", list[0].Path)
	require.Equal(t, KindDir, list[0].Kind)
	list, err = specs.List("001-x")
	require.NoError(t, err)
	require.Equal(t, ".coderrr/specs/001-x/tasks.md", list[0].Path)
	_, err = specs.List("001-x/tasks.md")
	require.ErrorIs(t, err, ErrNotDirectory)
	require.Contains(t, content(t, dir, ".coderrr/.gitignore"), "session/\n")
	require.NoError(t, specs.Remove("002-y/design.md"))
	require.NoError(t, specs.Remove("002-y"))
	require.ErrorIs(t, specs.Remove("002-y"), fs.ErrNotExist)
	_, err = specs.Read("002-y/design.md")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Error(t, specs.Remove("001-x")) // not empty
}

func TestDirKeepsThePersonsGitignore(t *testing.T) {
	r, dir := tree(t, map[string]string{".coderrr/.gitignore": "mine\n"})
	require.NoError(t, r.Specs().Write("a.md", nil))
	require.Equal(t, "mine\n", content(t, dir, ".coderrr/.gitignore"))
}

func TestDirSessionsArePrivate(t *testing.T) {
	r, dir := tree(t, nil)
	logs := r.Sessions()
	f, err := logs.Append("1.jsonl")
	require.NoError(t, err)
	_, err = f.WriteString("one\n")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	f, err = logs.Append("1.jsonl")
	require.NoError(t, err)
	_, err = f.WriteString("two\n")
	require.NoError(t, err)
	require.NoError(t, f.Truncate(4))
	require.NoError(t, f.Close())
	require.Equal(t, "one\n", content(t, dir, ".coderrr/session/1.jsonl"))
	require.NoError(t, logs.Write("meta.json", []byte("{}")))
	in, err := logs.Open("1.jsonl")
	require.NoError(t, err)
	require.NoError(t, in.Close())
	for p, mode := range map[string]fs.FileMode{
		".coderrr": 0o755, ".coderrr/session": 0o700, ".coderrr/session/1.jsonl": 0o600, ".coderrr/session/meta.json": 0o600,
	} {
		info, err := os.Stat(filepath.Join(dir, p))
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm(), p)
	}
}

func TestP21OnlyOurNamesAreMade(t *testing.T) {
	r, dir := tree(t, nil)
	for _, name := range []string{
		"", ".", "..", "../x", "../../.ssh/authorized_keys", "/etc/passwd", "a/../../x", "001-x/../tasks", "CON", "nul.md", "001-x/com1", "a b",
		"emoji-🙂", "a\nb", "a\x00b", strings.Repeat("a", 5000), ".hidden", "-rf", "a//b", "a/", "001-x/.git",
	} {
		require.Error(t, r.Specs().Write(name, nil), "%q", name)
		require.Error(t, r.Specs().Mkdir(name), "%q", name)
		_, err := r.Specs().Append(name)
		require.Error(t, err, "%q", name)
	}
	_, err := r.Specs().Read("../config.toml")
	require.ErrorIs(t, err, ErrName)
	require.False(t, r.Specs().Exists("../x"))
	require.NoDirExists(t, filepath.Join(dir, "001-x"))
}

func TestC21LinksInOurFoldersAreRefused(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"own folder":         {".coderrr": "-> ../out"},
		"own folder inside":  {".coderrr": "-> cfg", "cfg/specs/001-x/tasks.md": "t", "cfg/session/1.jsonl": "CANARY-OUT"},
		"specs":              {".coderrr/specs": "-> ../../out/specs", ".coderrr/session": "-> ../../out/session"},
		"spec folder":        {".coderrr/specs/001-x": "-> ../../../out/specs/001-x", ".coderrr/session/1.jsonl": "-> ../../../out/session/1.jsonl"},
		"file":               {".coderrr/specs/001-x/tasks.md": "-> ../../../../out/specs/001-x/tasks.md", ".coderrr/session/1.jsonl": "-> ../x"},
		"specs is a file":    {".coderrr/specs": "text", ".coderrr/session": "text"},
		"own folder is file": {".coderrr": "text"},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := tree(t, files)
			out := filepath.Join(filepath.Dir(dir), "out")
			plant(t, out, map[string]string{"specs/001-x/tasks.md": "CANARY-OUT", "session/1.jsonl": "CANARY-OUT"})
			_, err := r.Specs().Read("001-x/tasks.md")
			require.Error(t, err)
			require.Error(t, r.Specs().Write("001-x/tasks.md", []byte("evil")))
			_, err = r.Sessions().Append("1.jsonl")
			require.Error(t, err)
			_, err = r.Sessions().Open("1.jsonl")
			require.Error(t, err)
			require.Equal(t, "CANARY-OUT", content(t, out, "specs/001-x/tasks.md"))
			require.Equal(t, "CANARY-OUT", content(t, out, "session/1.jsonl"))
			require.NoFileExists(t, filepath.Join(out, ".gitignore"))
		})
	}
}

func TestC21HardLinkedLog(t *testing.T) {
	r, dir := tree(t, map[string]string{".coderrr/session/": ""})
	out := filepath.Join(filepath.Dir(dir), "out")
	require.NoError(t, os.WriteFile(out, []byte("CANARY-OUT"), 0o600))
	require.NoError(t, os.Link(out, filepath.Join(dir, ".coderrr/session/1.jsonl")))
	_, err := r.Sessions().Append("1.jsonl")
	require.ErrorContains(t, err, "2 names")
	require.Equal(t, "CANARY-OUT", content(t, out))
}

func TestHeadID(t *testing.T) {
	const id, other = "0123456789abcdef0123456789abcdef01234567", "89abcdef0123456789abcdef0123456789abcdef"
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no repository":  {nil, ""},
		"detached":       {map[string]string{".git/HEAD": id + "\n"}, id},
		"branch":         {map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/main": id + "\n"}, id},
		"packed":         {map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/packed-refs": "# pack-refs with: peeled\n" + other + " refs/heads/x\n" + id + " refs/heads/main\n^" + other + "\n"}, id},
		"unborn":         {map[string]string{".git/HEAD": "ref: refs/heads/main\n"}, ""},
		"not in packed":  {map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/packed-refs": other + " refs/heads/x\n"}, ""},
		"worktree":       {map[string]string{".git": "gitdir: store/worktrees/w\n", "store/worktrees/w/HEAD": "ref: refs/heads/main\n", "store/worktrees/w/commondir": "../..\n", "store/refs/heads/main": id + "\n"}, id},
		"gitfile out":    {map[string]string{".git": "gitdir: ../elsewhere\n"}, ""},
		"gitfile":        {map[string]string{".git": "gitdir: store\n", "store/HEAD": id}, id},
		"garbage":        {map[string]string{".git/HEAD": "what\n"}, ""},
		"ref out":        {map[string]string{".git/HEAD": "ref: ../../x\n"}, ""},
		"ref elsewhere":  {map[string]string{".git/HEAD": "ref: config\n", ".git/config": id}, ""},
		"ref to itself":  {map[string]string{".git/HEAD": "ref: refs/a\n", ".git/refs/a": "ref: refs/a\n"}, ""},
		"symbolic chain": {map[string]string{".git/HEAD": "ref: refs/a\n", ".git/refs/a": "ref: refs/b\n", ".git/refs/b": id}, id},
		"not a gitfile":  {map[string]string{".git": "hello\n"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := tree(t, c.files)
			require.Equal(t, c.want, r.HeadID())
		})
	}
}
