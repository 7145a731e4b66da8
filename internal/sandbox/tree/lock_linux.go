package tree

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// fileLock is a lock on a file that the system lets go with its owner. It is
// not flock's, so that the sandbox's helper, which is started anew so often,
// is initialised before the packages of other modules (see confined.early).
type fileLock struct {
	path string
	file *os.File // nil unless it is held
}

func newFileLock(path string) *fileLock { return &fileLock{path: path} }

// Path is the file's.
func (l *fileLock) Path() string { return l.path }

// Lock waits for the lock.
func (l *fileLock) Lock() error { return l.take(unix.LOCK_EX) }

// TryLock reports whether the lock was free and is held now.
func (l *fileLock) TryLock() (bool, error) {
	err := l.take(unix.LOCK_EX | unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

func (l *fileLock) take(how int) error {
	f, err := os.OpenFile(l.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	for {
		err = unix.Flock(int(f.Fd()), how)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("locking %s: %w", l.path, err), f.Close())
	}
	l.file = f
	return nil
}

// Unlock lets go of the lock. One that is not held stays so.
func (l *fileLock) Unlock() error {
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
