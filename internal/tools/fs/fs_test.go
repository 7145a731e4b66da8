package fs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/ask/asktest"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/history"
	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/policy"
	"github.com/coderrr/coderrr/internal/tools"
	"github.com/coderrr/coderrr/internal/tools/fs"
	"github.com/coderrr/coderrr/internal/workspace"
)

// bench is a workspace with the write tools on it, reached as a model reaches
// them: through a Set in execution mode.
type bench struct {
	t      *testing.T
	dir    string
	root   *workspace.Root
	seen   *workspace.Seen
	store  *history.Store
	log    *event.Log
	asker  ask.Asker
	rules  policy.Rules
	calls  int
	verify tools.Verifier
}

func newBench(t *testing.T) *bench {
	t.Helper()
	base := t.TempDir()
	b := &bench{t: t, dir: filepath.Join(base, "ws"), seen: &workspace.Seen{}, store: history.OpenDir(filepath.Join(base, "history")), log: event.NewLog(nil, nil)}
	require.NoError(t, os.Mkdir(b.dir, 0o755))
	root, err := workspace.Open(b.dir, workspace.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = root.Close() })
	b.root = root
	return b
}

func (b *bench) options() fs.Options {
	return fs.Options{Root: b.root, Seen: b.seen, History: b.store}
}

type args map[string]any

func (b *bench) call(tool string, in args) tools.Result {
	b.t.Helper()
	raw, err := json.Marshal(in)
	require.NoError(b.t, err)
	b.calls++
	set := tools.NewSet(tools.Options{
		Mode: policy.Execution, Sources: []tools.Source{tools.Fixed(fs.Tools(b.options()))},
		Gate: func() policy.Rules { return b.rules }, Asker: b.asker, Log: b.log, Files: fs.NewCommitter(b.options()), Verify: b.verify,
	})
	return set.Call(b.t.Context(), llm.ToolUse{ID: fmt.Sprint("call", b.calls), Name: tool, Input: raw})
}

func (b *bench) ok(tool string, in args) tools.Result {
	b.t.Helper()
	res := b.call(tool, in)
	require.False(b.t, res.IsError, res.Content)
	return res
}

func (b *bench) fails(tool string, in args, want ...string) {
	b.t.Helper()
	before := b.snapshot()
	res := b.call(tool, in)
	require.True(b.t, res.IsError, res.Content)
	for _, w := range want {
		require.Contains(b.t, res.Content, w)
	}
	require.Equal(b.t, before, b.snapshot(), "a failed call changes nothing")
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, filepath.FromSlash(name)) }

// file makes a file that the model has read.
func (b *bench) file(name, content string) {
	b.t.Helper()
	b.unread(name, content)
	b.seen.Note(name, workspace.HashOf([]byte(content)))
}

func (b *bench) unread(name, content string) {
	b.t.Helper()
	require.NoError(b.t, os.MkdirAll(filepath.Dir(b.path(name)), 0o755))
	require.NoError(b.t, os.WriteFile(b.path(name), []byte(content), 0o644))
}

func (b *bench) content(name string) string {
	b.t.Helper()
	data, err := os.ReadFile(b.path(name))
	require.NoError(b.t, err)
	return string(data)
}

// snapshot is every path with its mode and content.
func (b *bench) snapshot() map[string]string {
	out := map[string]string{}
	require.NoError(b.t, filepath.WalkDir(b.dir, func(p string, d iofs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(b.dir, p)
		out[rel] = info.Mode().String()
		if d.Type().IsRegular() {
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			out[rel] += " " + string(data)
		}
		return nil
	}))
	return out
}

func (b *bench) changes() []event.FileChanged {
	var out []event.FileChanged
	for _, e := range b.log.Events(0) {
		if c, ok := e.Data.(event.FileChanged); ok {
			out = append(out, c)
		}
	}
	return out
}

func (b *bench) last() event.FileChanged {
	all := b.changes()
	require.NotEmpty(b.t, all)
	return all[len(all)-1]
}

