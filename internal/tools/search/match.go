package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/coderrr/coderrr/internal/tools"
)

const (
	// maxSearched is the buffer of a scan and how much of one line is searched.
	maxSearched = 1 << 20
	maxShown    = 400 // bytes of a matching line that are shown
	lead        = 120 // of those, at most before the match
)

// matcher finds lines. Safe for concurrent use.
type matcher struct {
	re *regexp.Regexp
	// literal must be in a line that matches; it is much quicker to look for.
	literal []byte
	// whole: the literal is all of the pattern.
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
	m := &matcher{re: re}
	if need := required(tree); !strings.Contains(need, "\n") { // a line holds none
		m.literal = []byte(need)
		m.whole = tree.Op == syntax.OpLiteral && need != ""
	}
	return m, nil
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

// required is the longest text that every match holds, "" if there is none.
func required(t *syntax.Regexp) string {
	switch t.Op {
	case syntax.OpLiteral:
		if t.Flags&syntax.FoldCase == 0 {
			return string(t.Rune)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(t.Sub[0])
	case syntax.OpRepeat:
		if t.Min > 0 {
			return required(t.Sub[0])
		}
	case syntax.OpConcat:
		best := ""
		for _, s := range t.Sub {
			if r := required(s); len(r) > len(best) {
				best = r
			}
		}
		return best
	}
	return ""
}

// scanned is what one file holds.
type scanned struct {
	hits   []hit // the first ones
	count  int   // of all matching lines
	long   int   // lines of which only the beginning was searched
	binary bool
	nul    bool // searched up to the first NUL byte only
}

// scan searches a file of a known size through buf, which bounds what of one line
// is seen. At most limit hits are kept, all are counted.
func (m *matcher) scan(ctx context.Context, r io.Reader, size int64, limit int, buf []byte) (scanned, error) {
	s := scanner{m: m, limit: limit, line: 1}
	in := io.LimitReader(r, size) // a file that grows is searched as it was
	have, first := 0, true
	for {
		if err := ctx.Err(); err != nil {
			return scanned{}, err
		}
		n, err := io.ReadFull(in, buf[have:])
		have += n
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return scanned{}, err
		}
		if first && binary(buf[:min(have, sniff)]) != "" {
			return scanned{binary: true}, nil
		}
		first = false
		if nul := bytes.IndexByte(buf[have-n:have], 0); nul >= 0 {
			have, last, s.nul = have-n+nul, true, true
		}
		used := s.chunk(buf[:have], last)
		if last {
			return s.scanned, nil
		}
		have = copy(buf, buf[used:have])
	}
}

type scanner struct {
	scanned
	m     *matcher
	limit int
	line  int  // number of the line that comes next
	skip  bool // the rest of a long line comes
}

// chunk searches the whole lines of data and returns how much of it is done.
func (s *scanner) chunk(data []byte, last bool) int {
	done := 0
	if s.skip {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			return len(data)
		}
		s.skip, done = false, end+1
		s.line++
	}
	end := bytes.LastIndexByte(data, '\n') + 1
	switch {
	case last:
		end = len(data)
	case end <= done && done == 0:
		// No line ends in the whole buffer.
		s.search(data)
		s.long++
		s.skip = true
		return len(data)
	case end < done:
		end = done
	}
	s.search(data[done:end])
	return end
}

// search looks at whole lines and counts them.
func (s *scanner) search(data []byte) {
	if len(s.m.literal) > 0 {
		s.jump(data)
		return
	}
	for len(data) > 0 {
		line, rest, ended := bytes.Cut(data, []byte{'\n'})
		s.try(line)
		if data = rest; ended {
			s.line++
		}
	}
}

// jump goes from one place of the literal to the next.
func (s *scanner) jump(data []byte) {
	for {
		at := bytes.Index(data, s.m.literal)
		if at < 0 {
			break
		}
		begin := bytes.LastIndexByte(data[:at], '\n') + 1
		s.line += bytes.Count(data[:begin], []byte{'\n'})
		line, rest, ended := bytes.Cut(data[begin:], []byte{'\n'})
		s.try(line)
		if data = rest; ended {
			s.line++
		}
	}
	s.line += bytes.Count(data, []byte{'\n'})
}

func (s *scanner) try(line []byte) {
	line = bytes.TrimSuffix(line, []byte{'\r'})
	if !s.m.whole && !s.m.re.Match(line) {
		return
	}
	s.count++
	if len(s.hits) < s.limit {
		s.hits = append(s.hits, hit{n: s.line, text: s.m.show(line)})
	}
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
