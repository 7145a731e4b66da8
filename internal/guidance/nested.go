package guidance

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/coderrr/coderrr/internal/workspace"
)

// Limits of what the folders below a workspace add to one session.
const (
	maxNested = 8
	maxDeep   = 16 // folders on the way to one file
)

// Nested finds the guidance of folders below the workspace when files in them are
// touched, each once. Safe for concurrent use.
type Nested struct {
	root *workspace.Root

	mu    sync.Mutex
	seen  map[string]bool
	given int
}

// NewNested returns a Nested that has given nothing yet.
func NewNested(root *workspace.Root) *Nested {
	return &Nested{root: root, seen: map[string]bool{}}
}

// For returns what is new for the file or folder at p, a path in the workspace, from
// the general to the near. What cannot be read is left out: the file itself shows it.
func (n *Nested) For(ctx context.Context, p string) []Doc {
	rel, err := n.root.Resolve(p)
	if err != nil || rel == "." {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	var docs []Doc
	parts := strings.Split(rel, "/")
	for i := range min(len(parts), maxDeep) {
		dir := path.Join(parts[:i+1]...)
		if n.seen[dir] || n.given >= maxNested {
			continue
		}
		n.seen[dir] = true
		info, err := n.root.Lstat(ctx, dir)
		if err != nil || info.Kind != workspace.KindDir {
			break
		}
		name, f, err := first(func(name string) (file, error) { return inWorkspace(ctx, n.root, dir+"/"+name) })
		if errors.Is(err, fs.ErrNotExist) || err != nil || strings.TrimSpace(f.text) == "" {
			continue
		}
		n.given++
		docs = append(docs, f.doc(dir+"/"+name))
	}
	return docs
}
