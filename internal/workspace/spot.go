package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/coderrr/coderrr/internal/policy"
)

// maxLinks bounds the links followed for one path, as os.Root does.
const maxLinks = 8

// maxTries bounds how often a path is walked again because it changed under us.
const maxTries = 5

// errSwapped says that a name became something else between two looks at it.
var errSwapped = errors.New("the path keeps changing")

// how says what find does with links.
type how int

const (
	stop    how = iota // follow links on the way, stop at one that is last
	follow             // follow the last one too
	noLinks            // refuse every link
)

// spot is where a path leads: open directories down to the last, and a name in
// it. Operations use that directory and that single name, so nothing that was
// walked over can be swapped for something else.
type spot struct {
	asked   string
	dirs    []*os.Root // from the root (not owned) down
	names   []string   // the resolved names of dirs[1:]
	missing []string   // folders below the last directory that do not exist yet
	name    string     // the last component; "." for the workspace itself
	info    fs.FileInfo
}

func (s *spot) dir() *os.Root { return s.dirs[len(s.dirs)-1] }

// rel is the resolved path: no links, no "..".
func (s *spot) rel() string {
	all := append(append([]string{}, s.names...), s.missing...)
	return path.Join(append(all, s.name)...)
}

func (s *spot) close() {
	for _, d := range s.dirs[1:] {
		_ = d.Close() // a directory that was only walked: nothing to lose
	}
	s.dirs = s.dirs[:1]
}

// find walks to p. The caller closes the spot. A path whose last part does not
// exist is a spot with a nil info; folders that do not exist are in missing.
func (r *Root) find(ctx context.Context, p string, h how) (*spot, error) {
	rel, err := r.Resolve(p)
	if err != nil {
		return nil, err
	}
	for range maxTries {
		var s *spot
		if s, err = r.walkTo(ctx, p, rel, h); !errors.Is(err, errSwapped) {
			return s, err
		}
	}
	return nil, fail(p, "the folders on the way keep changing; try again when nothing else moves them", ErrMoved)
}

func (r *Root) walkTo(ctx context.Context, asked, rel string, h how) (_ *spot, err error) {
	s := &spot{asked: asked, dirs: []*os.Root{r.root}}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	todo, links := components(rel), 0
	for len(todo) > 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		part := todo[0]
		todo = todo[1:]
		if part == ".." {
			if err := s.up(); err != nil {
				return nil, err
			}
			continue
		}
		info, err := s.dir().Lstat(part)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return s, s.absent(part, todo)
		case err != nil:
			return nil, s.broken("look at", err)
		case info.Mode()&fs.ModeSymlink != 0 && (h != stop || len(todo) > 0):
			if links++; links > maxLinks || h == noLinks {
				return nil, s.badLink(h)
			}
			target, err := s.target(part)
			if err != nil {
				return nil, err
			}
			todo = append(target, todo...)
		case len(todo) == 0:
			s.name, s.info = part, info
			return s, nil
		case !info.IsDir():
			return nil, fail(asked, Quote(path.Join(append(s.names, part)...))+" is a file, not a folder", ErrNotDirectory)
		default:
			if err := s.down(part, info); err != nil {
				return nil, err
			}
		}
	}
	return s, s.settle()
}

// components cuts a slash path, without the parts that say nothing.
func components(p string) []string {
	var out []string
	for part := range strings.SplitSeq(p, "/") {
		if part != "" && part != "." {
			out = append(out, part)
		}
	}
	return out
}

// down enters a directory and makes sure that it is the one that was looked at.
// The slash and dot make os.Root open it as a directory, without following a link
// or waiting for a FIFO put in its place.
func (s *spot) down(part string, info fs.FileInfo) error {
	sub, err := s.dir().OpenRoot(part + "/.")
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return s.broken("open", err)
		}
		return errSwapped
	}
	got, err := sub.Stat(".")
	if err != nil || !os.SameFile(info, got) {
		_ = sub.Close()
		return errSwapped
	}
	s.dirs, s.names = append(s.dirs, sub), append(s.names, part)
	return nil
}

