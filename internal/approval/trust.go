package approval

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/coderrr/coderrr/internal/ask"
)

// trustFile is the person's word on what a workspace brings along.
const trustFile = "trust.json"

// Trust stores that what a workspace brings for agents may be used. hash, hex
// SHA-256, names what was listed: something new in the list is asked about again.
func (s *Store) Trust(hash string, by ask.By) error {
	if !planHash().MatchString(hash) {
		return fmt.Errorf("record the trust in the workspace: hash %q: %w", hash, ErrName)
	}
	if err := save(filepath.Join(s.dir, trustFile), Record{Hash: hash, By: by, Time: time.Now().UTC()}); err != nil {
		return fmt.Errorf("record the trust in the workspace: %w", err)
	}
	return nil
}

// Trusted reports whether exactly the list with this hash was accepted. A damaged
// record accepts nothing.
func (s *Store) Trusted(hash string) bool {
	var rec Record
	ok, err := load(filepath.Join(s.dir, trustFile), &rec)
	return ok && err == nil && planHash().MatchString(hash) && rec.Hash == hash
}
