// Package sse reads server-sent events as byte streams, for model adapters and
// MCP alike. Its one rule: nothing is decoded before a whole line is there, so
// the result never depends on how the network cut the bytes.
//
// The grammar is that of the HTML standard, section 9.2.6 (event stream
// interpretation), with one deliberate difference: data that is pending when the
// stream ends is delivered, marked Cut, because real servers leave out the last
// blank line.
package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// DefaultMaxEvent bounds one line and the data of one event, in bytes.
const DefaultMaxEvent = 64 << 20

// ErrTooLong is returned for a line or an event beyond the reader's limit. The
// reader cannot be used after it.
var ErrTooLong = errors.New("server-sent event is too long")

// firstBuffer is the initial buffer size in bytes: several usual events.
const firstBuffer = 16 << 10

// Event is one dispatched event.
type Event struct {
	// Name is the event field; "" when the server sent none, which means
	// "message".
	Name string
	// Data joins the data lines with LF. It is valid until the next call of Next.
	Data []byte
	// ID is the last event id seen so far, as the standard defines it.
	ID string
	// Cut is set when the stream ended before the blank line that ends an event.
	Cut bool
}

// Reader splits a byte stream into events. It is not safe for concurrent use.
type Reader struct {
	src   io.Reader
	max   int
	buf   []byte // buf[start:end] is read but not consumed
	start int
	end   int
	seen  int // buf[start:start+seen] holds no line end

	skipLF  bool // the last line ended in CR: a LF right after belongs to it
	begun   bool // the byte order mark has been looked for
	err     error
	name    string
	id      string
	data    []byte
	pending bool // a data field was seen since the last dispatch
	retry   time.Duration
}

// NewReader returns a reader of src. max bounds one line and the data of one
// event in bytes; zero or less means DefaultMaxEvent.
func NewReader(src io.Reader, max int) *Reader {
	if max <= 0 {
		max = DefaultMaxEvent
	}
	return &Reader{src: src, max: max}
}

// Next returns the next event. At the end of the stream it returns io.EOF; any
// other read error is returned as it came, after pending data was delivered.
func (r *Reader) Next() (Event, error) {
	r.data = r.data[:0]
	for {
		line, err := r.line()
		if err != nil {
			return r.last(err)
		}
		if len(line) > 0 {
			if err := r.field(line); err != nil {
				r.err = err
				return Event{}, err
			}
			continue
		}
		name := r.name
		r.name = ""
		if r.pending {
			r.pending = false
			return Event{Name: name, Data: r.data, ID: r.id}, nil
		}
	}
}

// Retry is the reconnection time the server asked for, zero if it asked none.
func (r *Reader) Retry() time.Duration { return r.retry }

// last delivers pending data once, then the error.
func (r *Reader) last(err error) (Event, error) {
	if !r.pending {
		return Event{}, err
	}
	r.pending = false
	name := r.name
	r.name = ""
	return Event{Name: name, Data: r.data, ID: r.id, Cut: true}, nil
}

// line returns the next line without its end. A line cut by the end of the
// stream is returned as a line; the call after it returns the error.
func (r *Reader) line() ([]byte, error) {
	for {
		if r.skipLF && r.start < r.end {
			if r.buf[r.start] == '\n' {
				r.start++
			}
			r.skipLF = false
		}
		if i := lineEnd(r.buf[r.start+r.seen : r.end]); i >= 0 {
			i += r.seen
			line := r.buf[r.start : r.start+i]
			r.skipLF = r.buf[r.start+i] == '\r'
			r.start += i + 1
			r.seen = 0
			return r.unmark(line), nil
		}
		r.seen = r.end - r.start
		if r.err != nil {
			return r.rest()
		}
		if r.seen > r.max {
			r.err = fmt.Errorf("%w: a line has more than %d bytes", ErrTooLong, r.max)
			r.pending = false
			return nil, r.err
		}
		r.fill()
	}
}

// rest returns what stands after the last line end, then the stored error.
func (r *Reader) rest() ([]byte, error) {
	if r.seen == 0 || errors.Is(r.err, ErrTooLong) {
		return nil, r.err
	}
	line := r.buf[r.start:r.end]
	r.start, r.seen = r.end, 0
	return r.unmark(line), nil
}

// fill reads once. It moves or grows the buffer only when there is no room.
func (r *Reader) fill() {
	if r.start == r.end {
		r.start, r.end = 0, 0
	}
	if r.end == len(r.buf) {
		if r.start > len(r.buf)/2 {
			r.end = copy(r.buf, r.buf[r.start:r.end])
			r.start = 0
		} else {
			grown := make([]byte, max(firstBuffer, 2*len(r.buf)))
			r.end = copy(grown, r.buf[r.start:r.end])
			r.start, r.buf = 0, grown
		}
	}
	n, err := r.src.Read(r.buf[r.end:])
	if n < 0 || n > len(r.buf)-r.end {
		n, err = 0, errors.New("reader returned an impossible count")
	}
	r.end += n
	if err != nil {
		r.err = err
	}
}

// lineEnd finds the first CR or LF, -1 if there is none.
func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// unmark removes a UTF-8 byte order mark from the first line.
func (r *Reader) unmark(line []byte) []byte {
	if r.begun {
		return line
	}
	r.begun = true
	return bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
}

// field interprets one non-empty line.
func (r *Reader) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte{':'})
	value = bytes.TrimPrefix(value, []byte{' '})
	switch string(name) {
	case "": // a comment
	case "data":
		if r.pending {
			r.data = append(r.data, '\n')
		}
		r.data = append(r.data, value...)
		r.pending = true
		if len(r.data) > r.max {
			return fmt.Errorf("%w: an event has more than %d bytes of data", ErrTooLong, r.max)
		}
	case "event":
		r.name = string(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			r.id = string(value)
		}
	case "retry":
		if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
			r.retry = time.Duration(ms) * time.Millisecond
		}
	}
	return nil
}
