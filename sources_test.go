package coderrr_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// source is one Go file of this module.
type source struct {
	path      string // relative to the module root
	pkg       string // directory of the package, relative to the module root
	test      bool   // _test.go
	generated bool
	file      *ast.File
	fset      *token.FileSet
}

// at is a position as file:line.
func (s source) at(pos token.Pos) string {
	return s.path + ":" + strconv.Itoa(s.fset.Position(pos).Line)
}

// lines is the number of lines that n covers.
func (s source) lines(n ast.Node) int {
	return s.fset.Position(n.End()).Line - s.fset.Position(n.Pos()).Line + 1
}

type imported struct{ path, name, at string }

// imports lists what the file imports; name is how the file calls it.
func (s source) imports() []imported {
	var list []imported
	for _, spec := range s.file.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := path.Base(p)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		list = append(list, imported{p, name, s.at(spec.Pos())})
	}
	return list
}

// uses calls fn for each selector such as os.Open whose package is imported as
// importPath, with the function it stands in ("" outside functions).
func (s source) uses(importPath string, fn func(sel *ast.SelectorExpr, in string)) {
	name := ""
	for _, imp := range s.imports() {
		if imp.path == importPath {
			name = imp.name
		}
	}
	if name == "" || name == "_" {
		return
	}
	for _, decl := range s.file.Decls {
		in := ""
		if f, ok := decl.(*ast.FuncDecl); ok {
			in = f.Name.Name
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			// A local variable of the package's name has an object; a package has none.
			if id, ok := sel.X.(*ast.Ident); ok && id.Name == name && id.Obj == nil {
				fn(sel, in)
			}
			return true
		})
	}
}

var parsed = sync.OnceValues(parseAll)

// sources parses every Go file of the module once. Other modules below it,
// testdata and the sample project are not part of it.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func parseAll() ([]source, error) {
	var all []source
	err := fs.WalkDir(os.DirFS("."), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if p != "." && outside(p, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, p, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		all = append(all, source{
			path: p, pkg: path.Dir(p), test: strings.HasSuffix(p, "_test.go"),
			generated: ast.IsGenerated(f), file: f, fset: fset,
		})
		return nil
	})
	return all, err
}

// outside reports whether a directory is not part of this module's packages.
func outside(p, name string) bool {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || ignored(p) {
		return true
	}
	_, err := os.Stat(path.Join(p, "go.mod"))
	return err == nil
}

// ignored reports whether .gitignore leaves the directory out of the tree.
func ignored(p string) bool {
	return p == "bin" || p == "dist" || p == "artifacts"
}
