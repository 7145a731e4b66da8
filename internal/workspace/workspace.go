// Package workspace is the only door to the user's files. A Root is opened once
// per session and asks package policy about every path, after links are resolved;
// nothing outside the directory can be reached through it, whatever links, swaps
// or names are in its way.
//
// Its one rule: a path is walked component by component with open directories,
// what was walked is what is judged, and the operation is on a single name inside
// the last directory. A swap in between changes nothing that was judged.
package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// The causes an *Error wraps.
var (
	ErrOutside      = errors.New("outside the workspace")
	ErrNotRegular   = errors.New("not a regular file")
	ErrIsFolder     = fmt.Errorf("a folder: %w", ErrNotRegular)
	ErrIsLink       = fmt.Errorf("a link: %w", ErrNotRegular)
	ErrNotDirectory = errors.New("not a folder")
	ErrTooLarge     = errors.New("too large")
	ErrMoved        = errors.New("the file changed meanwhile")
	ErrMount        = errors.New("another file system is mounted there")
	ErrTooWide      = errors.New("too wide for a workspace")
	ErrName         = errors.New("not a usable path")
)

// Error says what went wrong with a path, in words for people and for the model.
// It wraps one of the causes above, a *policy.Denied, fs.ErrNotExist, fs.ErrExist
// or an error of the operating system.
type Error struct {
	Path string // as it was asked for
	Text string // cause and remedy
	Err  error
}

// Error is "path: text", with an unusual path quoted.
func (e *Error) Error() string { return Quote(e.Path) + ": " + e.Text }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func fail(path, text string, cause error) error {
	return &Error{Path: path, Text: text, Err: cause}
}

// Options of Open.
type Options struct {
	// AllowWide opens even the home directory or a system directory.
	AllowWide bool
	// Home is the person's home directory ("" = what the system says).
	Home string
}

// Root is an open workspace. It keeps following the directory it was opened on,
// even if that is renamed. Safe for concurrent use.
type Root struct {
	root *os.Root
	dir  string // resolved
	used string // absolute, as it was named: perhaps through a link
}

// Open opens dir as a workspace. The error wraps ErrNotDirectory, ErrTooWide or
// what the system says.
func Open(dir string, o Options) (*Root, error) {
	used, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find the workspace %s: %w", Quote(dir), err)
	}
	resolved, err := filepath.EvalSymlinks(used)
	if err != nil {
		return nil, fmt.Errorf("open the workspace %s: %w", Quote(dir), err)
	}
	info, err := os.Stat(resolved)
	if err != nil {
		return nil, fmt.Errorf("open the workspace %s: %w", Quote(dir), err)
	}
	if !info.IsDir() {
		return nil, fail(dir, "the workspace must be a folder, and this is a file; name the folder it is in", ErrNotDirectory)
	}
	if why := tooWide(resolved, o.Home); why != "" && !o.AllowWide {
		return nil, fail(dir, why+"; go into the project's own folder or name it with --dir", ErrTooWide)
	}
	root, err := os.OpenRoot(resolved)
	if err != nil {
		return nil, fmt.Errorf("open the workspace %s: %w", Quote(dir), err)
	}
	return &Root{root: root, dir: resolved, used: used}, nil
}

// Dir is the resolved absolute path the workspace was opened on.
func (r *Root) Dir() string { return r.dir }

// Close closes the workspace. Calls that run at the same time may fail.
func (r *Root) Close() error { return r.root.Close() }

// Moved reports whether Dir no longer names the directory that is open: someone
// moved or replaced it. Calls still work, on the original.
func (r *Root) Moved() bool {
	open, err := r.root.Stat(".")
	if err != nil {
		return true
	}
	named, err := os.Stat(r.dir)
	return err != nil || !os.SameFile(open, named)
}
