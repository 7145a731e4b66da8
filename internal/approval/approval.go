// Package approval keeps what people decided, under CODERRR_HOME and never inside
// a workspace: which plans are approved, which sessions are ours, which MCP tools
// may be called. A repository can bring any file it likes; nothing in it approves
// anything. Whatever cannot be read counts as not approved.
package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/google/renameio/v2/maybe"

	"github.com/coderrr/coderrr/internal/ask"
)

// maxRecord bounds the size of a record, in bytes.
const maxRecord = 1 << 20

var (
	planHash  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{64}$`) })
	specID    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d{3,9})(-[a-z0-9][a-z0-9-]*)?$`) })
	sessionID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`) })
)

// ErrName is wrapped when a spec, session or hash is not what one looks like.
var ErrName = errors.New("not a valid name")

// Record is one approval of a plan.
type Record struct {
	Hash string    `json:"hash"` // plan hash, hex SHA-256
	By   ask.By    `json:"by"`
	Time time.Time `json:"time"`
}

// Store holds the approvals and the session ids of one workspace. Safe for
// concurrent use, also by several processes.
type Store struct{ dir string }

// Open returns the store of the workspace at dir (an absolute path, links
// resolved) under home (CODERRR_HOME). Nothing is made before the first write.
func Open(home, dir string) *Store {
	sum := sha256.Sum256([]byte(dir))
	return &Store{dir: filepath.Join(home, "approvals", hex.EncodeToString(sum[:]))}
}

// Record stores the approval of a plan, in place of any earlier one of the same
// spec ("001" or "001-slug"). It is on disk when Record returns.
func (s *Store) Record(spec, hash string, by ask.By) error {
	path, err := s.planPath(spec)
	if err != nil {
		return err
	}
	if !planHash().MatchString(hash) {
		return fmt.Errorf("record the approval of %s: hash %q: %w", spec, hash, ErrName)
	}
	if err := save(path, Record{Hash: hash, By: by, Time: time.Now().UTC()}); err != nil {
		return fmt.Errorf("record the approval of %s: %w", spec, err)
	}
	return nil
}

// Approved reports whether the plan with exactly this hash was approved. A record
// that is missing or damaged approves nothing and is no error; only a system that
// refuses to read one is.
func (s *Store) Approved(spec, hash string) (bool, error) {
	if !planHash().MatchString(hash) {
		return false, nil
	}
	rec, ok, err := s.Last(spec)
	return ok && err == nil && rec.Hash == hash, err
}

// Last is the approval stored for a spec; ok is false when there is none that can
// be understood.
func (s *Store) Last(spec string) (rec Record, ok bool, err error) {
	path, err := s.planPath(spec)
	if err != nil {
		return Record{}, false, err
	}
	ok, err = load(path, &rec)
	if err != nil {
		return Record{}, false, fmt.Errorf("read the approval of %s: %w", spec, err)
	}
	if !ok || !planHash().MatchString(rec.Hash) {
		return Record{}, false, nil
	}
	return rec, true, nil
}

// Register notes that a session is ours: only such a session is resumed or
// undone.
func (s *Store) Register(session string) error {
	path, err := s.sessionPath(session)
	if err != nil {
		return err
	}
	if err := save(path, map[string]time.Time{"time": time.Now().UTC()}); err != nil {
		return fmt.Errorf("register the session %s: %w", session, err)
	}
	return nil
}

// Known reports whether a session was registered for this workspace.
func (s *Store) Known(session string) bool {
	path, err := s.sessionPath(session)
	if err != nil {
		return false
	}
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// Forget drops a session; one that is not known is no error.
func (s *Store) Forget(session string) error {
	path, err := s.sessionPath(session)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget the session %s: %w", session, err)
	}
	return nil
}

// planPath is by number alone: a spec whose title is edited keeps its approval,
// which names the exact bytes anyway.
func (s *Store) planPath(spec string) (string, error) {
	m := specID().FindStringSubmatch(spec)
	if m == nil {
		return "", fmt.Errorf("spec %q: %w", spec, ErrName)
	}
	return filepath.Join(s.dir, m[1]+".json"), nil
}

func (s *Store) sessionPath(id string) (string, error) {
	if !sessionID().MatchString(id) {
		return "", fmt.Errorf("session %q: %w", id, ErrName)
	}
	return filepath.Join(s.dir, "sessions", id+".json"), nil
}

// save replaces a file atomically and makes it durable.
func save(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := maybe.WriteFile(path, append(data, '\n'), 0o600); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes a new name durable. Where a folder cannot be synced (Windows,
// some network file systems) the rename is as durable as it gets.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync()
	return d.Close()
}

// load reads a record into v. ok is false when it is missing, not a regular file,
// too large or not JSON.
func load(path string, v any) (ok bool, err error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxRecord+1))
	if err != nil {
		return false, err
	}
	return len(data) <= maxRecord && json.Unmarshal(data, v) == nil, nil
}
