package skills

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/coderrr/coderrr/internal/inert"
	"github.com/coderrr/coderrr/internal/workspace"
)

// FromRegistry is the Source of a skill that is not in a local folder.
const FromRegistry = "registry"

// Limits of local folders.
const (
	maxLocal = 200      // skills of one folder
	maxFront = 16 << 10 // bytes read of a skill to list it
)

// document is the text of a local skill, in a folder of its own.
const document = "SKILL.md"

// Folders are those of a workspace that hold skills, in the order in which they
// are looked into.
func Folders() []string { return []string{".agents/skills", ".claude/skills"} }

// Local is the skills in folders: the person's own, then the workspace's. It keeps
// nothing: a skill that was edited is read anew. Safe for concurrent use.
type Local struct {
	// Root is the workspace; nil has no skills there.
	Root *workspace.Root
	// User is the person's own folder, an absolute path; "" is none.
	User string
}

// List returns the local skills, each name once: the person's own is not replaced
// by one that came with a project. warnings name folders that look like a skill
// and are none, and why.
func (l Local) List(ctx context.Context) (infos []Info, warnings []string) {
	taken := map[string]bool{}
	for _, p := range l.places() {
		names, err := p.list(ctx)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			warnings = append(warnings, fmt.Sprintf("Skills in %s were not used: %v.", p.name(), err))
		}
		for _, name := range names[:min(len(names), maxLocal)] {
			info, err := p.describe(ctx, name)
			switch {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				warnings = append(warnings, fmt.Sprintf("The skill in %s/%s was not used: %v.", p.name(), plain(name, 80), err))
			case !taken[info.Name]:
				taken[info.Name] = true
				infos = append(infos, info)
			}
		}
	}
	return infos, warnings
}

// Search returns the local skills that fit a query, best first.
func (l Local) Search(ctx context.Context, query string, limit int) ([]Info, error) {
	infos, _ := l.List(ctx)
	return rank(infos, query, limit), nil
}

// Load reads a local skill; one that is not there wraps ErrNoSkill.
func (l Local) Load(ctx context.Context, name string) (Skill, error) {
	name = strings.TrimSpace(name)
	infos, _ := l.List(ctx)
	for _, info := range infos {
		if info.Name == name {
			return info.local.load(ctx, info)
		}
	}
	return Skill{}, fmt.Errorf("%w: %s is in no local folder", ErrNoSkill, quote(name))
}

func (l Local) places() []place {
	var out []place
	if l.User != "" {
		out = append(out, place{dir: l.User})
	}
	if l.Root != nil {
		for _, f := range Folders() {
			out = append(out, place{root: l.Root, dir: f})
		}
	}
	return out
}

// place is one folder of skills: in the workspace, or with no root the person's
// own, which may not be left by a link either.
type place struct {
	root *workspace.Root
	dir  string
}

func (p place) name() string { return filepath.ToSlash(p.dir) }

// list returns the names of the folders in it.
func (p place) list(ctx context.Context) ([]string, error) {
	var out []string
	if p.root != nil {
		infos, err := p.root.List(ctx, p.dir)
		for _, i := range infos {
			if i.Kind == workspace.KindDir {
				out = append(out, i.Name)
			}
		}
		return out, err
	}
	entries, err := os.ReadDir(p.dir)
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out, err
}

// read returns at most limit bytes of a skill's text, and its size.
func (p place) read(ctx context.Context, name string, limit int64) (data []byte, size int64, err error) {
	if p.root != nil {
		f, info, err := p.root.Open(ctx, p.dir+"/"+name+"/"+document)
		if err != nil {
			return nil, 0, err
		}
		defer func() { _ = f.Close() }()
		data, err = io.ReadAll(io.LimitReader(f, limit))
		return data, info.Size, err
	}
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = root.Close() }()
	file := filepath.Join(name, document)
	info, err := root.Stat(file) // before it is opened: a FIFO would wait
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, errors.New("SKILL.md is not a regular file")
	}
	f, err := root.Open(file)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = f.Close() }()
	data, err = io.ReadAll(io.LimitReader(f, limit))
	return data, info.Size(), err
}

// describe reads a skill's front matter. A name that is none is the folder's.
func (p place) describe(ctx context.Context, folder string) (Info, error) {
	data, size, err := p.read(ctx, folder, maxFront)
	if err != nil {
		return Info{}, err
	}
	if size > MaxSkill {
		return Info{}, tooLarge(MaxSkill)
	}
	fields := front(string(data))
	info := Info{Name: fields["name"], Description: plain(fields["description"], 400), Version: plain(fields["version"], 40), Source: p.name(), local: p, folder: folder}
	if !namePattern().MatchString(info.Name) {
		info.Name = folder
	}
	if !namePattern().MatchString(info.Name) {
		return Info{}, fmt.Errorf("%s is not a skill's name: it takes a-z, 0-9, - and _", quote(info.Name))
	}
	return info, nil
}

func (p place) load(ctx context.Context, info Info) (Skill, error) {
	data, _, err := p.read(ctx, info.folder, MaxSkill+1)
	switch {
	case err != nil:
		return Skill{}, fmt.Errorf("load the skill %s: %w", info.Name, err)
	case len(data) > MaxSkill:
		return Skill{}, fmt.Errorf("load the skill %s: %w", info.Name, tooLarge(MaxSkill))
	case !utf8.Valid(data):
		return Skill{}, fmt.Errorf("%w: %s is not UTF-8 text", ErrRefused, info.Name)
	}
	sum := sha256.Sum256(data)
	text, hidden := inert.Visible(body(string(data)))
	return Skill{Info: info, Text: text, Hidden: hidden, SHA256: hex.EncodeToString(sum[:]), URL: p.name() + "/" + info.folder + "/" + document}, nil
}

// front reads the fields of a text's front matter that are words: plain or quoted
// ones, and those that go on in indented lines (YAML's | and >, and folding).
func front(text string) map[string]string {
	out := map[string]string{}
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return out
	}
	key := ""
	for line := range strings.SplitSeq(rest, "\n") {
		switch {
		case line == "---", line == "...":
			return out
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
		case line[0] == ' ' || line[0] == '\t':
			if key != "" {
				out[key] = strings.TrimSpace(out[key] + " " + strings.TrimSpace(line))
			}
		default:
			name, value, _ := strings.Cut(line, ":")
			key = strings.ToLower(strings.TrimSpace(name))
			out[key] = unquote(strings.TrimSpace(value))
		}
	}
	return out
}

func unquote(s string) string {
	if strings.HasPrefix(s, "|") || strings.HasPrefix(s, ">") {
		return "" // the lines below are the value
	}
	if n := len(s); n >= 2 && s[0] == s[n-1] && (s[0] == '"' || s[0] == '\'') {
		return s[1 : n-1]
	}
	return s
}
