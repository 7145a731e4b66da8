//go:build unix

package wire

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestStdio(t *testing.T) {
	c := dial(t, "echo", nil)
	require.Equal(t, "2025-11-25", c.Info().Protocol)
	require.Equal(t, "fake", c.Info().Server.Name)
	require.Contains(t, said(t, c, "x", `{"a":1}`), `"arguments":{"a":1}`)
}

// Row 1: logs on stdout are ignored, counted and shown.
func TestM11RowNoise(t *testing.T) {
	c := dial(t, "noisy", nil)
	require.Equal(t, "through the noise", said(t, c, "x", ""))
	n, last := c.Noise()
	require.EqualValues(t, 38, n)
	require.Len(t, last, 5)
	require.Contains(t, last[4], "working")
}

// Row 2: one line of 5 MiB is read whole where the limit allows it, cut where not.
func TestRow2BigLine(t *testing.T) {
	t.Parallel()
	c := dial(t, "big", func(o *Options) { o.MaxText = 8 << 20 })
	require.Len(t, said(t, c, "x", `{"bytes":5242880}`), 5<<20)

	c = dial(t, "big", nil)
	r, err := c.Call(t.Context(), Call{Tool: "x", Arguments: json.RawMessage(`{"bytes":5242880}`)})
	require.NoError(t, err)
	require.Len(t, r.Content[0].Text, 1<<20)
	require.EqualValues(t, 4<<20, r.Cut)
	require.Equal(t, "y", strings.Repeat("y", 1), "and the connection goes on")
	require.Len(t, said(t, c, "x", `{"bytes":10}`), 10)
}

// M09: 200 MB in one line cost no memory to speak of.
func TestM09Oversized(t *testing.T) {
	c := dial(t, "big", nil)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := c.Call(t.Context(), Call{Tool: "x", Arguments: json.RawMessage(`{"bytes":200000000}`)})
	require.NoError(t, err)
	runtime.ReadMemStats(&after)
	require.EqualValues(t, 200000000-1<<20, r.Cut)
	require.Less(t, after.Sys-before.Sys, uint64(64<<20))
}

// M09: what cannot be cut to fit fails that one call.
func TestM09ManyBlocks(t *testing.T) {
	t.Parallel()
	c := dial(t, "many blocks", nil)
	_, err := c.Call(t.Context(), Call{Tool: "x"})
	require.ErrorIs(t, err, ErrTooLarge)
	require.NoError(t, c.Err())
}

// Row 4: an answer cut off by the server's end is called that.
func TestRow4CutOff(t *testing.T) {
	t.Parallel()
	c := dial(t, "cut off", nil)
	_, _, err := c.Tools(t.Context())
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorContains(t, err, "cut off after 65")
}

// M11: silence ends with the time limit, and the process with it.
func TestM11Silent(t *testing.T) {
	t.Parallel()
	start := time.Now()
	_, err := Connect(t.Context(), Options{Command: command(t, "silent"), Handshake: 300 * time.Millisecond})
	require.ErrorIs(t, err, ErrTimeout)
	require.Less(t, time.Since(start), 5*time.Second)
}

func TestM11StderrFlood(t *testing.T) {
	t.Parallel()
	c := dial(t, "stderr flood", nil)
	require.Equal(t, "ok", said(t, c, "x", ""))
	require.LessOrEqual(t, len(c.Stderr()), maxTail)
}

func TestM11ExitsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := Connect(t.Context(), Options{Command: command(t, "exits"), Handshake: 10 * time.Second})
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorContains(t, err, "exit status 3")
	require.ErrorContains(t, err, "no licence")
}

// Row 13: a server that ends at a message it does not know is started again.
func TestRow13ExitOnUnknown(t *testing.T) {
	t.Parallel()
	c := dial(t, "exit on unknown", nil)
	require.Equal(t, "alive", said(t, c, "x", ""))
}

