package coderrr_test

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// files may touch the file system. Everything else goes through workspace, which
// asks policy about every path.
var files = []string{
	"internal/workspace", "internal/history", "internal/config", "internal/secret", "internal/lock",
	"internal/event", "internal/approval", "internal/llm/cassette", "internal/browser",
	"internal/sandbox/...", "internal/term", "internal/skills", "internal/demo/...", "internal/guidance",
	"internal/bench", "internal/cli/manual",
}

// printers may write to the process's own streams.
var printers = []string{"internal/cli/...", "internal/term", "cmd/coderrr", "internal/bench", "internal/demo/gen", "internal/mcp/conformance"}

// A ban says which functions of a package only some may name, and why.
type ban struct {
	pkg   string
	names []string // "*" at the end stands for any rest
	who   []string
	why   string
}

var bans = []ban{
	{
		"os",
		[]string{
			"WriteFile", "Create*", "Rename", "Remove*", "OpenFile", "Mkdir*", "Symlink", "Link",
			"Chmod", "Chown", "Lchown", "Chtimes", "Truncate", "CopyFS",
		},
		files, "the user's files are written only through workspace, and what is ours only by its owner",
	},
	{
		"os",
		[]string{"Open", "ReadFile", "OpenRoot", "OpenInRoot", "ReadDir", "DirFS", "Readlink"},
		files, "the user's files are read only through workspace, and what is ours only by its owner",
	},
	{"os", []string{"StartProcess"}, []string{"internal/sandbox/..."}, "a command starts in the sandbox, nowhere else"},
	{"os", []string{"Stdout", "Stderr", "Stdin"}, append([]string{"internal/sandbox/..."}, printers...), "streams are passed in; with --json stdout carries events and nothing else"},
	{"os", []string{"Chdir", "Setenv", "Unsetenv", "Clearenv"}, []string{"internal/sandbox/..."}, "the process's state is shared by every session in it"},
	{"os", []string{"Exit"}, []string{"cmd/coderrr", "internal/bench", "internal/cli/manual", "internal/demo/gen", "internal/mcp/conformance", "internal/sandbox/..."}, "one place ends the process, so that deferred work is done"},
	{
		"syscall",
		[]string{"Exec", "ForkExec", "StartProcess", "Open*", "Unlink*", "Rename*", "Mkdir*", "Symlink*", "Link*"},
		[]string{"internal/sandbox/...", "internal/workspace"},
		"the way around package os",
	},
	{
		"golang.org/x/sys/unix",
		[]string{"Exec", "Open*", "Unlink*", "Rename*", "Mkdir*", "Symlink*", "Link*"},
		[]string{"internal/sandbox/...", "internal/workspace"},
		"the way around package os",
	},
	{"fmt", []string{"Print*", "Scan", "Scanf", "Scanln"}, printers, "streams are passed in; with --json stdout carries events and nothing else"},
	{"log", []string{"Print*", "Fatal*", "Panic*", "Default", "Set*", "Output", "Writer"}, nil, "the default logger is shared and writes to stderr: return an error or append an event"},
	{"log/slog", []string{"Debug*", "Info*", "Warn*", "Error*", "Log*", "Default", "SetDefault", "With"}, nil, "the default logger is shared and writes to stderr: return an error or append an event"},
	{"net/http", []string{"DefaultClient", "DefaultTransport", "DefaultServeMux", "Get", "Post*", "Head", "Handle", "HandleFunc", "ListenAndServe*", "Serve*TLS"}, nil, "shared and without a time limit: make a client or a server"},
}

func (b ban) covers(name string) bool {
	return slices.ContainsFunc(b.names, func(n string) bool {
		prefix, open := strings.CutSuffix(n, "*")
		return name == n || open && strings.HasPrefix(name, prefix)
	})
}

// slog constructors and levels share their first letters with its functions.
var harmless = map[string]bool{"slog.LogValuer": true, "slog.LevelInfo": true}

// TestRestrictedCalls holds invariants 2 and 3: files, commands and streams have
// few doors, and these are the packages that hold the keys.
func TestRestrictedCalls(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, b := range bans {
			if anyWithin(s.pkg, b.who) {
				continue
			}
			s.uses(b.pkg, func(sel *ast.SelectorExpr, _ string) {
				if b.covers(sel.Sel.Name) && !harmless[b.pkg+"."+sel.Sel.Name] {
					t.Errorf("%s: %s must not use %s.%s: %s", s.at(sel.Pos()), s.pkg, b.pkg, sel.Sel.Name, b.why)
				}
			})
		}
	}
}

// TestExecutionModeIsSetOnce holds invariant 1: nothing but session.execute, which
// is reached only after an approval, can name the mode in which files are written.
func TestExecutionModeIsSetOnce(t *testing.T) {
	const policy = module + "/internal/policy"
	places := map[string]bool{}
	for _, s := range sources(t) {
		if s.test || s.pkg == "internal/policy" {
			continue
		}
		for _, imp := range s.imports() {
			if imp.path == policy && imp.name == "." {
				t.Errorf("%s: policy must be imported by its name, so that policy.Execution can be found", imp.at)
			}
		}
		s.uses(policy, func(sel *ast.SelectorExpr, in string) {
			if sel.Sel.Name != "Execution" {
				return
			}
			places[s.pkg+"."+in] = true
			if s.pkg != "internal/session" || in != "execute" {
				t.Errorf("%s: only session.execute may name policy.Execution; compare with what you were given instead", s.at(sel.Pos()))
			}
		})
		s.conversions(policy, "Mode", func(pos token.Pos) {
			t.Errorf("%s: a number must not become a policy.Mode outside package policy", s.at(pos))
		})
	}
	if len(places) > 1 {
		t.Errorf("policy.Execution is named in %d functions, want one", len(places))
	}
	if len(places) == 0 {
		t.Error("nothing enters the execution mode: session.execute was renamed, and this test looks for the wrong name")
	}
}

// conversions calls fn for each call pkg.name(…).
func (s source) conversions(importPath, name string, fn func(token.Pos)) {
	used := map[ast.Expr]bool{}
	s.uses(importPath, func(sel *ast.SelectorExpr, _ string) {
		if sel.Sel.Name == name {
			used[sel] = true
		}
	})
	if len(used) == 0 {
		return
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && used[call.Fun] {
			fn(call.Pos())
		}
		return true
	})
}

// TestW08NoOriginBypass: patterns that let other origins in were too broad before
// (CVE-2025-47910), and tests copy what they see.
func TestW08NoOriginBypass(t *testing.T) {
	for _, s := range sources(t) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				if n.Name == "AddInsecureBypassPattern" || n.Name == "InsecureSkipVerify" {
					t.Errorf("%s: %s must not be used: list the exact origin", s.at(n.Pos()), n.Name)
				}
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "OriginPatterns" {
					s.noStar(t, n.Value)
				}
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					if sel, ok := left.(*ast.SelectorExpr); ok && sel.Sel.Name == "OriginPatterns" && i < len(n.Rhs) {
						s.noStar(t, n.Rhs[i])
					}
				}
			}
			return true
		})
	}
}

func (s source) noStar(t *testing.T, value ast.Expr) {
	ast.Inspect(value, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && strings.ContainsAny(lit.Value, "*?[") {
			t.Errorf("%s: OriginPatterns must name exact origins, not %s", s.at(lit.Pos()), lit.Value)
		}
		return true
	})
}
