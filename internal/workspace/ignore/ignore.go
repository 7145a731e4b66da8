// Package ignore decides what .gitignore files leave out, with the rules of
// gitignore(5): negation, anchoring, ** and folders only. It is pure.
package ignore

import "strings"

// Rules are the patterns of one ignore file. A nil Rules has none.
type Rules struct{ patterns []pattern }

// pattern is one line, prepared.
type pattern struct {
	segs   []string // cut at "/"; "**" stands for any number of folders
	negate bool
	dir    bool // only folders
	base   bool // no slash: compared with the last name alone
	plain  bool // base, and no wildcard in it
}

// Parse reads an ignore file. Lines that mean nothing are left out; there are no
// errors, as with git.
func Parse(data []byte) *Rules {
	r := &Rules{}
	text := strings.TrimPrefix(string(data), "\uFEFF")
	for line := range strings.SplitSeq(text, "\n") {
		if p, ok := parseLine(line); ok {
			r.patterns = append(r.patterns, p)
		}
	}
	return r
}

func parseLine(line string) (pattern, bool) {
	line = trimSpaces(strings.TrimSuffix(line, "\r"))
	if line == "" || line[0] == '#' {
		return pattern{}, false
	}
	var p pattern
	if line[0] == '!' {
		p.negate, line = true, line[1:]
	}
	if strings.HasSuffix(line, "/") {
		p.dir, line = true, line[:len(line)-1]
	}
	p.base = !strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return pattern{}, false
	}
	p.segs = strings.Split(line, "/")
	p.plain = p.base && !strings.ContainsAny(line, `*?[\`)
	return p, true
}

// trimSpaces drops trailing spaces that no backslash keeps.
func trimSpaces(line string) string {
	end := len(line)
	for end > 0 && line[end-1] == ' ' {
		backslashes := 0
		for i := end - 2; i >= 0 && line[i] == '\\'; i-- {
			backslashes++
		}
		if backslashes%2 == 1 {
			break
		}
		end--
	}
	return line[:end]
}

// Match says what the last matching pattern says of a path relative to the folder
// of the ignore file: ignored or (after "!") not. matched is false when no pattern
// speaks of it. Folders above rel are not looked at.
func (r *Rules) Match(rel string, dir bool) (ignored, matched bool) {
	if r == nil {
		return false, false
	}
	name := rel[strings.LastIndexByte(rel, '/')+1:]
	var segs []string
	for i := len(r.patterns) - 1; i >= 0; i-- {
		p := &r.patterns[i]
		if p.dir && !dir {
			continue
		}
		var hit bool
		switch {
		case p.plain:
			hit = p.segs[0] == name
		case p.base:
			hit = matchName(p.segs[0], name)
		default:
			if segs == nil {
				segs = strings.Split(rel, "/")
			}
			hit = matchPath(p.segs, segs)
		}
		if hit {
			return !p.negate, true
		}
	}
	return false, false
}

// Stack is the rules of the folders from the workspace down to where a walk is.
// The zero value is not ready; use NewStack. Not safe for concurrent use.
type Stack struct {
	base   *Rules
	levels []level
}

type level struct {
	dir   string // "." for the top
	rules *Rules
}

// NewStack returns a stack without rules.
func NewStack() *Stack { return &Stack{} }

// Base sets the rules that any other outvotes (.git/info/exclude).
func (s *Stack) Base(r *Rules) { s.base = r }

// Push adds the rules of a folder, the last deciding first, and returns how many
// levels were there before, for Pop.
func (s *Stack) Push(dir string, rules ...*Rules) int {
	before := len(s.levels)
	for _, r := range rules {
		if r != nil && len(r.patterns) > 0 {
			s.levels = append(s.levels, level{dir, r})
		}
	}
	return before
}

// Pop goes back to what was there before a Push.
func (s *Stack) Pop(before int) { s.levels = s.levels[:before] }

// Ignored reports whether a path (relative to the workspace) in the folder last
// pushed, or below it, is left out. The deepest file that speaks of it decides.
func (s *Stack) Ignored(rel string, dir bool) bool {
	for i := len(s.levels) - 1; i >= 0; i-- {
		l := s.levels[i]
		sub := rel
		if l.dir != "." {
			sub = strings.TrimPrefix(rel, l.dir+"/")
		}
		if ignored, matched := l.rules.Match(sub, dir); matched {
			return ignored
		}
	}
	ignored, _ := s.base.Match(rel, dir)
	return ignored
}
