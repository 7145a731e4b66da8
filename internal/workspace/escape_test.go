package workspace

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/policy"
)

// door is every way through a Root with one path; each must give an error.
func door(ctx context.Context, r *Root, p string) map[string]error {
	out := map[string]error{}
	_, out["read"] = r.Read(ctx, p, 1<<20)
	if f, _, err := r.Open(ctx, p); err != nil {
		out["open"] = err
	} else {
		_ = f.Close()
		out["open"] = nil
	}
	_, out["list"] = r.List(ctx, p)
	out["walk"] = r.Walk(ctx, p, WalkOptions{}, func(Entry) error { return nil })
	_, _, out["flags"] = r.Flags(ctx, p, nil)
	out["write"] = r.Write(ctx, Write{Path: p, Data: []byte("evil")})
	out["replace"] = r.Write(ctx, Write{Path: p, Data: []byte("evil"), Expect: HashOf([]byte("CANARY-OUT"))})
	out["remove"] = r.Remove(ctx, p, "")
	out["remove all"] = r.RemoveAll(ctx, p, nil)
	out["move away"] = r.Move(ctx, p, "stolen", "")
	_, out["below"] = r.Below(ctx, p, 100, 1<<20)
	return out
}

func refused(t *testing.T, r *Root, p string, cause error) {
	t.Helper()
	for how, err := range door(context.Background(), r, p) {
		require.Error(t, err, "%s %q", how, p)
		require.NotContains(t, err.Error(), "CANARY")
		if cause != nil {
			require.ErrorIs(t, err, cause, "%s %q", how, p)
		}
	}
	err := r.Move(context.Background(), "mine.txt", p, "")
	require.Error(t, err, "move to %q", p)
}

func TestP01SiblingDirectory(t *testing.T) {
	r, dir := tree(t, map[string]string{"mine.txt": "mine", "sub/x": "x"})
	evil := dir + "-evil"
	plant(t, evil, map[string]string{"x": "CANARY-OUT"})
	for _, p := range []string{
		"../proj-evil/x", evil + "/x", "sub/../../proj-evil/x", dir + "/../proj-evil/x", evil, "..", "sub/../..", "/", "/etc/passwd",
		`"../proj-evil/x"`, "./../proj-evil/x", "sub/..", dir + "/..",
	} {
		refused(t, r, p, ErrOutside)
	}
	for _, p := range []string{"", "a\x00b", strings.Repeat("a/", 3000)} {
		refused(t, r, p, ErrName)
	}
	refused(t, r, strings.Repeat("n", 300), nil)
	require.Equal(t, "CANARY-OUT", content(t, evil, "x"))
	require.Equal(t, "mine", content(t, dir, "mine.txt"))
}

func TestP01AbsolutePathsInside(t *testing.T) {
	r, dir := tree(t, map[string]string{"sub/x": "x"})
	for _, p := range []string{"sub/x", dir + "/sub/x", dir + "//sub/./x", "./sub//x", `"sub/x"`, "sub/x/"} {
		f, err := r.Read(context.Background(), p, 10)
		require.NoError(t, err, p)
		require.Equal(t, "sub/x", f.Path)
	}
	for _, p := range []string{dir, dir + "/", ".", "./", dir + "/."} {
		rel, err := r.Resolve(p)
		require.NoError(t, err)
		require.Equal(t, ".", rel)
	}
}

func TestP02LinksOutAreNotFollowed(t *testing.T) {
	ctx := context.Background()
	r, dir := tree(t, map[string]string{"mine.txt": "mine", "sub/inner.md": "-> ../mine.txt", "hop": "-> rel.md", "deep/up": "-> ../../out"})
	out := filepath.Join(filepath.Dir(dir), "out")
	plant(t, out, map[string]string{"secret": "CANARY-OUT"})
	plant(t, dir, map[string]string{"notes.md": "-> " + out + "/secret", "rel.md": "-> ../out/secret", "absin": "-> " + dir + "/mine.txt"})
	for _, p := range []string{"notes.md", "rel.md", "hop", "deep/up/secret", "rel.md/"} {
		name := strings.TrimSuffix(p, "/")
		was, _ := os.Readlink(filepath.Join(dir, name))
		for how, err := range door(context.Background(), r, p) {
			if p != "deep/up/secret" && (how == "remove" || how == "remove all" || how == "flags") {
				continue // the link itself may go: next test
			}
			require.Error(t, err, "%s %s", how, p)
			require.NotContains(t, err.Error(), "CANARY")
		}
		if was != "" { // put back the link that was deleted
			plant(t, dir, map[string]string{name: "-> " + was})
		}
	}
	require.Equal(t, "CANARY-OUT", content(t, out, "secret"))
	f, err := r.Read(ctx, "sub/inner.md", 100)
	require.NoError(t, err)
	require.Equal(t, "mine.txt", f.Path) // a link that stays inside is read, by its real name
	_, err = r.Read(ctx, "absin", 100)
	require.ErrorIs(t, err, ErrOutside)
	require.Contains(t, err.Error(), "relative links")
}

