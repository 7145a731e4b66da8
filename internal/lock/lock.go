// Package lock keeps two Coderrr processes from changing the same thing at once:
// one session per workspace, and one writer of a file of ours. Locks are the
// kernel's (flock, LockFileEx), so one whose process died is free at once; what
// stands in a lock file only says who holds it and is never what decides.
package lock

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// retry is how long to wait between two tries for a lock that is held.
const retry = 5 * time.Millisecond

// readTries bounds how often a holder's note is read again while it is written.
const readTries = 20

// maxNote bounds what is read of a lock file, in bytes.
const maxNote = 4 << 10

// Holder is who holds a workspace, as its lock file says.
type Holder struct {
	PID     int       `json:"pid"`
	Session string    `json:"session_id"`
	Since   time.Time `json:"since"`
}

// Held says that another session works in the workspace. Holder is zero when the
// lock file could not be read.
type Held struct {
	Workspace string
	Holder    Holder
}

// Error names the session and what to do about it.
func (h *Held) Error() string {
	who := "another session"
	if h.Holder.Session != "" {
		who = "session " + h.Holder.Session
	}
	if h.Holder.PID != 0 {
		who += fmt.Sprintf(" (process %d, since %s)", h.Holder.PID, h.Holder.Since.Local().Format("15:04:05 on 2 Jan 2006"))
	}
	return fmt.Sprintf("%s is working in %s; wait for it or stop it, then start again", who, h.Workspace)
}

// Lock is a lock that is held. It is freed by Close, or by the kernel when the
// process ends however it ends.
type Lock struct {
	flock *flock.Flock
	note  bool
}

// Workspace takes the lock of the workspace at dir (an absolute path, links
// resolved) for a session, under home (CODERRR_HOME). The error is a *Held when
// another session has it.
func Workspace(home, dir, session string) (*Lock, error) {
	path := workspacePath(home, dir)
	f, err := file(path)
	if err != nil {
		return nil, err
	}
	got, err := f.TryLock()
	if err != nil {
		return nil, failed(path, errors.Join(err, f.Close()))
	}
	if !got {
		return nil, errors.Join(&Held{Workspace: dir, Holder: holderSoon(path)}, f.Close())
	}
	l := &Lock{flock: f, note: true}
	if err := l.write(Holder{PID: os.Getpid(), Session: session, Since: time.Now().UTC()}); err != nil {
		return nil, errors.Join(fmt.Errorf("write the lock of %s: %w", dir, err), l.Close())
	}
	return l, nil
}

// File takes the lock at path, waiting for it until ctx ends; its directory is
// made (0700) if it is missing. It serialises read-change-write of a file of ours
// between processes, and between goroutines of this one. The lock file is not the
// file itself, which is replaced and would take its lock with it.
func File(ctx context.Context, path string) (*Lock, error) {
	f, err := file(path)
	if err != nil {
		return nil, err
	}
	if _, err := f.TryLockContext(ctx, retry); err != nil {
		return nil, failed(path, errors.Join(err, f.Close()))
	}
	return &Lock{flock: f}, nil
}

// Close frees the lock. The file stays: removing it would let two processes hold
// two files of one name.
func (l *Lock) Close() error {
	var err error
	if l.note {
		err = os.Truncate(l.flock.Path(), 0)
	}
	if err := errors.Join(err, l.flock.Close()); err != nil {
		return fmt.Errorf("free the lock %s: %w", l.flock.Path(), err)
	}
	return nil
}

// Of says who holds the workspace at dir; ok is false when nobody does. It is for
// showing only: the answer may be out of date when it arrives.
func Of(home, dir string) (h Holder, ok bool, err error) {
	path := workspacePath(home, dir)
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return Holder{}, false, nil
	}
	f, err := file(path)
	if err != nil {
		return Holder{}, false, err
	}
	got, err := f.TryRLock()
	if err := errors.Join(err, f.Close()); err != nil {
		return Holder{}, false, failed(path, err)
	}
	if got {
		return Holder{}, false, nil
	}
	return holderSoon(path), true, nil
}

func workspacePath(home, dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(home, "locks", hex.EncodeToString(sum[:])+".lock")
}

func file(path string) (*flock.Flock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the lock %s: %w", path, err)
	}
	return flock.New(path, flock.SetPermissions(0o600)), nil
}

func failed(path string, err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return fmt.Errorf("wait for the lock %s, which another Coderrr holds: %w", path, err)
	}
	return fmt.Errorf("take the lock %s (is CODERRR_HOME on a file system that can lock?): %w", path, err)
}

func (l *Lock) write(h Holder) error {
	note, err := json.Marshal(h)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(l.flock.Path(), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(append(note, '\n'))
	return errors.Join(err, f.Close())
}

// holderSoon reads who holds a lock. The holder writes its note just after it got
// the lock, so an empty note is looked at again for a moment.
func holderSoon(path string) Holder {
	for range readTries {
		if h, ok := holder(path); ok {
			return h
		}
		time.Sleep(retry)
	}
	return Holder{}
}

func holder(path string) (Holder, bool) {
	f, err := os.Open(path)
	if err != nil {
		return Holder{}, false
	}
	defer func() { _ = f.Close() }()
	note, err := io.ReadAll(io.LimitReader(f, maxNote))
	if err != nil {
		return Holder{}, false
	}
	var h Holder
	if json.Unmarshal(note, &h) != nil {
		return Holder{}, false
	}
	return h, true
}
