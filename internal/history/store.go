// Package history keeps what files held before a session changed them, and takes
// changes back. Contents are kept by their hash under CODERRR_HOME, never in the
// workspace, and without git: nothing of the user's repository is touched.
//
// Its one rule: nothing is overwritten that is not stored first.
package history

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"
)

// ErrDamaged is wrapped when a stored content is not what its name says.
var ErrDamaged = errors.New("the stored content is damaged")

var sha = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{64}$`) })

// Store keeps contents by hash in a directory of its own. Safe for concurrent
// use, also by several processes.
type Store struct{ dir string }

// Open returns the store of the workspace at workspace (an absolute path, links
// resolved) under home (CODERRR_HOME). Nothing is made before the first Put.
func Open(home, workspace string) *Store {
	sum := sha256.Sum256([]byte(workspace))
	return OpenDir(filepath.Join(home, "history", hex.EncodeToString(sum[:])))
}

// OpenDir returns the store in dir itself.
func OpenDir(dir string) *Store { return &Store{dir: dir} }

// Put stores a content and returns its hash (hex SHA-256). It is on disk when Put
// returns. A content that is there already is not written again.
func (s *Store) Put(data []byte) (string, error) {
	sum := sha256.Sum256(data)
	name := hex.EncodeToString(sum[:])
	if err := s.put(name, data); err != nil {
		return "", fmt.Errorf("keep the old content of a file: %w", err)
	}
	return name, nil
}

func (s *Store) put(name string, data []byte) error {
	path := s.path(name)
	if old, err := os.ReadFile(path); err == nil && hashOf(old) == name {
		now := time.Now() // Prune goes by age
		_ = os.Chtimes(path, now, now)
		return nil
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, ".new-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	if err == nil {
		err = temp.Sync()
	}
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return syncDirs(dir, s.dir)
}

// Get returns a stored content. The error wraps fs.ErrNotExist when it was never
// stored or is pruned, ErrDamaged when its bytes changed.
func (s *Store) Get(name string) ([]byte, error) {
	if !sha().MatchString(name) {
		return nil, fmt.Errorf("old content %q: %w", name, fs.ErrNotExist)
	}
	data, err := os.ReadFile(s.path(name))
	if err != nil {
		return nil, fmt.Errorf("read the old content of a file: %w", err)
	}
	if hashOf(data) != name {
		return nil, fmt.Errorf("old content %s: %w", name, ErrDamaged)
	}
	return data, nil
}

// Has reports whether Get would find a content.
func (s *Store) Has(name string) bool {
	_, err := s.Get(name)
	return err == nil
}

// Prune removes contents that were last stored before the given time, and what a
// crash left. It returns how many bytes are free again.
func (s *Store) Prune(before time.Time) (freed int64, err error) {
	err = filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !info.ModTime().Before(before) {
			return nil
		}
		if err := os.Remove(path); err != nil {
			return err
		}
		freed += info.Size()
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return freed, fmt.Errorf("clear old contents of files: %w", err)
	}
	return freed, nil
}

func (s *Store) path(name string) string { return filepath.Join(s.dir, name[:2], name[2:]) }

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// syncDirs makes new names durable, as far as the system can sync a folder.
func syncDirs(dirs ...string) error {
	for _, dir := range dirs {
		d, err := os.Open(dir)
		if err != nil {
			return err
		}
		_ = d.Sync()
		if err := d.Close(); err != nil {
			return err
		}
	}
	return nil
}