func TestSpecs(t *testing.T) {
	var got []string
	for _, tool := range fs.Tools(newBench(t).options()) {
		require.Equal(t, policy.Write, tool.Class())
		spec := tool.Spec()
		var schema struct {
			Type       string
			Properties map[string]struct{ Description string }
			Required   []string
			Additional *bool `json:"additionalProperties"`
		}
		require.NoError(t, json.Unmarshal(spec.Schema, &schema))
		require.Equal(t, "object", schema.Type)
		names := make([]string, 0, len(schema.Properties))
		for n, p := range schema.Properties {
			require.NotEmpty(t, p.Description, "%s %s", spec.Name, n)
			if !slices.Contains(schema.Required, n) {
				n += "?"
			}
			names = append(names, n)
		}
		slices.Sort(names)
		got = append(got, spec.Name+": "+strings.Join(names, ", "))
	}
	require.Equal(t, []string{
		"write_file: content, intent?, path",
		"edit_file: intent?, new_string, old_string, path",
		"move_file: destination, source",
		"delete_file: path, recursive?",
	}, got)
}

func TestWriteNewFile(t *testing.T) {
	b := newBench(t)
	res := b.ok("write_file", args{"path": "a/b/c.txt", "content": "x\ny\n", "intent": "why"})
	require.Equal(t, "Create a/b/c.txt (+2)", res.Display)
	require.Equal(t, "Created a/b/c.txt (2 lines).", res.Content)
	require.Equal(t, "x\ny\n", b.content("a/b/c.txt"))
	e := b.last()
	require.Equal(t, "create", e.Op)
	require.Empty(t, e.Before)
	require.Equal(t, workspace.HashOf([]byte("x\ny\n")), e.After)
	require.Equal(t, []string{"a", "a/b"}, e.Made)
	require.Equal(t, "call1", e.Call)
	require.Equal(t, "--- /dev/null\n+++ b/a/b/c.txt\n@@ -0,0 +1,2 @@\n+x\n+y\n", e.Diff)
	b.ok("edit_file", args{"path": "a/b/c.txt", "old_string": "y", "new_string": "z"})
	require.Equal(t, "x\nz\n", b.content("a/b/c.txt"), "what the model wrote it knows")
}

// TestT08EmptyFile: creating and emptying a file are changes of their own.
func TestT08EmptyFile(t *testing.T) {
	b := newBench(t)
	b.ok("write_file", args{"path": "e", "content": ""})
	require.Equal(t, "", b.content("e"))
	require.Equal(t, "create", b.last().Op)
	require.NotEmpty(t, b.last().After)
	b.file("f", "x\n")
	b.ok("write_file", args{"path": "f", "content": ""})
	require.Equal(t, "", b.content("f"))
	require.Equal(t, "edit", b.last().Op)
	require.Equal(t, 1, b.last().Removed)
}

func TestWriteOverAFile(t *testing.T) {
	b := newBench(t)
	b.unread("a", "one\n")
	b.fails("write_file", args{"path": "a", "content": "two\n"}, "a exists, and you have not read it", "read_file")
	b.file("a", "one\n")
	b.fails("write_file", args{"path": "a", "content": "one\n"}, "already has exactly this content")
	b.ok("write_file", args{"path": "./a", "content": "two\n"})
	require.Equal(t, "two\n", b.content("a"))

	b.unread("a", "mine\n")
	b.fails("write_file", args{"path": "a", "content": "three\n"}, "a changed since you read it", "Read it again")
	b.fails("write_file", args{"path": "a\x00b", "content": ""})
	b.fails("write_file", args{"path": "b", "content": "x\x00"}, "NUL")
	require.NoError(t, os.Mkdir(b.path("d"), 0o755))
	b.fails("write_file", args{"path": "d", "content": "x"}, "d is a folder")
	require.NoError(t, os.Symlink("a", b.path("l")))
	b.fails("write_file", args{"path": "l", "content": "x"}, "l is a symbolic link to a")
}

