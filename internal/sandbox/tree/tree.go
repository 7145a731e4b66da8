// Package tree keeps a copy of a directory tree up to date for commands to run
// on. Its one rule: the source is only ever read, links stay links, and what is
// in the copy is never trusted, for commands have written it.
package tree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxNotes bounds how many skipped entries a report names.
const maxNotes = 50

// Note says which path was not copied, and why.
type Note struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Report is what one Sync did.
type Report struct {
	Copied  int    // files written
	Cloned  int    // of those, files that share their blocks with the source
	Removed int    // entries taken out of the copy, a directory counting once
	Bytes   int64  // size of the files written
	Skipped []Note // entries that cannot be copied, capped; More says how many others
	More    int
}

// Notes says in a line each what is not in the copy, and why.
func (r Report) Notes() []string {
	var out []string
	for _, n := range r.Skipped {
		out = append(out, fmt.Sprintf("%s is not in the sandbox's copy: %s", n.Path, n.Why))
	}
	if r.More > 0 {
		out = append(out, fmt.Sprintf("%d more are not in the sandbox's copy", r.More))
	}
	return out
}

// Mode says what a Sync does with what commands left in the copy.
type Mode int

const (
	// Reset makes the copy equal to the source.
	Reset Mode = iota
	// Keep leaves what commands made or changed, and brings over only what
	// changed in the source since the last Sync.
	Keep
)

// Mirror is one source and its copy. The zero value is not usable; Open makes
// one. Not safe for concurrent use.
type Mirror struct {
	src, dst string
	skip     map[string]bool
	owner    int               // negative for whoever makes the copy
	synced   bool              // a Sync has succeeded, and none failed since
	ended    time.Time         // later than all that the last Sync wrote, by the copy's clock
	seen     map[string][]seen // directory to what the source had in it
}

// seen is one entry of the source as it was copied. An entry whose time of
// change and size are the same has not been touched since.
type seen struct {
	name    string
	changed time.Time
	size    int64
}

func find(list []seen, name string) (seen, bool) {
	i, ok := slices.BinarySearchFunc(list, name, func(e seen, n string) int { return strings.Compare(e.name, n) })
	if !ok {
		return seen{}, false
	}
	return list[i], true
}

// Open prepares a mirror of the directory src at dst, which is created with
// mode 0700. skip names paths, relative to src with slashes, that are left out.
func Open(src, dst string, skip ...string) (*Mirror, error) { return open(src, dst, -1, skip) }

// OpenFor is Open for root, with a copy that belongs to the user and group id.
func OpenFor(id int, src, dst string, skip ...string) (*Mirror, error) {
	m, err := open(src, dst, id, skip)
	if err != nil {
		return nil, err
	}
	if err := os.Lchown(dst, id, id); err != nil {
		return nil, fmt.Errorf("making the sandbox's copy: %w", err)
	}
	return m, nil
}

func open(src, dst string, owner int, skip []string) (*Mirror, error) {
	if err := os.MkdirAll(dst, 0o700); err != nil {
		return nil, fmt.Errorf("making the sandbox's copy: %w", err)
	}
	m := &Mirror{src: src, dst: dst, owner: owner, skip: map[string]bool{}, seen: map[string][]seen{}}
	for _, s := range skip {
		m.skip[s] = true
	}
	if rel, err := filepath.Rel(src, dst); err == nil && filepath.IsLocal(rel) {
		m.skip[filepath.ToSlash(rel)] = true // a copy must not contain itself
	}
	return m, nil
}

// Dir is where the copy is.
func (m *Mirror) Dir() string { return m.dst }

// Sync brings the copy up to date. When it fails the copy may be half way; the
// next Sync mends it.
func (m *Mirror) Sync(ctx context.Context, mode Mode) (Report, error) {
	src, err := os.OpenRoot(m.src)
	if err != nil {
		return Report{}, fmt.Errorf("reading the workspace: %w", err)
	}
	defer func() { _ = src.Close() }()
	dst, err := m.openCopy()
	if err != nil {
		return Report{}, fmt.Errorf("opening the sandbox's copy: %w", err)
	}
	defer func() { _ = dst.Close() }()
	s := &syncer{m: m, ctx: ctx, mode: mode, sem: make(chan struct{}, workers()), seen: map[string][]seen{}}
	if !m.synced {
		s.mode = Reset
	}
	s.dir(src, dst, ".")
	s.wg.Wait()
	if s.err != nil {
		m.synced = false
		return s.report, fmt.Errorf("copying the workspace: %w", s.err)
	}
	m.seen, m.synced = s.seen, true
	if m.ended, err = after(dst); err != nil {
		return s.report, fmt.Errorf("copying the workspace: %w", err)
	}
	return s.report, nil
}

// openCopy opens the copy's directory. A command can have taken its permissions
// away, or, where it was not contained, have put a link in its place: what that
// leads to must not be made equal to the source.
func (m *Mirror) openCopy() (*os.Root, error) {
	if info, err := os.Lstat(m.dst); err != nil || !info.IsDir() {
		m.synced = false
		if err := os.RemoveAll(m.dst); err != nil {
			return nil, err
		}
		if err := os.MkdirAll(m.dst, 0o700); err != nil {
			return nil, err
		}
		if m.owner >= 0 {
			if err := os.Lchown(m.dst, m.owner, m.owner); err != nil {
				return nil, err
			}
		}
	}
	if err := os.Chmod(m.dst, 0o700); err != nil {
		return nil, err
	}
	return os.OpenRoot(m.dst)
}

// after returns a time later than that of any change made so far, by the clock
// that times changes in the copy; that clock moves in steps of milliseconds.
func after(dst *os.Root) (time.Time, error) {
	first, err := stamp(dst)
	if err != nil {
		return first, err
	}
	for {
		now, err := stamp(dst)
		if err != nil || now.After(first) {
			return now, err
		}
		time.Sleep(time.Millisecond / 2)
	}
}

// stamp returns the present by that clock.
func stamp(dst *os.Root) (time.Time, error) {
	const name = ".coderrr-stamp"
	_ = dst.Remove(name)
	f, err := dst.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return time.Time{}, err
	}
	info, err := f.Stat()
	if err = errors.Join(err, f.Close(), dst.Remove(name)); err != nil {
		return time.Time{}, err
	}
	return changeTime(info), nil
}

// Changed lists the files in the copy that were made or changed since the last
// Sync, relative and sorted, at most limit of them.
func (m *Mirror) Changed(ctx context.Context, limit int) []string {
	root, err := os.OpenRoot(m.dst)
	if err != nil {
		return nil
	}
	defer func() { _ = root.Close() }()
	var mu sync.Mutex
	var out []string
	w := &walker{ctx: ctx, sem: make(chan struct{}, workers()), each: func(rel string, info fs.FileInfo) {
		if changeTime(info).Before(m.ended) {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		out = append(out, rel)
	}}
	w.dir(root, ".")
	w.wg.Wait()
	slices.Sort(out)
	return out[:min(len(out), limit)]
}

// RemoveAll removes the tree at dir, also where commands took away the
// permission to look into it. It does not follow links.
func RemoveAll(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	// A directory is read before its mode is mended, so a second round finds
	// what the first could not see.
	for range 64 {
		err := os.RemoveAll(dir)
		if err == nil || !errors.Is(err, fs.ErrPermission) {
			return err
		}
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if d != nil && d.IsDir() {
				_ = os.Chmod(path, 0o700)
			}
			return nil
		})
	}
	return os.RemoveAll(dir)
}
