// Package guidance finds what a project tells agents: AGENTS.md, or the file of
// another agent where there is none, in the workspace, in the folders above it up
// to the root of its git repository and in those below it, and the user's own file. Its one rule: what it reads is data,
// bounded in size, with hidden characters made visible, from regular files only.
package guidance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coderrr/coderrr/internal/inert"
	"github.com/coderrr/coderrr/internal/workspace"
)

// MaxFile is how much of one file is used, in bytes.
const MaxFile = 32 << 10

// maxAbove bounds how many folders above the workspace are looked into.
const maxAbove = 8

// Doc is one file of guidance. Path is relative to the workspace for files in it
// and absolute for others. Note says in words for people what was done to it: its
// size, whether it was cut, whether it held hidden characters.
type Doc struct {
	Path string
	Text string
	Note string
}

// Names are the files looked for in a folder; the first that is there is used.
func Names() []string {
	return []string{"AGENTS.md", "CLAUDE.md", "GEMINI.md", ".cursorrules", ".github/copilot-instructions.md"}
}

// Load returns the guidance for a workspace, from the general to the near: the
// user's file (an absolute path, "" for none), the folders from the root of the
// git repository down, the workspace itself. Where two disagree the later wins.
// warnings name files that are there and were not used, and why.
func Load(ctx context.Context, root *workspace.Root, user string) (docs []Doc, warnings []string) {
	add := func(path string, f file, err error) {
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			warnings = append(warnings, fmt.Sprintf("Guidance in %s was not used: %v.", path, err))
		case strings.TrimSpace(f.text) != "":
			docs = append(docs, f.doc(path))
		}
	}
	if user != "" {
		f, err := userFile(user)
		add(user, f, err)
	}
	for _, dir := range above(root.Dir()) {
		name, f, err := first(func(name string) (file, error) { return ownFile(dir, name, root.Dir()) })
		add(filepath.Join(dir, name), f, err)
	}
	name, f, err := first(func(name string) (file, error) { return inWorkspace(ctx, root, name) })
	add(name, f, err)
	return docs, warnings
}

// first tries the names in order until one is there. One that cannot be used is
// passed over if another can.
func first(read func(string) (file, error)) (string, file, error) {
	found, failed := "", error(fs.ErrNotExist)
	for _, name := range Names() {
		f, err := read(name)
		if err == nil {
			return name, f, nil
		}
		if !errors.Is(err, fs.ErrNotExist) && found == "" {
			found, failed = name, err
		}
	}
	return found, file{}, failed
}

// file is what was read of one.
type file struct {
	text string
	size int64
	cut  bool
}

func (f file) doc(path string) Doc {
	text, hidden := inert.Visible(strings.TrimPrefix(f.text, "\ufeff"))
	d := Doc{Path: path, Note: fmt.Sprintf("%d bytes", f.size)}
	if f.cut {
		d.Note += fmt.Sprintf(", only the first %d are used", len(f.text))
		text += fmt.Sprintf("\n[The file goes on: %d of its %d bytes are given here.]\n", len(f.text), f.size)
	}
	if hidden > 0 {
		d.Note += fmt.Sprintf(", %d hidden characters are shown as markers", hidden)
	}
	d.Text = text
	return d
}

// take reads the beginning of an open file, up to the end of a line.
func take(r io.Reader, size int64) (file, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	if err != nil {
		return file{}, err
	}
	f := file{text: string(data), size: max(size, int64(len(data)))}
	if len(data) > MaxFile {
		f.cut, f.text = true, f.text[:MaxFile]
		if i := strings.LastIndexByte(f.text, '\n'); i > MaxFile/2 {
			f.text = f.text[:i+1]
		}
	}
	return f, nil
}

func inWorkspace(ctx context.Context, root *workspace.Root, name string) (file, error) {
	f, info, err := root.Open(ctx, name)
	if err != nil {
		return file{}, err
	}
	defer func() { _ = f.Close() }()
	return take(f, info.Size)
}

// userFile reads the user's own file; the user may have made it a link.
func userFile(path string) (file, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|noWait, 0)
	if err != nil {
		return file{}, err
	}
	defer func() { _ = f.Close() }()
	return regular(f)
}

// ownFile reads a file in a folder above the workspace. Others may write there (a
// shared temporary folder), so the file must belong to the user, to whom the
// workspace belongs, or to root, and must be no link.
func ownFile(dir, name, workspace string) (file, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return file{}, err
	}
	defer func() { _ = root.Close() }()
	info, err := root.Lstat(name)
	if err != nil {
		return file{}, err
	}
	if !info.Mode().IsRegular() {
		return file{}, errors.New("it is not a regular file")
	}
	f, err := root.OpenFile(name, os.O_RDONLY|noWait, 0)
	if err != nil {
		return file{}, err
	}
	defer func() { _ = f.Close() }()
	now, err := f.Stat()
	if err != nil {
		return file{}, err
	}
	if !os.SameFile(info, now) {
		return file{}, errors.New("it was replaced while it was read")
	}
	base, err := os.Stat(workspace)
	if err != nil {
		return file{}, err
	}
	if !trusted(now, base) {
		return file{}, errors.New("it belongs to another user")
	}
	return regular(f)
}

func regular(f *os.File) (file, error) {
	info, err := f.Stat()
	if err != nil {
		return file{}, err
	}
	if !info.Mode().IsRegular() {
		return file{}, errors.New("it is not a regular file")
	}
	return take(f, info.Size())
}

// above lists the folders over dir that belong to the same git repository, the
// repository's root first. There are none if dir is such a root itself, or in no
// repository; the user's home directory is not taken for one.
func above(dir string) []string {
	if isRepository(dir) {
		return nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	var out []string
	for range maxAbove {
		parent := filepath.Dir(dir)
		if parent == dir || parent == home {
			return nil
		}
		dir = parent
		out = append(out, dir)
		if isRepository(dir) {
			slices.Reverse(out)
			return out
		}
	}
	return nil
}

func isRepository(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}