// TestP25 is about keeping a file's form.
func TestP25WriteKeepsForm(t *testing.T) {
	for _, tc := range []struct{ name, old, content, want, note string }{
		{"CRLF", "a\r\nb\r\n", "a\nc\n", "a\r\nc\r\n", "CRLF line endings were kept"},
		{"CRLF asked for", "a\r\nb\r\n", "a\r\nc\r\n", "a\r\nc\r\n", ""},
		{"old Mac", "a\rb\r", "a\nc\n", "a\rc\r", "CR line endings were kept"},
		{"BOM", "\ufeffa\n", "b\n", "\ufeffb\n", "byte order mark was kept"},
		{"BOM and CRLF", "\ufeffa\r\n", "b\n", "\ufeffb\r\n", "CRLF line endings were kept. The file's byte order mark was kept"},
		{"BOM given", "\ufeffa\n", "\ufeffb\n", "\ufeffb\n", ""},
		{"mixed endings are the model's to decide", "a\r\nb\n", "a\nc\n", "a\nc\n", ""},
		{"no final newline", "a\nb", "a\nc", "a\nc", ""},
		{"one line", "a", "b\nc\n", "b\nc\n", ""},
		{"not ASCII", "ä\u2028\U0001f600\n", "ö\u2028\U0001f600\n", "ö\u2028\U0001f600\n", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t)
			b.file("f", tc.old)
			res := b.ok("write_file", args{"path": "f", "content": tc.content})
			require.Equal(t, tc.want, b.content("f"))
			require.Contains(t, res.Content, tc.note)
			if tc.note == "" {
				require.NotContains(t, res.Content, "kept")
			}
		})
	}
}

func TestP25ModeIsKept(t *testing.T) {
	for _, mode := range []os.FileMode{0o755, 0o600, 0o640} {
		b := newBench(t)
		b.file("f", "one\ntwo\n")
		require.NoError(t, os.Chmod(b.path("f"), mode))
		b.ok("edit_file", args{"path": "f", "old_string": "one", "new_string": "1"})
		b.ok("write_file", args{"path": "f", "content": "new\n"})
		info, err := os.Stat(b.path("f"))
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm())
		require.Equal(t, fmt.Sprintf("%04o", mode), b.last().Mode)
	}
}

func TestP25OtherEncodingsAreRefused(t *testing.T) {
	for _, content := range map[string]string{
		"Latin-1":        "one\ncaf\xe9\n",
		"Shift JIS":      "one\n\x83n\x83\x8d\n",
		"one byte of it": "one\n" + strings.Repeat("x", 1000) + "\x80\n",
	} {
		b := newBench(t)
		b.file("f", content)
		b.fails("edit_file", args{"path": "f", "old_string": "one", "new_string": "1"}, "f is not UTF-8 text: line 2")
		b.fails("write_file", args{"path": "f", "content": "new"}, "f is not UTF-8 text: line 2")
	}
	b := newBench(t)
	b.file("f", "\xff\xfeo\x00n\x00e\x00")
	b.fails("edit_file", args{"path": "f", "old_string": "one", "new_string": "1"}, "f is a binary file")
}

func TestEdit(t *testing.T) {
	for _, tc := range []struct{ name, file, old, new, want string }{
		{"one line", "a\nb\nc\n", "b", "B", "a\nB\nc\n"},
		{"several lines", "a\nb\nc\n", "a\nb\n", "x\n", "x\nc\n"},
		{"delete", "a\nb\nc\n", "b\n", "", "a\nc\n"},
		{"at the start, BOM kept", "\ufeffa\nb\n", "a", "A", "\ufeffA\nb\n"},
		{"no final newline", "a\nb", "b", "c", "a\nc"},
		{"final newline removed on request", "a\nb\n", "b\n", "b", "a\nb"},
		{"CRLF, LF given", "a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\n", "x\r\ny\r\nc\r\n"},
		{"CRLF, one line to two", "a\r\nb\r\nc\r\n", "b", "b\nb2", "a\r\nb\r\nb2\r\nc\r\n"},
		{"CRLF given", "a\r\nb\r\n", "a\r\nb", "x\r\ny", "x\r\ny\r\n"},
		{"CRLF to LF, explicitly", "a\r\nb\r\n", "a\r\n", "a\n", "a\nb\r\n"},
		{"LF, CRLF given", "a\nb\nc\n", "a\r\nb", "x\r\ny", "x\ny\nc\n"},
		{"mixed, CRLF part", "a\r\nb\r\nc\nd\n", "a\nb", "x\ny", "x\r\ny\r\nc\nd\n"},
		{"mixed, LF part", "a\r\nb\r\nc\nd\n", "c\nd", "x\ny", "a\r\nb\r\nx\ny\n"},
		{"mixed, one line in the CRLF part", "a\r\nb\r\nc\nd\n", "b", "x\ny", "a\r\nx\r\ny\r\nc\nd\n"},
		{"mixed, last line without ending", "a\r\nb\nc", "c", "x\ny", "a\r\nb\nx\ny"},
		{"old Mac", "a\rb\rc\r", "a\nb", "x\ny", "x\ry\rc\r"},
		{"lone CR is text", "a\rb\nc\n", "a\rb", "d", "d\nc\n"},
		{"not ASCII", "größe = 1\n", "größe", "länge", "länge = 1\n"},
		{"invisible characters stay", "a\u200bb\nc\n", "c", "d", "a\u200bb\nd\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t)
			b.file("f", tc.file)
			b.ok("edit_file", args{"path": "f", "old_string": tc.old, "new_string": tc.new})
			require.Equal(t, tc.want, b.content("f"))
			e := b.last()
			require.Equal(t, workspace.HashOf([]byte(tc.file)), e.Before)
			require.Equal(t, workspace.HashOf([]byte(tc.want)), e.After)
			kept, err := b.store.Get(e.Before)
			require.NoError(t, err)
			require.Equal(t, tc.file, string(kept))
		})
	}
}

