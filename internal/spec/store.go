package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/coderrr/coderrr/internal/workspace"
)

// MaxDocument is the size a document may have, in bytes.
const MaxDocument = 256 << 10

// Files is the folder the specs lie in (a *workspace.Dir): regular files only,
// replaced whole or not at all. Names are slash-separated and relative. What is
// not there is an fs.ErrNotExist.
type Files interface {
	Read(name string) ([]byte, error)
	Write(name string, data []byte) error
	Mkdir(name string) error
	// List describes what lies in a folder, "." for all of it.
	List(sub string) ([]workspace.Info, error)
}

// Store reads and writes specs. It is safe for concurrent use; edits made by hand
// in the files are seen at the next call.
type Store struct {
	files Files
	mu    sync.Mutex // from read to write of one change
}

// NewStore returns a store over the folder of specs.
func NewStore(files Files) *Store { return &Store{files: files} }

var folderPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]{3,6}-[a-z0-9-]{1,60}$`) })

func number(folder string) int {
	digits, _, _ := strings.Cut(folder, "-")
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

func file(id, doc string) string { return id + "/" + doc + ".md" }

// folders lists the folders that are specs, in order of their numbers.
func (s *Store) folders() ([]string, error) {
	all, err := s.files.List(".")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the specs: %w", err)
	}
	var names []string
	for _, f := range all {
		if f.Kind == workspace.KindDir && folderPattern().MatchString(f.Name) {
			names = append(names, f.Name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := number(a) - number(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return names, nil
}

// Open finds the spec that is meant by its number (1, 001), slug or folder name,
// and returns its id.
func (s *Store) Open(ref string) (string, error) {
	names, err := s.folders()
	if err != nil {
		return "", err
	}
	ref = strings.TrimSuffix(strings.TrimSpace(ref), "/")
	n, notNumber := strconv.Atoi(ref)
	var found []string
	for _, name := range names {
		_, slug, _ := strings.Cut(name, "-")
		if name == ref {
			return name, nil
		}
		if slug == ref || notNumber == nil && n > 0 && number(name) == n {
			found = append(found, name)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", fmt.Errorf("%w: %q means %s: give the folder's name", ErrNotFound, ref, strings.Join(found, " and "))
	case len(names) == 0:
		return "", fmt.Errorf("%w: %q; .coderrr/specs has none yet", ErrNotFound, clip(ref, 80))
	default:
		return "", fmt.Errorf("%w: %q; there are %s", ErrNotFound, clip(ref, 80), clip(strings.Join(names, ", "), 400))
	}
}

// List loads all specs in order of their numbers. One that cannot be approved has
// its Problem set; one that cannot even be read has only ID and Problem.
func (s *Store) List() ([]Plan, error) {
	names, err := s.folders()
	if err != nil {
		return nil, err
	}
	plans := make([]Plan, 0, len(names))
	for _, n := range names {
		p, err := s.Load(n)
		if err != nil {
			p = Plan{ID: n, Problem: err}
		}
		plans = append(plans, p)
	}
	return plans, nil
}

// Load reads a spec as it is on disk. Its error means that it cannot be read
// (ErrGone: the folder is not there any more); what is wrong with its text is
// Plan.Problem.
func (s *Store) Load(id string) (Plan, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.load(id)
}

func (s *Store) load(id string) (Plan, error) {
	p := Plan{ID: id, Docs: map[string]string{}}
	for _, doc := range Documents() {
		data, err := s.read(id, doc)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Plan{}, err
		}
		p.Docs[doc] = string(data)
	}
	if len(p.Docs) == 0 {
		if err := s.present(id); err != nil {
			return Plan{}, err
		}
	}
	tasks, written := p.Docs[Tasks]
	d, err := ParseTasks([]byte(tasks))
	p.Tasks, p.Title, p.Size = d.Tasks, d.Title, sizeOf(p.Docs)
	p.Hash = Hash([]byte(p.Docs[Requirements]), []byte(p.Docs[Design]), []byte(tasks))
	if p.Title == "" {
		_, p.Title, _ = strings.Cut(id, "-")
	}
	switch {
	case !written:
		p.Problem = errors.New("tasks.md is missing: write it, with a heading such as `## T001: Title` for each task")
	case err != nil:
		p.Problem = err
	case len(d.Tasks) == 0:
		p.Problem = d.missing()
	}
	for _, doc := range Documents() {
		if why := unfit([]byte(p.Docs[doc])); why != "" {
			p.Problem = fmt.Errorf("%s.md %s", doc, why)
		}
	}
	return p, nil
}

func sizeOf(docs map[string]string) string {
	_, requirements := docs[Requirements]
	_, design := docs[Design]
	if requirements || design {
		return Full
	}
	return Quick
}

// unfit says why bytes cannot be a document, or "".
func unfit(data []byte) string {
	switch {
	case len(data) > MaxDocument:
		return fmt.Sprintf("has %d bytes, more than the %d a document may have: keep it short", len(data), MaxDocument)
	case bytes.IndexByte(data, 0) >= 0:
		return "holds a NUL byte: remove it"
	case !utf8.Valid(data):
		return "is not UTF-8 text: save it as UTF-8"
	default:
		return ""
	}
}

func (s *Store) read(id, doc string) ([]byte, error) {
	if !folderPattern().MatchString(id) {
		return nil, fmt.Errorf("%w: %q", ErrNotFound, clip(id, 80))
	}
	data, err := s.files.Read(file(id, doc))
	if err != nil {
		return nil, fmt.Errorf("read %s.md of spec %s: %w", doc, id, err)
	}
	return data, nil
}

// present is nil while the spec's folder is there.
func (s *Store) present(id string) error {
	names, err := s.folders()
	if err != nil {
		return err
	}
	if !slices.Contains(names, id) {
		return fmt.Errorf("%w: .coderrr/specs/%s; restore it or start a new plan", ErrGone, id)
	}
	return nil
}

// document accepts the name of a document, with or without .md.
func document(name string) (string, error) {
	name = strings.ToLower(strings.TrimSpace(name))
	if short := strings.TrimSuffix(name, ".md"); slices.Contains(Documents(), short) {
		return short, nil
	}
	return "", fmt.Errorf("%w: %q; use requirements, design or tasks", ErrDocument, clip(name, 40))
}

// Read returns one document, or with "all" (or "") every one that is there, each
// under its name.
func (s *Store) Read(id, doc string) (string, error) {
	if doc == "all" || doc == "" {
		p, err := s.Load(id)
		if err != nil {
			return "", err
		}
		var parts []string
		for _, doc := range Documents() {
			if text, ok := p.Docs[doc]; ok {
				parts = append(parts, "=== "+doc+".md ===\n"+text)
			}
		}
		return strings.Join(parts, "\n"), nil
	}
	doc, err := document(doc)
	if err != nil {
		return "", err
	}
	data, err := s.read(id, doc)
	if errors.Is(err, fs.ErrNotExist) {
		if gone := s.present(id); gone != nil {
			return "", gone
		}
	}
	return string(data), err
}
