package workspace

import (
	"context"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/coderrr/coderrr/internal/workspace/ignore"
)

// maxIgnore bounds an ignore file; a larger one is not used.
const maxIgnore = 1 << 20

// rulesFor is the ignore rules that hold in a folder: those of every folder above
// it. A folder that is itself ignored was named on purpose: then only what it
// holds itself counts.
func (r *Root) rulesFor(ctx context.Context, rel string) *ignore.Stack {
	st := ignore.NewStack()
	if text, err := r.small(ctx, ".git/info/exclude"); err == nil {
		st.Base(ignore.Parse(text))
	}
	if rel == "." {
		return st
	}
	parts := strings.Split(rel, "/")
	for i := range parts {
		dir := path.Join(parts[:i]...)
		if dir == "" {
			dir = "."
		}
		st.Push(dir, r.ignoreFilesAt(ctx, dir)...)
		if st.Ignored(path.Join(parts[:i+1]...), true) {
			return ignore.NewStack()
		}
	}
	return st
}

func (r *Root) ignoreFilesAt(ctx context.Context, dir string) []*ignore.Rules {
	d, _, err := r.openDir(ctx, dir)
	if err != nil {
		return nil
	}
	defer d.done()
	var out []*ignore.Rules
	for _, name := range ignoreNames() {
		out = append(out, readRules(d.Root, name))
	}
	return out
}

// ignoreNames are the files that hold rules, the later one deciding.
func ignoreNames() []string { return []string{".gitignore", ".coderrrignore"} }

// ignoreFiles reads the ignore files among the entries of an open folder.
func ignoreFiles(d *os.Root, entries []fs.DirEntry) []*ignore.Rules {
	var out []*ignore.Rules
	for _, name := range ignoreNames() {
		for _, e := range entries {
			if e.Name() == name && e.Type().IsRegular() {
				out = append(out, readRules(d, name))
			}
		}
	}
	return out
}

// readRules reads one ignore file. As with git, a link is not followed; what
// cannot be read has no rules.
func readRules(d *os.Root, name string) *ignore.Rules {
	info, err := d.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxIgnore {
		return nil
	}
	f, err := d.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	if now, err := f.Stat(); err != nil || !os.SameFile(info, now) {
		return nil
	}
	data, err := readUpTo(context.Background(), f, info.Size(), maxIgnore)
	if err != nil {
		return nil
	}
	return ignore.Parse(data)
}