func TestP02LinksAreShownAsLinks(t *testing.T) {
	ctx := context.Background()
	r, dir := tree(t, map[string]string{"a/mine.txt": "mine", "a/rel": "-> ../../out/secret", "out": "-> ../out"})
	plant(t, filepath.Join(filepath.Dir(dir), "out"), map[string]string{"secret": "CANARY-OUT"})
	list, err := r.List(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, KindLink, list[1].Kind)
	require.Equal(t, "../../out/secret", list[1].Target)
	var seen []string
	require.NoError(t, r.Walk(ctx, ".", WalkOptions{}, func(e Entry) error {
		seen = append(seen, e.Path+" "+string(e.Kind)+" "+e.Target)
		if e.Kind == KindLink {
			_, _, err := e.Open()
			require.ErrorIs(t, err, ErrNotRegular)
		}
		return nil
	}))
	require.Equal(t, []string{"a dir ", "a/mine.txt file ", "a/rel link ../../out/secret", "out link ../out"}, seen)
	info, err := r.Lstat(ctx, "out")
	require.NoError(t, err)
	require.Equal(t, "../out", info.Target)
	for _, p := range []string{"a/rel", "out"} {
		err := r.Move(ctx, p, "elsewhere", "")
		require.ErrorIs(t, err, ErrIsLink)
	}
}

