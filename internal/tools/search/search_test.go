package search

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/coderrr/coderrr/internal/policy"
	"github.com/coderrr/coderrr/internal/tools"
	"github.com/coderrr/coderrr/internal/workspace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a workspace with its reading tools.
type bench struct {
	t    *testing.T
	dir  string
	root *workspace.Root
	seen *workspace.Seen
	set  map[string]tools.Tool
}

func setup(t *testing.T, files map[string]string) *bench {
	t.Helper()
	b := &bench{t: t, dir: filepath.Join(t.TempDir(), "proj"), seen: &workspace.Seen{}, set: map[string]tools.Tool{}}
	require.NoError(t, os.Mkdir(b.dir, 0o755))
	for name, content := range files {
		b.put(name, content)
	}
	root, err := workspace.Open(b.dir, workspace.Options{Home: "/nowhere"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = root.Close() })
	b.root = root
	for _, tool := range Tools(root, b.seen) {
		require.Equal(t, policy.Read, tool.Class())
		b.set[tool.Spec().Name] = tool
	}
	return b
}

func (b *bench) put(name, content string) {
	b.t.Helper()
	full := filepath.Join(b.dir, name)
	require.NoError(b.t, os.MkdirAll(filepath.Dir(full), 0o755))
	if target, ok := strings.CutPrefix(content, "-> "); ok {
		require.NoError(b.t, os.Symlink(target, full))
		return
	}
	require.NoError(b.t, os.WriteFile(full, []byte(content), 0o644))
}

// call runs a tool; args is a JSON object or the path alone.
func (b *bench) call(name string, args any) tools.Result {
	b.t.Helper()
	if p, ok := args.(string); ok {
		args = map[string]any{"path": p}
	}
	raw, err := json.Marshal(args)
	require.NoError(b.t, err)
	return b.set[name].Run(context.Background(), raw)
}

func (b *bench) ok(name string, args any) string {
	b.t.Helper()
	res := b.call(name, args)
	require.False(b.t, res.IsError, res.Content)
	require.NotEmpty(b.t, res.Display)
	return res.Content
}

func (b *bench) fails(name string, args any, parts ...string) {
	b.t.Helper()
	res := b.call(name, args)
	require.True(b.t, res.IsError, res.Content)
	require.NotContains(b.t, res.Content, "CANARY")
	for _, p := range parts {
		require.Contains(b.t, res.Content, p)
	}
}

type args = map[string]any

func TestSpecsOfTheContract(t *testing.T) {
	b := setup(t, nil)
	want := map[string]string{
		"read_file": "path offset limit", "list_dir": "path", "tree": "path max_depth max_entries", "grep": "pattern path glob ignore_case max_results",
	}
	require.Len(t, b.set, len(want))
	for name, names := range want {
		var schema struct {
			Properties map[string]struct {
				Description string `json:"description"`
			} `json:"properties"`
			Required []string `json:"required"`
		}
		require.NoError(t, json.Unmarshal(b.set[name].Spec().Schema, &schema))
		require.Len(t, schema.Properties, len(strings.Fields(names)), name)
		for _, n := range strings.Fields(names) {
			require.NotEmpty(t, schema.Properties[n].Description, "%s.%s", name, n)
		}
	}
}

