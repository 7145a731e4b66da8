//go:build soak

package session_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Five hundred crashes: after a stored event, at any moment between two of them, and
// with half a line at the end of the log. Each run is killed again and again until it
// gets to its end, which is always the same. CODERRR_TEST_SEED chooses other points.
func TestR12FiveHundredCrashes(t *testing.T) {
	seed, err := strconv.ParseUint(os.Getenv("CODERRR_TEST_SEED"), 10, 64)
	if err != nil {
		seed = 1
	}
	rnd := rand.New(rand.NewPCG(seed, 0))
	points := 0
	for run := 0; points < 500; run++ {
		p := newPlace(t)
		for step := 0; ; step++ {
			require.Less(t, step, 400, "seed %d, run %d: it never gets to its end", seed, run)
			if rnd.IntN(3) == 0 {
				if !p.killAfter(t, time.Duration(rnd.IntN(80))*time.Millisecond) {
					continue
				}
			} else if out, killed := p.child(t, 1+rnd.IntN(60)); !killed {
				require.Equal(t, "ok all done\n", out, "seed %d, run %d, step %d", seed, run, step)
				break
			}
			points++
			if _, err := os.Stat(p.log()); err != nil {
				continue // killed before there was a log
			}
			if rnd.IntN(4) == 0 {
				p.halfLine(t, rnd)
			}
			require.Contains(t, []string{"one\ntwo\n", "one\ntwo\nthree\n"}, p.read(t, "a.txt"))
		}
		p.whole(t) // what was killed while it wrote left a file that is gone by now
		require.Equal(t, "one\ntwo\nthree\n", p.read(t, "a.txt"), "seed %d, run %d", seed, run)
	}
	t.Logf("%d crash points, seed %d", points, seed)
}

func (p place) log() string { return filepath.Join(p.ws, ".coderrr", "session", "s1.jsonl") }

// killAfter ends a child from outside, wherever it is by then; false if it is done.
func (p place) killAfter(t *testing.T, d time.Duration) (killed bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%s|0", crashEnv, p.ws, p.home), "GORACE=atexit_sleep_ms=0")
	require.NoError(t, cmd.Start())
	timer := time.AfterFunc(d, func() { _ = cmd.Process.Signal(syscall.SIGKILL) })
	defer timer.Stop()
	return cmd.Wait() != nil
}

// halfLine leaves what a crash in the middle of a write leaves: a part of a line.
func (p place) halfLine(t *testing.T, rnd *rand.Rand) {
	t.Helper()
	data, err := os.ReadFile(p.log())
	require.NoError(t, err)
	if len(data) == 0 || data[len(data)-1] != '\n' {
		return // a line is torn already
	}
	last := data[bytes.LastIndexByte(data[:len(data)-1], '\n')+1:]
	data = append(data, last[:1+rnd.IntN(len(last)-1)]...)
	require.NoError(t, os.WriteFile(p.log(), data, 0o600))
}
