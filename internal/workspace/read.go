package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/coderrr/coderrr/internal/policy"
)

// Kind is what a directory entry is.
type Kind string

// The kinds. Other is everything that is not read: FIFOs, sockets, devices.
const (
	KindFile  Kind = "file"
	KindDir   Kind = "dir"
	KindLink  Kind = "link"
	KindOther Kind = "other"
)

func kindOf(mode fs.FileMode) Kind {
	switch {
	case mode.IsRegular():
		return KindFile
	case mode.IsDir():
		return KindDir
	case mode&fs.ModeSymlink != 0:
		return KindLink
	}
	return KindOther
}

// Info describes one entry. Links are described, never followed.
type Info struct {
	Path   string // resolved, slash-separated, relative to the workspace
	Name   string
	Kind   Kind
	Size   int64 // bytes
	Mode   fs.FileMode
	Links  int    // names of the same file; 0 where the system does not say
	Target string // of a link
}

// File is a file that was read whole.
type File struct {
	Path  string // resolved, slash-separated, relative to the workspace
	Data  []byte // never nil
	Hash  string // hex SHA-256 of Data
	Mode  fs.FileMode
	Links int
	Size  int64 // bytes read
	// Target is set for a link (Below lists them): Data is its text then.
	Target string
}

// HashOf is the hex SHA-256 of data.
func HashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Read reads a regular file of at most limit bytes. Links that stay inside the
// workspace are followed. It never waits for a FIFO or a device.
func (r *Root) Read(ctx context.Context, p string, limit int64) (File, error) {
	f, info, err := r.Open(ctx, p)
	if err != nil {
		return File{}, err
	}
	defer func() { _ = f.Close() }()
	if info.Size > limit {
		return File{}, tooLarge(p, info.Size, limit)
	}
	data, err := readUpTo(ctx, f, info.Size, limit)
	if err != nil {
		return File{}, wrapRead(p, err, info.Size, limit)
	}
	return File{
		Path: info.Path, Data: data, Hash: HashOf(data), Mode: info.Mode, Links: info.Links, Size: int64(len(data)),
	}, nil
}

