package workspace

import (
	"context"
	"errors"
	"io/fs"
	"syscall"
)

// Move renames a file or a folder; to must not exist. expect is the hash of the
// file ("" for a folder, or for whatever is there). A link is not moved, and
// neither is a folder that holds a protected name.
func (r *Root) Move(ctx context.Context, from, to, expect string) error {
	src, err := r.find(ctx, from, stop)
	if err != nil {
		return err
	}
	defer src.close()
	dst, err := r.find(ctx, to, stop)
	if err != nil {
		return err
	}
	defer dst.close()
	if err := r.movable(ctx, src, dst); err != nil {
		return err
	}
	if expect != "" {
		if err := src.expect(ctx, expect); err != nil {
			return err
		}
	}
	undo, err := dst.makeMissing(0o755)
	if err != nil {
		return err
	}
	if err := r.rename(src, dst); err != nil {
		undo()
		return err
	}
	return errors.Join(dst.syncDir(), src.syncDir())
}

func (r *Root) movable(ctx context.Context, src, dst *spot) error {
	if err := r.mayWrite(ctx, src); err != nil {
		return err
	}
	if err := r.mayWrite(ctx, dst); err != nil {
		return err
	}
	if dst.info != nil {
		return fail(dst.asked, "exists already; move to a path that does not, or delete it first", fs.ErrExist)
	}
	if src.info == nil || !src.info.IsDir() {
		return src.regular()
	}
	if within(dst.rel(), src.rel()) {
		return fail(dst.asked, "is inside the folder that is moved", ErrName)
	}
	return r.below(ctx, src, func(Entry) error { return nil })
}

func (r *Root) rename(src, dst *spot) error {
	err := renameNew(src.dir(), src.name, dst.dir(), dst.name)
	if errors.Is(err, errors.ErrUnsupported) {
		err = renamePlain(r.root, src.rel(), dst.rel())
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		return fail(dst.asked, "appeared meanwhile; choose another name", ErrMoved)
	case errors.Is(err, syscall.EXDEV):
		return fail(src.asked, "is on another file system than its destination; create the new file and delete the old one", ErrMount)
	}
	return src.broken("move", err)
}
