package workspace

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"syscall"
)

// tempPrefix begins the names of files that are being written. They are in the
// folder of the file they will replace, and gone when the write ends; Sweep
// removes what a crash left.
const tempPrefix = ".coderrr-tmp-"

// Write is a file to be created or replaced.
type Write struct {
	Path string
	Data []byte
	// Mode is the permission bits; 0 keeps those of the file, or 0644 for a new
	// one, less the umask.
	Mode fs.FileMode
	// Expect is the hash of the file as it is now; "" means that there must be
	// none.
	Expect string
}

// Write replaces a file as a whole or not at all: temp file in the same folder,
// fsync, rename, fsync of the folder. Mode and, where the system lets us, owner
// stay; other names of the same file (hard links) keep the old content. Missing
// folders are made. The error wraps ErrMoved when the file is not what Expect
// says, and the old file is whole whatever the error.
func (r *Root) Write(ctx context.Context, w Write) error {
	s, err := r.find(ctx, w.Path, stop)
	if err != nil {
		return err
	}
	defer s.close()
	if err := r.mayWrite(ctx, s); err != nil {
		return err
	}
	if s.info != nil {
		if err := s.regular(); err != nil {
			return err
		}
	}
	if err := s.expect(ctx, w.Expect); err != nil {
		return err
	}
	undo, err := s.makeMissing(0o755)
	if err != nil {
		return err
	}
	if err := s.replace(ctx, w); err != nil {
		undo()
		return err
	}
	return nil
}

// mayWrite asks policy about the resolved path and about what links and gitfiles
// make of it.
func (r *Root) mayWrite(ctx context.Context, s *spot) error {
	if _, err := s.writable(); err != nil {
		return err
	}
	return r.checkAlias(ctx, s)
}

// expect compares the file with the hash it should have. For a link it is the
// hash of its target.
func (s *spot) expect(ctx context.Context, want string) error {
	if s.info == nil {
		if want == "" {
			return nil
		}
		return fail(s.asked, "the file is gone; look again before changing it", ErrMoved)
	}
	if want == "" {
		return fail(s.asked, "the file exists already; read it before changing it", ErrMoved)
	}
	have, err := s.hash(ctx)
	if err != nil {
		return err
	}
	if have != want {
		return fail(s.asked, "the file changed meanwhile; read it again before changing it", ErrMoved)
	}
	return nil
}

// makeMissing makes the folders that do not exist and enters them. undo removes
// those that are still empty.
func (s *spot) makeMissing(perm fs.FileMode) (undo func(), err error) {
	type made struct {
		dir  *os.Root
		name string
	}
	var all []made
	undo = func() {
		for i := len(all) - 1; i >= 0; i-- {
			_ = all[i].dir.Remove(all[i].name) // not empty: someone uses it
		}
	}
	for len(s.missing) > 0 {
		name := s.missing[0]
		err := s.dir().Mkdir(name, perm)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			undo()
			return nil, s.broken("make the folder "+Quote(name)+" of", err)
		}
		if err == nil {
			all = append(all, made{s.dir(), name})
		}
		info, err := s.dir().Lstat(name)
		if err == nil && !info.IsDir() {
			err = errSwapped
		}
		if err == nil {
			err = s.down(name, info)
		}
		if err != nil {
			undo()
			return nil, fail(s.asked, "the folder "+Quote(name)+" was replaced meanwhile; try again", ErrMoved)
		}
		s.missing = s.missing[1:]
	}
	return undo, nil
}