// up leaves a directory, for ".." in a link's target.
func (s *spot) up() error {
	if len(s.dirs) == 1 {
		return fail(s.asked, "a link on this path leads out of the workspace; links that stay inside are followed, this one is not", ErrOutside)
	}
	_ = s.dir().Close()
	s.dirs, s.names = s.dirs[:len(s.dirs)-1], s.names[:len(s.names)-1]
	return nil
}

// settle makes the directory a walk ended in into a name in its parent.
func (s *spot) settle() error {
	if len(s.dirs) == 1 {
		info, err := s.dir().Lstat(".")
		if err != nil {
			return s.broken("look at", err)
		}
		s.name, s.info = ".", info
		return nil
	}
	name := s.names[len(s.names)-1]
	if err := s.up(); err != nil {
		return err
	}
	info, err := s.dir().Lstat(name)
	if err != nil || !info.IsDir() {
		return errSwapped
	}
	s.name, s.info = name, info
	return nil
}

// absent notes what does not exist.
func (s *spot) absent(part string, todo []string) error {
	rest := append([]string{part}, todo...)
	for _, p := range rest {
		if p == ".." {
			return fail(s.asked, "a link on this path leads nowhere", fs.ErrNotExist)
		}
	}
	s.missing, s.name = rest[:len(rest)-1], rest[len(rest)-1]
	return nil
}

// target reads a link and cuts it into components.
func (s *spot) target(part string) ([]string, error) {
	text, err := s.dir().Readlink(part)
	if err != nil {
		return nil, errSwapped
	}
	if path.IsAbs(text) || strings.Contains(text, ":\\") {
		link := Quote(path.Join(append(s.names, part)...))
		return nil, fail(s.asked, link+" is a link to the absolute path "+Quote(text)+
			"; only relative links that stay in the workspace are followed", ErrOutside)
	}
	return components(text), nil
}

func (s *spot) badLink(h how) error {
	if h == noLinks {
		return fail(s.asked, "a link stands where Coderrr keeps its own files; remove the link", ErrIsLink)
	}
	return fail(s.asked, "too many links, perhaps a loop", ErrOutside)
}

// broken puts an operating system's error in words.
func (s *spot) broken(what string, err error) error { return broken(s.asked, what, err) }

func broken(p, what string, err error) error {
	var full *fs.PathError
	if errors.As(err, &full) {
		err = full.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		err = link.Err
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fail(p, "cannot "+what+" it: permission denied; change its permissions or leave it alone", err)
	case errors.Is(err, fs.ErrNotExist):
		return fail(p, "does not exist", err)
	case errors.Is(err, syscall.ENAMETOOLONG):
		return fail(p, "a name in it is too long for the file system", err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EFBIG), errors.Is(err, syscall.EDQUOT):
		return fail(p, "cannot "+what+" it: the disk or a quota is full ("+err.Error()+"); nothing was changed, free some space", err)
	}
	return fail(p, "cannot "+what+" it: "+err.Error(), err)
}

// readable is what policy says of reading where a path leads.
func (s *spot) readable() ([]policy.Flag, error) {
	flags, err := policy.CheckRead(s.rel())
	return flags, s.denied(err)
}

// writable is what policy says of changing where a path leads.
func (s *spot) writable() ([]policy.Flag, error) {
	flags, err := policy.CheckWrite(s.rel())
	return flags, s.denied(err)
}

func (s *spot) denied(err error) error {
	var d *policy.Denied
	if !errors.As(err, &d) {
		return err
	}
	text := d.Reason
	if rel := s.rel(); rel != s.asked && rel != "." {
		text = "leads to " + Quote(rel) + ": " + text
	}
	return fail(s.asked, text, d)
}
