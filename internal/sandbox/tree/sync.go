package tree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"sync"
	"time"
)

func workers() int { return min(2*runtime.GOMAXPROCS(0), 16) }

// syncer is one Sync. Directories and files are handed to other goroutines as
// long as there are free ones, otherwise done in place.
type syncer struct {
	m    *Mirror
	ctx  context.Context // one Sync lives for one call
	mode Mode
	sem  chan struct{}
	wg   sync.WaitGroup

	mu     sync.Mutex
	seen   map[string][]seen
	report Report
	err    error
}

// spawn runs f on another goroutine if one is free.
func (s *syncer) spawn(wg *sync.WaitGroup, f func()) {
	select {
	case s.sem <- struct{}{}:
		wg.Go(func() {
			defer func() { <-s.sem }()
			f()
		})
	default:
		f()
	}
}

func (s *syncer) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
}

func (s *syncer) stopped() bool {
	if err := s.ctx.Err(); err != nil {
		s.fail(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil
}

func (s *syncer) note(rel, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.report.Skipped) >= maxNotes {
		s.report.More++
		return
	}
	s.report.Skipped = append(s.report.Skipped, Note{rel, why})
}

func (s *syncer) count(f func(*Report)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.report)
}

// dir makes dst hold what src holds. Both are open at the directory rel.
func (s *syncer) dir(src, dst *os.Root, rel string) {
	if s.stopped() {
		return
	}
	theirs, err := readNames(src)
	if err != nil {
		s.note(rel, "it cannot be read: "+cause(err))
		return
	}
	ours, err := readNames(dst)
	if err != nil {
		s.fail(err)
		return
	}
	theirs = slices.DeleteFunc(theirs, func(n string) bool { return s.m.skip[path.Join(rel, n)] })
	before := s.m.seen[rel]
	for _, name := range ours {
		if _, ok := slices.BinarySearch(theirs, name); ok {
			continue
		}
		if _, was := find(before, name); s.mode == Reset || was {
			s.remove(dst, path.Join(rel, name), name)
		}
	}
	var wg sync.WaitGroup
	now := make([]seen, 0, len(theirs))
	for _, name := range theirs {
		info, err := settled(src, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // gone since the directory was read
		}
		if err != nil {
			s.note(path.Join(rel, name), "it cannot be read: "+cause(err))
			continue
		}
		now = append(now, seen{name, changeTime(info), info.Size()})
		was, known := find(before, name)
		known = known && s.m.synced
		s.entry(&wg, src, dst, place{
			rel: path.Join(rel, name), name: name, info: info, known: known,
			same: known && was == now[len(now)-1],
		})
	}
	s.mu.Lock()
	s.seen[rel] = now
	s.mu.Unlock()
	wg.Wait() // src and dst are closed by the caller
}

// settled looks at an entry of the source. One that has just changed is given
// the time to change again under another time of change: that clock moves in
// steps, and an edit within the same step would be missed by the next Sync.
func settled(src *os.Root, name string) (fs.FileInfo, error) {
	for {
		info, err := src.Lstat(name)
		if err != nil || !info.Mode().IsRegular() {
			return info, err
		}
		if age := time.Since(changeTime(info)); age >= racy || age < 0 {
			return info, nil
		}
		time.Sleep(racy / 4)
	}
}

// place is one entry of the source on its way into the copy.
type place struct {
	rel, name string
	info      fs.FileInfo
	known     bool // the last Sync saw it
	same      bool // and it has not changed since
}

func (s *syncer) entry(wg *sync.WaitGroup, src, dst *os.Root, p place) {
	switch {
	case p.info.IsDir():
		s.spawn(wg, func() { s.subdir(src, dst, p) })
	case p.info.Mode().IsRegular():
		if p.same && s.mode == Keep {
			return
		}
		have, _ := dst.Lstat(p.name)
		if p.same && s.untouched(p.info, have) {
			return
		}
		s.spawn(wg, func() { s.file(src, dst, p.rel, p.name, have) })
	case p.info.Mode()&fs.ModeSymlink != 0:
		s.link(src, dst, p)
	default:
		s.note(p.rel, "it is not a file, a directory or a link")
	}
}

