package wire

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// stalled is the cause of a cancelled exchange: which silence was too long.
type stalled struct{ what string }

func (s stalled) Error() string { return s.what }

// graceOver is the cause when an answer finished and its end marker did not come.
type graceOver struct{}

func (graceOver) Error() string { return "no end marker after the finish reason" }

// watch cancels an exchange that stays silent. It runs no goroutine: one timer
// looks at the time of the last byte and the last event when it fires.
type watch struct {
	times  Timeouts
	cancel context.CancelCauseFunc
	bytes  atomic.Int64 // time of the last byte, nanoseconds since the epoch
	sense  atomic.Int64 // time of the last event of meaning
	grace  atomic.Int64 // time by which the end marker must be there, 0 = not finishing
	busy   atomic.Bool  // the consumer has the delta: its time is not the server's

	mu    sync.Mutex
	timer *time.Timer
	over  bool
}

// newWatch starts watching once the headers are in.
func newWatch(times Timeouts, cancel context.CancelCauseFunc) *watch {
	w := &watch{times: times, cancel: cancel}
	now := time.Now().UnixNano()
	w.bytes.Store(now)
	w.sense.Store(now)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(min(times.Idle, times.Meaning), w.fire)
	return w
}

func (w *watch) fire() {
	due, cause := w.due()
	wait := time.Until(due)
	if w.busy.Load() {
		wait = max(wait, w.times.Grace)
	}
	if wait <= 0 {
		w.cancel(cause)
		return
	}
	w.rearm(wait)
}

func (w *watch) rearm(wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.timer.Reset(wait)
	}
}

// due is when the exchange becomes too silent, and why.
func (w *watch) due() (time.Time, error) {
	if at := w.grace.Load(); at != 0 {
		return time.Unix(0, at), graceOver{}
	}
	idle := time.Unix(0, w.bytes.Load()).Add(w.times.Idle)
	sense := time.Unix(0, w.sense.Load()).Add(w.times.Meaning)
	if sense.Before(idle) {
		return sense, stalled{fmt.Sprintf("nothing but keep-alives for %s", w.times.Meaning)}
	}
	return idle, stalled{fmt.Sprintf("no data for %s", w.times.Idle)}
}

func (w *watch) gotBytes() { w.bytes.Store(time.Now().UnixNano()) }
func (w *watch) gotSense() { w.sense.Store(time.Now().UnixNano()) }

// finishing starts the wait for the end marker, once.
func (w *watch) finishing() {
	if w.grace.Load() == 0 {
		w.grace.Store(time.Now().Add(w.times.Grace).UnixNano())
		w.rearm(w.times.Grace)
	}
}

// goesOn takes a finish back: more came after it.
func (w *watch) goesOn() { w.grace.Store(0) }

func (w *watch) away() { w.busy.Store(true) }

func (w *watch) back() {
	now := time.Now()
	w.bytes.Store(now.UnixNano())
	w.sense.Store(now.UnixNano())
	if w.grace.Load() != 0 {
		w.grace.Store(now.Add(w.times.Grace).UnixNano())
	}
	w.busy.Store(false)
}

func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.timer.Stop()
}
