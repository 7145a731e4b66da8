package tree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const prefix = "sbx-"

// Place is one sandbox's directory. A lock beside it is held as long as its
// owner lives, so that the next start can tell what was left behind.
type Place struct {
	dir  string
	lock *fileLock
}

// NewPlace makes a directory of mode 0700 in dir, which is made as well, after
// sweeping out those whose owner is gone.
func NewPlace(dir string) (*Place, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory for sandboxes: %w", err)
	}
	Sweep(dir)
	for {
		p, err := tryPlace(dir)
		if err != nil {
			return nil, fmt.Errorf("making the sandbox's directory: %w", err)
		}
		if p != nil {
			return p, nil
		}
	}
}

// tryPlace returns nil when a sweep of another process came between making the
// lock's file and locking it.
func tryPlace(dir string) (*Place, error) {
	f, err := os.CreateTemp(dir, prefix+"*.lock")
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	p := &Place{dir: strings.TrimSuffix(f.Name(), ".lock"), lock: newFileLock(f.Name())}
	if err := p.lock.Lock(); err != nil {
		return nil, err
	}
	if _, err := os.Stat(f.Name()); err != nil {
		return nil, p.lock.Unlock()
	}
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		return nil, errors.Join(err, p.lock.Unlock())
	}
	return p, nil
}

// Dir is the directory's path.
func (p *Place) Dir() string { return p.dir }

// Remove takes the directory away and lets go of its lock.
func (p *Place) Remove() error {
	err := RemoveAll(p.dir)
	if rerr := os.Remove(p.lock.Path()); rerr != nil && !errors.Is(rerr, os.ErrNotExist) {
		err = errors.Join(err, rerr)
	}
	if err = errors.Join(err, p.lock.Unlock()); err != nil {
		return fmt.Errorf("removing the sandbox's directory: %w", err)
	}
	return nil
}

// Sweep removes the directories in dir whose owner is gone, and returns how
// many. What cannot be removed stays for the next time.
func Sweep(dir string) int {
	locks, err := filepath.Glob(filepath.Join(globQuote(dir), prefix+"*.lock"))
	if err != nil {
		return 0
	}
	n := 0
	for _, name := range locks {
		p := &Place{dir: strings.TrimSuffix(name, ".lock"), lock: newFileLock(name)}
		if free, err := p.lock.TryLock(); err != nil || !free {
			continue
		}
		if p.Remove() == nil {
			n++
		}
	}
	return n
}

func globQuote(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(s)
}
