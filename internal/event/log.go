package event

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sort"
	"sync"
	"time"
)

// ErrClosed is returned when something is committed to a closed log.
var ErrClosed = errors.New("the session log is closed")

// Sink stores events. Write must keep the order of calls; with sync it returns
// only when the event and all before it are on disk.
type Sink interface {
	Write(e Event, sync bool) error
	Close() error
}

// Log is the events of one session. Readers follow it with cursors of their own:
// a slow reader lags and loses nothing, and never slows the writer. All methods
// are safe for concurrent use.
type Log struct {
	mu     sync.Mutex
	events []Event // settled: never changed, only appended to
	live   []Event // from the first delta that is still open; a new slice when settled
	seq    int64
	wake   chan struct{} // closed and replaced at each append
	closed bool
	sink   Sink
	err    error
}

// NewLog returns a log that goes on after past (which it takes over). A nil sink
// stores nothing.
func NewLog(past []Event, sink Sink) *Log {
	l := &Log{events: past, wake: make(chan struct{}), sink: sink}
	if n := len(past); n > 0 {
		l.seq = past[n-1].Seq
	}
	return l
}

// Append adds an event and wakes the readers. A payload that must be durable is
// on disk when Append returns, unless Err says that it could not be stored; those
// who watch see it even then.
func (l *Log) Append(p Payload) Event {
	e, _ := l.add(p, false)
	return e
}

// Commit is Append for events whose effect must not happen unless they are
// stored: it returns the error, and a durable event is then not in the log.
func (l *Log) Commit(p Payload) error {
	_, err := l.add(p, true)
	return err
}

func (l *Log) add(p Payload, stored bool) (Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return Event{}, ErrClosed
	}
	e := Event{Seq: l.seq + 1, Time: time.Now(), Data: p}
	if err := l.store(e); err != nil {
		if l.err == nil {
			l.err = err
		}
		if _, must := p.(Durable); must && stored {
			return Event{}, err
		}
	}
	l.seq = e.Seq
	l.place(e)
	close(l.wake)
	l.wake = make(chan struct{})
	return e, nil
}

func (l *Log) store(e Event) error {
	if l.sink == nil {
		return nil
	}
	if _, skip := e.Data.(Transient); skip {
		return nil
	}
	_, sync := e.Data.(Durable)
	if err := l.sink.Write(e, sync); err != nil {
		return fmt.Errorf("store event %d (%s): %w", e.Seq, e.Data.Type(), err)
	}
	return nil
}

// place puts e at the end. Deltas wait in live until a done event makes them
// superfluous, so that settling costs what was streamed and not what is stored.
func (l *Log) place(e Event) {
	var over func(Payload) bool
	switch e.Data.(type) {
	case TextDelta, ThinkingDelta:
		l.live = append(l.live, e)
		return
	case TextDone:
		over = func(p Payload) bool { _, ok := p.(TextDelta); return ok }
	case ThinkingDone:
		over = func(p Payload) bool { _, ok := p.(ThinkingDelta); return ok }
	default:
		if len(l.live) == 0 {
			l.events = append(l.events, e)
		} else {
			l.live = append(l.live, e)
		}
		return
	}
	old := append(l.live, e)
	l.live = nil
	open := false
	for _, e := range old {
		if over(e.Data) {
			continue
		}
		_, delta := e.Data.(Transient)
		if open = open || delta; open {
			l.live = append(l.live, e)
		} else {
			l.events = append(l.events, e)
		}
	}
}

// Err is the first error of storing events, or nil. A session checks it at each
// turn and stops: what is not stored cannot be resumed.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Events returns what the log holds after seq, oldest first. The slice is shared:
// read only.
func (l *Log) Events(after int64) []Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tail(after)
}

// Follow yields the events after seq and then each new one. It ends when the
// context does, or when the log is closed and drained.
func (l *Log) Follow(ctx context.Context, after int64) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for {
			l.mu.Lock()
			batch, wake, closed := l.tail(after), l.wake, l.closed
			l.mu.Unlock()
			for _, e := range batch {
				if ctx.Err() != nil || !yield(e) {
					return
				}
				after = e.Seq
			}
			if len(batch) > 0 {
				continue
			}
			if closed {
				return
			}
			select {
			case <-wake:
			case <-ctx.Done():
				return
			}
		}
	}
}

// tail needs the lock.
func (l *Log) tail(after int64) []Event {
	settled, live := since(l.events, after), since(l.live, after)
	if len(live) == 0 {
		return settled
	}
	return append(settled, live...) // settled has no spare capacity: a copy
}

// since is a binary search: events are in order of Seq.
func since(events []Event, after int64) []Event {
	i := sort.Search(len(events), func(i int) bool { return events[i].Seq > after })
	return events[i:len(events):len(events)]
}

// Close ends the log: readers drain and stop, and the sink is closed.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	close(l.wake)
	l.wake = make(chan struct{})
	if l.sink == nil {
		return nil
	}
	return l.sink.Close()
}
