package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// maxFile bounds the configuration file, in bytes.
const maxFile = 1 << 20

// Warning is something to tell the person; Line is 0 when it is about the file.
type Warning struct {
	File string
	Line int
	Text string
}

// String is one line.
func (w Warning) String() string {
	if w.Line == 0 {
		return w.Text
	}
	return fmt.Sprintf("%s:%d: %s", w.File, w.Line, w.Text)
}

// Error is a file that cannot be used. Line and Column start at 1; 0 means that
// the whole file is meant.
type Error struct {
	File         string
	Line, Column int
	Text         string
	Remedy       string
	Cause        error
}

// Error names file, line, column, cause and remedy.
func (e *Error) Error() string {
	where := e.File
	if e.Line > 0 {
		where = fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Column)
	}
	s := where + ": " + e.Text
	if e.Remedy != "" {
		s += " (" + e.Remedy + ")"
	}
	return s
}

// Unwrap returns the cause, if any.
func (e *Error) Unwrap() error { return e.Cause }

// Load reads the configuration of a home directory. A missing file is Default;
// anything else that cannot be read and understood is an *Error. A mode that lets
// others read the file is repaired, with a warning.
func Load(home string) (Config, []Warning, error) {
	path := Path(home)
	data, note, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Default(), nil, nil
	}
	if err != nil {
		return Config{}, nil, err
	}
	var warnings []Warning
	if note != "" {
		warnings = append(warnings, Warning{File: path, Text: note})
	}
	if note := tidyHome(home); note != "" {
		warnings = append(warnings, Warning{File: path, Text: note})
	}
	c, more, err := Parse(path, data)
	return c, append(warnings, more...), err
}

func tidyHome(home string) string {
	dir, err := os.Open(home)
	if err != nil {
		return ""
	}
	note, err := repair(dir, 0o700)
	if err = errors.Join(err, dir.Close()); err != nil {
		return err.Error()
	}
	return note
}

// readFile reads a regular file, repairing its mode. It looks before it opens:
// opening a FIFO would wait for ever.
func readFile(path string) (data []byte, note string, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, linkErr := os.Lstat(path); linkErr == nil {
			return nil, "", &Error{File: path, Text: "is a link to a file that does not exist", Remedy: "make the target, or remove the link"}
		}
		return nil, "", err
	}
	if err != nil {
		return nil, "", &Error{File: path, Text: "cannot be read: " + cause(err), Remedy: "check the permissions of the file and its directory", Cause: err}
	}
	if !info.Mode().IsRegular() {
		return nil, "", &Error{File: path, Text: "is not a regular file", Remedy: "move it away; `coderrr config` makes a new one"}
	}
	if info.Size() > maxFile {
		return nil, "", &Error{File: path, Text: fmt.Sprintf("is %d bytes long; a configuration has at most %d", info.Size(), maxFile), Remedy: "check that it is the right file"}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, "", &Error{File: path, Text: "cannot be read: " + cause(err), Remedy: "check its permissions", Cause: err}
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if target, ok := tomlTarget(path); ok && target != "" {
		if note, err = repair(f, 0o600); err != nil {
			return nil, "", err
		}
	}
	data, err = io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, "", &Error{File: path, Text: "cannot be read: " + cause(err), Cause: err}
	}
	return data, note, nil
}

// cause is an error's text without the path, which the message names already.
func cause(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// Parse reads the text of a configuration; name is used in messages.
func Parse(name string, data []byte) (Config, []Warning, error) {
	c := Default()
	data = withoutBOM(data)
	dec := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	var warnings []Warning
	if err := dec.Decode(&c); err != nil {
		var unknown *toml.StrictMissingError
		if !errors.As(err, &unknown) {
			return Config{}, nil, syntaxError(name, err)
		}
		for i := range unknown.Errors {
			warnings = append(warnings, unknownKey(name, &unknown.Errors[i]))
		}
	}
	if err := check(name, data, c); err != nil {
		return Config{}, nil, err
	}
	return c, warnings, nil
}

func withoutBOM(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\ufeff")) }

func unknownKey(name string, e *toml.DecodeError) Warning {
	line, _ := e.Position()
	key := strings.Join(e.Key(), ".")
	text := fmt.Sprintf("unknown key %q is ignored", key)
	if near := nearestKey(key); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return Warning{File: name, Line: line, Text: text}
}

func syntaxError(name string, err error) error {
	out := &Error{File: name, Text: strings.TrimPrefix(err.Error(), "toml: "), Remedy: "correct the line; nothing was changed or ignored", Cause: err}
	var at *toml.DecodeError
	if errors.As(err, &at) {
		out.Line, out.Column = at.Position()
		if key := strings.Join(at.Key(), "."); key != "" {
			if want := kindOf(key); want != "" {
				out.Text = "it takes " + want // the decoder speaks of Go types
			}
			out.Text = key + ": " + out.Text
		}
	}
	// The parser's own error repeats lines of the file, keys included.
	out.Cause = nil
	return out
}
