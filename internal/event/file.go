package event

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// maxLine bounds one stored event: the largest tool result is far below it.
const maxLine = 64 << 20

// FileSink writes events as JSON lines to a file it owns. It is not safe for
// concurrent use; Log serialises its calls.
type FileSink struct {
	file   *os.File
	broken error // what was written could not be cut off again
}

// NewFileSink takes over a file that is open for appending.
func NewFileSink(f *os.File) *FileSink { return &FileSink{file: f} }

// Write appends one line in a single write, and syncs if asked to. A line that is
// written in part (the disk is full) is cut off again: a later one after it would
// make the whole log unreadable.
func (s *FileSink) Write(e Event, sync bool) error {
	if s.broken != nil {
		return s.broken
	}
	line, err := e.line()
	if err != nil {
		return err
	}
	if len(line) > maxLine {
		return fmt.Errorf("write the session log: an event of %d bytes is larger than the %d that can be read again", len(line), maxLine)
	}
	n, err := s.file.Write(line)
	if err != nil {
		err = fmt.Errorf("write the session log: %w", err)
		if n > 0 {
			err = errors.Join(err, s.cut(n))
		}
		return err
	}
	if !sync {
		return nil
	}
	if err := s.file.Sync(); err != nil {
		return fmt.Errorf("sync the session log: %w", err)
	}
	return nil
}

// cut takes the last n bytes away.
func (s *FileSink) cut(n int) error {
	info, err := s.file.Stat()
	if err == nil {
		err = s.file.Truncate(info.Size() - int64(n))
	}
	if err != nil {
		s.broken = fmt.Errorf("the session log ends in the middle of a line: %w", err)
	}
	return s.broken
}

// Close syncs and closes the file.
func (s *FileSink) Close() error {
	return errors.Join(s.file.Sync(), s.file.Close())
}

// Read decodes a log. A last line that is torn (a crash in the middle of a write)
// is left out; whole is the length in bytes of what was read, so that a caller who
// goes on writing can cut the rest. Any other damage is an error that names the
// line.
func Read(r io.Reader) (events []Event, whole int64, err error) {
	br := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		line, err := readLine(br)
		if errors.Is(err, io.EOF) {
			return events, whole, nil // no newline: torn or empty
		}
		if err != nil {
			return events, whole, fmt.Errorf("read the session log, line %d: %w", n, err)
		}
		var e Event
		if err := e.UnmarshalJSON(line); err != nil {
			if _, peekErr := br.Peek(1); errors.Is(peekErr, io.EOF) {
				return events, whole, nil // torn by a crash after a partial flush
			}
			return events, whole, fmt.Errorf("session log, line %d: %w", n, err)
		}
		events = append(events, e)
		whole += int64(len(line)) + 1
	}
}

// Pick decodes the events of some types, in order, and skips the rest unread: a list
// of sessions needs three events of fifty thousand. What cannot be read is left out;
// Read says what is wrong with it. first is the time of the first event, zero for a
// log that holds none.
func Pick(r io.Reader, types ...string) (first time.Time, events []Event, err error) {
	br := bufio.NewReaderSize(r, 1<<16)
	for {
		line, err := readLine(br)
		if errors.Is(err, io.EOF) {
			return first, events, nil
		}
		if err != nil {
			return first, events, fmt.Errorf("read the session log: %w", err)
		}
		h, ok := quickHead(line)
		if !ok {
			if h, err = slowHead(line); err != nil {
				continue
			}
		}
		if first.IsZero() {
			first = h.time
		}
		if !slices.Contains(types, h.kind) {
			continue
		}
		var e Event
		if e.UnmarshalJSON(line) == nil {
			events = append(events, e)
		}
	}
}

// readLine returns one line without its end, good until the next call.
func readLine(br *bufio.Reader) ([]byte, error) {
	line, err := br.ReadSlice('\n')
	if err == nil {
		return line[:len(line)-1], nil
	}
	line = append([]byte(nil), line...)
	for errors.Is(err, bufio.ErrBufferFull) && len(line) <= maxLine {
		var part []byte
		part, err = br.ReadSlice('\n')
		line = append(line, part...)
		if err == nil {
			return bytes.TrimSuffix(line, []byte("\n")), nil
		}
	}
	if len(line) > maxLine {
		return nil, fmt.Errorf("longer than %d bytes", maxLine)
	}
	return line, err
}

// Writer is a sink for --json: every event, transient ones too, one a line.
type Writer struct{ W io.Writer }

// Print writes one event as a line.
func (w Writer) Print(e Event) error {
	line, err := e.line()
	if err != nil {
		return err
	}
	if _, err := w.W.Write(line); err != nil {
		return fmt.Errorf("write an event: %w", err)
	}
	return nil
}
