package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/coderrr/coderrr/internal/policy"
)

// Remove deletes one file, or one link (never what it leads to). expect is the
// hash of the file, or of the link's target text (see Hash); "" deletes whatever
// is there.
func (r *Root) Remove(ctx context.Context, p, expect string) error {
	s, err := r.find(ctx, p, stop)
	if err != nil {
		return err
	}
	defer s.close()
	if err := r.mayWrite(ctx, s); err != nil {
		return err
	}
	if err := s.removable(); err != nil {
		return err
	}
	if expect != "" {
		if err := s.expect(ctx, expect); err != nil {
			return err
		}
	}
	if err := s.dir().Remove(s.name); err != nil {
		return s.broken("delete", err)
	}
	return s.syncDir()
}

func (s *spot) removable() error {
	if s.info != nil && s.info.Mode()&fs.ModeSymlink != 0 {
		return nil
	}
	if s.info != nil && s.info.IsDir() {
		return fail(s.asked, "is a folder; delete it with recursive=true if all that is in it should go", ErrIsFolder)
	}
	return s.regular()
}

// RemoveAll deletes a folder with all that is in it, or a single file or link. It
// looks before it deletes: a protected name, a mount or (when known is not nil) a
// file or link that is not in known, or has another hash there, and nothing is
// deleted. known maps resolved paths to hashes as Below gives them. Links are
// removed and never followed.
func (r *Root) RemoveAll(ctx context.Context, p string, known map[string]string) error {
	s, err := r.find(ctx, p, stop)
	if err != nil {
		return err
	}
	defer s.close()
	if err := r.mayWrite(ctx, s); err != nil {
		return err
	}
	if s.info == nil {
		return fail(p, "does not exist", fs.ErrNotExist)
	}
	if !s.info.IsDir() {
		want, listed := known[s.rel()]
		if known != nil && !listed {
			return fail(p, "was not in what was to be deleted; look again", ErrMoved)
		}
		return r.Remove(ctx, p, want)
	}
	err = r.below(ctx, s, func(e Entry) error {
		if known == nil || e.Kind == KindDir {
			return nil
		}
		want, listed := known[e.Path]
		if !listed {
			return fail(e.Path, "is new in the folder that was to be deleted; look again", ErrMoved)
		}
		have, err := e.hash(ctx)
		if err == nil && have != want {
			err = fail(e.Path, "changed since the folder was to be deleted; look again", ErrMoved)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := s.removeTree(ctx, s.dir(), s.name, s.info); err != nil {
		return err
	}
	return s.syncDir()
}

// removeTree deletes depth first, through open directories only.
func (s *spot) removeTree(ctx context.Context, parent *os.Root, name string, was fs.FileInfo) error {
	sub, err := parent.OpenRoot(name + "/.")
	if err != nil {
		return s.broken("delete", err)
	}
	defer func() { _ = sub.Close() }()
	if now, err := sub.Stat("."); err != nil || !os.SameFile(now, was) || crosses(parent, name, now) {
		return fail(s.asked, "a folder in it was replaced while it was deleted; look again", ErrMoved)
	}
	entries, err := readDir(ctx, sub)
	if err != nil {
		return s.broken("delete", err)
	}
	for _, e := range entries {
		info, err := sub.Lstat(e.Name())
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
		case policy.IsVCS(e.Name()) || policy.IsOwn(e.Name()):
			err = fail(path.Join(s.rel(), e.Name()), policy.ReasonVCS(), policy.ErrDenied)
		case info.IsDir():
			err = s.removeTree(ctx, sub, e.Name(), info)
		default:
			err = sub.Remove(e.Name())
		}
		if err != nil {
			return s.partly(err)
		}
	}
	if err := parent.Remove(name); err != nil {
		return s.broken("delete", err)
	}
	return nil
}

func (s *spot) partly(err error) error {
	var known *Error
	if errors.As(err, &known) {
		return err
	}
	return s.broken("delete all of", err)
}

// crosses reports whether a directory is the root of another file system.
func crosses(parent *os.Root, name string, info fs.FileInfo) bool {
	if mountPoint(parent, name) {
		return true
	}
	above, err := parent.Stat(".")
	return err == nil && deviceOf(above) != deviceOf(info)
}

// below visits everything under a folder, ignored or not, and fails on a
// protected name or a mount.
func (r *Root) below(ctx context.Context, s *spot, fn func(Entry) error) error {
	if crosses(s.dir(), s.name, s.info) {
		return fail(s.asked, "another file system is mounted there; unmount it first", ErrMount)
	}
	err := r.Walk(ctx, s.rel(), WalkOptions{All: true, whole: true}, func(e Entry) error {
		if _, err := policy.CheckWrite(e.Path); err != nil {
			return s.inside(e.Path, err)
		}
		if e.Kind == KindDir {
			info, err := e.dir.Lstat(e.Name)
			if err != nil || crosses(e.dir, e.Name, info) {
				return fail(e.Path, "another file system is mounted there; unmount it first", ErrMount)
			}
		}
		return fn(e)
	})
	return err
}

func (s *spot) inside(p string, err error) error {
	var d *policy.Denied
	if errors.As(err, &d) {
		return fail(s.asked, "holds "+Quote(p)+": "+d.Reason, err)
	}
	return err
}

// Below reads every file and link under a folder, ignored ones too: what a
// recursive delete takes away. It fails with ErrTooLarge beyond maxFiles or
// maxBytes, and where RemoveAll would refuse.
func (r *Root) Below(ctx context.Context, p string, maxFiles int, maxBytes int64) ([]File, error) {
	s, err := r.find(ctx, p, stop)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if err := r.mayWrite(ctx, s); err != nil {
		return nil, err
	}
	if s.info == nil {
		return nil, fail(p, "does not exist", fs.ErrNotExist)
	}
	if !s.info.IsDir() {
		return nil, fail(p, "is not a folder", ErrNotDirectory)
	}
	var out []File
	left := maxBytes
	err = r.below(ctx, s, func(e Entry) error {
		if e.Kind == KindDir {
			return nil
		}
		if len(out) == maxFiles {
			return fail(p, fmt.Sprintf("holds more than %d files; delete parts of it", maxFiles), ErrTooLarge)
		}
		f, err := e.read(ctx, left)
		if errors.Is(err, ErrTooLarge) {
			return fail(p, fmt.Sprintf("holds more than %d bytes; delete parts of it", maxBytes), ErrTooLarge)
		}
		if err != nil {
			return err
		}
		left -= f.Size
		out = append(out, f)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
