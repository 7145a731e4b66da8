package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// limits bound what is kept of one message while it is read.
type limits struct {
	text  int // bytes of one JSON string
	total int // bytes of the message
	depth int
}

// document is a message as it was kept. cut counts the bytes left out of long
// strings; tooBig says that a whole part was replaced by null.
type document struct {
	data   []byte
	cut    int64
	tooBig bool
}

// maxNoise is what is kept of a line that is not JSON.
const maxNoise = 4 << 10

// squeezer copies a JSON text and keeps it valid and small: long strings are cut,
// and a member of the message that is too large or too deep becomes null. So the
// id of a message is known however large it is and wherever the id stands, and
// the memory that a message takes never depends on the server.
type squeezer struct {
	limits
	out    []byte
	cut    int64
	tooBig bool
	broken bool // even the outermost level is too large

	begun, json      bool
	base, depth      int
	inString, escape bool
	full             bool // this string is at its limit
	hex, length      int  // of an escape \uXXXX still to come; bytes kept of this string
	value            int  // where the present member of the message begins in out
	skip             bool
}

func (s *squeezer) write(chunk []byte) {
	if !s.begun {
		// White space and a byte order mark, which may come in pieces.
		for len(chunk) > 0 && bytes.IndexByte([]byte(" \t\r\n\xef\xbb\xbf"), chunk[0]) >= 0 {
			chunk = chunk[1:]
		}
		if len(chunk) == 0 {
			return
		}
		s.begun = true
		s.json = chunk[0] == '{' || chunk[0] == '['
		if chunk[0] == '[' {
			s.base = 1
		}
	}
	if !s.json {
		room := min(len(chunk), max(0, maxNoise-len(s.out)))
		s.out = append(s.out, chunk[:room]...)
		s.cut += int64(len(chunk) - room)
		return
	}
	for len(chunk) > 0 {
		if s.inString {
			chunk = s.text(chunk)
		} else {
			chunk = s.structure(chunk)
		}
	}
}

// text consumes bytes of a string, up to and with its end. A string is cut
// between characters and escapes, never inside an escape.
func (s *squeezer) text(chunk []byte) []byte {
	if s.escape || s.hex > 0 {
		if s.escape {
			s.escape = false
			if chunk[0] == 'u' {
				s.hex = 4
			}
		} else {
			s.hex--
		}
		if s.full {
			s.cut++
		} else {
			s.keep(chunk[:1])
		}
		return chunk[1:]
	}
	n := len(chunk)
	if i := bytes.IndexByte(chunk, '"'); i >= 0 {
		n = i
	}
	if i := bytes.IndexByte(chunk[:n], '\\'); i >= 0 {
		n = i
	}
	room := min(n, s.limits.text-s.length)
	if s.full {
		room = 0
	}
	s.full = s.full || room < n
	s.keep(chunk[:room])
	s.length += room
	s.cut += int64(n - room)
	if n == len(chunk) {
		return nil
	}
	if chunk[n] == '"' {
		s.inString = false
		s.keep(chunk[n : n+1])
		s.check()
		return chunk[n+1:]
	}
	s.escape = true
	if s.full = s.full || s.length+6 > s.limits.text; s.full {
		s.cut++
	} else {
		s.length += 6
		s.keep(chunk[n : n+1])
	}
	return chunk[n+1:]
}

// structure consumes one byte outside strings, or a run of plain ones.
func (s *squeezer) structure(chunk []byte) []byte {
	n := bytes.IndexAny(chunk, `"{}[]:`)
	if n < 0 {
		s.keep(chunk)
		s.check()
		return nil
	}
	s.keep(chunk[:n])
	s.check()
	switch c := chunk[n]; c {
	case '"':
		s.inString, s.full, s.length = true, false, 0
		s.keep(chunk[n : n+1])
	case '{', '[':
		s.depth++
		s.keep(chunk[n : n+1])
		if s.depth-s.base > s.limits.depth {
			s.drop()
		}
	case '}', ']':
		s.depth--
		if s.skip && s.depth <= s.base+1 {
			// Back at the message: the closing bracket belongs to what was dropped,
			// unless it closes the message itself.
			if s.depth == s.base+1 {
				s.skip = false
				return chunk[n+1:]
			}
			s.skip = false
		}
		s.keep(chunk[n : n+1])
	case ':':
		s.keep(chunk[n : n+1])
		if s.depth == s.base+1 {
			s.value = len(s.out)
		}
	}
	s.check()
	return chunk[n+1:]
}

func (s *squeezer) keep(b []byte) {
	if !s.skip && !s.broken {
		s.out = append(s.out, b...)
		return
	}
	s.cut += int64(len(b))
}

func (s *squeezer) check() {
	if len(s.out) <= s.limits.total || s.skip || s.broken {
		return
	}
	if s.depth > s.base+1 {
		s.drop()
		return
	}
	s.broken, s.tooBig, s.out = true, true, nil
}

// drop replaces the present member of the message by null.
func (s *squeezer) drop() {
	if s.skip || s.broken {
		return
	}
	if s.value == 0 || s.value > len(s.out) {
		s.broken, s.tooBig, s.out = true, true, nil
		return
	}
	s.cut += int64(len(s.out) - s.value)
	s.out = append(s.out[:s.value], "null"...)
	s.skip, s.tooBig = true, true
}

func (s *squeezer) document() document {
	return document{data: s.out, cut: s.cut, tooBig: s.tooBig}
}

// readLine reads one line, without keeping more than the limits allow. At the end
// of the stream it returns what there is, then io.EOF; whole is false for a last
// line without its end.
func readLine(r *bufio.Reader, l limits) (d document, whole bool, err error) {
	s := squeezer{limits: l}
	for {
		chunk, err := r.ReadSlice('\n')
		s.write(bytes.TrimSuffix(chunk, []byte("\n")))
		switch {
		case err == nil:
			return s.document(), true, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && s.begun:
			return s.document(), false, nil
		default:
			return document{}, false, err
		}
	}
}

// readDocument reads a stream to its end.
func readDocument(r io.Reader, l limits) (document, error) {
	s := squeezer{limits: l}
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		s.write(buf[:n])
		if errors.Is(err, io.EOF) {
			return s.document(), nil
		}
		if err != nil {
			return s.document(), err
		}
	}
}