func TestReadFile(t *testing.T) {
	long := strings.Repeat("x", 5000)
	many := ""
	for i := 1; i <= 1234; i++ {
		many += fmt.Sprintf("line %d\n", i)
	}
	b := setup(t, map[string]string{
		"a.go": "package a\n\nfunc A() {}\n", "empty": "", "crlf": "a\r\nb\r\n", "mixed": "a\r\nb\n", "bom": "\uFEFFx\n", "nonl": "a\nb",
		"many": many, "long": "short\n" + long + "\nend\n", "latin": "caf\xe9\n", "bin": "a\x00b", "png": "\x89PNG\r\n", "utf16": "\xff\xfea\x00",
		"hidden": "a\u202Eb\U000E0041\n", "d/x": "x\n", "l": "-> a.go", "cr": "a\rb\n",
	})
	require.Equal(t, "     1\tpackage a\n     2\t\n     3\tfunc A() {}", b.ok("read_file", "a.go"))
	h, ok := b.seen.Hash("a.go")
	require.True(t, ok)
	require.Equal(t, workspace.HashOf([]byte("package a\n\nfunc A() {}\n")), h)
	require.Equal(t, "[the file is empty]", b.ok("read_file", "empty"))
	require.Equal(t, "     1\ta\n     2\tb\n[lines end in CRLF]", b.ok("read_file", "crlf"))
	require.Contains(t, b.ok("read_file", "mixed"), "[mixed line ends: 1 lines end in CRLF, 1 in LF]")
	require.Equal(t, "     1\tx\n[the file begins with a byte order mark (U+FEFF), which stays]", b.ok("read_file", "bom"))
	require.Equal(t, "     1\ta\n     2\tb\n[no newline at the end of the file]", b.ok("read_file", "nonl"))
	require.Equal(t, b.ok("read_file", "a.go"), b.ok("read_file", "l"))

	got := b.ok("read_file", "many")
	require.Contains(t, got, "   600\tline 600\n[lines 1-600 of 1234; go on with offset=601]")
	require.NotContains(t, got, "line 601")
	h, _ = b.seen.Hash("many")
	require.Equal(t, workspace.HashOf([]byte(many)), h)
	require.Equal(t, "  1234\tline 1234\n[lines 1234-1234 of 1234, the end of the file]", b.ok("read_file", args{"path": "many", "offset": 1234}))
	require.Equal(t, "     5\tline 5\n     6\tline 6\n[lines 5-6 of 1234; go on with offset=7]", b.ok("read_file", args{"path": "many", "offset": 5, "limit": 2}))
	require.Contains(t, b.ok("read_file", args{"path": "many", "limit": 9000}), "limit 9000 is more than is shown at once: 5000")
	b.fails("read_file", args{"path": "many", "offset": 2000}, "has 1234 lines", "offset 2000")
	require.Equal(t, "Read many (lines 1-600 of 1234)", b.call("read_file", "many").Display)

	require.Equal(t, "     1\tshort\n     2\t"+long[:2000]+" […line cut: 2000 of 5000 bytes shown]\n     3\tend", b.ok("read_file", "long"))
	require.Contains(t, b.ok("read_file", "latin"), "caf⟨0xE9⟩\n[1 character is hidden or not UTF-8")
	b.fails("read_file", "bin", "NUL bytes", "3 bytes")
	b.fails("read_file", "png", "a PNG image")
	b.fails("read_file", "utf16", "UTF-16")
	b.fails("read_file", "d", "is a folder", "list_dir")
	b.fails("read_file", "../x", "\"..\" is not allowed")
	require.Contains(t, b.ok("read_file", "cr"), "a⟨U+000D⟩b")
}

func TestT05HiddenTextIsMarked(t *testing.T) {
	b := setup(t, map[string]string{"README.md": "hi\U000E0049\U000E0067\n", "bidi\u202E.go": "x needle\u2066\n"})
	got := b.ok("read_file", "README.md")
	require.Contains(t, got, "hi⟨U+E0049⟩⟨U+E0067⟩")
	require.Contains(t, got, "[2 characters are hidden or not UTF-8")
	got = b.ok("grep", args{"pattern": "needle"})
	require.Contains(t, got, `"bidi\u202e.go":1: x needle⟨U+2066⟩`)
	require.Contains(t, got, "1 character is hidden")
}

func TestReadFileSuggests(t *testing.T) {
	b := setup(t, map[string]string{"internal/server/handler.go": "x", "internal/server/other.go": "x", "docs/guide.md": "x", "web/handler.go": "x"})
	b.fails("read_file", "internal/server/handlr.go", "does not exist", "Did you mean internal/server/handler.go?")
	b.fails("read_file", "guide.md", "Did you mean docs/guide.md?")
	b.fails("read_file", "internal/sever/handler.go", "internal/server or internal/server/handler.go or web/handler.go")
	b.fails("read_file", "Docs/GUIDE.md", "docs/guide.md")
	b.fails("read_file", "zzzzzz", "does not exist.")
	require.Equal(t, 1, distance("ab", "ba"))
	require.Equal(t, 3, distance("kitten", "sitting"))
	require.Equal(t, 4, distance("", "four"))
}

func TestC19SecretFilesAsk(t *testing.T) {
	b := setup(t, map[string]string{
		".env": "KEY=CANARY", "deploy/id_rsa": "CANARY", "tls.pem": "CANARY", ".npmrc": "CANARY", "l": "-> .env", "ok.txt": "KEY=fine", ".env.example": "KEY=",
	})
	f, ok := b.set["read_file"].(tools.Flagger)
	require.True(t, ok)
	for p, about := range map[string]string{".env": ".env", "deploy/id_rsa": "deploy/id_rsa", "tls.pem": "tls.pem", ".npmrc": ".npmrc", "l": ".env"} {
		flags, got := f.Flags(context.Background(), json.RawMessage(fmt.Sprintf(`{"path":%q}`, p)))
		require.Equal(t, []policy.Flag{policy.FlagSecret}, flags)
		require.Equal(t, about, got)
	}
	for _, raw := range []string{`{"path":"ok.txt"}`, `{"path":"gone"}`, `{"path":"gone/.env"}`, `{"path":"../x/.env"}`, `{"path":"../x"}`, `{}`, `nonsense`} {
		flags, _ := f.Flags(context.Background(), json.RawMessage(raw))
		require.Empty(t, flags)
	}
	got := b.ok("grep", args{"pattern": "KEY|CANARY"})
	require.NotContains(t, got, "CANARY\n")
	require.NotContains(t, got, "=CANARY")
	require.Contains(t, got, "ok.txt:1: KEY=fine")
	require.Contains(t, got, ".env.example:1: KEY=")
	require.Contains(t, got, "[4 files were not searched because of credentials: .env, .npmrc, deploy/id_rsa, tls.pem; read_file asks the person]")
	for _, p := range []string{".env", "l"} {
		got = b.ok("grep", args{"pattern": "CANARY", "path": p})
		require.Equal(t, "[1 file was not searched because of credentials: .env; read_file asks the person]", got)
	}
}

