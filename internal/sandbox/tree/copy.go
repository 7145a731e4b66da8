package tree

import (
	"errors"
	"io/fs"
	"os"
)

// file copies one regular file. The old copy is unlinked first, so that a hard
// link that a command made to it cannot lead the write elsewhere.
func (s *syncer) file(src, dst *os.Root, rel, name string, have fs.FileInfo) {
	if s.stopped() {
		return
	}
	in, err := src.OpenFile(name, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		s.note(rel, "it cannot be read: "+cause(err))
		return
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil || !info.Mode().IsRegular() {
		s.note(rel, "it changed while it was copied")
		return
	}
	if have != nil {
		s.remove(dst, rel, name)
	}
	out, err := dst.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		s.fail(err)
		return
	}
	s.own(dst, name)
	cloned, err := copyData(s.ctx, out, in, info.Size())
	if err == nil {
		err = out.Chmod(plain(info.Mode()))
	}
	if err = errors.Join(err, setTime(out, info.ModTime()), out.Close()); err != nil {
		s.fail(err)
		return
	}
	s.count(func(r *Report) {
		if have != nil {
			r.Removed--
		}
		r.Copied++
		r.Bytes += info.Size()
		if cloned {
			r.Cloned++
		}
	})
}
