package search

import (
	"bytes"
	"context"
	"errors"
	"io"
)

// seeker searches for one matcher. It has memory of its own and is not safe for
// concurrent use.
type seeker struct {
	m   *matcher
	dfa *dfa
	at  []int  // by needle: where it comes next
	buf []byte // bounds what of one line is seen
}

func (m *matcher) seeker() *seeker {
	return &seeker{m: m, dfa: newDFA(m.prog), at: make([]int, len(m.needles)), buf: make([]byte, maxSearched)}
}

// next finds the first matching line at or after pos, which is where a line
// begins.
func (k *seeker) next(data []byte, pos int) (begin, end int, found bool) {
	for pos < len(data) {
		at, sure := 0, false
		if len(k.m.needles) > 0 {
			at, sure = k.needle(data, pos), k.m.whole
			if at == len(data) {
				return 0, 0, false
			}
		} else {
			n, why := k.dfa.run(data[pos:])
			at, sure = pos+n, why == matched
			if why == first {
				return 0, 0, false
			}
		}
		begin = pos + bytes.LastIndexByte(data[pos:at], '\n') + 1
		end = len(data)
		if n := bytes.IndexByte(data[at:], '\n'); n >= 0 {
			end = at + n
		}
		if sure || k.judge(data[begin:end]) {
			return begin, end, true
		}
		pos = end + 1
	}
	return 0, 0, false
}

// needle is where the first of the needles comes.
func (k *seeker) needle(data []byte, pos int) int {
	least := len(data)
	for i := range k.m.needles {
		if k.at[i] < pos {
			k.at[i] = k.m.needles[i].next(data, pos)
		}
		least = min(least, k.at[i])
	}
	return least
}

// forget is called for new data.
func (k *seeker) forget() {
	for i := range k.at {
		k.at[i] = -1
	}
}

func (k *seeker) judge(line []byte) bool {
	switch _, why := k.dfa.run(line); why {
	case matched:
		return true
	case other:
		return k.m.re.Match(bytes.TrimSuffix(line, []byte{'\r'}))
	}
	return false
}

// scan searches a file of a known size. At most limit hits are kept, all are
// counted.
func (k *seeker) scan(ctx context.Context, r io.Reader, size int64, limit int) (scanned, error) {
	buf, s := k.buf, scanner{k: k, limit: limit, line: 1}
	left := size // a file that grows is searched as it was
	have, first := 0, true
	for {
		if err := ctx.Err(); err != nil {
			return scanned{}, err
		}
		room := buf[have:min(int64(len(buf)), int64(have)+left)]
		n, err := io.ReadFull(r, room)
		have += n
		left -= int64(n)
		last := left == 0 || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
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
	k     *seeker
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
		s.search(data, false)
		s.long++
		s.skip = true
		return len(data)
	case end < done:
		end = done
	}
	s.search(data[done:end], last)
	return end
}

// search looks at whole lines and counts them.
func (s *scanner) search(data []byte, last bool) {
	s.k.forget()
	counted := 0
	for pos := 0; ; {
		begin, end, found := s.k.next(data, pos)
		if !found {
			break
		}
		s.line += bytes.Count(data[counted:begin], []byte{'\n'})
		counted, pos = begin, end+1
		s.count++
		if len(s.hits) < s.limit {
			line := bytes.TrimSuffix(data[begin:end], []byte{'\r'})
			s.hits = append(s.hits, hit{n: s.line, text: s.k.m.show(line)})
		}
	}
	if !last { // nobody asks for the number of a line after the last
		s.line += bytes.Count(data[counted:], []byte{'\n'})
	}
}
