package search

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/coderrr/coderrr/internal/inert"
	"github.com/coderrr/coderrr/internal/policy"
	"github.com/coderrr/coderrr/internal/tools"
	"github.com/coderrr/coderrr/internal/workspace"
)

const (
	defaultResults = 100
	maxResults     = 1000
	maxNamed       = 5 // files named in a note
	// minCounted: a search counts at least so many lines, and ten times those it
	// shows, before it leaves out the rest.
	minCounted = 1000
)

type grepArgs struct {
	Pattern    string `json:"pattern" jsonschema_description:"Regular expression (RE2 syntax), matched within one line."`
	Path       string `json:"path,omitempty" jsonschema_description:"File or folder to search (default: the whole workspace)."`
	Glob       string `json:"glob,omitempty" jsonschema_description:"Only files that match, such as *.go, src/**/*.{ts,tsx} or !*_test.go."`
	IgnoreCase bool   `json:"ignore_case,omitempty" jsonschema_description:"Match upper and lower case alike (default false)."`
	MaxResults int    `json:"max_results,omitempty" jsonschema_description:"How many matching lines to show (default 100, at most 1000)."`
}

// hit is one matching line, ready to be shown.
type hit struct {
	n    int
	text string
}

// found is what a search adds up to.
type found struct {
	out     strings.Builder
	room    int // bytes of out
	shown   int
	total   int
	files   int
	looked  int
	binary  int
	long    int
	nul     int
	hidden  int
	stopped bool // enough was found before all was searched
	secrets []string
	failed  []string
}

func (t *toolbox) grep(ctx context.Context, in grepArgs) (tools.Result, error) {
	if in.Path == "" {
		in.Path = "."
	}
	if in.MaxResults <= 0 {
		in.MaxResults = defaultResults
	}
	in.MaxResults = min(in.MaxResults, maxResults)
	m, err := newMatcher(in.Pattern, in.IgnoreCase)
	if err != nil {
		return tools.Result{}, err
	}
	globs, err := newGlobs(in.Glob)
	if err != nil {
		return tools.Result{}, err
	}
	flags, rel, err := t.root.ReadFlags(ctx, in.Path)
	var info workspace.Info
	if err == nil {
		info, err = t.root.Lstat(ctx, rel)
	}
	if err != nil {
		return tools.Result{}, t.explain(ctx, in.Path, err)
	}
	var res *found
	switch {
	case info.Kind == workspace.KindDir:
		res, err = t.grepFolder(ctx, in, rel, m, globs)
	case secret(flags):
		res = &found{room: maxOutput, secrets: []string{rel}}
	default:
		res, err = t.grepFile(ctx, in, m)
	}
	if err != nil {
		return tools.Result{}, t.explain(ctx, in.Path, err)
	}
	return res.result(in), nil
}