func TestP01P02ReadingToolsStayInside(t *testing.T) {
	b := setup(t, map[string]string{"rel.md": "-> ../out/secret", "dirlink": "-> ../out", "a": "-> b", "b": "-> a", "environ": "-> /proc/self/environ"})
	out := filepath.Join(filepath.Dir(b.dir), "out")
	require.NoError(t, os.MkdirAll(out, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(out, "secret"), []byte("CANARY-OUT"), 0o644))
	b.put("notes.md", "-> "+out+"/secret")
	for _, p := range []string{"../out/secret", out + "/secret", "sub/../../out", "rel.md", "notes.md", "dirlink", "dirlink/secret", "rel.md/", "a", "environ", "x\x00y", "/"} {
		for _, tool := range []string{"read_file", "list_dir", "tree"} {
			b.fails(tool, p)
		}
		b.fails("grep", args{"pattern": "CANARY", "path": p})
	}
	require.Contains(t, b.ok("grep", args{"pattern": "CANARY"}), "no match")
	list := b.ok("list_dir", ".")
	require.Contains(t, list, "rel.md -> ../out/secret  (link)")
	require.Contains(t, b.ok("tree", "."), "  dirlink -> ../out  (link)")
}

func TestP15OwnFolderIsPrivate(t *testing.T) {
	b := setup(t, map[string]string{".coderrr/config.toml": "CANARY", ".coderrr/session/1.jsonl": "CANARY", ".coderrr/specs/001-x/tasks.md": "needle"})
	b.fails("read_file", ".coderrr/config.toml", "not shown to the model")
	b.fails("grep", args{"pattern": "CANARY", "path": ".coderrr/session"})
	require.NotContains(t, b.ok("grep", args{"pattern": "CANARY", "path": ".coderrr"}), "config")
	require.Contains(t, b.ok("grep", args{"pattern": "needle", "path": ".coderrr/specs"}), "tasks.md:1: needle")
}

func TestP16P17SpecialFiles(t *testing.T) {
	b := setup(t, map[string]string{"x": "needle\n"})
	require.NoError(t, unix.Mkfifo(filepath.Join(b.dir, "fifo"), 0o644))
	begin := time.Now()
	b.fails("read_file", "fifo", "a FIFO, not a regular file")
	b.fails("grep", args{"pattern": "x", "path": "fifo"}, "not a regular file")
	require.Equal(t, "x:1: needle", b.ok("grep", args{"pattern": "needle"}))
	require.Equal(t, "fifo  (special: FIFO)\nx  7 bytes", b.ok("list_dir", "."))
	require.Contains(t, b.ok("tree", "."), "fifo  (special: FIFO)")
	require.Less(t, time.Since(begin), 5*time.Second)
}

func TestP18NamesAreInertAndRoundTrip(t *testing.T) {
	names := []string{"new\nline", "tab\t", "esc\x1b[2J", "<b>x", "bad\xff", strings.Repeat("n", 255), "-rf", "CON", "space ", `"q"`, "bidi\u202E"}
	files := map[string]string{}
	for _, n := range names {
		files["sub/"+n] = "needle"
	}
	b := setup(t, files)
	for _, text := range []string{b.ok("list_dir", "sub"), b.ok("tree", "."), b.ok("grep", args{"pattern": "needle"})} {
		for _, bad := range []string{"\x1b", "\u202E", "\xff", "new\nline"} {
			require.NotContains(t, text, bad)
		}
	}
	for shown := range strings.SplitSeq(b.ok("list_dir", "sub"), "\n") {
		name, _, _ := strings.Cut(shown, "  ")
		require.Contains(t, b.ok("read_file", "sub/"+name), "needle", shown)
	}
	for shown := range strings.SplitSeq(b.ok("grep", args{"pattern": "needle"}), "\n") {
		name, _, _ := strings.Cut(shown, ":1: ")
		require.Contains(t, b.ok("read_file", name), "needle", shown)
	}
}
