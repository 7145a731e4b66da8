package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"
)

// maxOwn bounds a file that Dir.Read reads, in bytes.
const maxOwn = 16 << 20

// safeName is what a file or folder that we make may be called: nothing hidden,
// nothing that a system treats specially.
var safeName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`) })

// reserved are names that Windows gives to devices.
var reserved = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?$`) })

// Dir is a folder of Coderrr's own inside the workspace. Only real folders and
// regular files are used: a link anywhere on the way is refused, because whoever
// wrote the repository may have put it there. Names are slash-separated and
// relative to the folder. Safe for concurrent use.
type Dir struct {
	root *Root
	path string
	perm fs.FileMode // of folders
	mode fs.FileMode // of files
}

// Specs is .coderrr/specs, the home of package spec.
func (r *Root) Specs() *Dir { return &Dir{root: r, path: ".coderrr/specs", perm: 0o755, mode: 0o644} }

// Sessions is .coderrr/session, where logs are kept; private to the person.
func (r *Root) Sessions() *Dir {
	return &Dir{root: r, path: ".coderrr/session", perm: 0o700, mode: 0o600}
}

// Path is where a name of this folder is, relative to the workspace.
func (d *Dir) Path(name string) string { return path.Join(d.path, name) }

func (d *Dir) find(name string) (*spot, error) {
	if name == "" || path.Clean(name) != name || strings.HasPrefix(name, "/") || name == ".." || strings.HasPrefix(name, "../") {
		return nil, fail(name, "not a name in "+d.path, ErrName)
	}
	return d.root.find(context.Background(), d.Path(name), noLinks)
}

// open opens a file for reading, and refuses what is not a regular file.
func (d *Dir) open(name string) (*os.File, Info, error) {
	for range maxTries {
		s, err := d.find(name)
		if err != nil {
			return nil, Info{}, err
		}
		f, info, err := s.openAny()
		s.close()
		if !errors.Is(err, errSwapped) {
			return f, info, err
		}
	}
	return nil, Info{}, fail(name, "the file keeps being replaced", ErrMoved)
}

// Open opens a file for reading; the caller closes it.
func (d *Dir) Open(name string) (*os.File, error) {
	f, _, err := d.open(name)
	return f, err
}

// Read reads a file of at most 16 MiB.
func (d *Dir) Read(name string) ([]byte, error) {
	f, info, err := d.open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := readUpTo(context.Background(), f, info.Size, maxOwn)
	if err != nil {
		return nil, wrapRead(d.Path(name), err, info.Size, maxOwn)
	}
	return data, nil
}

// Modified is when a regular file was last written.
func (d *Dir) Modified(name string) (time.Time, error) {
	f, _, err := d.open(name)
	if err != nil {
		return time.Time{}, err
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Close()); err != nil {
		return time.Time{}, fail(name, "could not be looked at", err)
	}
	return info.ModTime(), nil
}

// Exists reports whether a file or folder is there (a link counts as there).
func (d *Dir) Exists(name string) bool {
	s, err := d.find(name)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrNotDirectory) && !errors.Is(err, ErrName)
	}
	defer s.close()
	return s.info != nil
}

// Write replaces a file atomically (see Root.Write) and makes missing folders.
func (d *Dir) Write(name string, data []byte) error {
	s, err := d.forWriting(name)
	if err != nil {
		return err
	}
	defer s.close()
	if s.info != nil {
		if err := s.regular(); err != nil {
			return err
		}
	}
	w := Write{Path: s.asked, Data: data, Mode: d.mode}
	if d.mode == 0o644 {
		w.Mode = 0 // the umask decides
	}
	if s.info != nil {
		if w.Expect, err = s.hashOwn(); err != nil {
			return err
		}
	}
	return s.replace(context.Background(), w)
}

func (s *spot) hashOwn() (string, error) {
	f, info, err := s.openAny()
	if err != nil {
		return "", fail(s.asked, "was replaced meanwhile; try again", ErrMoved)
	}
	defer func() { _ = f.Close() }()
	data, err := readUpTo(context.Background(), f, info.Size, 1<<30)
	if err != nil {
		return "", wrapRead(s.asked, err, info.Size, 1<<30)
	}
	return HashOf(data), nil
}

