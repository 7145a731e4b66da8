package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// ProjectKeys are the only keys that a project's own .coderrr/config.toml may
// set: how things look. Everything that moves a credential, starts a process or
// loosens a rule is the person's alone.
func ProjectKeys() []string { return []string{"ui.stream", "ui.show_usage"} }

// maxProjectFile bounds a project's file, in bytes.
const maxProjectFile = 64 << 10

// Project applies a workspace's own file to c. Whatever it may not set, and a
// file that cannot be read, is left out with a warning: a repository can neither
// configure Coderrr nor stop it.
func (c Config) Project(workspace string) (Config, []Warning) {
	name := filepath.Join(workspace, ".coderrr", FileName)
	data, err := readProject(workspace)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, []Warning{{File: name, Text: fmt.Sprintf("%s is ignored: %s", name, cause(err))}}
	}
	doc, err := index(data)
	if err != nil {
		return c, []Warning{{File: name, Text: name + " is ignored: it is not valid TOML"}}
	}
	var warnings []Warning
	for _, e := range doc.entries {
		key := joinKey(e.path)
		line, _ := doc.at(e.start)
		if data[e.value] == '{' {
			continue // its pairs are entries too
		}
		if !slices.Contains(ProjectKeys(), key) {
			warnings = append(warnings, Warning{File: name, Line: line, Text: fmt.Sprintf("a project may not set %s; it is ignored (allowed: %s)", key, strings.Join(ProjectKeys(), ", "))})
			continue
		}
		var on struct{ V bool }
		if err := toml.Unmarshal(slices.Concat([]byte("V = "), data[e.value:e.end]), &on); err != nil {
			warnings = append(warnings, Warning{File: name, Line: line, Text: key + " takes true or false; it is ignored"})
			continue
		}
		switch key {
		case "ui.stream":
			c.UI.Stream = on.V
		case "ui.show_usage":
			c.UI.ShowUsage = on.V
		}
	}
	for _, t := range doc.tables {
		if t.array || (len(t.path) > 0 && t.path[0] != "ui") {
			line, _ := doc.at(t.start)
			warnings = append(warnings, Warning{File: name, Line: line, Text: "a project may not set [" + joinKey(t.path) + "]; it is ignored"})
		}
	}
	return c, warnings
}

// readProject reads the file below the workspace, never through a link that
// leaves it, and only a regular file.
func readProject(workspace string) (data []byte, err error) {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	name := filepath.Join(".coderrr", FileName)
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxProjectFile {
		return nil, errors.New("it is not a small regular file")
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err = io.ReadAll(io.LimitReader(f, maxProjectFile))
	return bytes.Clone(withoutBOM(data)), err
}