// grepFile searches the one file that was named. Its name decides nothing else.
func (t *toolbox) grepFile(ctx context.Context, in grepArgs, m *matcher) (*found, error) {
	f, info, err := t.root.Open(ctx, in.Path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	r, err := m.seeker().scan(ctx, f, info.Size, in.MaxResults)
	if err != nil {
		return nil, err
	}
	res := &found{room: maxOutput, looked: 1}
	res.add(info.Path, r, in.MaxResults)
	return res, nil
}

// grepFolder searches what a scan finds: named in order by the scan, searched by a
// few workers, added up in order again.
func (t *toolbox) grepFolder(ctx context.Context, in grepArgs, base string, m *matcher, globs globs) (*found, error) {
	res := &found{room: maxOutput}
	var secrets []string // the pool adds to res at the same time
	pool := newPool(ctx, m, in.MaxResults, max(minCounted, 10*in.MaxResults), res)
	err := t.root.Scan(ctx, in.Path, func(f workspace.Scanned) error {
		switch {
		case pool.full.Load():
			f.Done()
			return fs.SkipAll
		case !globs.match(f.Path, base):
			f.Done()
			return nil
		}
		flags, err := policy.CheckRead(f.Path)
		switch {
		case err != nil: // never searched, as it is never read
			f.Done()
		case secret(flags):
			secrets = append(secrets, f.Path)
			f.Done()
		default:
			pool.put(f)
		}
		return nil
	})
	pool.wait()
	if !res.stopped { // else how far the scan came is chance
		res.secrets = secrets
	}
	if err == nil {
		err = ctx.Err()
	}
	return res, err
}

func secret(flags []policy.Flag) bool {
	for _, f := range flags {
		if f == policy.FlagSecret {
			return true
		}
	}
	return false
}

// add takes the result of one file.
func (f *found) add(path string, r scanned, limit int) {
	if r.binary {
		f.binary++
		return
	}
	f.long += r.long
	if r.nul {
		f.nul++
	}
	if r.count == 0 {
		return
	}
	f.files++
	f.total += r.count
	name := workspace.Quote(path)
	for _, h := range r.hits {
		text, hidden := inert.Visible(h.text)
		if f.shown == limit || f.out.Len()+len(name)+len(text) > f.room {
			return
		}
		fmt.Fprintf(&f.out, "%s:%d: %s\n", name, h.n, text)
		f.shown++
		f.hidden += hidden
	}
}

func (f *found) result(in grepArgs) tools.Result {
	var b strings.Builder
	b.WriteString(f.out.String())
	note := func(format string, args ...any) { fmt.Fprintf(&b, "["+format+"]\n", args...) }
	switch {
	case f.total == 0 && f.looked == 0 && len(f.secrets) > 0:
	case f.total == 0 && f.looked == 0:
		note("no match: no file was searched; check path and glob, ignored files are left out")
	case f.total == 0:
		note("no match in %s", plural(f.looked, "file", "files"))
	case f.stopped:
		note("%d shown of more than %s, in the first %s; the rest was not searched: narrow the pattern, path or glob",
			f.shown, plural(f.total, "matching line", "matching lines"), plural(f.files, "file", "files"))
	case f.shown < f.total:
		note("%d of %s shown, in %s; narrow the pattern, path or glob, or raise max_results",
			f.shown, plural(f.total, "matching line", "matching lines"), plural(f.files, "file", "files"))
	}
	if n := len(f.secrets); n > 0 {
		note("%s not searched because of credentials: %s; read_file asks the person", plural(n, "file was", "files were"), some(f.secrets))
	}
	if f.binary > 0 {
		note("%s not searched", plural(f.binary, "binary file was", "binary files were"))
	}
	if f.long > 0 {
		note("of %s only the first %d KiB were searched", plural(f.long, "very long line", "very long lines"), maxSearched>>10)
	}
	if f.nul > 0 {
		note("%s searched up to the first NUL byte only", plural(f.nul, "file was", "files were"))
	}
	if n := len(f.failed); n > 0 {
		note("%s could not be opened: %s", plural(n, "file", "files"), some(f.failed))
	}
	if strings.Contains(in.Pattern, `\n`) && f.total == 0 {
		note("the pattern holds \\n, and a pattern is matched within one line")
	}
	text := strings.TrimSuffix(b.String(), "\n") + hiddenNote(f.hidden)
	pattern, _ := inert.Visible(in.Pattern)
	return tools.Result{
		Content: text,
		Display: fmt.Sprintf("Search %q (%s in %s)", cutText(pattern, 60), plural(f.total, "match", "matches"), plural(f.files, "file", "files")),
	}
}

// some names a few paths and counts the rest.
func some(paths []string) string {
	var out []string
	for _, p := range paths[:min(len(paths), maxNamed)] {
		out = append(out, workspace.Quote(p))
	}
	if n := len(paths) - len(out); n > 0 {
		out = append(out, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(out, ", ")
}

func cutText(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}
