package event_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/coderrr/coderrr/internal/event"
)

func TestMain(m *testing.M) {
	if path := os.Getenv("CODERRR_TEST_LOG"); path != "" {
		writeForEver(path)
	}
	goleak.VerifyTestMain(m)
}

// memory is a sink that keeps what it is given, or fails.
type memory struct {
	types  []string
	synced int
	fail   error
}

func (m *memory) Write(e event.Event, sync bool) error {
	if m.fail != nil {
		return m.fail
	}
	m.types = append(m.types, e.Data.Type())
	if sync {
		m.synced++
	}
	return nil
}

func (m *memory) Close() error { return nil }

func TestFollowSeesEverythingInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 200
		log := event.NewLog(nil, nil)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				last := int64(0)
				for e := range log.Follow(t.Context(), 0) {
					require.Greater(t, e.Seq, last)
					last = e.Seq
				}
				require.Equal(t, int64(n), last)
			})
		}
		for i := range n {
			log.Append(event.TurnStarted{Turn: i})
		}
		require.NoError(t, log.Close())
		wg.Wait()
	})
}

func TestFollowEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := event.NewLog(nil, nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range log.Follow(ctx, 0) {
				t.Error("nothing was appended")
			}
		}()
		synctest.Wait()
		cancel()
		<-done
	})
}

// What a reader gets is what was appended, less deltas that a done event replaced,
// wherever it starts and whatever the mix.
func TestDeltasAreDroppedAndNothingElse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		log := event.NewLog(nil, nil)
		kinds := rapid.SliceOfN(rapid.IntRange(0, 4), 0, 60).Draw(t, "kinds")
		var want []string
		drop := func(name string) {
			kept := want[:0]
			for _, w := range want {
				if w != name {
					kept = append(kept, w)
				}
			}
			want = kept
		}
		for _, k := range kinds {
			p := []event.Payload{event.TextDelta{}, event.ThinkingDelta{}, event.TextDone{}, event.ThinkingDone{}, event.Notice{}}[k]
			log.Append(p)
			switch p.(type) {
			case event.TextDone:
				drop("text.delta")
			case event.ThinkingDone:
				drop("thinking.delta")
			}
			want = append(want, p.Type())
		}
		var got []string
		last := int64(0)
		for _, e := range log.Events(0) {
			if e.Seq <= last {
				t.Fatalf("seq %d after %d", e.Seq, last)
			}
			last = e.Seq
			got = append(got, e.Data.Type())
		}
		if len(got) != len(want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("got %v, want %v", got, want)
			}
		}
		after := rapid.Int64Range(0, int64(len(kinds))+1).Draw(t, "after")
		for _, e := range log.Events(after) {
			if e.Seq <= after {
				t.Fatalf("event %d is not after %d", e.Seq, after)
			}
		}
	})
}

func TestDurableEventsAreSyncedAndTransientOnesNotStored(t *testing.T) {
	t.Parallel()
	sink := &memory{}
	log := event.NewLog(nil, sink)
	log.Append(event.TextDelta{Text: "x"})
	log.Append(event.Notice{})
	require.NoError(t, log.Commit(event.FileChanged{Path: "a"}))
	require.NoError(t, log.Commit(event.AskClosed{ID: "q"}))
	require.Equal(t, []string{"notice", "file.changed", "ask.closed"}, sink.types)
	require.Equal(t, 2, sink.synced)
}

func TestAnEventThatCannotBeStoredHasNoEffect(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left on device")
	sink := &memory{fail: full}
	log := event.NewLog(nil, sink)
	require.ErrorIs(t, log.Commit(event.FileChanged{Path: "a"}), full)
	require.Empty(t, log.Events(0), "a change that is not stored is not in the log")
	require.ErrorIs(t, log.Err(), full)
	log.Append(event.Notice{Text: "still shown"})
	require.Len(t, log.Events(0), 1)
	require.NoError(t, log.Close())
	require.ErrorIs(t, log.Commit(event.FileChanged{}), event.ErrClosed)
}

func TestLogGoesOnAfterItsPast(t *testing.T) {
	t.Parallel()
	past := []event.Event{{Seq: 4, Data: event.Notice{}}}
	log := event.NewLog(past, nil)
	require.Equal(t, int64(5), log.Append(event.Notice{}).Seq)
}

func TestFileRoundTripAndTornLine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	log := event.NewLog(nil, event.NewFileSink(f))
	for _, p := range payloads() {
		log.Append(p)
	}
	require.NoError(t, log.Close())
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	events, whole, err := event.Read(bytes.NewReader(data))
	require.NoError(t, err)
	require.Equal(t, int64(len(data)), whole)
	require.Len(t, events, len(payloads())-2, "deltas are not stored")

	// Cut anywhere in the last line: all whole lines are still read.
	last := bytes.LastIndexByte(data[:len(data)-1], '\n') + 1
	for cut := last; cut < len(data); cut++ {
		got, whole, err := event.Read(bytes.NewReader(data[:cut]))
		require.NoError(t, err)
		require.Len(t, got, len(events)-1)
		require.Equal(t, int64(last), whole)
	}
	// Damage before the end is not passed over in silence.
	_, _, err = event.Read(bytes.NewReader(append([]byte("{\"seq\":\n"), data...)))
	require.ErrorContains(t, err, "line 1")
}

func FuzzRead(f *testing.F) {
	var buf bytes.Buffer
	w := event.Writer{W: &buf}
	for _, p := range payloads() {
		if err := w.Print(event.Event{Seq: 1, Data: p}); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(buf.Bytes())
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		events, whole, err := event.Read(bytes.NewReader(data))
		if whole > int64(len(data)) {
			t.Fatal("read more than there is")
		}
		if err == nil && len(events) > 0 {
			_ = event.NewLog(events, nil).Events(0)
		}
	})
}

func TestPickReadsOnlyWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, p := range []event.Payload{event.SessionStarted{Request: "a"}, event.UserMessage{Text: strings.Repeat("long ", 40_000)}, event.SessionFinished{Status: "ok"}} {
		require.NoError(t, event.Writer{W: &log}.Print(event.Event{Seq: int64(i + 1), Time: began, Data: p}))
	}
	log.WriteString("damaged\n" + `{"type":"session.started","request":"b","seq":4,"time":"2026-01-02T03:04:05Z"}` + "\n" + `{"seq":5,"ti`)
	first, events, err := event.Pick(&log, "session.started", "session.finished")
	require.NoError(t, err)
	require.Equal(t, began, first)
	require.Len(t, events, 3, "also one whose fields stand in another order")
	require.Equal(t, "b", events[2].Data.(event.SessionStarted).Request)
}
