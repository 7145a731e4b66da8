package search

import (
	"strings"

	"github.com/coderrr/coderrr/internal/tools"
	"github.com/coderrr/coderrr/internal/workspace/ignore"
)

// maxGlobs bounds what the braces of one glob expand to.
const maxGlobs = 256

// globs choose files by path. The zero value chooses all.
type globs struct {
	list   []string
	negate bool
}

// newGlobs reads a glob: *, ?, [classes], **, {a,b}, and ! before it for the
// files that do not match. Without a slash it is compared with the name alone.
func newGlobs(glob string) (globs, error) {
	glob = strings.TrimSpace(glob)
	if glob == "" {
		return globs{}, nil
	}
	var g globs
	if rest, ok := strings.CutPrefix(glob, "!"); ok {
		g.negate, glob = true, rest
	}
	list, err := expand(strings.TrimPrefix(glob, "./"))
	if err != nil {
		return globs{}, err
	}
	for _, one := range list {
		if strings.HasSuffix(one, "/") {
			one += "**" // a folder means what is in it
		}
		g.list = append(g.list, one)
	}
	return g, nil
}

// expand writes out braces, which may be nested.
func expand(glob string) ([]string, error) {
	todo, out := []string{glob}, []string(nil)
	for len(todo) > 0 {
		if len(todo)+len(out) > maxGlobs {
			return nil, tools.Explain("the glob has too many alternatives in braces")
		}
		one := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		begin, end, cuts := braces(one)
		if end < 0 {
			out = append(out, one)
			continue
		}
		from := begin + 1
		for _, cut := range append(cuts, end) {
			todo = append(todo, one[:begin]+one[from:cut]+one[end+1:])
			from = cut + 1
		}
	}
	return out, nil
}

// braces finds the first group and its commas; end is -1 when there is none.
func braces(s string) (begin, end int, cuts []int) {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '{':
			if depth++; depth == 1 {
				begin = i
			}
		case ',':
			if depth == 1 {
				cuts = append(cuts, i)
			}
		case '}':
			if depth--; depth == 0 {
				return begin, i, cuts
			}
			depth = max(depth, 0)
		}
	}
	return 0, -1, nil
}

// match compares a path, and what it is relative to the folder that is searched.
func (g globs) match(path, base string) bool {
	if len(g.list) == 0 {
		return true
	}
	sub := strings.TrimPrefix(path, base+"/")
	for _, one := range g.list {
		if ignore.Glob(one, path) || sub != path && ignore.Glob(one, sub) {
			return !g.negate
		}
	}
	return g.negate
}
