package term

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// lineMark stands in the file for a line end within one entry.
const lineMark = "\x1e"

// maxHistory is how many lines are kept.
const maxHistory = 500

// History is what was typed at the prompt, newest last, kept in a file that only
// its owner can read. It implements the editor's interface.
type History struct {
	path  string
	lines []string
}

// LoadHistory reads the file; one that is missing or cannot be used is an empty
// history.
func LoadHistory(path string) *History {
	h := &History{path: path}
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return h
	}
	f, err := os.Open(path)
	if err != nil {
		return h
	}
	defer func() { _ = f.Close() }() // only read
	scan := bufio.NewScanner(f)
	scan.Buffer(nil, maxTyped)
	for scan.Scan() {
		h.keep(strings.ReplaceAll(scan.Text(), lineMark, "\n"))
	}
	return h
}

func (h *History) keep(line string) {
	if n := len(h.lines); n > 0 && h.lines[n-1] == line {
		return
	}
	h.lines = append(h.lines, line)
	if len(h.lines) > maxHistory {
		h.lines = h.lines[1:]
	}
}

// Add keeps a line; a line that begins with a space is not kept.
func (h *History) Add(line string) {
	if strings.TrimSpace(line) == "" || strings.HasPrefix(line, " ") {
		return
	}
	h.keep(line)
}

// Len is the number of lines.
func (h *History) Len() int { return len(h.lines) }

// At returns a line, 0 being the newest. It panics when there is none, as the
// editor's interface asks.
func (h *History) At(i int) string { return h.lines[len(h.lines)-1-i] }

// Save writes the file anew, whole or not at all.
func (h *History) Save() error {
	if h.path == "" || len(h.lines) == 0 {
		return nil
	}
	temp := h.path + ".new"
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("save the history: %w", err)
	}
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("save the history: %w", err)
	}
	var text strings.Builder
	for _, l := range h.lines {
		text.WriteString(strings.ReplaceAll(l, "\n", lineMark) + "\n")
	}
	_, err = f.WriteString(text.String())
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(temp, h.path)
	}
	if err != nil {
		return fmt.Errorf("save the history: %w", err)
	}
	return nil
}
