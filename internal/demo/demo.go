// Package demo holds what `--demo` runs on: a small sample project, and the
// recorded session that stands in for a model. Nothing else of a demo is special:
// its files are really edited, and its tests really run.
package demo

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Label is shown wherever the model's name is.
const Label = "demo model: replays a recorded session"

// Request is what the recorded session was asked.
const Request = "Add a search command that ignores case"

// Project is the name of the sample project's folder.
const Project = "notes"

//go:embed all:sample
var sample embed.FS

//go:generate sh -c "go run ./gen >session.jsonl.new && mv session.jsonl.new session.jsonl"

//go:embed session.jsonl
var session []byte

// Cassette is the recorded session, for llm/cassette's player.
func Cassette() io.Reader { return bytes.NewReader(session) }

// Open makes a temporary folder that holds the sample project, and returns the
// project's path; remove deletes it all.
func Open() (dir string, remove func() error, err error) {
	top, err := os.MkdirTemp("", "coderrr-demo-")
	if err != nil {
		return "", nil, fmt.Errorf("make a folder for the demo: %w", err)
	}
	remove = func() error { return os.RemoveAll(top) }
	dir = filepath.Join(top, Project)
	if err := Write(dir); err != nil {
		return "", nil, errors.Join(err, remove())
	}
	return dir, remove, nil
}

// Write puts the sample project into dir, which is made when it is missing, and
// gives every file of the sample its original content. Other files stay.
func Write(dir string) error {
	files, err := fs.Sub(sample, "sample")
	if err != nil {
		return fmt.Errorf("open the sample project: %w", err)
	}
	return fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("read the sample project: %w", err)
		}
		target := filepath.Join(dir, filepath.FromSlash(path))
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		data, err := fs.ReadFile(files, path)
		if err != nil {
			return fmt.Errorf("read the sample project: %w", err)
		}
		mode := fs.FileMode(0o644)
		if bytes.HasPrefix(data, []byte("#!")) {
			mode = 0o755
		}
		if err := os.WriteFile(target, data, mode); err != nil {
			return fmt.Errorf("write the sample project: %w", err)
		}
		return os.Chmod(target, mode)
	})
}
