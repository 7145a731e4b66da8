package event_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/event"
)

// R18: a disk that fills up in the middle of a line, and has room again later. The
// limit of a file's size tears a write exactly as ENOSPC does and needs no root.
func TestR18ATornLineIsCutOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	require.NoError(t, err)
	log := event.NewLog(nil, event.NewFileSink(f))
	log.Append(event.Notice{Text: "first"})
	limited(t, 8<<10, func() {
		require.Error(t, log.Commit(event.FileChanged{Path: strings.Repeat("long", 4<<10)}))
	})
	log.Append(event.Notice{Text: "last"})
	require.NoError(t, log.Close())
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	events, whole, err := event.Read(bytes.NewReader(data))
	require.NoError(t, err, "the log can still be read")
	require.Equal(t, int64(len(data)), whole)
	require.Len(t, events, 2)
}

// limited runs f while no file of this process can grow beyond size bytes.
func limited(t *testing.T, size uint64, f func()) {
	t.Helper()
	var old syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old))
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: old.Max}))
	defer func() { require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old)) }()
	f()
}

// A log that cannot even be cut takes nothing more, so that what it has stays
// readable.
func TestR18ALogThatCannotBeCutTakesNothingMore(t *testing.T) {
	read, write, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, write.SetWriteDeadline(time.Now().Add(time.Second)))
	sink := event.NewFileSink(write)
	e := event.Event{Seq: 1, Data: event.Notice{Text: strings.Repeat("x", 100<<10)}}
	require.ErrorIs(t, sink.Write(e, false), os.ErrDeadlineExceeded, "the pipe took a part of it")
	require.ErrorContains(t, sink.Write(event.Event{Seq: 2, Data: event.Notice{}}, false), "in the middle of a line")
	require.NoError(t, read.Close())
	require.Error(t, sink.Close())
}
