// Package skills finds written advice: in a registry on the web, and in folders of
// the workspace and of the person. A skill is a text for the model and never code:
// nothing of it is run or stored on disk. Its one rule: what is found is bounded
// while it is read, checked, and handed on as data with hidden characters made
// visible.
package skills

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/coderrr/coderrr/internal/inert"
)

// The limits of what is fetched, in bytes, and of one request.
const (
	MaxIndex = 2 << 20
	MaxSkill = 256 << 10
	timeout  = 15 * time.Second
)

// Errors of skills. The text around them says what to do.
var (
	// ErrUnavailable: the registry cannot be reached or understood. Work goes on
	// without skills.
	ErrUnavailable = errors.New("the skills registry cannot be used")
	// ErrNoSkill: the registry has no skill of this name.
	ErrNoSkill = errors.New("no such skill")
	// ErrRefused: a skill is there and is not what it has to be.
	ErrRefused = errors.New("the skill was refused")
)

// Info describes one skill.
type Info struct {
	Name string
	// Source is FromRegistry, or the folder of skills it lies in.
	Source      string
	Title       string
	Description string
	Version     string
	Author      string
	Tags        []string

	urls   []string // where the text may be, in order
	sha256 string   // of the text, "" if the registry gives none
	local  place    // where it lies, if it is local
	folder string   // in local
}

// Skill is a skill's text without its front matter. Hidden counts the characters
// that were made visible; SHA256 is of the text as it was sent.
type Skill struct {
	Info
	Text   string
	Hidden int
	SHA256 string
	URL    string
}

// Registry is a client of one registry. The index is fetched at the first use and
// kept in memory; after a failure it is fetched anew. Safe for concurrent use.
type Registry struct {
	base *url.URL
	http *http.Client

	mu    sync.Mutex
	index []Info
}

// New returns a client of the registry whose index is at address (config
// skills.registry). Only https is used, or http to this machine. It calls nobody.
func New(address string) (*Registry, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return nil, fmt.Errorf("skills.registry is not an address: %w", err)
	}
	if err := fetchable(u); err != nil {
		return nil, fmt.Errorf("skills.registry: %w", err)
	}
	return &Registry{base: u, http: client(u)}, nil
}

// Search returns the skills that fit a query, best first, at most limit. Without a
// word to go by it returns the first ones by name.
func (r *Registry) Search(ctx context.Context, query string, limit int) ([]Info, error) {
	index, err := r.load(ctx)
	if err != nil {
		return nil, err
	}
	return rank(index, query, limit), nil
}

var namePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9-_]{0,63}$`) })

// Load fetches a skill's text.
func (r *Registry) Load(ctx context.Context, name string) (Skill, error) {
	name = strings.TrimSpace(name)
	if !namePattern().MatchString(name) {
		return Skill{}, fmt.Errorf("%w: %s is not a skill's name; take one that search_skills returned", ErrNoSkill, quote(name))
	}
	index, err := r.load(ctx)
	if err != nil {
		return Skill{}, err
	}
	for _, info := range index {
		if info.Name == name {
			return r.fetch(ctx, info)
		}
	}
	return Skill{}, fmt.Errorf("%w: %q; search for one first", ErrNoSkill, name)
}

func (r *Registry) fetch(ctx context.Context, info Info) (Skill, error) {
	var data []byte
	var from string
	err := error(errMissing)
	for _, from = range info.urls {
		if data, err = r.get(ctx, from, MaxSkill); !errors.Is(err, errMissing) {
			break
		}
	}
	if err != nil {
		return Skill{}, fmt.Errorf("load the skill %s: %w", info.Name, err)
	}
	sum := sha256.Sum256(data)
	got := hex.EncodeToString(sum[:])
	if info.sha256 != "" && !strings.EqualFold(info.sha256, got) {
		return Skill{}, fmt.Errorf("%w: %s has the SHA-256 %s, the registry says %s; tell its author", ErrRefused, info.Name, got, info.sha256)
	}
	if !utf8.Valid(data) {
		return Skill{}, fmt.Errorf("%w: %s is not UTF-8 text", ErrRefused, info.Name)
	}
	text, hidden := inert.Visible(body(string(data)))
	return Skill{Info: info, Text: text, Hidden: hidden, SHA256: got, URL: from}, nil
}

// body is a text without the YAML front matter that describes it.
func body(text string) string {
	text = strings.TrimPrefix(text, "\ufeff")
	rest, ok := strings.CutPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "---\n")
	if !ok {
		return strings.TrimSpace(text)
	}
	for at := 0; at < len(rest); {
		line, _, more := strings.Cut(rest[at:], "\n")
		at += len(line) + 1
		if line == "---" || line == "..." {
			return strings.TrimSpace(rest[min(at, len(rest)):])
		}
		if !more {
			break
		}
	}
	return strings.TrimSpace(text) // it never ends: it is none
}

// load returns the index, fetching it if need be.
func (r *Registry) load(ctx context.Context) ([]Info, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.index != nil {
		return r.index, nil
	}
	data, err := r.get(ctx, r.base.String(), MaxIndex)
	if err != nil {
		return nil, fmt.Errorf("%w (%s): %w", ErrUnavailable, r.base.Host, err)
	}
	index, err := parseIndex(data, r.base)
	if err != nil {
		return nil, fmt.Errorf("%w (%s): %w", ErrUnavailable, r.base.Host, err)
	}
	r.index = index
	return index, nil
}

// fetchable allows https anywhere and http to this machine only.
func fetchable(u *url.URL) error {
	switch {
	case u.Host == "" || u.User != nil:
		return fmt.Errorf("%s is not an address that can be fetched: use https://…", quote(u.Redacted()))
	case u.Scheme == "https", u.Scheme == "http" && loopback(u.Hostname()):
		return nil
	default:
		return fmt.Errorf("%s is not https: what is fetched could be changed on the way", quote(u.Redacted()))
	}
}

// resolve turns a location found in the index into an address. It must be where the
// registry is, so that an index cannot make this machine call others.
func resolve(base *url.URL, location string) (*url.URL, error) {
	ref, err := url.Parse(strings.TrimSpace(location))
	if err != nil {
		return nil, fmt.Errorf("%s is not an address", quote(location))
	}
	u := base.ResolveReference(ref)
	if u.Scheme != base.Scheme || !strings.EqualFold(u.Host, base.Host) || u.User != nil {
		return nil, fmt.Errorf("%s is not at the registry's own host %s", quote(location), base.Host)
	}
	if decoded, err := url.PathUnescape(u.EscapedPath()); err != nil || path.Clean("/"+decoded) != "/"+strings.Trim(decoded, "/") {
		return nil, fmt.Errorf("%s is not a plain path", quote(location))
	}
	u.Host, u.Fragment, u.RawFragment = base.Host, "", ""
	return u, nil
}

func quote(s string) string {
	const most = 120
	s, _ = inert.Visible(s)
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return fmt.Sprintf("%q", s)
}
