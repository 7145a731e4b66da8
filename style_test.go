package coderrr_test

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

const (
	maxFunc = 60
	maxFile = 400
)

// long are the functions and files above the limits, each with its reason.
var long = map[string]string{}

// vars are the package variables beyond sentinel errors, regular expressions,
// embedded files and interface checks, each with its reason.
var vars = map[string]string{
	"cmd/coderrr.version": "set by the linker (make build)",
}

// TestSizes: what does not fit on a screen is not read.
func TestSizes(t *testing.T) {
	used := map[string]bool{}
	allowed := func(name string) bool {
		_, ok := long[name]
		used[name] = true
		return ok
	}
	for _, s := range sources(t) {
		if s.test || s.generated {
			continue
		}
		if n := s.fset.Position(s.file.FileEnd).Line; n > maxFile && !allowed(s.path) {
			t.Errorf("%s:%d: file is longer than %d lines: split it by noun", s.path, n, maxFile)
		}
		for _, decl := range s.file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := s.lines(f); n > maxFunc && !allowed(s.pkg+"."+f.Name.Name) {
				t.Errorf("%s: function %s has %d lines, more than %d: name its parts", s.at(f.Pos()), f.Name.Name, n, maxFunc)
			}
		}
	}
	for name := range long {
		if !used[name] {
			t.Errorf("long: %s is within the limits now; remove its row", name)
		}
	}
}

// TestNoWorkAtStart: no init functions and no package variables that hold state,
// so that starting costs nothing and two sessions share nothing.
func TestNoWorkAtStart(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || s.generated {
			continue
		}
		for _, decl := range s.file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && d.Name.Name == "init" {
					t.Errorf("%s: no init functions: wire it where it is used", s.at(d.Pos()))
				}
			case *ast.GenDecl:
				if d.Tok == token.VAR {
					s.checkVars(t, d)
				}
			}
		}
	}
}

func (s source) checkVars(t *testing.T, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		v := spec.(*ast.ValueSpec)
		if embeds(d.Doc) || embeds(v.Doc) {
			continue
		}
		for i, name := range v.Names {
			if _, listed := vars[s.pkg+"."+name.Name]; listed || name.Name == "_" {
				continue
			}
			if i < len(v.Values) && constant(v.Values[i]) {
				continue
			}
			t.Errorf("%s: package variable %s: only sentinel errors, regular expressions compiled at their first use (sync.OnceValue) and embedded files may be package variables; return it from a function",
				s.at(name.Pos()), name.Name)
		}
	}
}

func embeds(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool {
		return strings.HasPrefix(c.Text, "//go:embed ")
	})
}

// constant reports whether a value is one of those that never change.
func constant(v ast.Expr) bool {
	if list, ok := v.(*ast.CompositeLit); ok {
		_, slice := list.Type.(*ast.ArrayType)
		return slice && !slices.ContainsFunc(list.Elts, func(e ast.Expr) bool { return !constant(e) })
	}
	call, ok := v.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	if !ok {
		return false
	}
	switch pkg.Name + "." + sel.Sel.Name {
	case "errors.New", "fmt.Errorf":
		return true
	case "sync.OnceValue":
		return len(call.Args) == 1 && expression(call.Args[0])
	}
	return false
}

// expression reports whether a function only compiles a regular expression. Done
// at the first use, it costs the commands nothing that do without.
func expression(v ast.Expr) bool {
	f, ok := v.(*ast.FuncLit)
	if !ok || len(f.Body.List) != 1 {
		return false
	}
	ret, ok := f.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(ret.Results) != 1 {
		return false
	}
	call, ok := ret.Results[0].(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "MustCompile"
}

// TestPackageComments: each package says what it is for, in one place.
func TestPackageComments(t *testing.T) {
	documented := map[string]int{}
	first := map[string]string{}
	for _, s := range sources(t) {
		if s.test && s.pkg != "." {
			continue
		}
		if _, ok := first[s.pkg]; !ok {
			first[s.pkg] = s.path
		}
		if s.file.Doc == nil {
			continue
		}
		documented[s.pkg]++
		want := "Package " + s.file.Name.Name + " "
		if s.file.Name.Name == "main" {
			want = "Command " + path.Base(s.pkg) + " "
		}
		if !strings.HasPrefix(s.file.Doc.Text(), want) {
			t.Errorf("%s: the package comment must begin with %q", s.at(s.file.Doc.Pos()), want)
		}
	}
	for pkg, file := range first {
		switch n := documented[pkg]; {
		case n == 0:
			t.Errorf("%s: package %s has no package comment: say what it is for and its one rule", file, pkg)
		case n > 1:
			t.Errorf("%s: package %s has %d package comments; keep one", file, pkg, n)
		}
	}
}

// TestExportedIdentifiersAreDocumented covers types, functions, methods, and the
// constants and variables of a package; a group's comment counts for its members,
// also where the group is one-line functions without a blank line between them.
func TestExportedIdentifiersAreDocumented(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || s.generated {
			continue
		}
		last := 0 // where the documented function before ends
		for _, decl := range s.file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				end := s.fset.Position(d.End()).Line
				grouped := s.lines(d) == 1 && end == last+1
				if last = 0; d.Doc != nil || grouped {
					last = end
				}
				if d.Doc == nil && !grouped && d.Name.IsExported() && receiverExported(d) {
					t.Errorf("%s: %s is exported and has no comment", s.at(d.Pos()), d.Name.Name)
				}
			case *ast.GenDecl:
				s.checkDocs(t, d)
			}
		}
	}
}

func (s source) checkDocs(t *testing.T, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch v := spec.(type) {
		case *ast.TypeSpec:
			if v.Name.IsExported() && d.Doc == nil && v.Doc == nil && v.Comment == nil {
				t.Errorf("%s: type %s is exported and has no comment", s.at(v.Pos()), v.Name.Name)
			}
		case *ast.ValueSpec:
			for _, name := range v.Names {
				if name.IsExported() && d.Doc == nil && v.Doc == nil && v.Comment == nil {
					t.Errorf("%s: %s is exported and has no comment", s.at(name.Pos()), name.Name)
				}
			}
		}
	}
}

// receiverExported reports whether d is a function or a method of an exported type.
func receiverExported(d *ast.FuncDecl) bool {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return true
	}
	typ := d.Recv.List[0].Type
	for {
		switch t := typ.(type) {
		case *ast.StarExpr:
			typ = t.X
		case *ast.IndexExpr:
			typ = t.X
		case *ast.IndexListExpr:
			typ = t.X
		case *ast.Ident:
			return t.IsExported()
		default:
			return true
		}
	}
}