func wrapRead(p string, err error, size, limit int64) error {
	switch {
	case errors.Is(err, ErrTooLarge):
		return tooLarge(p, max(size, limit+1), limit)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return broken(p, "read", err)
}

func tooLarge(p string, size, limit int64) error {
	return fail(p, fmt.Sprintf("the file has %d bytes and at most %d are read at once", size, limit), ErrTooLarge)
}

// readUpTo reads to the end, or fails with ErrTooLarge: the file may grow while it
// is read.
func readUpTo(ctx context.Context, f io.Reader, size, limit int64) ([]byte, error) {
	data := make([]byte, 0, min(size, limit)+1)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if len(data) == cap(data) {
			data = slices.Grow(data, max(4096, len(data)/2))
		}
		n, err := f.Read(data[len(data):min(cap(data), len(data)+1<<20)])
		data = data[:len(data)+n]
		if int64(len(data)) > limit {
			return nil, ErrTooLarge
		}
		if errors.Is(err, io.EOF) {
			return data, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// Open opens a regular file for reading, for paging through a large one. The
// caller closes it.
func (r *Root) Open(ctx context.Context, p string) (*os.File, Info, error) {
	for range maxTries {
		s, err := r.find(ctx, p, follow)
		if err != nil {
			return nil, Info{}, err
		}
		f, info, err := s.open()
		s.close()
		if !errors.Is(err, errSwapped) {
			return f, info, err
		}
	}
	return nil, Info{}, fail(p, "the file keeps being replaced; try again", ErrMoved)
}

func (s *spot) open() (*os.File, Info, error) {
	if _, err := s.readable(); err != nil {
		return nil, Info{}, err
	}
	return s.openAny()
}

// openAny opens without asking policy: for our own files and git's.
func (s *spot) openAny() (*os.File, Info, error) {
	if err := s.regular(); err != nil {
		return nil, Info{}, err
	}
	f, err := s.dir().OpenFile(s.name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return nil, Info{}, s.broken("read", err)
		}
		return nil, Info{}, errSwapped
	}
	got, err := f.Stat()
	if err != nil || !os.SameFile(s.info, got) {
		_ = f.Close()
		return nil, Info{}, errSwapped
	}
	return f, infoOf(s.rel(), got), nil
}

// regular refuses what is not a regular file.
func (s *spot) regular() error {
	switch {
	case s.info == nil:
		return fail(s.asked, "does not exist", fs.ErrNotExist)
	case s.info.Mode().IsRegular():
		return nil
	case s.info.IsDir():
		return fail(s.asked, "is a folder, not a file", ErrIsFolder)
	case s.info.Mode()&fs.ModeSymlink != 0:
		target, _ := s.dir().Readlink(s.name)
		return fail(s.asked, "is a link to "+Quote(target)+"; name the file it leads to", ErrIsLink)
	}
	return fail(s.asked, "is "+nodeName(s.info.Mode())+", not a regular file", ErrNotRegular)
}

func nodeName(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}

func infoOf(rel string, fi fs.FileInfo) Info {
	return Info{
		Path: rel, Name: path.Base(rel), Kind: kindOf(fi.Mode()), Size: fi.Size(), Mode: fi.Mode(), Links: linksOf(fi),
	}
}

// Lstat describes what a path names; a link that is last is not followed. The
// error wraps fs.ErrNotExist when there is nothing.
func (r *Root) Lstat(ctx context.Context, p string) (Info, error) {
	s, err := r.find(ctx, p, stop)
	if err != nil {
		return Info{}, err
	}
	defer s.close()
	if s.info == nil {
		return Info{}, fail(p, "does not exist", fs.ErrNotExist)
	}
	info := infoOf(s.rel(), s.info)
	if info.Kind == KindLink {
		info.Target, _ = s.dir().Readlink(s.name)
	}
	return info, nil
}

// Hash is the hash of a file's content now, of a link's target text for a link,
// and "" when there is nothing.
func (r *Root) Hash(ctx context.Context, p string) (string, error) {
	s, err := r.find(ctx, p, stop)
	if err != nil {
		return "", err
	}
	defer s.close()
	if s.info == nil {
		return "", nil
	}
	return s.hash(ctx)
}

func (s *spot) hash(ctx context.Context) (string, error) {
	if s.info.Mode()&fs.ModeSymlink != 0 {
		target, err := s.dir().Readlink(s.name)
		if err != nil {
			return "", s.broken("read", err)
		}
		return HashOf([]byte(target)), nil
	}
	f, _, err := s.open()
	if errors.Is(err, errSwapped) {
		return "", fail(s.asked, "the file was replaced meanwhile; read it again", ErrMoved)
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h, buf := sha256.New(), make([]byte, 256<<10)
	for {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		n, err := f.Read(buf)
		h.Write(buf[:n])
		if errors.Is(err, io.EOF) {
			return hex.EncodeToString(h.Sum(nil)), nil
		}
		if err != nil {
			return "", s.broken("read", err)
		}
	}
}

// ReadFlags is what policy says of reading p, and the path it leads to.
func (r *Root) ReadFlags(ctx context.Context, p string) (flags []policy.Flag, rel string, err error) {
	s, err := r.find(ctx, p, follow)
	if err != nil {
		return nil, "", err
	}
	defer s.close()
	flags, err = s.readable()
	return flags, s.rel(), err
}

// List describes the entries of a folder, sorted by name. A path that is a link to
// a folder inside the workspace is followed; links in the list are not.
func (r *Root) List(ctx context.Context, p string) ([]Info, error) {
	d, rel, err := r.openDir(ctx, p)
	if err != nil {
		return nil, err
	}
	defer d.done()
	entries, err := readDir(ctx, d.Root)
	if err != nil {
		return nil, broken(p, "list", err)
	}
	out := make([]Info, 0, len(entries))
	for i, e := range entries {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		out = append(out, describe(d.Root, path.Join(rel, e.Name()), e))
	}
	return out, nil
}

func describe(d *os.Root, rel string, e fs.DirEntry) Info {
	info := Info{Path: rel, Name: e.Name(), Kind: kindOf(e.Type()), Mode: e.Type()}
	if fi, err := d.Lstat(e.Name()); err == nil {
		info = infoOf(rel, fi)
		info.Name = e.Name()
	}
	if info.Kind == KindLink {
		info.Target, _ = d.Readlink(e.Name())
	}
	return info
}

// heldDir is an open directory, which is closed when it is not the root's own.
type heldDir struct {
	*os.Root
	owned bool
}

func (d heldDir) done() {
	if d.owned {
		_ = d.Close()
	}
}

func (r *Root) openDir(ctx context.Context, p string) (heldDir, string, error) {
	for range maxTries {
		s, err := r.find(ctx, p, follow)
		if err != nil {
			return heldDir{}, "", err
		}
		d, err := r.enter(s)
		rel := s.rel()
		s.close()
		if !errors.Is(err, errSwapped) {
			return d, rel, err
		}
	}
	return heldDir{}, "", fail(p, "the folder keeps being replaced; try again", ErrMoved)
}

// enter opens the directory that a spot names. The handle outlives the spot.
func (r *Root) enter(s *spot) (heldDir, error) {
	if _, err := s.readable(); err != nil {
		return heldDir{}, err
	}
	switch {
	case s.info == nil:
		return heldDir{}, fail(s.asked, "does not exist", fs.ErrNotExist)
	case !s.info.IsDir():
		return heldDir{}, fail(s.asked, "is not a folder", ErrNotDirectory)
	case s.name == ".":
		return heldDir{Root: r.root}, nil
	}
	if err := s.down(s.name, s.info); err != nil {
		return heldDir{}, err
	}
	d := s.dir()
	s.dirs, s.names = s.dirs[:len(s.dirs)-1], s.names[:len(s.names)-1]
	return heldDir{Root: d, owned: true}, nil
}

// readDir lists names in byte order; cancelling is noticed within a batch.
func readDir(ctx context.Context, d *os.Root) ([]fs.DirEntry, error) {
	f, err := d.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var all []fs.DirEntry
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		batch, err := f.ReadDir(1024)
		all = append(all, batch...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all, nil
}
