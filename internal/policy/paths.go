package policy

import (
	"errors"
	"path"
	"slices"
	"strings"
)

// ErrDenied is wrapped by every Denied.
var ErrDenied = errors.New("denied by the path rules")

// Denied says that a path may not be touched in the way asked. Reason is a clause
// for people and for the model.
type Denied struct {
	Path   string
	Reason string
}

// Error names the path and the reason.
func (d *Denied) Error() string { return d.Path + ": " + d.Reason }

// Unwrap returns ErrDenied.
func (d *Denied) Unwrap() error { return ErrDenied }

const (
	whyRoot    = "this is the workspace itself; name something inside it"
	whyOutside = "outside the workspace"
	whyVCS     = "version control data is never changed by tools; use the version control program yourself"
	whyCoderrr = "Coderrr's own files are never changed by file tools; specs are written by write_spec"
	whyPrivate = "Coderrr's own files are not shown to the model; specs are read by read_spec"
)

// CheckWrite judges creating, changing, deleting or moving a path. rel is what the
// path resolved to: relative to the workspace, slash-separated, without links or
// "..". The error is a *Denied; flags mark what a person should be asked about.
//
// Names are compared as the file systems of every platform would (see fold), at
// any depth, because a repository travels between them.
func CheckWrite(rel string) ([]Flag, error) {
	parts, err := split(rel)
	if err != nil {
		return nil, err
	}
	if len(parts) == 0 {
		return nil, &Denied{Path: rel, Reason: whyRoot}
	}
	for _, p := range parts {
		switch kindOf(p) {
		case vcs:
			return nil, &Denied{Path: rel, Reason: whyVCS}
		case own:
			return nil, &Denied{Path: rel, Reason: whyCoderrr}
		}
	}
	var flags []Flag
	if runsCode(parts) {
		flags = append(flags, FlagRunsCode)
	}
	if secret(parts) {
		flags = append(flags, FlagSecret)
	}
	return flags, nil
}

// CheckRead judges showing a path's content to the model. rel is as for
// CheckWrite; the workspace itself ("." or "") may be read. Of Coderrr's own
// folder only specs, skills and its .gitignore may be: session logs hold what a
// person allowed for another session, and a config file holds keys.
func CheckRead(rel string) ([]Flag, error) {
	parts, err := split(rel)
	if err != nil {
		return nil, err
	}
	for i, p := range parts {
		if kindOf(p) == own && !readableOwn(parts[i+1:]) {
			return nil, &Denied{Path: rel, Reason: whyPrivate}
		}
	}
	if secret(parts) {
		return []Flag{FlagSecret}, nil
	}
	return nil, nil
}

func readableOwn(below []string) bool {
	if len(below) == 0 {
		return true
	}
	switch below[0] {
	case "specs", "skills":
		return true
	case ".gitignore":
		return len(below) == 1
	}
	return false
}

// IsVCS reports whether a name is the directory (or file) of a version control
// system, in any of its spellings.
func IsVCS(name string) bool { return kindOf(name) == vcs }

// IsOwn reports whether a name is Coderrr's folder, in any of its spellings.
func IsOwn(name string) bool { return kindOf(name) == own }

// ProtectedNames are the plain spellings of what IsVCS and IsOwn know, for a
// caller that looks for links and files standing in for them.
func ProtectedNames() []string {
	return []string{".git", ".hg", ".svn", ".bzr", ".jj", ".coderrr"}
}

// ReasonVCS is the reason of a Denied for what a ".git" link or file points to.
func ReasonVCS() string { return whyVCS }

// ReasonOwn is the reason of a Denied for what a ".coderrr" link points to.
func ReasonOwn() string { return whyCoderrr }

// GitShaped reports whether a directory with these entries is, or is about to
// become, a git directory whatever its name: git would use it, and a config in it
// can start programs. Names are compared folded.
func GitShaped(names []string) bool {
	has := func(want string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return fold(n) == want })
	}
	head, config, objects, refs := has("head"), has("config"), has("objects"), has("refs")
	return head && (config || objects || refs) || config && objects && refs
}

// split checks that rel is what CheckWrite asks for and cuts it at its slashes.
func split(rel string) ([]string, error) {
	if rel == "." || rel == "" {
		return nil, nil
	}
	if path.IsAbs(rel) || path.Clean(rel) != rel || rel == ".." || strings.HasPrefix(rel, "../") || strings.IndexByte(rel, 0) >= 0 {
		return nil, &Denied{Path: rel, Reason: whyOutside}
	}
	return strings.Split(rel, "/"), nil
}
