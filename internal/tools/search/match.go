package search

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/coderrr/coderrr/internal/tools"
)

const (
	// maxSearched is the buffer of a scan and how much of one line is searched.
	maxSearched = 1 << 20
	maxShown    = 400 // bytes of a matching line that are shown
	lead        = 120 // of those, at most before the match
)

// matcher says which lines match. Safe for concurrent use.
type matcher struct {
	re   *regexp.Regexp
	prog *syntax.Prog
	// needles: a line that matches holds one of them. None: every line is judged.
	needles []needle
	// whole: a line that holds a needle matches.
	whole bool
}

func newMatcher(pattern string, ignoreCase bool) (*matcher, error) {
	if pattern == "" {
		return nil, tools.Explain("the pattern is empty; every line would match")
	}
	flags := syntax.Perl
	full := pattern
	if ignoreCase {
		flags |= syntax.FoldCase
		full = "(?i)" + pattern
	}
	tree, err := syntax.Parse(pattern, flags)
	if err != nil {
		return nil, badPattern(err)
	}
	re, err := regexp.Compile(full)
	if err != nil {
		return nil, badPattern(err)
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, badPattern(err)
	}
	m := &matcher{re: re, prog: prog, needles: required(tree)}
	for _, n := range m.needles {
		if n.weak() && !isWhole(tree, m.needles) {
			m.needles = nil
			break
		}
	}
	m.whole = isWhole(tree, m.needles)
	return m, nil
}

// isWhole: the pattern is a literal, and all of it is looked for.
func isWhole(tree *syntax.Regexp, needles []needle) bool {
	return tree.Op == syntax.OpLiteral && len(needles) == 1 && len(needles[0].text) == len(string(tree.Rune))
}

// badPattern says what RE2 cannot do, because models write for other engines.
func badPattern(err error) error {
	var bad *syntax.Error
	if !errors.As(err, &bad) {
		return tools.Explain("the pattern is not valid: " + err.Error())
	}
	hint := "write a backslash before characters that are meant literally, such as ( [ { . * + ?"
	switch bad.Code {
	case syntax.ErrInvalidPerlOp, syntax.ErrMissingRepeatArgument, syntax.ErrInvalidNamedCapture:
		hint = "RE2 has no look-ahead or look-behind; search for the part that must be there and leave out the rest yourself"
	case syntax.ErrInvalidEscape:
		hint = `RE2 has no back-references (\1); \d \w \s \b and \x{10FFFF} work`
	case syntax.ErrInvalidRepeatSize, syntax.ErrLarge, syntax.ErrNestingDepth:
		hint = "use + or * in place of large counts"
	}
	if bad.Code == syntax.ErrMissingRepeatArgument {
		hint = "*, + and ? need something before them; write \\* for a star"
	}
	return tools.Explain(fmt.Sprintf("the pattern is not valid: %s: %q; %s.", bad.Code, bad.Expr, hint))
}

// scanned is what one file holds.
type scanned struct {
	hits   []hit // the first ones
	count  int   // of all matching lines
	long   int   // lines of which only the beginning was searched
	binary bool
	nul    bool // searched up to the first NUL byte only
}

// show cuts a long line around its first match, and says so.
func (m *matcher) show(line []byte) string {
	if len(line) <= maxShown {
		return string(line)
	}
	at := 0
	if loc := m.re.FindIndex(line); loc != nil {
		at = loc[0]
	}
	begin := max(0, min(at-lead, len(line)-maxShown))
	for begin > 0 && begin < len(line) && line[begin]&0xC0 == 0x80 {
		begin--
	}
	part := cutRune(line[begin:min(begin+maxShown, len(line))])
	text := string(part)
	if begin > 0 {
		text = "…" + text
	}
	return fmt.Sprintf("%s… [cut: %d of %d bytes shown]", text, len(part), len(line))
}
