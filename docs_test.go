package coderrr_test

import (
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// documents are the Markdown files that people read.
func documents(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		found, err := fs.Glob(os.DirFS("."), pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

// TestDocLinks: a link to a file of the tree leads somewhere.
func TestDocLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`)
	for _, doc := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, doc), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(path.Join(path.Dir(doc), m[1])); err != nil {
				t.Errorf("%s: link to %s: %v", doc, m[1], err)
			}
		}
	}
}

// TestDocTargets: a make target that a document names exists.
func TestDocTargets(t *testing.T) {
	makefile := read(t, "Makefile")
	target := regexp.MustCompile("`make ([a-z][a-z -]*)`|(?m)^make ([a-z][a-z -]*)$")
	for _, doc := range documents(t) {
		for _, m := range target.FindAllStringSubmatch(read(t, doc), -1) {
			for _, name := range strings.Fields(m[1] + m[2]) {
				if !strings.Contains(makefile, "\n"+name+":") {
					t.Errorf("%s: make %s: no such target", doc, name)
				}
			}
		}
	}
}

// TestDocTests: a test that a document names exists, so that a promise does not
// outlive what holds it.
func TestDocTests(t *testing.T) {
	known := map[string]bool{}
	err := fs.WalkDir(os.DirFS("."), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, "_test.go") {
			return err
		}
		for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`).FindAllStringSubmatch(read(t, p), -1) {
			known[m[1]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// P06 stands for any test of that attack, as in `TestP06SwapRace`.
	for _, doc := range documents(t) {
		for _, m := range regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w+)`").FindAllStringSubmatch(read(t, doc), -1) {
			if !known[m[1]] {
				t.Errorf("%s: there is no %s", doc, m[1])
			}
		}
	}
}

// TestDocArchitecture: every package stands on the map.
func TestDocArchitecture(t *testing.T) {
	doc := read(t, "ARCHITECTURE.md")
	for pkg := range layers {
		name := strings.TrimPrefix(pkg, "internal/")
		base := path.Base(name)
		if strings.HasSuffix(base, "test") || base == "bench" || base == "gen" || base == "conformance" {
			continue // fakes and programs for this repository
		}
		if pkg = strings.TrimPrefix(pkg, "internal/"); !strings.Contains(doc, "`"+pkg+"`") {
			t.Errorf("ARCHITECTURE.md does not name %s", pkg)
		}
	}
}

// TestDocEvents: every type of event is in the protocol's document.
func TestDocEvents(t *testing.T) {
	doc := read(t, "docs/protocol.md")
	for _, s := range sources(t) {
		if s.pkg != "internal/event" || s.test {
			continue
		}
		for _, decl := range s.file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Name.Name != "Type" || f.Recv == nil || len(f.Body.List) != 1 {
				continue
			}
			for _, name := range literals(f.Body) {
				if !strings.Contains(doc, "`"+name+"`") {
					t.Errorf("docs/protocol.md: event %s is missing", name)
				}
			}
		}
	}
}

// TestDocConfiguration: every key of the configuration is in its document.
func TestDocConfiguration(t *testing.T) {
	doc := read(t, "docs/configuration.md")
	for _, s := range sources(t) {
		if s.path != "internal/config/config.go" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			f, ok := n.(*ast.Field)
			if !ok || f.Tag == nil {
				return true
			}
			tag, err := strconv.Unquote(f.Tag.Value)
			if err != nil {
				t.Fatal(err)
			}
			key, _, _ := strings.Cut(reflect.StructTag(tag).Get("toml"), ",")
			if key != "" && !regexp.MustCompile(`\b`+key+`\b`).MatchString(doc) {
				t.Errorf("docs/configuration.md: key %s is missing", key)
			}
			return true
		})
	}
}

// TestDocExitCodes: every exit code is in the document for scripts.
func TestDocExitCodes(t *testing.T) {
	doc := read(t, "docs/scripting.md")
	for _, s := range sources(t) {
		if s.pkg != "internal/cli" || s.test {
			continue
		}
		for _, decl := range s.file.Decls {
			d, ok := decl.(*ast.GenDecl)
			if !ok || d.Tok != token.CONST {
				continue
			}
			for _, spec := range d.Specs {
				v := spec.(*ast.ValueSpec)
				if !strings.HasPrefix(v.Names[0].Name, "Exit") || len(v.Values) != 1 {
					continue
				}
				code, ok := v.Values[0].(*ast.BasicLit)
				if ok && !strings.Contains(doc, "\n| "+code.Value+" |") {
					t.Errorf("docs/scripting.md: exit code %s (%s) is missing", code.Value, v.Names[0].Name)
				}
			}
		}
	}
}

func literals(n ast.Node) []string {
	var all []string
	ast.Inspect(n, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil {
				all = append(all, s)
			}
		}
		return true
	})
	return all
}

// TestDocDependencies: every module that is required directly has its reason.
func TestDocDependencies(t *testing.T) {
	doc := read(t, "docs/dependencies.md")
	for _, mod := range []string{"go.mod", "internal/e2e/go.mod", "internal/llm/catalog/gen/go.mod"} {
		for line := range strings.Lines(read(t, mod)) {
			f := strings.Fields(strings.TrimPrefix(line, "require "))
			if len(f) == 2 && strings.HasPrefix(f[1], "v") && !strings.Contains(doc, "| `"+f[0]+"` |") {
				t.Errorf("docs/dependencies.md: %s (%s) has no row", f[0], mod)
			}
		}
	}
	for line := range strings.Lines(read(t, "tools.mod")) {
		tool := strings.TrimSpace(line)
		if strings.HasPrefix(line, "\t") && !strings.Contains(tool, " ") {
			root := regexp.MustCompile(`/cmd/.*`).ReplaceAllString(tool, "")
			if !strings.Contains(doc, "| `"+root+"` |") {
				t.Errorf("docs/dependencies.md: %s (tools.mod) has no row", root)
			}
		}
	}
}
