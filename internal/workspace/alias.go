package workspace

import (
	"context"
	"io/fs"
	"path"
	"strings"

	"github.com/coderrr/coderrr/internal/policy"
)

// checkAlias refuses a path that has an ordinary name but is what a protected name
// stands for: `.git -> store`, or a file .git that says "gitdir: store". It looks
// beside every folder on the way.
func (r *Root) checkAlias(ctx context.Context, s *spot) error {
	rel := s.rel()
	for i, d := range s.dirs {
		base := path.Join(s.names[:i]...)
		for _, name := range policy.ProtectedNames() {
			info, err := d.Lstat(name)
			if err != nil || info.IsDir() {
				continue
			}
			target, ok := r.aliasOf(ctx, path.Join(base, name), info.Mode())
			if !ok || target == "." || !within(rel, target) && !within(target, rel) {
				continue
			}
			why := policy.ReasonVCS()
			if policy.IsOwn(name) {
				why = policy.ReasonOwn()
			}
			return s.denied(&policy.Denied{Path: rel, Reason: Quote(path.Join(base, name)) + " stands for " + Quote(target) + ": " + why})
		}
	}
	return nil
}

// aliasOf is where a link or a gitfile leads, inside the workspace.
func (r *Root) aliasOf(ctx context.Context, rel string, mode fs.FileMode) (string, bool) {
	if mode&fs.ModeSymlink != 0 {
		return r.real(ctx, rel)
	}
	text, err := r.small(ctx, rel)
	if err != nil {
		return "", false
	}
	target, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir:")
	if !ok {
		return "", false
	}
	target = strings.TrimSpace(target)
	if !path.IsAbs(target) {
		target = path.Join(path.Dir(rel), target)
	}
	return r.real(ctx, target)
}

// real is the resolved form of a path, when it is inside and exists or could.
func (r *Root) real(ctx context.Context, p string) (string, bool) {
	s, err := r.find(ctx, p, follow)
	if err != nil {
		return "", false
	}
	defer s.close()
	return s.rel(), true
}

// small reads a file of git's own bookkeeping, without asking policy.
func (r *Root) small(ctx context.Context, p string) ([]byte, error) {
	const limit = 16 << 20 // packed-refs of a large repository
	s, err := r.find(ctx, p, follow)
	if err != nil {
		return nil, err
	}
	defer s.close()
	f, info, err := s.openAny()
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return readUpTo(ctx, f, info.Size, limit)
}

// within reports whether a resolved path is dir or below it.
func within(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, dir+"/")
}