func TestEditRefusals(t *testing.T) {
	b := newBench(t)
	b.unread("u", "a\n")
	b.fails("edit_file", args{"path": "u", "old_string": "a", "new_string": "b"}, "u exists, and you have not read it")
	b.fails("edit_file", args{"path": "none", "old_string": "a", "new_string": "b"}, "none does not exist", "write_file")
	b.file("f", "a\nb\na\nb\na\n")
	b.fails("edit_file", args{"path": "f", "old_string": "", "new_string": "b"}, "old_string is empty")
	b.fails("edit_file", args{"path": "f", "old_string": "b", "new_string": "b"}, "old_string and new_string are the same")
	b.fails("edit_file", args{"path": "f", "old_string": "a\nb", "new_string": "x"}, "old_string is in f 2 times (lines 1, 3)", "only once")
	b.fails("edit_file", args{"path": "f", "old_string": "a\nb\na", "new_string": "x"}, "2 times (lines 1, 3)")
	b.fails("edit_file", args{"path": "f", "old_string": "a"}, "needs the argument \"new_string\"")
	b.fails("edit_file", args{"path": "f", "old_string": "a", "new_string": "b", "replace_all": true}, "has no argument \"replace_all\"")
	b.fails("edit_file", args{"path": "f", "old_string": 1, "new_string": "b"}, "edit_file: ")
	b.file("many", strings.Repeat("x\n", 30))
	b.fails("edit_file", args{"path": "many", "old_string": "x", "new_string": "y"}, "30 times (lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and more)")
	require.Empty(t, b.changes())
}

// TestR14ChangedSinceRead: a unique match on a changed file is made, on the new
// content; anything less is sent back to reading.
func TestR14ChangedSinceRead(t *testing.T) {
	b := newBench(t)
	b.file("f", "a\nb\n")
	b.unread("f", "mine\na\nb\n")
	res := b.ok("edit_file", args{"path": "f", "old_string": "b", "new_string": "B"})
	require.Equal(t, "mine\na\nB\n", b.content("f"))
	require.Contains(t, res.Content, "The file had changed since you read it")
	b.fails("write_file", args{"path": "f", "content": "x"}, "changed since you read it")
	b.fails("edit_file", args{"path": "f", "old_string": "gone", "new_string": "B"}, "The file changed since you read it: read it again")
}

// TestR14ChangedWhileDecided: the person edits the file while the question is
// open; the change is computed and asked again, and nothing of theirs is lost.
func TestR14ChangedWhileDecided(t *testing.T) {
	b := newBench(t)
	b.rules.ConfirmWrites = true
	b.file("f", "a\nb\n")
	var first, second event.WriteCard
	b.asker = asktest.New(t,
		asktest.Step{Kind: ask.Write, Choice: ask.Apply, Look: func(q ask.Question) {
			require.NoError(t, json.Unmarshal(q.Detail, &first))
			b.unread("f", "a\nb\nmine\n")
		}},
		asktest.Step{Kind: ask.Write, Choice: ask.Apply, Look: func(q ask.Question) { require.NoError(t, json.Unmarshal(q.Detail, &second)) }},
	)
	b.ok("edit_file", args{"path": "f", "old_string": "b", "new_string": "B"})
	require.Equal(t, "a\nB\nmine\n", b.content("f"))
	require.NotEqual(t, first.Before, second.Before)
	require.Equal(t, second.After, workspace.HashOf([]byte(b.content("f"))))
	require.Len(t, b.changes(), 1)
}

