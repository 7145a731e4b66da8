package workspace

import (
	"context"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"sync"

	"github.com/coderrr/coderrr/internal/inert"
	"github.com/coderrr/coderrr/internal/policy"
)

// commandsInGitConfig finds settings that make git start a program (git-config(1)).
var commandsInGitConfig = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?im)^\s*(\[[^\]\n]*\]\s*)?(fsmonitor|sshcommand|hookspath|editor|pager|askpass|gitproxy|textconv|command|clean|smudge|process|driver|cmd|helper|external|program|uploadpack|receivepack|alternaterefscommand)\s*=|^\s*\[\s*(alias|include|includeif)\b`)
})

// Flags is what a person should see of a proposed write: what policy says of the
// resolved path, whether the folder looks like a git directory, further names of
// the file, and characters in data that do not show. rel is the resolved path.
// The error is the one that Write would give for the path.
func (r *Root) Flags(ctx context.Context, p string, data []byte) (flags []policy.Flag, rel string, err error) {
	s, err := r.find(ctx, p, stop)
	if err != nil {
		return nil, "", err
	}
	defer s.close()
	if flags, err = s.writable(); err != nil {
		return nil, "", err
	}
	if err := r.checkAlias(ctx, s); err != nil {
		return nil, "", err
	}
	rel = s.rel()
	if !slices.Contains(flags, policy.FlagRunsCode) && (s.gitShaped(ctx) || gitConfig(s.name, data)) {
		flags = append(flags, policy.FlagRunsCode)
	}
	if s.info != nil && s.info.Mode().IsRegular() && linksOf(s.info) > 1 {
		flags = append(flags, policy.FlagHardLink)
	}
	if inert.Hidden(string(data)) > 0 {
		flags = append(flags, policy.FlagHidden)
	}
	return flags, rel, nil
}

// gitConfig recognises a git configuration that starts programs, in a file that
// git would read as one once the rest is there.
func gitConfig(name string, data []byte) bool {
	return (name == "config" || name == "config.worktree") && commandsInGitConfig().Match(data)
}

// gitShaped reports whether a folder on the way to the file is a git directory by
// its content, counting the file as there.
func (s *spot) gitShaped(ctx context.Context) bool {
	path := append(append(slices.Clone(s.names), s.missing...), s.name)
	for i, d := range s.dirs {
		if policy.GitShaped(append(gitNames(ctx, d), path[i])) {
			return true
		}
	}
	return false
}

// gitNames are the names in a folder that make a git directory.
func gitNames(_ context.Context, d interface {
	Lstat(string) (fs.FileInfo, error)
},
) []string {
	var out []string
	for _, n := range []string{"HEAD", "config", "objects", "refs"} {
		if _, err := d.Lstat(n); err == nil {
			out = append(out, n)
		}
	}
	return out
}

// HeadID is the commit that HEAD names, by reading git's files in the workspace;
// "" when there is none or it is kept elsewhere.
func (r *Root) HeadID() string {
	ctx := context.Background()
	dir, common := r.gitDirs(ctx)
	if dir == "" {
		return ""
	}
	for name, hops := "HEAD", 0; hops < 5; hops++ {
		id, next := r.ref(ctx, dir, common, name)
		if next == "" {
			return id
		}
		name = next
	}
	return ""
}

func (r *Root) gitDirs(ctx context.Context) (dir, common string) {
	info, err := r.Lstat(ctx, ".git")
	if err != nil {
		return "", ""
	}
	dir = ".git"
	if info.Kind == KindFile {
		target, ok := r.aliasOf(ctx, ".git", info.Mode)
		if !ok {
			return "", ""
		}
		dir = target
	}
	common = dir
	if text, err := r.small(ctx, path.Join(dir, "commondir")); err == nil {
		common = path.Join(dir, string(trimmed(text)))
	}
	return dir, common
}
