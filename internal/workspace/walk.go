package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"

	"github.com/coderrr/coderrr/internal/policy"
	"github.com/coderrr/coderrr/internal/workspace/ignore"
)

// WalkOptions say what a walk leaves out.
type WalkOptions struct {
	// All visits what .gitignore, .git/info/exclude and .coderrrignore leave out
	// too. Version control data and Coderrr's own folder are still left out.
	All bool
	// MaxDepth bounds how deep it goes below the start; 0 = no bound.
	MaxDepth int
	// Stat fills Size, Mode and Links of each Info, which costs a system call.
	Stat bool

	whole bool // everything, temp files and protected names too
	temps bool // temp files too
}

// Entry is what a walk visits. Its methods work only while it is visited: the
// folder it is in is open then.
type Entry struct {
	Info
	Depth int // 1 for what is right below the start

	dir *os.Root
}

// Walk visits everything below a folder, depth first and in byte order of names,
// without following links. fn may return fs.SkipDir (for a folder: do not go in;
// for another entry: leave its folder) or fs.SkipAll. Folders that cannot be
// opened are visited and not entered. Cancelling ends it at the next entry.
func (r *Root) Walk(ctx context.Context, p string, o WalkOptions, fn func(Entry) error) error {
	d, rel, err := r.openDir(ctx, p)
	if err != nil {
		return err
	}
	defer d.done()
	w := walker{o: o, fn: fn}
	if !o.All {
		w.rules = r.rulesFor(ctx, rel)
	}
	err = w.walk(ctx, d.Root, rel, 1)
	if errors.Is(err, fs.SkipAll) || errors.Is(err, fs.SkipDir) {
		return nil
	}
	return err
}

type walker struct {
	o     WalkOptions
	fn    func(Entry) error
	rules *ignore.Stack
}

func (w *walker) walk(ctx context.Context, d *os.Root, rel string, depth int) error {
	entries, err := readDir(ctx, d)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if depth == 1 || w.o.whole {
			return broken(rel, "list", err)
		}
		return nil
	}
	if !w.o.All {
		defer w.rules.Pop(w.rules.Push(rel, ignoreFiles(d, entries)...))
	}
	for _, de := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.visit(ctx, d, rel, depth, de); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) visit(ctx context.Context, d *os.Root, rel string, depth int, de fs.DirEntry) error {
	e := Entry{
		Info:  Info{Path: path.Join(rel, de.Name()), Name: de.Name(), Kind: kindOf(de.Type()), Mode: de.Type()},
		Depth: depth, dir: d,
	}
	if w.o.Stat {
		e.Info = describe(d, e.Path, de)
	} else if e.Kind == KindLink {
		e.Target, _ = d.Readlink(e.Name)
	}
	if w.skips(e) {
		return nil
	}
	err := w.fn(e)
	switch {
	case errors.Is(err, fs.SkipDir) && e.Kind == KindDir:
		return nil
	case err != nil:
		return err
	case e.Kind != KindDir || w.o.MaxDepth > 0 && depth >= w.o.MaxDepth:
		return nil
	}
	err = w.enter(ctx, e)
	if errors.Is(err, fs.SkipDir) {
		return nil
	}
	return err
}

// skips is what a walk does not show.
func (w *walker) skips(e Entry) bool {
	if w.o.whole {
		return false
	}
	if isTemp(e.Name) {
		return !w.o.temps
	}
	if policy.IsVCS(e.Name) || policy.IsOwn(e.Name) {
		return true
	}
	if _, err := policy.CheckRead(e.Path); err != nil {
		return true
	}
	return !w.o.All && w.rules.Ignored(e.Path, e.Kind == KindDir)
}

func (w *walker) enter(ctx context.Context, e Entry) error {
	was, err := e.dir.Lstat(e.Name)
	if err != nil || !was.IsDir() {
		return nil // gone or replaced since it was listed
	}
	sub, err := e.dir.OpenRoot(e.Name + "/.")
	if err != nil {
		if w.o.whole {
			return broken(e.Path, "open", err)
		}
		return nil
	}
	defer func() { _ = sub.Close() }()
	if now, err := sub.Stat("."); err != nil || !os.SameFile(was, now) {
		return nil
	}
	return w.walk(ctx, sub, e.Path, e.Depth+1)
}

// Open opens a visited file for reading. Only a regular file is opened, and never
// through a link.
func (e Entry) Open() (*os.File, Info, error) {
	s := e.spot()
	if s.info == nil {
		return nil, Info{}, fail(e.Path, "does not exist any more", fs.ErrNotExist)
	}
	f, info, err := s.open()
	if errors.Is(err, errSwapped) {
		err = fail(e.Path, "was replaced meanwhile", ErrMoved)
	}
	info.Path = e.Path
	return f, info, err
}

// spot is the entry as find would give it.
func (e Entry) spot() *spot {
	s := &spot{asked: e.Path, dirs: []*os.Root{e.dir}, name: e.Name}
	if dir := path.Dir(e.Path); dir != "." {
		s.missing = []string{dir} // only for rel
	}
	if info, err := e.dir.Lstat(e.Name); err == nil {
		s.info = info
	}
	return s
}

func (e Entry) hash(ctx context.Context) (string, error) {
	f, err := e.read(ctx, maxHashed)
	return f.Hash, err
}

// maxHashed bounds what is read to compare one file of a recursive delete.
const maxHashed = 1 << 40

// read reads a file, or a link's target. Anything else has no content and the
// hash of its kind.
func (e Entry) read(ctx context.Context, limit int64) (File, error) {
	out := File{Path: e.Path, Data: []byte{}, Mode: e.Mode}
	switch e.Kind {
	case KindLink:
		out.Target, out.Data = e.Target, []byte(e.Target)
	case KindFile:
		f, info, err := e.Open()
		if err != nil {
			return File{}, err
		}
		defer func() { _ = f.Close() }()
		data, err := readUpTo(ctx, f, info.Size, limit)
		if err != nil {
			return File{}, wrapRead(e.Path, err, info.Size, limit)
		}
		out.Data, out.Mode, out.Links = data, info.Mode, info.Links
	}
	out.Hash, out.Size = HashOf(out.Data), int64(len(out.Data))
	return out, nil
}