// replace does the atomic part. w.Expect was checked before; it is checked again
// as late as it can be.
func (s *spot) replace(ctx context.Context, w Write) error {
	f, temp, err := s.temp(w.Mode)
	if err != nil {
		return s.broken("write", err)
	}
	defer func() { _ = s.dir().Remove(temp) }() // gone already when all went well
	err = fill(ctx, f, w.Data)
	if err == nil {
		err = s.dress(f, w.Mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return s.broken("write", err)
	}
	if err := s.land(ctx, temp, w.Expect); err != nil {
		return err
	}
	return s.syncDir()
}

// temp creates the temp file. For a new file of ordinary mode the umask applies;
// any other is private until it is dressed.
func (s *spot) temp(mode fs.FileMode) (*os.File, string, error) {
	perm := fs.FileMode(0o600)
	if s.info == nil && mode == 0 {
		perm = 0o644
	}
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	name := tempPrefix + hex.EncodeToString(random[:])
	f, err := s.dir().OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	return f, name, err
}

func fill(ctx context.Context, f *os.File, data []byte) error {
	const chunk = 4 << 20
	for len(data) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := f.Write(data[:min(chunk, len(data))])
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// dress gives the temp file the owner and mode of what it replaces. Set-uid and
// set-gid do not survive, as they do not survive a write. A foreign owner is kept
// only where the system lets us: otherwise the file is ours, as it would be with
// any editor.
func (s *spot) dress(f *os.File, mode fs.FileMode) error {
	if s.info == nil {
		if mode == 0 {
			return nil
		}
		return f.Chmod(mode.Perm())
	}
	now, err := f.Stat()
	if err != nil {
		return err
	}
	uid, gid, known := ownerOf(s.info)
	myUID, myGID, _ := ownerOf(now)
	if known && (uid != myUID || gid != myGID) {
		if f.Chown(uid, gid) != nil && gid != myGID {
			_ = f.Chown(-1, gid)
		}
	}
	if mode == 0 {
		mode = s.info.Mode()
	}
	return f.Chmod(mode.Perm())
}

// land puts the temp file in its place, unless what is there is not what was
// judged.
func (s *spot) land(ctx context.Context, temp, expect string) error {
	if s.info == nil {
		return s.landNew(temp)
	}
	now, err := s.dir().Lstat(s.name)
	if err != nil || !os.SameFile(now, s.info) || now.Size() != s.info.Size() || !now.ModTime().Equal(s.info.ModTime()) {
		if err != nil || !now.Mode().IsRegular() {
			return fail(s.asked, "the file was replaced meanwhile; look again before changing it", ErrMoved)
		}
		s.info = now
		if err := s.expect(ctx, expect); err != nil {
			return err
		}
	}
	if err := s.dir().Rename(temp, s.name); err != nil {
		return s.broken("replace", err)
	}
	return nil
}

// landNew must not replace a file that appeared meanwhile.
func (s *spot) landNew(temp string) error {
	err := renameNew(s.dir(), temp, s.dir(), s.name)
	if errors.Is(err, errors.ErrUnsupported) {
		err = linkNew(s.dir(), temp, s.name)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return fail(s.asked, "the file appeared meanwhile; read it before changing it", ErrMoved)
	case err != nil:
		return s.broken("create", err)
	}
	return nil
}

// linkNew is renameNew for systems without it: a link fails when the name is
// taken. Where there are no links either, looking first must do.
func linkNew(d *os.Root, temp, name string) error {
	err := d.Link(temp, name)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	return renamePlain(d, temp, name)
}

// renamePlain renames within a directory after a look at the new name.
func renamePlain(d *os.Root, name, newName string) error {
	if _, err := d.Lstat(newName); !errors.Is(err, fs.ErrNotExist) {
		return fs.ErrExist
	}
	return d.Rename(name, newName)
}

// syncDir makes a rename or a removal durable. Some file systems cannot sync a
// folder and need not.
func (s *spot) syncDir() error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := s.dir().Open(".")
	if err != nil {
		return s.broken("sync the folder of", err)
	}
	defer func() { _ = d.Close() }()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return s.broken("sync the folder of", err)
	}
	return nil
}

// Sweep removes temp files that a crash left behind, anywhere in the workspace,
// and returns how many. Call it only while no other process writes here.
func (r *Root) Sweep(ctx context.Context) (int, error) {
	n := 0
	err := r.Walk(ctx, ".", WalkOptions{All: true, temps: true}, func(e Entry) error {
		if e.Kind != KindFile || !isTemp(e.Name) {
			return nil
		}
		if err := e.dir.Remove(e.Name); err != nil {
			return broken(e.Path, "delete", err)
		}
		n++
		return nil
	})
	return n, err
}

// isTemp reports the names of files that are being written.
func isTemp(name string) bool { return strings.HasPrefix(name, tempPrefix) }
