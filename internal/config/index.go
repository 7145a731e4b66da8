package config

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/pelletier/go-toml/v2/unstable"
)

// document knows where each key of a file stands, so that one value can be
// changed without touching any other byte.
type document struct {
	data    []byte
	entries []entry
	tables  []table
}

// entry is one key = value. All offsets are bytes from the start of the file.
type entry struct {
	path   []string // whole
	table  []string // the header it stands under
	inline int      // 1 + index of the entry whose inline table holds it, 0 if none
	start  int      // of the key
	value  int      // of the value
	end    int      // past the value
}

// table is one header.
type table struct {
	path       []string
	start, end int // from '[' to past the line
	array      bool
}

// index parses the text once. Its error is the parser's.
func index(data []byte) (document, error) {
	doc := document{data: data}
	skip := len(data) - len(withoutBOM(data))
	p := unstable.Parser{}
	p.Reset(data[skip:])
	var under []string
	var array bool
	for p.NextExpression() {
		n := p.Expression()
		switch n.Kind {
		case unstable.Table, unstable.ArrayTable:
			path, at := keyPath(n.Key())
			under, array = path, n.Kind == unstable.ArrayTable
			start := bytes.LastIndexByte(data[:at+skip], '[')
			if array {
				start--
			}
			doc.tables = append(doc.tables, table{path: path, start: start, end: lineEnd(data, start), array: array})
		case unstable.KeyValue:
			if array {
				continue // no key of ours lies in an array of tables
			}
			doc.add(n, under, under, 0, skip)
		}
	}
	if err := p.Error(); err != nil {
		return document{}, fmt.Errorf("parse the configuration: %w", err)
	}
	return doc, nil
}

func keyPath(it unstable.Iterator) (path []string, first int) {
	for it.Next() {
		if path == nil {
			first = int(it.Node().Raw.Offset)
		}
		path = append(path, string(it.Node().Data))
	}
	return path, first
}

func (d *document) add(n *unstable.Node, prefix, under []string, inline, skip int) {
	var last unstable.Range
	path := slices.Clone(prefix)
	for it := n.Key(); it.Next(); {
		path, last = append(path, string(it.Node().Data)), it.Node().Raw
	}
	start := int(n.Raw.Offset) + skip
	value := int(last.Offset+last.Length) + skip
	value += bytes.IndexByte(d.data[value:], '=') + 1
	for d.data[value] == ' ' || d.data[value] == '\t' {
		value++
	}
	d.entries = append(d.entries, entry{
		path: path, table: slices.Clone(under), inline: inline,
		start: start, value: value, end: start + int(n.Raw.Length),
	})
	self := len(d.entries)
	if v := n.Value(); v.Kind == unstable.InlineTable {
		for it := v.Children(); it.Next(); {
			if child := it.Node(); child.Kind == unstable.KeyValue {
				d.add(child, path, under, self, skip)
			}
		}
	}
}

func (d document) find(path []string) (entry, bool) {
	for _, e := range d.entries {
		if slices.Equal(e.path, path) {
			return e, true
		}
	}
	return entry{}, false
}

// position is the line and column of a key, or of the table nearest to it; 0, 0
// when neither is in the file.
func (d document) position(path []string) (line, column int) {
	for n := len(path); n > 0; n-- {
		if e, ok := d.find(path[:n]); ok {
			return d.at(e.start)
		}
		for _, t := range d.tables {
			if slices.Equal(t.path, path[:n]) {
				return d.at(t.start)
			}
		}
	}
	return 0, 0
}

func (d document) at(offset int) (line, column int) {
	before := d.data[:offset]
	return bytes.Count(before, []byte("\n")) + 1, offset - (bytes.LastIndexByte(before, '\n') + 1) + 1
}

// lineEnd is the offset past the line that holds offset, its newline included.
func lineEnd(data []byte, offset int) int {
	if i := bytes.IndexByte(data[offset:], '\n'); i >= 0 {
		return offset + i + 1
	}
	return len(data)
}

func lineStart(data []byte, offset int) int {
	return bytes.LastIndexByte(data[:offset], '\n') + 1
}