// untouched reports whether no command changed the copy of a file. Its time of
// change counts too, because a command can restore a size and a modification
// time.
func (s *syncer) untouched(info, have fs.FileInfo) bool {
	return have != nil && have.Mode() == plain(info.Mode()) && have.Size() == info.Size() &&
		have.ModTime().Equal(info.ModTime()) && changeTime(have).Before(s.m.ended)
}

func plain(m fs.FileMode) fs.FileMode { return m.Perm() }

func (s *syncer) subdir(src, dst *os.Root, p place) {
	rel, name, info := p.rel, p.name, p.info
	from, err := src.OpenRoot(name)
	if err != nil {
		s.note(rel, "it cannot be read: "+cause(err))
		return
	}
	defer func() { _ = from.Close() }()
	have, err := dst.Lstat(name)
	if err != nil && s.mode == Keep && p.known {
		return // a command removed it, and it is kept so
	}
	if err == nil && !have.IsDir() {
		s.remove(dst, rel, name)
		err = fs.ErrNotExist
	}
	mode := fs.FileMode(0o700)
	switch {
	case err != nil:
		if err := dst.Mkdir(name, 0o700); err != nil {
			s.fail(err)
			return
		}
		s.own(dst, name)
	case have.Mode().Perm()&0o700 != 0o700:
		if err := dst.Chmod(name, 0o700); err != nil {
			s.fail(err)
			return
		}
	default:
		mode = have.Mode().Perm()
	}
	to, err := dst.OpenRoot(name)
	if err != nil {
		s.fail(err)
		return
	}
	defer func() { _ = to.Close() }()
	s.dir(from, to, rel)
	if mode != info.Mode().Perm() {
		if err := dst.Chmod(name, info.Mode().Perm()); err != nil {
			s.fail(err)
		}
	}
}

func (s *syncer) link(src, dst *os.Root, p place) {
	rel, name := p.rel, p.name
	if s.mode == Keep && p.same {
		return
	}
	target, err := src.Readlink(name)
	if err != nil {
		s.note(rel, "the link cannot be read: "+cause(err))
		return
	}
	if have, err := dst.Lstat(name); err == nil {
		if have.Mode()&fs.ModeSymlink != 0 {
			if old, err := dst.Readlink(name); err == nil && old == target {
				return
			}
		}
		s.remove(dst, rel, name)
	}
	if err := dst.Symlink(target, name); err != nil {
		s.fail(err)
		return
	}
	s.own(dst, name)
}

// own gives an entry of the copy to whom it is for.
func (s *syncer) own(dst *os.Root, name string) {
	if s.m.owner < 0 {
		return
	}
	if err := dst.Lchown(name, s.m.owner, s.m.owner); err != nil {
		s.fail(err)
	}
}

// remove takes an entry out of the copy, with all that is in it.
func (s *syncer) remove(dst *os.Root, rel, name string) {
	err := dst.RemoveAll(name)
	if errors.Is(err, fs.ErrPermission) {
		unlock(dst, name)
		err = dst.RemoveAll(name)
	}
	if err != nil {
		s.fail(err)
		return
	}
	s.count(func(r *Report) { r.Removed++ })
}

// unlock gives back the permissions that RemoveAll needs in a directory.
func unlock(dst *os.Root, name string) {
	info, err := dst.Lstat(name)
	if err != nil || !info.IsDir() {
		return
	}
	_ = dst.Chmod(name, 0o700)
	sub, err := dst.OpenRoot(name)
	if err != nil {
		return
	}
	defer func() { _ = sub.Close() }()
	names, _ := readNames(sub)
	for _, n := range names {
		unlock(sub, n)
	}
}

// cause is an error without the paths around it.
func cause(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

func readNames(r *os.Root) ([]string, error) {
	f, err := r.Open(".")
	if err != nil {
		return nil, err
	}
	names, err := f.Readdirnames(-1)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	slices.Sort(names)
	return names, nil
}
