package workspace

import "sync"

// Seen remembers what a model was last shown of each file, so that it edits what
// it has read. The zero value is empty and ready; safe for concurrent use.
type Seen struct {
	mu     sync.Mutex
	hashes map[string]string
}

// Note says that the model was shown (or wrote) path with this content hash. path
// is a resolved one, such as File.Path.
func (s *Seen) Note(path, hash string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hashes == nil {
		s.hashes = map[string]string{}
	}
	s.hashes[path] = hash
}

// Hash is what was noted last for path.
func (s *Seen) Hash(path string) (hash string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	hash, ok = s.hashes[path]
	return hash, ok
}

// Forget drops what was noted for path, after a delete or a move.
func (s *Seen) Forget(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.hashes, path)
}
