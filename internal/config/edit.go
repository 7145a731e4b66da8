package config

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
)

var bareKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]+$`) })

// errAbsent: there is nothing to unset.
var errAbsent = errors.New("is not set in the file")

// SplitKey reads a dotted key as TOML does: a part in quotes may hold dots.
func SplitKey(key string) ([]string, error) {
	doc, err := index([]byte(key + " = 0"))
	if err != nil || len(doc.entries) != 1 {
		return nil, fmt.Errorf("%q is not a key: write it like provider.model", key)
	}
	return doc.entries[0].path, nil
}

// setBytes returns the text with one value set. Only that value's bytes change,
// or one line is added.
func setBytes(data []byte, path []string, value any) ([]byte, error) {
	if len(path) < 2 {
		return nil, fmt.Errorf("%s: a key has a table and a name, such as provider.model", joinKey(path))
	}
	doc, err := index(data)
	if err != nil {
		return nil, err
	}
	text, err := encodeValue(value)
	if err != nil {
		return nil, err
	}
	out := doc.set(path, text)
	return out, sameBut(data, out, func(m map[string]any) { place(m, path, value) })
}

func (d document) set(path []string, text string) []byte {
	if e, ok := d.find(path); ok {
		return splice(d.data, e.value, e.end, text)
	}
	parent := path[:len(path)-1]
	for n := len(parent); n > 0; n-- {
		e, ok := d.find(path[:n])
		if ok && d.data[e.value] == '{' {
			return d.intoInline(e, path[n:], text)
		}
	}
	eol := "\n"
	if bytes.Contains(d.data, []byte("\r\n")) {
		eol = "\r\n"
	}
	if at, under, ok := d.besideSibling(parent); ok {
		return d.insertLine(at, joinKey(path[len(under):])+" = "+text, eol)
	}
	var lead string
	if n := len(d.data); n > 0 {
		if d.data[n-1] != '\n' {
			lead = eol
		}
		lead += eol
	}
	return append(slices.Clone(d.data), lead+"["+joinKey(parent)+"]"+eol+joinKey(path[len(path)-1:])+" = "+text+eol...)
}

// besideSibling finds the end of the line after which a key of the table parent
// can stand, and the header that it then stands under.
func (d document) besideSibling(parent []string) (at int, under []string, ok bool) {
	for _, t := range d.tables {
		if !t.array && slices.Equal(t.path, parent) {
			at, under, ok = t.end, t.path, true
		}
	}
	for _, e := range d.entries {
		if e.inline == 0 && len(e.table) <= len(parent) && len(e.path) > len(parent) && slices.Equal(e.path[:len(parent)], parent) {
			at, under, ok = lineEnd(d.data, e.end-1), e.table, true
		}
	}
	return at, under, ok
}

func (d document) insertLine(at int, line, eol string) []byte {
	if at > 0 && d.data[at-1] != '\n' {
		line = eol + line
	} else {
		line += eol
	}
	return splice(d.data, at, at, line)
}

func (d document) intoInline(e entry, rest []string, text string) []byte {
	pair := joinKey(rest) + " = " + text
	last := -1
	for _, c := range d.entries {
		if c.start > e.value && c.end < e.end {
			last = max(last, c.end)
		}
	}
	if last < 0 {
		return splice(d.data, e.value, e.end, "{ "+pair+" }")
	}
	return splice(d.data, last, last, ", "+pair)
}

// unsetBytes returns the text without one key, or without a whole table.
func unsetBytes(data []byte, path []string) ([]byte, error) {
	doc, err := index(data)
	if err != nil {
		return nil, err
	}
	cuts := doc.cuts(path)
	if len(cuts) == 0 {
		return nil, fmt.Errorf("%s %w", joinKey(path), errAbsent)
	}
	out := slices.Clone(data)
	for _, c := range slices.Backward(cuts) {
		out = slices.Delete(out, c[0], c[1])
	}
	return out, sameBut(data, out, func(m map[string]any) { remove(m, path) })
}

// cuts are the byte ranges that hold path and what is below it, in order.
func (d document) cuts(path []string) [][2]int {
	below := func(p []string) bool { return len(p) >= len(path) && slices.Equal(p[:len(path)], path) }
	var out [][2]int
	for _, t := range d.tables {
		if below(t.path) {
			out = append(out, [2]int{t.start, t.end})
		}
	}
	for i, e := range d.entries {
		switch {
		case !below(e.path):
		case e.inline == 0:
			out = append(out, [2]int{lineStart(d.data, e.start), lineEnd(d.data, e.end-1)})
		case !below(d.entries[e.inline-1].path):
			out = append(out, d.inlineCut(i))
		}
	}
	slices.SortFunc(out, func(a, b [2]int) int { return a[0] - b[0] })
	return out
}

// inlineCut takes the comma that stood between a pair and its neighbour too.
func (d document) inlineCut(i int) [2]int {
	e := d.entries[i]
	before, after := -1, -1
	for _, o := range d.entries {
		if o.inline != e.inline {
			continue
		}
		if o.end <= e.start {
			before = max(before, o.end)
		}
		if o.start >= e.end && (after < 0 || o.start < after) {
			after = o.start
		}
	}
	switch {
	case after >= 0:
		return [2]int{e.start, after}
	case before >= 0:
		return [2]int{before, e.end}
	default:
		return [2]int{e.start, e.end}
	}
}

// sameBut re-reads both texts and fails unless they differ in exactly what change
// does: a wrong edit is found before it is written.
func sameBut(before, after []byte, change func(map[string]any)) error {
	var old, now map[string]any
	if err := toml.Unmarshal(withoutBOM(before), &old); err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	if err := toml.Unmarshal(withoutBOM(after), &now); err != nil {
		return fmt.Errorf("the file's layout does not allow this change; edit it by hand: %w", err)
	}
	if old == nil {
		old = map[string]any{}
	}
	change(old)
	if !reflect.DeepEqual(normal(old), normal(now)) {
		return errors.New("the file's layout does not allow this change; edit it by hand")
	}
	return nil
}

// normal makes values comparable: number types as TOML reads them, and no
// difference between an empty table and none.
func normal(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			if n := normal(x); n != nil {
				out[k] = n
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []string:
		out := make([]any, len(v))
		for i, s := range v {
			out[i] = s
		}
		return out
	case int:
		return int64(v)
	default:
		return v
	}
}

func place(m map[string]any, path []string, value any) {
	for _, p := range path[:len(path)-1] {
		next, ok := m[p].(map[string]any)
		if !ok {
			next = map[string]any{}
			m[p] = next
		}
		m = next
	}
	m[path[len(path)-1]] = value
}

func remove(m map[string]any, path []string) {
	for _, p := range path[:len(path)-1] {
		next, ok := m[p].(map[string]any)
		if !ok {
			return
		}
		m = next
	}
	delete(m, path[len(path)-1])
}

func splice(data []byte, from, to int, text string) []byte {
	return slices.Concat(data[:from], []byte(text), data[to:])
}

func joinKey(path []string) string {
	parts := make([]string, len(path))
	for i, p := range path {
		if parts[i] = p; !bareKey().MatchString(p) {
			parts[i] = quote(p)
		}
	}
	return strings.Join(parts, ".")
}

func encodeValue(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return quote(v), nil
	case bool:
		return strconv.FormatBool(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		s := strconv.FormatFloat(v, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s, nil
	case []string:
		parts := make([]string, len(v))
		for i, s := range v {
			parts[i] = quote(s)
		}
		return "[" + strings.Join(parts, ", ") + "]", nil
	default:
		return "", fmt.Errorf("a %T cannot be written to the configuration", v)
	}
}

// quote writes a TOML basic string.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