// TestP07HardLink: the other name of the file keeps its content, and the change
// is flagged.
func TestP07HardLink(t *testing.T) {
	b := newBench(t)
	outside := filepath.Join(t.TempDir(), "outside")
	require.NoError(t, os.WriteFile(outside, []byte("a\n"), 0o644))
	require.NoError(t, os.Link(outside, b.path("notes")))
	b.seen.Note("notes", workspace.HashOf([]byte("a\n")))
	b.ok("edit_file", args{"path": "notes", "old_string": "a", "new_string": "b"})
	require.Equal(t, []string{string(policy.FlagHardLink)}, b.last().Flags)
	b.seen.Note("notes", workspace.HashOf([]byte("b\n")))
	data, err := os.ReadFile(outside)
	require.NoError(t, err)
	require.Equal(t, "a\n", string(data))
}

// TestP12P15 are the paths that no write tool touches.
func TestP12P15ProtectedPaths(t *testing.T) {
	b := newBench(t)
	b.file("x", "x\n")
	b.unread(".git/config", "[core]\n")
	b.unread("sub/.git/HEAD", "ref: x\n")
	b.unread(".coderrr/config.toml", "x\n")
	b.unread(".coderrr/specs/001-x/tasks.md", "x\n")
	for _, p := range []string{
		".git/hooks/pre-commit", ".GIT/config", ".coderrr/config.toml", ".coderrr/policy.json", ".coderrr/specs/001-x/approved",
		"../out", "/etc/passwd", ".", "sub/..",
	} {
		b.fails("write_file", args{"path": p, "content": "x"})
		b.fails("edit_file", args{"path": p, "old_string": "x", "new_string": "y"})
		b.fails("move_file", args{"source": "x", "destination": p})
	}
	for _, p := range []string{".git", ".git/config", "sub", ".", "sub/..", b.dir, ".coderrr", "../ws"} {
		b.fails("delete_file", args{"path": p, "recursive": true})
		b.fails("move_file", args{"source": p, "destination": "moved"})
	}
	require.Empty(t, b.changes())
}

// TestP13P14: files that run code outside the sandbox are always asked about, by
// whichever tool they come.
func TestP13P14RunsCode(t *testing.T) {
	b := newBench(t)
	for _, p := range []string{".envrc", ".vscode/tasks.json", ".github/workflows/x.yml", ".husky/pre-commit", ".mcp.json"} {
		b.fails("write_file", args{"path": p, "content": "x\n"}, "needs a person's approval (the file runs code outside the sandbox)")
		b.file("plain", "x\n")
		b.fails("move_file", args{"source": "plain", "destination": p}, "runs code outside the sandbox")
	}
	b.unread("fx/HEAD", "ref: refs/heads/main\n")
	b.unread("fx/objects/x", "")
	b.unread("fx/refs/x", "")
	b.fails("write_file", args{"path": "fx/config", "content": "[core]\n\tfsmonitor = evil\n"}, "runs code outside the sandbox")
	b.unread("dir/.envrc", "x\n")
	b.fails("move_file", args{"source": "dir", "destination": "dir2"}, "runs code outside the sandbox")
	b.fails("delete_file", args{"path": "dir", "recursive": true}, "runs code outside the sandbox")

	b.asker = asktest.New(t, asktest.Step{Kind: ask.Write, Choice: ask.Apply})
	b.ok("write_file", args{"path": ".envrc", "content": "x\n"})
	require.Contains(t, b.last().Flags, string(policy.FlagRunsCode))
}

func TestHiddenCharactersAreFlagged(t *testing.T) {
	b := newBench(t)
	b.file("a", "a\n")
	b.ok("edit_file", args{"path": "a", "old_string": "a", "new_string": "a\u202eb"})
	require.Equal(t, []string{string(policy.FlagHidden)}, b.last().Flags)
	b.ok("write_file", args{"path": "b", "content": "\U000e0041"})
	require.Equal(t, []string{string(policy.FlagHidden)}, b.last().Flags)
}

