package config

import (
	"reflect"
	"slices"
	"strings"
)

// known is a key that the file can hold; "*" in a path stands for any name.
type known struct {
	path []string
	kind reflect.Type
}

// knownKeys lists every key of Config in the order of its fields.
func knownKeys() []known {
	return walkKeys(nil, reflect.TypeFor[Config]())
}

func walkKeys(at []string, t reflect.Type) []known {
	var out []known
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		path := append(slices.Clone(at), name)
		ft := f.Type
		if ft.Kind() == reflect.Map {
			path, ft = append(path, "*"), ft.Elem()
		}
		if ft.Kind() == reflect.Struct {
			out = append(out, walkKeys(path, ft)...)
			continue
		}
		if ft.Kind() == reflect.Pointer {
			ft = ft.Elem()
		}
		out = append(out, known{path: path, kind: ft})
	}
	return out
}

func (k known) fits(path []string) bool {
	return len(path) == len(k.path) && slices.EqualFunc(path, k.path, func(p, pattern string) bool {
		return pattern == "*" || p == pattern
	})
}

func lookup(path []string) (known, bool) {
	for _, k := range knownKeys() {
		if k.fits(path) {
			return k, true
		}
	}
	return known{}, false
}

// Keys returns the dotted names that can be set; a name of your own choice is
// shown as NAME.
func Keys() []string {
	var out []string
	for _, k := range knownKeys() {
		key := strings.ReplaceAll(strings.Join(k.path, "."), "*", "NAME")
		if key != "verify.batch" {
			out = append(out, key)
		}
	}
	return out
}

// kindOf says in words what a key takes, "" for an unknown key.
func kindOf(key string) string {
	k, ok := lookup(strings.Split(key, "."))
	if !ok {
		return ""
	}
	switch k.kind.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list of texts, such as [\"a\", \"b\"]"
	default:
		return "a text in quotes"
	}
}

// nearestKey finds the known key that a mistyped one means, "" if none is close.
func nearestKey(key string) string {
	best, score := "", 3
	for _, k := range Keys() {
		if d := distance(key, k); d < score {
			best, score = k, d
		}
	}
	return best
}

// distance is the Levenshtein distance in bytes; keys are ASCII.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
