package workspace

import (
	"context"
	"errors"
	"io/fs"
	"strings"
)

// Scanned is a regular file that a Scan met. It can be opened until Done, by any
// goroutine, also after the scan went on.
type Scanned struct {
	Path string // slash-separated, relative to the workspace
	name string
	from source
}

// Scan visits every regular file below a folder in the order of Walk, and what
// Walk leaves out it leaves out too. It is the quick way: folders are opened from
// their parent's descriptor, by one name that may not be a link, and a file costs
// nothing until it is opened. fn may return fs.SkipAll; each visited file needs
// one Done.
func (r *Root) Scan(ctx context.Context, p string, fn func(Scanned) error) error {
	d, rel, err := r.openDir(ctx, p)
	if err != nil {
		return err
	}
	defer d.done()
	err = r.scan(ctx, d.Root, rel, fn)
	if errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}

// Open opens the file for reading into r, which is closed by its Close. Only a
// regular file is opened, and never through a link.
func (s Scanned) Open(r *Reader) error { return s.from.open(s, r) }

// Done lets go of the folder the file is in.
func (s Scanned) Done() { s.from.done() }

// ComparePaths orders two paths as Walk does: name by name.
func ComparePaths(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] == b[i] {
			continue
		}
		switch {
		case a[i] == '/':
			return -1
		case b[i] == '/':
			return 1
		}
		return int(a[i]) - int(b[i])
	}
	return strings.Compare(a, b)
}
