//go:build !linux

package workspace

import (
	"context"
	"os"
)

// source is a file that was opened while it was visited.
type source struct {
	file *os.File
	size int64
	err  error
}

func (s source) open(_ Scanned, r *Reader) error {
	r.file, r.Size = s.file, s.size
	return s.err
}

func (s source) done() {
	if s.file != nil {
		_ = s.file.Close() // only read
	}
}

// Reader reads a scanned file.
type Reader struct {
	Size int64 // bytes, when it was opened
	file *os.File
}

// Read implements io.Reader.
func (r *Reader) Read(b []byte) (int, error) { return r.file.Read(b) }

// Close ends reading; the file itself is closed by Done.
func (r *Reader) Close() { r.file = nil }

func (r *Root) scan(ctx context.Context, _ *os.Root, rel string, fn func(Scanned) error) error {
	return r.Walk(ctx, rel, WalkOptions{}, func(e Entry) error {
		if e.Kind != KindFile {
			return nil
		}
		s := Scanned{Path: e.Path, name: e.Name}
		var info Info
		s.from.file, info, s.from.err = e.Open()
		s.from.size = info.Size
		return fn(s)
	})
}
