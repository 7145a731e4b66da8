package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/session"
)

// crashEnv makes the test binary run one session and kill itself: its value is
// WORKSPACE|HOME|N, N being the stored event right after which it dies (0: never).
const crashEnv = "CODERRR_TEST_CRASH"

// killer is a file sink that ends the process, as kill -9 does, after n events.
type killer struct {
	*event.FileSink
	left int
}

func (k *killer) Write(e event.Event, sync bool) error {
	err := k.FileSink.Write(e, sync)
	if k.left--; k.left == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	return err
}

// stubborn is a model that looks at the conversation and does the first step of
// the work that has no good result yet. So it goes on wherever it was interrupted.
type stubborn struct{}

func (stubborn) Name() string { return "stubborn" }

func (stubborn) Stream(_ context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		use := nextStep(req.Messages)
		use.ID = fmt.Sprintf("call_%d", len(req.Messages))
		yield(llm.Done{Stop: llm.StopToolUse, Message: llm.Message{Role: llm.Assistant, Blocks: llm.Blocks{use}}}, nil)
	}
}

func nextStep(ms []llm.Message) llm.ToolUse {
	good := map[string]bool{}
	unread := false
	approved := false
	for i, msg := range ms {
		approved = approved || msg.Role == llm.User && strings.Contains(llm.TextOf(msg), "is approved")
		for _, u := range llm.ToolUses(msg) {
			for _, b := range ms[i+1].Blocks {
				r, ok := b.(llm.ToolResult)
				if !ok || r.ToolUseID != u.ID {
					continue
				}
				made := strings.Contains(r.Content, "was made in full")
				if !r.IsError || made {
					good[u.Name+string(u.Input)] = true
				}
				if u.Name == "edit_file" {
					unread = r.IsError && !made
				} else if u.Name == "read_file" {
					unread = false
				}
			}
		}
	}
	steps := append(planTurns()[:3:3], workTurns()...)
	for _, t := range steps {
		c := t.Calls[0]
		input, err := json.Marshal(c.Input)
		if err != nil {
			panic(err)
		}
		if c.Name == "update_task" && !approved {
			return llm.ToolUse{Name: "finish", Input: json.RawMessage(`{"summary":"planned"}`)}
		}
		if good[c.Name+string(input)] {
			continue
		}
		if c.Name == "edit_file" && unread {
			return llm.ToolUse{Name: "read_file", Input: json.RawMessage(`{"path":"a.txt"}`)}
		}
		return llm.ToolUse{Name: c.Name, Input: input}
	}
	return llm.ToolUse{Name: "finish", Input: json.RawMessage(`{"summary":"all done"}`)}
}

// crashMain is the child: one session over a stored log, resumed if there is one.
func crashMain() {
	fin, err := crashRun(os.Getenv(crashEnv))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(fin.Status, fin.Summary)
}

func crashRun(arg string) (event.SessionFinished, error) {
	part := strings.Split(arg, "|")
	n, err := strconv.Atoi(part[2])
	if err != nil {
		return event.SessionFinished{}, err
	}
	dir := filepath.Join(part[0], ".coderrr", "session")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return event.SessionFinished{}, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "s1.jsonl"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return event.SessionFinished{}, err
	}
	past, whole, err := event.Read(f)
	if err != nil {
		return event.SessionFinished{}, err
	}
	if err := f.Truncate(whole); err != nil {
		return event.SessionFinished{}, err
	}
	yes := ask.Policy{Choices: map[ask.Kind]string{ask.Plan: ask.Approve}, By: ask.ByTerminal}
	r, closeIt, err := open(place{ws: part[0], home: part[1]}, stubborn{}, yes, setup{
		past: past, sink: &killer{FileSink: event.NewFileSink(f), left: n},
	})
	if err != nil {
		return event.SessionFinished{}, err
	}
	fin := r.Run(context.Background(), session.Request{Text: "add three", Resume: len(past) > 0})
	return fin, closeIt()
}

func (p place) child(t *testing.T, n int) (out string, killed bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%s|%d", crashEnv, p.ws, p.home, n), "GORACE=atexit_sleep_ms=0")
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if state := cmd.ProcessState.Sys().(syscall.WaitStatus); state.Signaled() {
		return "", true
	}
	require.NoError(t, err, stderr.String())
	return stdout.String(), false
}

// whole checks that nothing is half-written: the file is as before or as after,
// nothing else lies about, and the log can be read.
func (p place) whole(t *testing.T) {
	t.Helper()
	require.Contains(t, []string{"one\ntwo\n", "one\ntwo\nthree\n"}, p.read(t, "a.txt"))
	entries, err := os.ReadDir(p.ws)
	require.NoError(t, err)
	for _, e := range entries {
		require.Contains(t, []string{".coderrr", "a.txt"}, e.Name())
	}
	f, err := os.Open(filepath.Join(p.ws, ".coderrr", "session", "s1.jsonl"))
	require.NoError(t, err)
	_, _, err = event.Read(f)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// Killed after each stored event of a run, and again just after it went on, every
// session can go on to its end.
func TestKilledAnywhereItGoesOn(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		p := newPlace(t)
		if _, killed := p.child(t, n); !killed {
			require.Greater(t, n, 50, "the run has that many boundaries")
			return
		}
		p.whole(t)
		out, killed := p.child(t, 8)
		if killed {
			p.whole(t)
			out, _ = p.child(t, 0)
		}
		require.Equal(t, "ok all done\n", out, "killed after event %d", n)
		require.Equal(t, "one\ntwo\nthree\n", p.read(t, "a.txt"), "killed after event %d", n)
		p.whole(t)
	}
}

// Killed again and again, a few events further each time, it still gets there.
func TestKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for range 200 {
		out, killed := p.child(t, 24)
		if !killed {
			require.Equal(t, "ok all done\n", out)
			return
		}
		p.whole(t)
	}
	t.Fatal("it never got to its end")
}

// A torn last line is what a crash in the middle of a write leaves.
func TestATornLogGoesOn(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	_, killed := p.child(t, 40)
	require.True(t, killed)
	path := filepath.Join(p.ws, ".coderrr", "session", "s1.jsonl")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data[:len(data)-7], 0o600))
	out, _ := p.child(t, 0)
	require.Equal(t, "ok all done\n", out)
}
