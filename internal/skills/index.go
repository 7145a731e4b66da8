package skills

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/coderrr/coderrr/internal/inert"
)

// maxSkills bounds how many entries of an index are used.
const maxSkills = 5000

// entry is one skill as an index may describe it: the registry's own fields, and
// the simpler names that hand-written ones use. A field of another type counts as
// absent.
type entry struct {
	Name        text     `json:"name"`
	Title       text     `json:"displayName"`
	Title2      text     `json:"display_name"`
	Description text     `json:"description"`
	Version     text     `json:"version"`
	Author      text     `json:"author"`
	Download    text     `json:"download_url"`
	URL         text     `json:"url"`
	Path        text     `json:"path"`
	Entry       text     `json:"entry"`
	File        text     `json:"file"`
	SHA256      text     `json:"sha256"`
	Tags        wordList `json:"tags"`
	Keywords    wordList `json:"keywords"`
}

// text is a string, or "" for anything else.
type text string

// UnmarshalJSON never fails.
func (t *text) UnmarshalJSON(data []byte) error {
	var v any
	if json.Unmarshal(data, &v) != nil {
		return nil
	}
	switch v := v.(type) {
	case string:
		*t = text(v)
	case float64:
		*t = text(fmt.Sprint(v))
	}
	return nil
}

// wordList is a list of strings, or one string with commas.
type wordList []string

// UnmarshalJSON never fails.
func (l *wordList) UnmarshalJSON(data []byte) error {
	var many []text
	if json.Unmarshal(data, &many) == nil {
		for _, m := range many {
			*l = append(*l, string(m))
		}
		return nil
	}
	var one text
	if json.Unmarshal(data, &one) == nil && one != "" {
		*l = strings.Split(string(one), ",")
	}
	return nil
}

// parseIndex reads an index: an object whose "skills" is an object by name or a
// list, or that object or list itself. Entries that cannot be used are left out.
func parseIndex(data []byte, base *url.URL) ([]Info, error) {
	var top struct {
		Skills json.RawMessage `json:"skills"`
	}
	raw := json.RawMessage(data)
	if json.Unmarshal(data, &top) == nil && len(top.Skills) > 0 {
		raw = top.Skills
	}
	var named map[string]json.RawMessage
	var list []json.RawMessage
	switch {
	case json.Unmarshal(raw, &list) == nil:
	case json.Unmarshal(raw, &named) == nil:
	default:
		return nil, errors.New("its index is not the JSON of a skills registry; check skills.registry in the configuration")
	}
	infos := []Info{}
	add := func(key string, raw json.RawMessage) {
		var e entry
		if len(infos) >= maxSkills || json.Unmarshal(raw, &e) != nil {
			return
		}
		if info, ok := e.info(key, base); ok && !slices.ContainsFunc(infos, func(i Info) bool { return i.Name == info.Name }) {
			infos = append(infos, info)
		}
	}
	for _, raw := range list {
		add("", raw)
	}
	for _, key := range slices.Sorted(maps.Keys(named)) {
		add(key, named[key])
	}
	slices.SortFunc(infos, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return infos, nil
}

// documents are the names a skill's text may have in its folder.
func documents() []string { return []string{"Skills.md", "SKILL.md"} }

var entryPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*\.md$`)
})

// info is what an entry says, or false if it cannot be used: no proper name, no
// location at the registry, a document outside its folder.
func (e entry) info(key string, base *url.URL) (Info, bool) {
	i := Info{
		Source: FromRegistry,
		Name:   cmp.Or(strings.TrimSpace(string(e.Name)), key), Title: plain(string(cmp.Or(e.Title, e.Title2)), 80),
		Description: plain(string(e.Description), 400), Version: plain(string(e.Version), 40), Author: plain(string(e.Author), 80),
		sha256: strings.ToLower(strings.TrimPrefix(strings.TrimSpace(string(e.SHA256)), "sha256:")),
	}
	if !namePattern().MatchString(i.Name) {
		return i, false
	}
	for _, tag := range append(e.Tags, e.Keywords...) {
		if tag = plain(tag, 40); tag != "" && len(i.Tags) < 20 {
			i.Tags = append(i.Tags, tag)
		}
	}
	location := string(cmp.Or(e.Download, e.URL, e.Path))
	names := documents()
	if doc := string(cmp.Or(e.Entry, e.File)); doc != "" {
		if !entryPattern().MatchString(doc) || strings.Contains(doc, "..") {
			return i, false
		}
		names = []string{doc}
	}
	u, err := resolve(base, cmp.Or(location, i.Name))
	if err != nil {
		return i, false
	}
	if strings.HasSuffix(strings.ToLower(u.Path), ".md") {
		i.urls = []string{u.String()}
		return i, true
	}
	for _, name := range names {
		i.urls = append(i.urls, u.JoinPath(name).String())
	}
	return i, true
}

// plain makes a field of the index fit for one line.
func plain(s string, most int) string {
	s, _ = inert.Visible(strings.Join(strings.Fields(s), " "))
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// rank orders skills by how well they fit: a word in the name says most, then one
// in the tags, then one in the description, where all skills use the same verbs.
func rank(index []Info, query string, limit int) []Info {
	words := wordsOf(query)
	if len(words) == 0 {
		return slices.Clone(index[:min(limit, len(index))])
	}
	type scored struct {
		info  Info
		score int
	}
	var found []scored
	for _, info := range index {
		if n := score(info, words); n > 0 {
			found = append(found, scored{info, n})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return b.score - a.score })
	out := make([]Info, 0, min(limit, len(found)))
	for _, f := range found[:min(limit, len(found))] {
		out = append(out, f.info)
	}
	return out
}

func score(info Info, words []string) int {
	const inName, inTag, inText = 10, 6, 1
	name, tags, text := wordsOf(info.Name+" "+info.Title), wordsOf(strings.Join(info.Tags, " ")), wordsOf(info.Description)
	n := 0
	for _, w := range words {
		switch {
		case slices.Contains(name, w):
			n += inName
		case slices.Contains(tags, w):
			n += inTag
		case slices.Contains(text, w):
			n += inText
		}
	}
	return n
}

// wordsOf splits text into its words, in lower case, without plurals and without
// those that say nothing about a skill.
func wordsOf(text string) []string {
	const silent = " a an and any are ask can create for from get help how i in into is it make me my need of on or please skill that the this to use user using want when with work you "
	var out []string
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r < 0x80
	}) {
		if len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") {
			w = w[:len(w)-1]
		}
		if !strings.Contains(silent, " "+w+" ") && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}
