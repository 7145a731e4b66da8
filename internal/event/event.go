// Package event is what can be seen of a session: one append-only, numbered,
// typed log. The terminal, the browser, --json and resume are all readers of it;
// what is not an event does not exist for any of them.
package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// Version is the format version written in session.started.
const Version = 1

// Event is one entry of a log. Seq starts at 1 and grows; gaps are allowed.
type Event struct {
	Seq  int64
	Time time.Time
	Data Payload
}

// Payload is the content of an event; Type is its public name. Each payload is a
// plain struct with snake_case tags, in payload.go.
type Payload interface{ Type() string }

// Durable is implemented by payloads that must be on disk before their effect is
// visible anywhere else.
type Durable interface{ durable() }

// Transient is implemented by payloads that are never stored: what they carried
// is whole in a later event.
type Transient interface{ transient() }

// MarshalJSON writes the envelope and the payload's fields as one flat object.
func (e Event) MarshalJSON() ([]byte, error) {
	line, err := e.line()
	return bytes.TrimSuffix(line, []byte("\n")), err
}

// line is the event as one line of a log, without HTML escaping: the log holds code.
func (e Event) line() ([]byte, error) {
	var buf bytes.Buffer
	head := fmt.Appendf(buf.AvailableBuffer(), `{"seq":%d,"time":"`, e.Seq)
	head = append(e.Time.UTC().AppendFormat(head, time.RFC3339Nano), `","type":"`...)
	buf.Write(append(append(head, e.Data.Type()...), '"'))
	at := buf.Len()
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e.Data); err != nil {
		return nil, fmt.Errorf("encode event %s: %w", e.Data.Type(), err)
	}
	line := buf.Bytes()
	if string(line[at:]) == "{}\n" {
		return append(line[:at], "}\n"...), nil
	}
	line[at] = ',' // in place of the payload's brace
	return line, nil
}

// UnmarshalJSON reads one event. An event of a later version comes back as
// Unknown, so that an older reader keeps it.
func (e *Event) UnmarshalJSON(data []byte) error {
	head, ok := quickHead(data)
	if !ok {
		var err error
		if head, err = slowHead(data); err != nil {
			return err
		}
	}
	payload, err := decode(head.kind, data)
	if err != nil {
		return fmt.Errorf("decode event %s: %w", head.kind, err)
	}
	*e = Event{Seq: head.seq, Time: head.time, Data: payload}
	return nil
}

// Unknown keeps an event whose type this version does not know.
type Unknown struct {
	Name string
	Raw  json.RawMessage // the payload's own fields
}

// Type is the name found in the log.
func (u Unknown) Type() string { return u.Name }

// MarshalJSON writes the fields back as they were read.
func (u Unknown) MarshalJSON() ([]byte, error) { return u.Raw, nil }