// Row 10: a server that does not read blocks nobody beyond the limit.
func TestRow10Deaf(t *testing.T) {
	t.Parallel()
	c := dial(t, "deaf", func(o *Options) { o.Idle = 300 * time.Millisecond })
	require.Equal(t, "ok", said(t, c, "x", ""))
	big, err := json.Marshal(map[string]string{"a": strings.Repeat("a", 1<<20)})
	require.NoError(t, err)
	for range 3 {
		_, err = c.Call(t.Context(), Call{Tool: "x", Arguments: big})
		require.ErrorIs(t, err, ErrTimeout)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.Call(ctx, Call{Tool: "x", Arguments: big})
	require.ErrorIs(t, err, context.Canceled)
}

// Rows 3, 7, 22, 23 and M30: every request of a server is answered, id 0 too; what
// is not served is declined by name.
func TestM30ServerRequests(t *testing.T) {
	c := dial(t, "asks", func(o *Options) { o.Roots = []Root{{URI: "file:///ws", Name: "ws"}} })
	got := said(t, c, "x", "")
	require.Contains(t, got, `0 roots/list={"roots":[{"uri":"file:///ws","name":"ws"}]}`)
	require.Contains(t, got, "sampling/createMessage is not supported")
	require.Contains(t, got, "elicitation/create is not supported")
	require.Contains(t, got, "3 ping={}")
	require.Contains(t, got, "made/up is not supported")

	c = dial(t, "asks", nil)
	require.Contains(t, said(t, c, "x", ""), "roots/list is not supported")
}

// M30: a server that logs without end holds nothing up, and what it asks meanwhile
// is not kept.
func TestM30LogFlood(t *testing.T) {
	t.Parallel()
	heard := 0
	c := dial(t, "chatty", func(o *Options) { o.Notify = func(Notification) { heard++ } })
	require.Equal(t, "ok", said(t, c, "x", ""))
	require.LessOrEqual(t, heard, 30_000)
	require.Equal(t, "ok", said(t, c, "x", ""))
}

// Row 36: progress extends the limit, silence does not.
func TestRow36Progress(t *testing.T) {
	t.Parallel()
	c := dial(t, "slow", func(o *Options) { o.Idle = 300 * time.Millisecond })
	steps := 0
	r, err := c.Call(t.Context(), Call{Tool: "talks", Progress: func(Progress) { steps++ }})
	require.NoError(t, err)
	require.Equal(t, "done", r.Content[0].Text)
	require.Equal(t, 10, steps)
	_, err = c.Call(t.Context(), Call{Tool: "quiet"})
	require.ErrorIs(t, err, ErrTimeout)

	c = dial(t, "slow", func(o *Options) { o.Idle, o.Total = time.Second, 200*time.Millisecond })
	_, err = c.Call(t.Context(), Call{Tool: "talks"})
	require.ErrorIs(t, err, ErrTimeout, "progress does not lift the limit of the whole")
	require.ErrorContains(t, err, "in all")
}

// M10: what no server should send harms nothing.
func TestM10Hostile(t *testing.T) {
	t.Parallel()
	c := dial(t, "hostile", nil)
	require.Equal(t, "last key", said(t, c, "x", ""), "an answer counts once, in a batch too")
	require.Equal(t, "last key", said(t, c, "x", ""))
	require.NoError(t, c.Err())
}

func TestM10WrongVersion(t *testing.T) {
	for _, version := range []string{"1999-01-01", ""} {
		_, err := Connect(t.Context(), Options{URL: serveJSON(t, map[string]string{
			"initialize": fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{},"serverInfo":{"name":"x","version":"1"}}`, version),
		})})
		require.ErrorIs(t, err, errNoCommonVersion)
	}
}

func TestStdioModern(t *testing.T) {
	changed := make(chan struct{}, 8)
	c := dial(t, "modern", func(o *Options) {
		o.Roots = []Root{{URI: "file:///ws"}}
		o.Notify = func(n Notification) {
			if n.Method == "notifications/tools/list_changed" {
				changed <- struct{}{}
			}
		}
	})
	require.True(t, c.Info().Modern)
	<-changed
	got := said(t, c, "x", "")
	require.Contains(t, got, `{"r":{"roots":[{"uri":"file:///ws"}]}}`)
	require.Contains(t, got, `"opaque \u0001 state"`)
	require.Contains(t, got, `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`)
}

func TestCrashFailsTheCall(t *testing.T) {
	t.Parallel()
	c := dial(t, "crash", nil)
	_, err := c.Call(t.Context(), Call{Tool: "x"})
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorContains(t, err, "exit status 7")
	<-c.Done()
}

// Row 6, 7 and M12: nothing is left of a server when it is closed, not even a
// child that holds its pipes and ignores signals.
func TestM12CloseEndsTheFamily(t *testing.T) {
	t.Parallel()
	c := dial(t, "family", nil)
	pid, err := strconv.Atoi(said(t, c, "x", ""))
	require.NoError(t, err)
	start := time.Now()
	closeNow(t, c)
	require.Less(t, time.Since(start), 4*time.Second)
	requireGone(t, pid)
}

// M12: however this program ends, with a kill -9 or a panic, and without closing
// anything: the server and what it started end too.
func TestM12HoweverItEnds(t *testing.T) {
	t.Parallel()
	ways := map[string]func(host *os.Process) error{
		"killed": func(p *os.Process) error { return p.Signal(syscall.SIGKILL) },
		"ended":  func(p *os.Process) error { return p.Signal(syscall.SIGTERM) }, // SIGHUP and SIGINT may be ignored here, and then in the child
		"exit":   nil,
		"panic":  nil,
	}
	if way := os.Getenv("WIRE_HOST"); way != "" {
		c := dial(t, "family", nil)
		fmt.Printf("child=%s\n", said(t, c, "x", ""))
		_, _ = io.Copy(io.Discard, os.Stdin) // until it is told to go on
		switch way {
		case "exit":
			os.Exit(0)
		case "panic":
			go func() { panic("on purpose") }()
		}
		select {}
	}
	for way, end := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			host := exec.Command(os.Args[0], "-test.run=^TestM12HoweverItEnds$", "-test.v")
			host.Env = append(os.Environ(), "WIRE_HOST="+way, "TMPDIR="+t.TempDir()) // what it cannot remove is removed here
			in, err := host.StdinPipe()
			require.NoError(t, err)
			out, err := host.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, host.Start())
			t.Cleanup(func() { _ = host.Process.Kill() })
			pid := 0
			lines := bufio.NewScanner(out)
			for pid == 0 && lines.Scan() {
				if _, after, ok := strings.Cut(lines.Text(), "child="); ok {
					pid, err = strconv.Atoi(after)
					require.NoError(t, err)
				}
			}
			require.NotZero(t, pid)
			if end == nil {
				require.NoError(t, in.Close())
			} else {
				require.NoError(t, end(host.Process))
			}
			_ = host.Wait()
			requireGone(t, pid)
		})
	}
}

func requireGone(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil && syscall.Kill(pid, 0) != nil || strings.Contains(string(stat), ") Z ")
	}, 3*time.Second, 20*time.Millisecond, "process %d is left", pid)
}

func TestRelativeCommandIsRefused(t *testing.T) {
	_, err := Connect(t.Context(), Options{Command: &Command{Path: "node"}})
	require.ErrorContains(t, err, "absolute")
	_, err = Connect(t.Context(), Options{Command: &Command{Path: "/does/not/exist"}})
	require.ErrorContains(t, err, "/does/not/exist")
}
