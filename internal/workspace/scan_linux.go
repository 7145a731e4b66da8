package workspace

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/coderrr/coderrr/internal/policy"
	"github.com/coderrr/coderrr/internal/workspace/ignore"
)

// source is an open folder, closed when nobody needs it any more.
type source struct{ *folder }

type folder struct {
	fd   int
	refs atomic.Int32
	sys  calls
}

func (s source) done() {
	if s.refs.Add(-1) == 0 {
		s.sys.close(s.fd)
	}
}

func (s source) open(f Scanned, r *Reader) error {
	fd, err := s.sys.openat(s.fd, f.name, unix.O_RDONLY|unix.O_NOFOLLOW|openFlags)
	if errors.Is(err, unix.ELOOP) {
		return fail(f.Path, "was replaced meanwhile", ErrMoved)
	}
	if err != nil {
		return broken(f.Path, "open", err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		s.sys.close(fd)
		return fail(f.Path, "was replaced meanwhile", ErrMoved)
	}
	*r = Reader{Size: st.Size, fd: fd, sys: s.sys}
	return nil
}

// Reader reads a scanned file.
type Reader struct {
	Size int64 // bytes, when it was opened
	fd   int
	sys  calls
}

// Read implements io.Reader.
func (r *Reader) Read(b []byte) (int, error) {
	n, err := r.sys.read(r.fd, b)
	if err == nil && n == 0 && len(b) > 0 {
		return 0, io.EOF
	}
	return max(n, 0), err
}

// Close ends reading.
func (r *Reader) Close() { r.sys.close(r.fd) }

type scanner struct {
	top   string
	fn    func(Scanned) error
	rules *ignore.Stack
	sys   calls
	buf   []byte
}

// scan is Scan below an open folder.
func (r *Root) scan(ctx context.Context, d *os.Root, rel string, fn func(Scanned) error) error {
	top, err := d.Open(".")
	if err != nil {
		return broken(rel, "list", err)
	}
	defer func() { _ = top.Close() }()
	s := &scanner{top: rel, fn: fn, rules: r.rulesFor(ctx, rel), sys: callsFor(int(top.Fd())), buf: make([]byte, 64<<10)}
	fd, err := s.sys.openat(int(top.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return broken(rel, "list", err)
	}
	return s.folder(ctx, fd, rel)
}

// folder scans one folder and closes it.
func (s *scanner) folder(ctx context.Context, fd int, rel string) error {
	dir := source{&folder{fd: fd, sys: s.sys}}
	dir.refs.Add(1)
	defer dir.done()
	entries, err := s.list(ctx, fd)
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil && rel == s.top:
		return broken(rel, "list", err)
	case err != nil:
		return nil // as Walk does
	}
	defer s.rules.Pop(s.rules.Push(rel, s.ignoreFiles(ctx, fd, entries)...))
	prefix := rel + "/"
	if rel == "." {
		prefix = ""
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		p := prefix + e.name
		switch {
		case e.kind != unix.DT_REG && e.kind != unix.DT_DIR:
			continue
		case isTemp(e.name), policy.IsVCS(e.name), policy.IsOwn(e.name):
			continue
		case s.rules.Ignored(p, e.kind == unix.DT_DIR):
			continue
		case e.kind == unix.DT_REG:
			dir.refs.Add(1)
			if err := s.fn(Scanned{Path: p, name: e.name, from: dir}); err != nil {
				return err
			}
			continue
		}
		sub, err := s.sys.openat(fd, e.name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW)
		if err != nil {
			continue // gone, replaced or not for us
		}
		if err := s.folder(ctx, sub, p); err != nil {
			return err
		}
	}
	return nil
}

type dirent struct {
	name string
	kind byte
}

// list reads the entries of a folder in byte order of names.
func (s *scanner) list(ctx context.Context, fd int) ([]dirent, error) {
	var out []dirent
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := s.sys.getdents(fd, s.buf)
		if err != nil {
			return nil, err
		}
		if n <= 0 {
			break
		}
		for b := s.buf[:n]; len(b) > direntName; {
			size := int(binary.NativeEndian.Uint16(b[direntSize:]))
			name := b[direntName:size]
			name = name[:max(0, bytes.IndexByte(name, 0))]
			kind := b[direntKind]
			b = b[size:]
			if string(name) == "." || string(name) == ".." {
				continue
			}
			e := dirent{name: string(name), kind: kind}
			if e.kind == unix.DT_UNKNOWN {
				e.kind = kindAt(fd, e.name)
			}
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b dirent) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

// Where linux_dirent64 (getdents64(2)) keeps what is needed.
const (
	direntSize = 16
	direntKind = 18
	direntName = 19
)

// kindAt asks for what the file system does not say in its lists.
func kindAt(fd int, name string) byte {
	var st unix.Stat_t
	if unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return unix.DT_UNKNOWN
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return unix.DT_REG
	case unix.S_IFDIR:
		return unix.DT_DIR
	}
	return unix.DT_UNKNOWN
}

// ignoreFiles reads the ignore files among the entries, the later one deciding.
func (s *scanner) ignoreFiles(ctx context.Context, fd int, entries []dirent) []*ignore.Rules {
	var out []*ignore.Rules
	for _, name := range ignoreNames() {
		_, found := slices.BinarySearchFunc(entries, name, func(e dirent, name string) int { return strings.Compare(e.name, name) })
		if !found {
			continue
		}
		var r Reader
		file := Scanned{Path: name, name: name, from: source{&folder{fd: fd, sys: s.sys}}}
		if file.Open(&r) != nil {
			continue
		}
		if r.Size <= maxIgnore {
			if data, err := readUpTo(ctx, &r, r.Size, maxIgnore); err == nil {
				out = append(out, ignore.Parse(data))
			}
		}
		r.Close()
	}
	return out
}
