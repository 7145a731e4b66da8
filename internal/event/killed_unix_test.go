//go:build unix

package event_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/event"
)

// logEnv names the log that a child of TestKilledLogHoldsAllThatWasSaid writes.
const logEnv = "CODERRR_TEST_LOG"

// writeForEver appends and says each number once Append has returned.
func writeForEver(path string) {
	f, err := os.Create(path)
	if err != nil {
		panic(err)
	}
	log := event.NewLog(nil, event.NewFileSink(f))
	for i := 1; ; i++ {
		if i%50 == 0 {
			err = log.Commit(event.TaskUpdated{ID: "T001", Status: "done"})
		} else {
			log.Append(event.TextDone{Text: strings.Repeat("x", i%700)})
			err = log.Err()
		}
		if err != nil {
			panic(err)
		}
		fmt.Println(i)
	}
}

// TestKilledLogHoldsAllThatWasSaid (R12): kill -9 takes no event away whose Append
// has returned, and what is left can be read.
func TestKilledLogHoldsAllThatWasSaid(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	for round := range 5 {
		path := filepath.Join(t.TempDir(), "log.jsonl")
		cmd := exec.CommandContext(t.Context(), self)
		cmd.Env = append(os.Environ(), logEnv+"="+path)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		time.AfterFunc(time.Duration(30+37*round)*time.Millisecond, func() { _ = cmd.Process.Kill() })
		said := 0
		for lines := bufio.NewReader(out); ; {
			line, err := lines.ReadString('\n')
			if err != nil {
				break
			}
			said, err = strconv.Atoi(strings.TrimSpace(line))
			require.NoError(t, err)
		}
		require.Error(t, cmd.Wait(), "it was killed")
		data, err := os.Open(path)
		if said == 0 && err != nil {
			continue // killed before it began
		}
		require.NoError(t, err)
		events, _, err := event.Read(data)
		require.NoError(t, data.Close())
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(events), said)
		for i, e := range events {
			require.Equal(t, int64(i+1), e.Seq)
		}
	}
}