func TestMoveFile(t *testing.T) {
	b := newBench(t)
	b.file("a", "\xff binary \x00")
	require.NoError(t, os.Chmod(b.path("a"), 0o755))
	res := b.ok("move_file", args{"source": "a", "destination": "new/b"})
	require.Equal(t, "Moved a to new/b.", res.Content)
	require.Equal(t, "\xff binary \x00", b.content("new/b"))
	require.NoFileExists(t, b.path("a"))
	e := b.last()
	hash := workspace.HashOf([]byte("\xff binary \x00"))
	require.Equal(t, event.FileChanged{Path: "new/b", From: "a", Op: "move", Before: hash, After: hash, Made: []string{"new"}, Mode: "0755", Call: "call1"}, e)
	seen, ok := b.seen.Hash("new/b")
	require.True(t, ok)
	require.Equal(t, hash, seen)

	b.file("c", "c")
	b.fails("move_file", args{"source": "c", "destination": "new"}, "new is a folder that exists", "new/c")
	b.fails("move_file", args{"source": "c", "destination": "new/b"}, "new/b exists already")
	b.fails("move_file", args{"source": "c", "destination": "c"}, "c exists already")
	b.fails("move_file", args{"source": "none", "destination": "x"}, "none: does not exist")
	b.fails("move_file", args{"source": "c", "destination": "../x"})
	require.NoError(t, os.Symlink("c", b.path("l")))
	b.fails("move_file", args{"source": "l", "destination": "x"}, "l is a symbolic link")
}

func TestMoveFolder(t *testing.T) {
	b := newBench(t)
	b.file("d/a", "a")
	b.unread("d/s/b", "b")
	b.fails("move_file", args{"source": "d", "destination": "d/inner"}, "inside d")
	res := b.ok("move_file", args{"source": "d", "destination": "x/y"})
	require.Equal(t, "Moved the folder d to x/y (2 files).", res.Content)
	require.Equal(t, "a", b.content("x/y/a"))
	require.Equal(t, "b", b.content("x/y/s/b"))
	require.NoDirExists(t, b.path("d"))
	var got []string
	for _, e := range b.changes() {
		got = append(got, e.Op+" "+e.From+" "+e.Path)
	}
	require.Equal(t, []string{"move d/a x/y/a", "move d/s/b x/y/s/b"}, got)
	_, ok := b.seen.Hash("x/y/a")
	require.True(t, ok)
	b.undo(history.Filter{})
	require.Equal(t, "a", b.content("d/a"))
	require.Equal(t, "b", b.content("d/s/b"))
	require.NoDirExists(t, b.path("x"))
}

func (b *bench) undo(f history.Filter) {
	b.t.Helper()
	_, err := history.Plan(b.log.Events(0), f).Apply(b.t.Context(), history.Options{
		Root: b.root, Store: b.store, Log: func(e event.FileChanged) error { return b.log.Commit(e) },
	})
	require.NoError(b.t, err)
}

func TestDeleteFile(t *testing.T) {
	b := newBench(t)
	b.unread("a", "1\n2\n")
	res := b.ok("delete_file", args{"path": "a"})
	require.Equal(t, "Deleted a.", res.Content)
	require.Equal(t, "Delete a (-2)", res.Display)
	require.NoFileExists(t, b.path("a"))
	e := b.last()
	require.Equal(t, "delete", e.Op)
	require.Empty(t, e.After)
	require.Equal(t, "--- a/a\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-1\n-2\n", e.Diff)
	require.Equal(t, []string{string(policy.FlagDelete)}, e.Flags)
	b.fails("delete_file", args{"path": "a"}, "a: does not exist")
	b.undo(history.Filter{Last: true})
	require.Equal(t, "1\n2\n", b.content("a"))

	require.NoError(t, os.Symlink("a", b.path("l")))
	b.ok("delete_file", args{"path": "l"})
	require.FileExists(t, b.path("a"), "only the link goes")
	require.Equal(t, history.LinkMode, b.last().Mode)
}

func TestDeleteFolder(t *testing.T) {
	b := newBench(t)
	b.file("d/a", "a\n")
	b.unread("d/s/b", "\x00")
	require.NoError(t, os.Chmod(b.path("d/a"), 0o755))
	b.fails("delete_file", args{"path": "d"}, "d is a folder with 2 files in it", "recursive=true")
	b.rules.ConfirmWrites = true
	var card event.WriteCard
	b.asker = asktest.New(t, asktest.Step{Choice: ask.Apply, Look: func(q ask.Question) { require.NoError(t, json.Unmarshal(q.Detail, &card)) }})
	res := b.ok("delete_file", args{"path": "d", "recursive": true})
	require.Equal(t, []string{"d/a", "d/s/b"}, card.Files)
	require.Equal(t, "Deleted the folder d (2 files).", res.Content)
	require.NoDirExists(t, b.path("d"))
	require.Len(t, b.changes(), 2)
	_, ok := b.seen.Hash("d/a")
	require.False(t, ok)
	b.undo(history.Filter{})
	require.Equal(t, "a\n", b.content("d/a"))
	require.Equal(t, "\x00", b.content("d/s/b"))
	info, err := os.Stat(b.path("d/a"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o755), info.Mode().Perm())
}