// forWriting checks the names of what is to be made and makes the folders.
func (d *Dir) forWriting(name string) (*spot, error) {
	for part := range strings.SplitSeq(name, "/") {
		if !safeName().MatchString(part) || reserved().MatchString(part) {
			return nil, fail(name, "not a name that Coderrr gives; letters, digits, dot, dash and underscore only", ErrName)
		}
	}
	if err := d.prepare(); err != nil {
		return nil, err
	}
	s, err := d.find(name)
	if err != nil {
		return nil, err
	}
	if _, err := s.makeMissing(d.perm); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// ignored is what .coderrr/.gitignore says when we make it.
const ignored = "# Made by Coderrr: session logs are private, specs belong in the repository.\nsession/\n" + tempPrefix + "*\n"

// prepare makes the folder and, with it, .coderrr/.gitignore.
func (d *Dir) prepare() error {
	s, err := d.root.find(context.Background(), d.Path(".keep"), noLinks)
	if err != nil {
		return err
	}
	defer s.close()
	if len(s.missing) == 2 { // .coderrr is missing too: it is not private
		own := s.missing
		s.missing = own[:1]
		if _, err := s.makeMissing(0o755); err != nil {
			return err
		}
		s.missing = own[1:]
	}
	if _, err := s.makeMissing(d.perm); err != nil {
		return err
	}
	g, err := d.root.find(context.Background(), ".coderrr/.gitignore", stop)
	if err != nil {
		return err
	}
	defer g.close()
	if g.info != nil {
		return nil // the person's own, or ours
	}
	err = g.replace(context.Background(), Write{Data: []byte(ignored)})
	if errors.Is(err, ErrMoved) {
		return nil // another process made it
	}
	return err
}

// Mkdir makes a folder; it fails with fs.ErrExist when the name is taken.
func (d *Dir) Mkdir(name string) error {
	s, err := d.forWriting(name)
	if err != nil {
		return err
	}
	defer s.close()
	if s.info != nil {
		return fail(s.asked, "exists already", fs.ErrExist)
	}
	if err := s.dir().Mkdir(s.name, d.perm); err != nil {
		return s.broken("make", err)
	}
	return s.syncDir()
}

// Remove deletes a file, or a folder that is empty.
func (d *Dir) Remove(name string) error {
	s, err := d.find(name)
	if err != nil {
		return err
	}
	defer s.close()
	if s.info == nil {
		return fail(s.asked, "does not exist", fs.ErrNotExist)
	}
	if err := s.dir().Remove(s.name); err != nil {
		return s.broken("delete", err)
	}
	return s.syncDir()
}

// Append opens a file for appending, and makes it if it is not there. It can be
// read and truncated too. A file with further names is refused: appending would
// change it wherever they are. The caller closes it.
func (d *Dir) Append(name string) (*os.File, error) {
	s, err := d.forWriting(name)
	if err != nil {
		return nil, err
	}
	defer s.close()
	flags := os.O_RDWR | os.O_APPEND | openFlags
	if s.info == nil {
		f, err := s.dir().OpenFile(s.name, flags|os.O_CREATE|os.O_EXCL, d.mode)
		if err != nil {
			return nil, s.broken("make", err)
		}
		return f, s.syncDir()
	}
	if err := s.regular(); err != nil {
		return nil, err
	}
	if n := linksOf(s.info); n > 1 {
		return nil, fail(s.asked, fmt.Sprintf("has %d names, so writing to it would change another file; delete it", n), ErrNotRegular)
	}
	f, err := s.dir().OpenFile(s.name, flags, 0)
	if err != nil {
		return nil, s.broken("open", err)
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(now, s.info) {
		_ = f.Close()
		return nil, fail(s.asked, "was replaced meanwhile; try again", ErrMoved)
	}
	return f, nil
}

// List describes the entries of a folder ("." for this one), sorted by name. A
// folder that does not exist has none.
func (d *Dir) List(sub string) ([]Info, error) {
	s, err := d.find(sub)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if s.info == nil {
		return nil, nil
	}
	if !s.info.IsDir() {
		return nil, fail(s.asked, "is not a folder", ErrNotDirectory)
	}
	if err := s.down(s.name, s.info); err != nil {
		return nil, fail(s.asked, "was replaced meanwhile; try again", ErrMoved)
	}
	entries, err := readDir(context.Background(), s.dir())
	if err != nil {
		return nil, s.broken("list", err)
	}
	out := make([]Info, 0, len(entries))
	for _, e := range entries {
		if !isTemp(e.Name()) {
			out = append(out, describe(s.dir(), path.Join(d.path, sub, e.Name()), e))
		}
	}
	return out, nil
}