func TestP03LinkedDirectory(t *testing.T) {
	ctx := context.Background()
	r, dir := tree(t, map[string]string{"a": "mine"})
	out := filepath.Join(filepath.Dir(dir), "out")
	plant(t, out, map[string]string{"x": "CANARY-OUT"})
	for _, target := range []string{out, "../out"} {
		plant(t, dir, map[string]string{"build": "-> " + target})
		require.ErrorIs(t, r.Write(ctx, Write{Path: "build/x", Data: []byte("evil")}), ErrOutside)
		require.ErrorIs(t, r.Write(ctx, Write{Path: "build/new", Data: []byte("evil")}), ErrOutside)
		require.ErrorIs(t, r.Move(ctx, "a", "build/a", ""), ErrOutside)
		require.ErrorIs(t, r.Remove(ctx, "build/x", ""), ErrOutside)
		require.ErrorIs(t, r.RemoveAll(ctx, "build/", map[string]string{}), ErrMoved)
		require.NoError(t, r.RemoveAll(ctx, "build", map[string]string{"build": HashOf([]byte(target))}))
		_, err := os.Lstat(filepath.Join(dir, "build"))
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
	require.Equal(t, "CANARY-OUT", content(t, out, "x"))
	plant(t, dir, map[string]string{"tree/in/link": "-> ../../../out", "tree/f": "f"})
	require.NoError(t, r.RemoveAll(ctx, "tree", nil))
	require.Equal(t, "CANARY-OUT", content(t, out, "x"))
}

func TestP04DanglingLink(t *testing.T) {
	ctx := context.Background()
	r, dir := tree(t, map[string]string{"new.txt": "-> ../out/new", "in.txt": "-> nothere", "d": "-> gone"})
	require.NoError(t, os.Mkdir(filepath.Join(filepath.Dir(dir), "out"), 0o755))
	for _, p := range []string{"new.txt", "in.txt"} {
		require.ErrorIs(t, r.Write(ctx, Write{Path: p, Data: []byte("evil")}), ErrIsLink)
		_, err := r.Read(ctx, p, 10)
		require.Error(t, err)
	}
	require.NoFileExists(t, filepath.Join(filepath.Dir(dir), "out/new"))
	require.NoFileExists(t, filepath.Join(dir, "nothere"))
	h, err := r.Hash(ctx, "new.txt")
	require.NoError(t, err)
	require.Equal(t, HashOf([]byte("../out/new")), h)
	require.NoError(t, r.Remove(ctx, "new.txt", h))
}

func TestP05TrailingSlashAndToolchain(t *testing.T) {
	ctx := context.Background()
	r, dir := tree(t, map[string]string{"rel": "-> ../out/secret", "reldir": "-> ../out"})
	plant(t, filepath.Join(filepath.Dir(dir), "out"), map[string]string{"secret": "CANARY-OUT"})
	_, err := r.Read(ctx, "rel/", 100)
	require.ErrorIs(t, err, ErrOutside)
	_, err = r.List(ctx, "reldir/")
	require.ErrorIs(t, err, ErrOutside)

	version := strings.TrimPrefix(runtime.Version(), "go")
	require.False(t, olderThan(version, 1, 26, 5), "Go %s has holes in os.Root (CVE-2026-39822); use 1.26.5 or later", version)
	require.Contains(t, content(t, "../../go.mod"), "\ngo 1.26.5\n")
}

func olderThan(version string, want ...int) bool {
	parts := strings.FieldsFunc(version, func(r rune) bool { return r < '0' || r > '9' })
	for i, w := range want {
		n := 0
		if i < len(parts) {
			for _, c := range parts[i] {
				n = n*10 + int(c-'0')
			}
		}
		if n != w {
			return n < w
		}
	}
	return false
}

func TestP11AliasOfProtectedDirectory(t *testing.T) {
	ctx := context.Background()
	r, dir := tree(t, map[string]string{
		".git/config": "[core]\n", "docs": "-> .git", "cfg/config.toml": "x", ".coderrr": "-> cfg",
		"mod/.git": "gitdir: ../store/mod\n", "mod/a.go": "a", "store/mod/config": "[core]\n", "hop": "-> docs/hooks",
		"odd/.git": "just text", "far/.git": "gitdir: /somewhere/else\n", "far/x": "x",
	})
	for _, p := range []string{"docs/hooks/pre-commit", "docs/new", "hop/x", "cfg/config.toml", "cfg/new", "cfg", "docs/config"} {
		err := r.Write(ctx, Write{Path: p, Data: []byte("evil")})
		require.ErrorIs(t, err, policy.ErrDenied, p)
		_, _, err = r.Flags(ctx, p, nil)
		require.ErrorIs(t, err, policy.ErrDenied, p)
	}
	require.ErrorIs(t, r.RemoveAll(ctx, "cfg", nil), policy.ErrDenied)
	require.ErrorIs(t, r.Move(ctx, "cfg", "other", ""), policy.ErrDenied)
	require.ErrorContains(t, r.Write(ctx, Write{Path: "docs/hooks/pre-commit", Data: []byte("x")}), "leads to .git/hooks/pre-commit")
	require.NoError(t, r.Write(ctx, Write{Path: "odd/new", Data: []byte("x")}))
	require.NoError(t, r.Write(ctx, Write{Path: "far/new", Data: []byte("x")}))
	require.NoFileExists(t, filepath.Join(dir, ".git/hooks/pre-commit"))
	require.Equal(t, "x", content(t, dir, "cfg/config.toml"))
	require.NoError(t, r.Remove(ctx, "docs", "")) // the link is only a name
	require.FileExists(t, filepath.Join(dir, ".git/config"))
	// Reading is judged by where it leads, too.
	flags, rel, err := r.ReadFlags(ctx, "mod/a.go")
	require.NoError(t, err)
	require.Empty(t, flags)
	require.Equal(t, "mod/a.go", rel)
}

func TestP11GitFileOfAParent(t *testing.T) {
	ctx := context.Background()
	r, _ := tree(t, map[string]string{".git": "gitdir: store\n", "store/config": "[core]\n", "store/HEAD": "ref: refs/heads/main\n"})
	require.ErrorIs(t, r.Write(ctx, Write{Path: "store/hooks/pre-commit", Data: []byte("evil")}), policy.ErrDenied)
	require.ErrorIs(t, r.Remove(ctx, "store/config", ""), policy.ErrDenied)
}

func TestP08P09P15ProtectedThroughTheDoor(t *testing.T) {
	ctx := context.Background()
	r, dir := tree(t, map[string]string{"mine.txt": "mine", "vendor/sub/.git/config": "[core]\n", ".coderrr/config.toml": "CANARY", ".coderrr/session/1.jsonl": "CANARY", ".coderrr/specs/001-x/tasks.md": "t"})
	for _, p := range []string{
		".GIT/hooks/pre-commit", ".Git/config", ".HG/hgrc", ".CoDeRRR/config.toml", "vendor/sub/.git/hooks/pre-commit", "vendor/new/.git",
		".git/modules/x/config", ".coderrr/config.toml", ".coderrr/policy", ".coderrr/state.json", ".coderrr/specs/001-x/approved", "git~1/x",
	} {
		require.ErrorIs(t, r.Write(ctx, Write{Path: p, Data: []byte("evil")}), policy.ErrDenied, p)
		require.ErrorIs(t, r.Move(ctx, "mine.txt", p, ""), policy.ErrDenied, p)
	}
	for _, p := range []string{".coderrr/config.toml", ".coderrr/session/1.jsonl"} {
		_, err := r.Read(ctx, p, 100)
		require.ErrorIs(t, err, policy.ErrDenied, p)
	}
	_, err := r.Read(ctx, ".coderrr/specs/001-x/tasks.md", 100)
	require.NoError(t, err)
	require.Equal(t, "CANARY", content(t, dir, ".coderrr/config.toml"))
}

func TestP12ProtectedMovedOrDeleted(t *testing.T) {
	ctx := context.Background()
	r, dir := tree(t, map[string]string{".git/HEAD": "ref: x\n", "x": "x", "sub/f": "f", "parent/deep/.git/HEAD": "h", "parent/a": "a", "own/.coderrr/x": "x"})
	for how, err := range map[string]error{
		"move .git":          r.Move(ctx, ".git", "y", ""),
		"move onto .git":     r.Move(ctx, "x", ".git", ""),
		"move into .git":     r.Move(ctx, "x", ".git/hooks/x", ""),
		"delete .git":        r.RemoveAll(ctx, ".git", nil),
		"delete in .git":     r.Remove(ctx, ".git/HEAD", ""),
		"delete root":        r.RemoveAll(ctx, ".", nil),
		"delete root abs":    r.RemoveAll(ctx, dir, nil),
		"remove root":        r.Remove(ctx, ".", ""),
		"move root":          r.Move(ctx, ".", "y", ""),
		"nested repository":  r.RemoveAll(ctx, "parent", nil),
		"nested deeper":      r.RemoveAll(ctx, "parent/deep", nil),
		"move nested":        r.Move(ctx, "parent", "y", ""),
		"delete holding own": r.RemoveAll(ctx, "own", nil),
		"write root":         r.Write(ctx, Write{Path: ".", Data: []byte("x")}),
	} {
		require.ErrorIs(t, err, policy.ErrDenied, how)
	}
	require.ErrorIs(t, r.RemoveAll(ctx, "sub/..", nil), ErrOutside)
	_, err := r.Below(ctx, "parent", 10, 100)
	require.ErrorIs(t, err, policy.ErrDenied)
	for _, f := range []string{".git/HEAD", "x", "sub/f", "parent/deep/.git/HEAD", "parent/a", "own/.coderrr/x"} {
		require.FileExists(t, filepath.Join(dir, f))
	}
}

func TestP13BareRepositoryShape(t *testing.T) {
	ctx := context.Background()
	r, _ := tree(t, map[string]string{"tests/fx/HEAD": "ref: refs/heads/main\n", "tests/fx/objects/": "", "src/config/": "", "src/objects/": ""})
	flagsOf := func(p, data string) []policy.Flag {
		flags, _, err := r.Flags(ctx, p, []byte(data))
		require.NoError(t, err)
		return flags
	}
	require.Contains(t, flagsOf("tests/fx/config", ""), policy.FlagRunsCode)
	require.Contains(t, flagsOf("tests/fx/hooks/post-checkout", ""), policy.FlagRunsCode)
	require.Contains(t, flagsOf("tests/fx/refs/heads/main", ""), policy.FlagRunsCode)
	require.Contains(t, flagsOf("alone/config", "[core]\n\tfsmonitor = touch pwned\n"), policy.FlagRunsCode)
	require.Contains(t, flagsOf("alone/config", "[diff \"x\"]\n\ttextconv=sh\n"), policy.FlagRunsCode)
	require.Contains(t, flagsOf("alone/config", "[alias]\n\tst = !sh\n"), policy.FlagRunsCode)
	require.Empty(t, flagsOf("alone/config", "[server]\nport = 80\n"))
	require.Empty(t, flagsOf("src/a.go", "package src\n"))
	require.Empty(t, flagsOf("src/refs.go", ""))
}

func TestP14FlagsOfWrites(t *testing.T) {
	ctx := context.Background()
	r, dir := tree(t, map[string]string{"a.go": "a"})
	require.NoError(t, os.Link(filepath.Join(dir, "a.go"), filepath.Join(dir, "b.go")))
	flags, rel, err := r.Flags(ctx, "./.vscode/tasks.json", []byte("x\u202Ey"))
	require.NoError(t, err)
	require.Equal(t, ".vscode/tasks.json", rel)
	require.Equal(t, []policy.Flag{policy.FlagRunsCode, policy.FlagHidden}, flags)
	flags, _, err = r.Flags(ctx, "b.go", nil)
	require.NoError(t, err)
	require.Equal(t, []policy.Flag{policy.FlagHardLink}, flags)
}