func TestDeleteEmptyFolder(t *testing.T) {
	b := newBench(t)
	require.NoError(t, os.Mkdir(b.path("d"), 0o755))
	b.ok("delete_file", args{"path": "d", "recursive": true})
	require.NoDirExists(t, b.path("d"))
	require.Equal(t, "d", b.last().Path)
}

// TestDeleteFolderThatGrew: a file that came while the question was open is asked
// about too.
func TestDeleteFolderThatGrew(t *testing.T) {
	b := newBench(t)
	b.rules.ConfirmWrites = true
	b.unread("d/a", "a")
	b.asker = asktest.New(t,
		asktest.Step{Choice: ask.Apply, Look: func(ask.Question) { b.unread("d/mine", "mine") }},
		asktest.Step{Choice: ask.SendBack, Text: "keep mine"})
	b.call("delete_file", args{"path": "d", "recursive": true})
	require.Equal(t, "mine", b.content("d/mine"))
	require.Equal(t, "a", b.content("d/a"))
	require.Empty(t, b.changes())
}

// TestR18WriteFailsAfterItWasLogged: the log then says that it did not happen.
func TestR18WriteFailsAfterItWasLogged(t *testing.T) {
	b := newBench(t)
	b.file("f", "a\n")
	committer := fs.NewCommitter(b.options())
	change := tools.Change{
		Op: tools.OpEdit, Path: "f", Before: []byte("a\n"), After: []byte("b\n"),
		BeforeHash: workspace.HashOf([]byte("a\n")), AfterHash: workspace.HashOf([]byte("b\n")),
	}
	var logged []event.FileChanged
	err := committer.Commit(t.Context(), change, func(e event.FileChanged) error {
		if len(logged) == 0 {
			b.unread("f", "mine\n") // between the event and the replacement
		}
		logged = append(logged, e)
		return nil
	})
	require.ErrorIs(t, err, tools.ErrMoved)
	require.Equal(t, "mine\n", b.content("f"))
	require.Len(t, logged, 2)
	require.NotEmpty(t, logged[1].Failed)
	require.Equal(t, workspace.HashOf([]byte("mine\n")), logged[1].After, "the log says what the file holds")

	stop := errors.New("no space left on device")
	b.file("f", "a\n")
	err = committer.Commit(t.Context(), change, func(event.FileChanged) error { return stop })
	require.ErrorIs(t, err, stop)
	require.ErrorContains(t, err, "could not be logged, so it was not made")
	require.Equal(t, "a\n", b.content("f"), "what is not logged is not done")

	err = committer.Commit(t.Context(), tools.Change{Op: tools.OpEdit, Path: "f", BeforeHash: "other"}, nil)
	require.ErrorIs(t, err, tools.ErrMoved, "and what is known to be late is not even logged")
}

// TestOrder: pre-image, then event, then file.
func TestOrder(t *testing.T) {
	b := newBench(t)
	b.file("f", "a\n")
	change := tools.Change{
		Op: tools.OpEdit, Path: "f", Before: []byte("a\n"), After: []byte("b\n"),
		BeforeHash: workspace.HashOf([]byte("a\n")), AfterHash: workspace.HashOf([]byte("b\n")),
	}
	require.NoError(t, fs.NewCommitter(b.options()).Commit(t.Context(), change, func(e event.FileChanged) error {
		require.True(t, b.store.Has(e.Before))
		require.Equal(t, "a\n", b.content("f"))
		return nil
	}))
	require.Equal(t, "b\n", b.content("f"))
}

func TestNothingIsLeftBehind(t *testing.T) {
	b := newBench(t)
	b.file("f", "a\n")
	b.ok("edit_file", args{"path": "f", "old_string": "a", "new_string": "b"})
	entries, err := os.ReadDir(b.dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}
