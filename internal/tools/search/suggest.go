package search

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/coderrr/coderrr/internal/workspace"
)

const (
	maxSuggested = 3
	maxLooked    = 20_000 // entries looked at for a file of the same name
)

// suggest says which paths may have been meant, "" when none is near.
func (t *toolbox) suggest(ctx context.Context, p string) string {
	rel, err := t.root.Resolve(p)
	if err != nil {
		return ""
	}
	found := t.nearby(ctx, rel)
	for _, same := range t.sameName(ctx, path.Base(rel)) {
		if !slices.Contains(found, same) {
			found = append(found, same)
		}
	}
	if len(found) == 0 {
		return ""
	}
	found = found[:min(len(found), maxSuggested)]
	for i, f := range found {
		found[i] = workspace.Quote(f)
	}
	return " Did you mean " + strings.Join(found, " or ") + "?"
}

// nearby looks in the nearest folder that exists for a name that is spelled much
// like the part that does not.
func (t *toolbox) nearby(ctx context.Context, rel string) []string {
	dir, name := path.Dir(rel), path.Base(rel)
	entries, err := t.root.List(ctx, dir)
	for err != nil && dir != "." {
		dir, name = path.Dir(dir), path.Base(dir)
		entries, err = t.root.List(ctx, dir)
	}
	type scored struct {
		path string
		cost int
	}
	var near []scored
	for i, e := range entries {
		if i == maxLooked {
			break
		}
		if cost := distance(strings.ToLower(name), strings.ToLower(e.Name)); cost <= max(1, len(name)/3) {
			near = append(near, scored{path.Join(dir, e.Name), cost})
		}
	}
	slices.SortStableFunc(near, func(a, b scored) int { return a.cost - b.cost })
	var out []string
	for _, n := range near {
		out = append(out, n.path)
	}
	return out
}

// sameName looks for the name anywhere, for as long as that is quick.
func (t *toolbox) sameName(ctx context.Context, name string) []string {
	var out []string
	n := 0
	err := t.root.Walk(ctx, ".", workspace.WalkOptions{}, func(e workspace.Entry) error {
		if n++; n > maxLooked || len(out) == maxSuggested {
			return fs.SkipAll
		}
		if strings.EqualFold(e.Name, name) {
			out = append(out, e.Path)
		}
		return nil
	})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return out
}

// distance counts the edits (insert, delete, replace, swap of neighbours) between
// two short names. Long ones are compared by their first 64 bytes.
func distance(a, b string) int {
	a, b = a[:min(len(a), 64)], b[:min(len(b), 64)]
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
