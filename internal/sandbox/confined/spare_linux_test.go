package confined_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/sandbox/confined"
	"github.com/coderrr/coderrr/internal/sandbox/procs"
)

// waitingFirst returns the process ids of this process's helpers that wait for
// a command.
func waitingFirst(t *testing.T) []int {
	t.Helper()
	var out []int
	for _, p := range procs.Below(procs.List(), os.Getpid(), nil) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID))
		if err == nil && strings.HasPrefix(string(b), confined.Arg0+"\x00init") {
			out = append(out, p.PID)
		}
	}
	return out
}

// oneWaits waits for the spare of the only sandbox that is open.
func oneWaits(t *testing.T) int {
	t.Helper()
	require.Eventually(t, func() bool { return len(waitingFirst(t)) == 1 }, 5*time.Second, 5*time.Millisecond)
	return waitingFirst(t)[0]
}

// What a command starts in waits for it, shows what is there when it starts,
// and is no more than one.
func TestTheNextCommandIsPrepared(t *testing.T) {
	home, ws := t.TempDir(), t.TempDir()
	write(t, home, ".nvm/version", "old")
	s := open(t, ws, func(o *confined.Options) { o.Host = []string{"HOME=" + home, "PATH=/usr/bin:/bin"} })
	passes(t, s, "true")
	first := oneWaits(t)

	write(t, ws, "later", "edited while it waited")
	require.Equal(t, "edited while it waited", passes(t, s, "cat later"))
	second := oneWaits(t)
	require.NotEqual(t, first, second)

	// A toolchain that is installed anew is another directory at the same path.
	require.NoError(t, os.Rename(filepath.Join(home, ".nvm"), filepath.Join(home, "gone")))
	write(t, home, ".nvm/version", "new")
	require.Equal(t, "new", passes(t, s, "cat ~/.nvm/version"))

	require.NoError(t, unix.Kill(oneWaits(t), unix.SIGKILL))
	require.Eventually(t, func() bool { return len(waitingFirst(t)) == 0 }, 5*time.Second, 5*time.Millisecond)
	require.Equal(t, "1", passes(t, s, "printf 1"), "one that was killed is replaced")
	oneWaits(t)
}

// The network of a prepared sandbox is that of its command.
func TestPreparedNetwork(t *testing.T) {
	s := open(t, t.TempDir())
	passes(t, s, "true")
	oneWaits(t)
	here, err := os.Readlink("/proc/self/ns/net")
	require.NoError(t, err)
	for i, network := range []bool{true, true, false, false, true} {
		res, err := s.Run(t.Context(), sandbox.Command{Line: "readlink /proc/self/ns/net", Refresh: true, Network: network})
		require.NoError(t, err)
		require.Equal(t, network, strings.TrimSpace(res.Output) == here, strconv.Itoa(i))
		oneWaits(t)
	}
}
