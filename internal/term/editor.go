package term

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Editor runs the person's editor: VISUAL, else EDITOR, else vi.
type Editor struct {
	Console *Console
	Getenv  func(string) string
	Environ []string // what the editor gets; nothing of ours is added
}

// maxEdited bounds what is read back, in bytes.
const maxEdited = 1 << 20

// Files opens files in the editor and waits for it. Nobody else reads from the
// terminal meanwhile. The editor is not stopped when the context ends: it holds
// the person's work.
func (e Editor) Files(ctx context.Context, paths ...string) error {
	argv := strings.Fields(e.Getenv("VISUAL"))
	if len(argv) == 0 {
		argv = strings.Fields(e.Getenv("EDITOR"))
	}
	if len(argv) == 0 {
		argv = []string{"vi"}
	}
	path, err := exec.LookPath(argv[0])
	if err != nil || !filepath.IsAbs(path) {
		return fmt.Errorf("there is no editor %q: set EDITOR to one", argv[0])
	}
	return e.Console.Suspend(ctx, func(tty *os.File) error {
		cmd := exec.Command(path, append(argv[1:], paths...)...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = tty, tty, tty, e.Environ
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("run %s: %w", argv[0], err)
		}
		return nil
	})
}

// Text lets the person write a text in the editor. The file has a random
// directory that only its owner can read, and is gone afterwards.
func (e Editor) Text(ctx context.Context, name, text string) (out string, err error) {
	dir, err := os.MkdirTemp("", "coderrr-edit-*")
	if err != nil {
		return "", fmt.Errorf("make a file to edit: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("make a file to edit: %w", err)
	}
	if err := e.Files(ctx, path); err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read what was edited: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err := io.ReadAll(io.LimitReader(f, maxEdited))
	return strings.TrimSpace(string(data)), err
}
