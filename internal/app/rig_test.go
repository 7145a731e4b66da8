package app_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/coderrr/coderrr/internal/app"
	"github.com/coderrr/coderrr/internal/cli"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm/llmtest"
	"github.com/coderrr/coderrr/internal/sandbox/confined"
	"github.com/coderrr/coderrr/internal/secret"
	"github.com/coderrr/coderrr/internal/term"
)

func TestMain(m *testing.M) {
	confined.Init()
	if os.Getenv(serverEnv) != "" {
		mcpServer()
		return
	}
	goleak.VerifyTestMain(m)
}

type m = map[string]any

const tasksDoc = "# Tasks: Greet\n\n## T001: Greet the world\n- **status**: pending\n- **files**: `hello.txt`\n- **acceptance**: the file is there\n"

// turns is a whole session: it plans one task, does it and proves it.
func turns() []llmtest.Turn {
	return []llmtest.Turn{
		{Text: "I will look around first.", Calls: []llmtest.Call{{Name: "list_dir", Input: m{}}}},
		llmtest.Use("create_spec", m{"title": "Greet", "size": "quick"}),
		llmtest.Use("write_spec", m{"document": "tasks", "content": tasksDoc}),
		llmtest.Use("finish", m{"summary": "planned"}),
		llmtest.Use("update_task", m{"task_id": "T001", "status": "in_progress"}),
		llmtest.Use("write_file", m{"path": "hello.txt", "content": "hello\n"}),
		llmtest.Use("run_in_sandbox", m{"command": "cat hello.txt"}),
		llmtest.Use("update_task", m{"task_id": "T001", "status": "done"}),
		llmtest.Use("finish", m{"summary": "greeted"}),
	}
}

// accepting answers the verifier, whose requests have no tools.
func accepting() llmtest.Always { return llmtest.NoTools(`{"verdict":"accept","reason":"fine"}`) }

// machine is a home and a workspace of one test, and the streams of a process.
type machine struct {
	t        *testing.T
	home, ws string
	env      map[string]string
	out, err *safeBuffer
	console  func(io.Writer, bool) (*term.Console, error)
}

// safeBuffer is a buffer that several goroutines may use.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func newMachine(t *testing.T, endpoint string) *machine {
	t.Helper()
	x := &machine{t: t, home: filepath.Join(t.TempDir(), "home"), ws: filepath.Join(t.TempDir(), "ws")}
	require.NoError(t, os.MkdirAll(x.home, 0o700))
	require.NoError(t, os.MkdirAll(x.ws, 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(x.home, "user"), 0o755))
	if endpoint != "" {
		x.config("[provider]\nname = \"compatible\"\nmodel = \"scripted\"\nendpoint = \"" + endpoint + "\"\n[sandbox]\ntier = \"scratch\"\n")
	}
	x.env = map[string]string{"CODERRR_HOME": x.home, "HOME": filepath.Join(x.home, "user"), "PATH": os.Getenv("PATH")}
	return x
}

func (x *machine) config(text string) {
	require.NoError(x.t, os.WriteFile(filepath.Join(x.home, "config.toml"), []byte(text), 0o600))
}

// run is one command line in this process.
func (x *machine) run(args ...string) int {
	x.t.Helper()
	x.out, x.err = &safeBuffer{}, &safeBuffer{}
	return cli.Main(x.t.Context(), args, x.io(x.out), "test", app.Build)
}

// serving is a command line that runs until ctx ends.
func (x *machine) serving(ctx context.Context, out io.Writer, args []string) int {
	x.out, x.err = &safeBuffer{}, &safeBuffer{}
	return cli.Main(ctx, args, x.io(out), "test", app.Build)
}

func (x *machine) io(out io.Writer) cli.IO {
	s := cli.IO{
		In: strings.NewReader(""), Out: out, Err: x.err, Dir: x.ws,
		Getenv:      func(k string) string { return x.env[k] },
		OpenConsole: x.console, ErrTerminal: x.console != nil,
		Keys: func(home string) cli.KeyStore { return secret.Vault{File: filepath.Join(home, "credentials.json")} },
	}
	if s.OpenConsole == nil {
		s.OpenConsole = func(io.Writer, bool) (*term.Console, error) { return nil, term.ErrNoTerminal }
	}
	return s
}

// atTerminal gives the machine a terminal at which a person types each line when a
// prompt shows.
func (x *machine) atTerminal(lines ...string) {
	x.console = func(out io.Writer, _ bool) (*term.Console, error) {
		master, tty, err := pty.Open()
		if err != nil {
			return nil, err
		}
		typed := make(chan struct{})
		screen := x.err
		go func() {
			defer close(typed)
			for i, line := range lines {
				for range 3000 {
					if strings.Count(screen.String(), "/?] ") > i {
						break
					}
					time.Sleep(10 * time.Millisecond)
				}
				_, _ = io.WriteString(master, line+"\n") // a closed terminal ends the test elsewhere
			}
		}()
		x.t.Cleanup(func() {
			<-typed
			_ = master.Close()
		})
		return term.NewConsole(tty, out, true), nil
	}
}

// log is the one stored session log of the workspace.
func (x *machine) log() []event.Event {
	x.t.Helper()
	files, err := filepath.Glob(filepath.Join(x.ws, ".coderrr", "session", "*.jsonl"))
	require.NoError(x.t, err)
	require.Len(x.t, files, 1)
	data, err := os.ReadFile(files[0])
	require.NoError(x.t, err)
	events, _, err := event.Read(bytes.NewReader(data))
	require.NoError(x.t, err)
	return events
}

// finished reports whether the session's log has its last event.
func (x *machine) finished() bool {
	files, err := filepath.Glob(filepath.Join(x.ws, ".coderrr", "session", "*.jsonl"))
	require.NoError(x.t, err)
	if len(files) == 0 {
		return false
	}
	events := x.log()
	if len(events) == 0 {
		return false
	}
	_, end := events[len(events)-1].Data.(event.SessionFinished)
	return end
}

func (x *machine) read(name string) string {
	x.t.Helper()
	data, err := os.ReadFile(filepath.Join(x.ws, name))
	require.NoError(x.t, err)
	return string(data)
}

func (x *machine) String() string {
	return fmt.Sprintf("stdout:\n%s\nstderr:\n%s", x.out.String(), x.err.String())
}
