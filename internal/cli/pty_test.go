//go:build linux

package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// screen is a coderrr that runs in a terminal of its own.
type screen struct {
	t      *testing.T
	cmd    *exec.Cmd
	master *os.File
	home   string
	ended  chan error

	mu   sync.Mutex
	seen bytes.Buffer
	read int
}

// start runs the command line in a terminal; extra is added to its environment.
func start(t *testing.T, extra []string, args ...string) *screen {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return startCommand(t, extra, self, append([]string{"coderrr-pty"}, args...)...)
}

// startCommand does it for any program; args begin with its name.
func startCommand(t *testing.T, extra []string, path string, args ...string) *screen {
	t.Helper()
	home := filepath.Join(t.TempDir(), "home")
	require.NoError(t, os.Mkdir(home, 0o700))
	err := os.WriteFile(filepath.Join(home, "config.toml"), []byte("[provider]\nname = \"ollama\"\nmodel = \"m\"\n"), 0o600)
	require.NoError(t, err)
	s := &screen{t: t, home: home, ended: make(chan error, 1)}
	s.cmd = &exec.Cmd{Path: path, Args: args, Dir: t.TempDir()}
	s.cmd.Env = append([]string{"CODERRR_HOME=" + home, "HOME=/nowhere", "TERM=xterm", "LANG=C.UTF-8", "PATH=" + os.Getenv("PATH")}, extra...)
	s.master, err = pty.StartWithSize(s.cmd, &pty.Winsize{Rows: 24, Cols: 100})
	require.NoError(t, err)
	go func() {
		chunk := make([]byte, 4096)
		for {
			n, err := s.master.Read(chunk)
			s.mu.Lock()
			s.seen.Write(chunk[:n])
			s.mu.Unlock()
			if err != nil {
				s.ended <- s.cmd.Wait()
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // it has ended, if all went well
		require.NoError(t, s.master.Close())
	})
	return s
}

func (s *screen) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen.String()
}

func (s *screen) expect(text string) {
	s.t.Helper()
	for range 2000 {
		s.mu.Lock()
		i := strings.Index(s.seen.String()[s.read:], text)
		if i >= 0 {
			s.read += i + len(text)
		}
		s.mu.Unlock()
		if i >= 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	s.t.Fatalf("%q was not shown:\n%s", text, s.shown())
}

func (s *screen) types(text string) {
	s.t.Helper()
	_, err := s.master.WriteString(text)
	require.NoError(s.t, err)
}

func (s *screen) code() int {
	s.t.Helper()
	select {
	case err := <-s.ended:
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			if st, ok := exit.Sys().(syscall.WaitStatus); ok && st.Signaled() {
				return 128 + int(st.Signal())
			}
			return exit.ExitCode()
		}
		require.NoError(s.t, err)
		return 0
	case <-time.After(20 * time.Second):
		s.t.Fatalf("it did not end:\n%s", s.shown())
		return -1
	}
}

// cooked reports whether the terminal echoes and edits lines, as a shell left it.
func (s *screen) cooked() bool {
	s.t.Helper()
	state, err := unix.IoctlGetTermios(int(s.master.Fd()), unix.TCGETS)
	require.NoError(s.t, err)
	return state.Lflag&(unix.ECHO|unix.ICANON|unix.ISIG) == unix.ECHO|unix.ICANON|unix.ISIG
}

func TestRunAsksInTheTerminal(t *testing.T) {
	for _, tt := range []struct {
		typed []string
		code  int
		shown string
	}{
		{[]string{"y"}, ExitOK, "Did \"greet\""},
		{[]string{"n"}, ExitDeclined, "Declined"},
		{[]string{"c", "say it louder"}, ExitDeclined, "Declined say it louder"},
		{[]string{"", "y"}, ExitOK, "Done"},
		{[]string{"\x04"}, ExitApproval, "The plan waits"},
	} {
		s := start(t, nil, "run", "greet")
		for i, line := range tt.typed {
			if i == 0 || tt.typed[0] == "" {
				s.expect("Approve this plan and start?")
				s.expect("/?] ")
			} else {
				s.expect("Comment: ")
			}
			s.types(strings.TrimSuffix(line+"\n", "\x04\n") + strings.Repeat("\x04", strings.Count(line, "\x04")))
		}
		s.expect(tt.shown)
		require.Equal(t, tt.code, s.code(), s.shown())
	}
}

// T11: no escapes with TERM=dumb or NO_COLOR; CI asks nobody.
func TestT11Plain(t *testing.T) {
	for _, extra := range [][]string{{"TERM=dumb"}, {"NO_COLOR=1"}} {
		s := start(t, extra, "run", "greet")
		s.expect("/?] ")
		s.types("y\n")
		require.Equal(t, ExitOK, s.code())
		require.NotContains(t, s.shown(), "\x1b")
	}
	s := start(t, nil, "--no-color", "run", "-y", "greet")
	require.Equal(t, ExitOK, s.code(), s.shown())
	require.NotContains(t, s.shown(), "\x1b")
	s = start(t, []string{"CI=true"}, "run", "greet")
	require.Equal(t, ExitApproval, s.code(), "in CI nobody is asked")
	s = start(t, nil, "run", "--json", "greet")
	require.Equal(t, ExitApproval, s.code(), "with --json nobody is asked")
}

// T12: Ctrl-C, SIGTERM and SIGHUP leave the terminal as it was.
func TestT12Signals(t *testing.T) {
	for name, end := range map[string]func(*screen){
		"ctrl-c":  func(s *screen) { s.types("\x03") },
		"sigterm": func(s *screen) { require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM)) },
		"sighup":  func(s *screen) { require.NoError(t, s.cmd.Process.Signal(syscall.SIGHUP)) },
	} {
		s := start(t, nil, "run", "hang")
		s.expect("hello from the model")
		end(s)
		require.Equal(t, ExitInterrupted, s.code(), "%s: %s", name, s.shown())
		require.True(t, s.cooked(), name)

		s = start(t, nil, "run", "greet")
		s.expect("/?] ")
		end(s)
		require.Equal(t, ExitInterrupted, s.code(), "%s at a question: %s", name, s.shown())
		require.True(t, s.cooked(), name)
	}
	s := start(t, nil)
	s.expect("› ")
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, ExitInterrupted, s.code(), s.shown())
	require.True(t, s.cooked())
}

// T12, R20: Ctrl-Z gives the shell its terminal back as it was, and fg goes on.
func TestT12Suspend(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	link := filepath.Join(t.TempDir(), "coderrr-pty")
	require.NoError(t, os.Symlink(self, link))
	shell := func(args string) *screen {
		return startCommand(t, nil, "/bin/sh", "sh", "-c", "set -m; "+link+args+"; echo STOPPED; stty -a; echo LISTED; fg")
	}
	sane := func(s *screen) {
		s.expect("STOPPED")
		s.expect("LISTED")
		shown := s.shown()
		state := shown[strings.LastIndex(shown, "STOPPED"):]
		require.Regexp(t, `eol = <undef>`, state)
		require.NotRegexp(t, `-(icanon|echo|isig|icrnl|opost)\b`, state)
	}

	s := shell(" run hang")
	s.expect("hello from the model")
	s.types("\x1a")
	sane(s)
	time.Sleep(300 * time.Millisecond) // the job is in front again
	s.types("\x1b")
	s.expect("Stopped.")
	require.Equal(t, ExitInterrupted, s.code(), s.shown())

	s = shell("")
	s.expect("› ")
	s.types("half")
	s.expect("half")
	s.types("\x1a")
	sane(s)
	s.expect("half") // the line is drawn again
	s.types("\x15/quit\r")
	require.Equal(t, ExitOK, s.code(), s.shown())
	require.True(t, s.cooked())

	s = shell(" run greet")
	s.expect("/?] ")
	s.types("\x1a")
	sane(s)
	s.types("y\n")
	s.expect("Done")
	require.Equal(t, ExitOK, s.code(), s.shown())
}

func TestTypedWhileItRuns(t *testing.T) {
	s := start(t, nil, "run", "listen")
	s.expect("hello from the model")
	s.types("also fix the docs\n")
	s.expect("heard also fix the docs")
	s.expect("/?] ")
	s.types("y\n")
	require.Equal(t, ExitOK, s.code())
}

func TestREPLSession(t *testing.T) {
	s := start(t, nil)
	s.expect("Coderrr")
	s.expect("› ")
	s.types("greet\r")
	s.expect("/?] ")
	s.types("y\n")
	s.expect("Done")
	s.expect("› ")
	for _, step := range [][2]string{
		{"/status", "last session s-new: ok"},
		{"/diff", "edit a.txt"},
		{"/plan", "Plan: Greet"},
		{"/plan 1", "Use echo"},
		{"/plan 9", "no such spec: 9"},
		{"/specs", "001-greet"},
		{"/sessions", "not yours: read-only"},
		{"/cost", "0 tokens in"},
		{"/model", "ollama/m"},
		{"/sandbox", "tier: scratch"},
		{"/statsu", "did you mean /status?"},
		{"/help", "/undo"},
		{"/ask why", "hello from the model"},
		{"/ask", "needs a question"},
		{"/approve", "needs a spec"},
		{"/confirm x", "takes on or off"},
		{"/resume unknown", "no such session"},
		{"/memory", "AGENTS.md"},
		{"/permissions", "each is asked about"},
		{"/context", "KIND"},
		{"/auto on", "AUTO IS ON"},
		{"/yolo off", "asked about again"},
		{"/auto maybe", "takes on or off"},
		{"/mcp", "no MCP servers"},
		{"/skills tests", "go-tests"},
		{"/skills show go-tests", "# Go tests"},
		{"/skills", "needs words"},
		{"/config get provider.model", "m"},
		{"/config set 'open", "not closed"},
		{"/export", "session.started"},
		{"/compact", "when the next request begins"},
		{"/reject", "no command /reject"},
		{"!echo hi", "ran echo hi"},
		{"/new", "new conversation"},
	} {
		s.types(step[0] + "\r")
		s.expect(step[1])
		s.expect("› ")
	}
	s.types("/model openai/gpt\r")
	s.expect("openai/gpt")
	s.expect("› ")
	s.types("/confirm on\r")
	s.expect("asked about: on")
	s.expect("› ")
	s.types("/undo\r")
	s.expect("would undo")
	s.expect("[y/n/?] ")
	s.types("y\n")
	s.expect("undone")
	s.expect("› ")
	s.types("/approve 1\r")
	s.expect("confirm=true")
	s.expect("/?] ")
	s.types("n\n")
	s.expect("Declined")
	s.expect("› ")
	s.types("again\r")
	s.expect("/?] ")
	s.types("y\n")
	s.expect("after \"s-new\"")
	s.expect("› ")
	s.types("/new\r")
	s.expect("› ")
	s.types("/continue\r")
	s.expect("/?] ")
	s.types("y\n")
	s.expect("after \"\"")
	s.expect("› ")
	s.types("phases\r")
	s.expect("planning: nothing can be written, each write asked | openai/gpt | ")
	s.expect("working on the approved plan, each write asked | openai/gpt | context 50% of 128k | cost unknown")
	s.expect("/?] ")
	s.types("n\n")
	s.expect("› ")
	s.types("hang\r")
	s.expect("hello from the model")
	s.types("\x03") // stops the run, not the REPL
	s.expect("Stopped.")
	s.expect("› ")
	s.types("/quit\r")
	require.Equal(t, ExitOK, s.code(), s.shown())
	require.True(t, s.cooked())
	history, err := os.ReadFile(filepath.Join(s.home, "repl_history"))
	require.NoError(t, err)
	require.Contains(t, string(history), "greet")
}

// /rewind goes back to before a request: the words, and on request the files.
func TestREPLRewind(t *testing.T) {
	s := start(t, nil)
	s.expect("› ")
	s.types("/rewind\r")
	s.expect("no request yet")
	s.expect("› ")
	s.types("/resume s2\r")
	s.expect("/?] ")
	s.types("y\n")
	s.expect("Done")
	for _, step := range [][2]string{
		{"/rewind", "then more"},
		{"/rewind 3", "1 to 2"},
		{"/rewind 2 all", "the word files"},
	} {
		s.expect("› ")
		s.types(step[0] + "\r")
		s.expect(step[1])
	}
	s.expect("› ")
	s.types("/rewind 2 files\r")
	s.expect("would undo")
	s.expect("[y/n/?] ")
	s.types("n\n")
	s.expect("stays where it is")
	s.expect("› ")
	s.types("/rewind 2\r")
	s.expect("files stay as they are")
	s.expect("› ")
	s.types("again\r")
	s.expect("/?] ")
	s.types("y\n")
	s.expect("after \"s1\"")
	s.expect("› ")
	s.types("/resume s2\r")
	s.expect("/?] ")
	s.types("y\n")
	s.expect("Done")
	s.expect("› ")
	s.types("/rewind 1 files\r")
	for range 2 {
		s.expect("[y/n/?] ")
		s.types("y\n")
		s.expect("undone")
	}
	s.expect("before request 1: greet")
	s.expect("› ")
	s.types("again\r")
	s.expect("/?] ")
	s.types("y\n")
	s.expect("after \"\"")
	s.expect("› ")
	s.types("/quit\r")
	require.Equal(t, ExitOK, s.code(), s.shown())
}

// Commands, files and what was typed before are completed and found; the status
// line names model and sandbox.
func TestREPLCompletion(t *testing.T) {
	for _, cols := range []uint16{20, 40, 80, 200} {
		s := start(t, nil)
		require.NoError(t, pty.Setsize(s.master, &pty.Winsize{Rows: 24, Cols: cols}))
		s.expect("plan first")
		s.expect("› ")
		s.types("/memo\t\r")
		s.expect("AGENTS.md")
		s.expect("› ")
		s.types("fix @main_\t\r")
		s.expect("/?] ")
		s.types("y\n")
		s.expect("Did \"fix")
		s.expect("@main_test.go\"")
		s.expect("› ")
		s.types("\x12@main\r")
		s.expect("/?] ")
		s.types("n\n")
		s.expect("Declined")
		s.expect("› ")
		s.types("/s\t\x03")
		s.expect("leaves")
		s.types("\x04")
		require.Equal(t, ExitOK, s.code(), s.shown())
		require.True(t, s.cooked())
	}
}

// A terminal set to Windows-1252, and one without colours or abilities.
func TestREPLWindows1252(t *testing.T) {
	for _, extra := range [][]string{{"LANG=de_DE.CP1252"}, {"NO_COLOR=1", "TERM=dumb"}} {
		s := start(t, extra)
		s.expect("> ")
		end := "\r"
		if len(extra) > 1 {
			end = "\n"
		}
		s.types("caf\xe9 f\xfcr \x80 5" + end)
		s.expect("/?] ")
		s.types("y\n")
		s.expect("Did \"café für € 5\"")
		s.expect("> ")
		s.types("/quit" + end)
		require.Equal(t, ExitOK, s.code(), s.shown())
	}
}

// What is typed with a slash while a session runs, and at its question.
func TestREPLCommandsDuringARun(t *testing.T) {
	s := start(t, nil)
	s.expect("› ")
	s.types("hang\r")
	s.expect("hello from the model")
	for _, step := range [][2]string{
		{"/status", "session s-new runs"},
		{"/help", "/stop"},
		{"/approve", "no plan waits"},
		{"/quit", "works when this has ended"},
		{"/stpo", "did you mean /stop?"},
		{"/permissions", "each is asked about"},
		{"/model openai/other", "model: openai/other"},
	} {
		s.types(step[0] + "\n")
		s.expect(step[1])
	}
	s.types("half a word\x1b[A\x1b[D\n") // an arrow is no Esc
	s.types("/permissions\n")
	s.expect("each is asked about")
	s.types("/stop\n")
	s.expect("Stopped.")
	s.expect("› ")
	s.types("hang\r")
	s.expect("hello from the model")
	s.types("half a word\x1b")
	s.expect("Stopped.")
	s.expect("› ")
	s.types("/model\r")
	s.expect("openai/other")
	s.expect("› ")
	s.types("greet\r")
	s.expect("/?] ")
	s.types("/diff\n")
	s.expect("no file")
	s.expect("/?] ")
	s.types("/reject\n")
	s.expect("Declined")
	s.expect("› ")
	s.types("greet\r")
	s.expect("/?] ")
	s.types("/approve\n")
	s.expect("Done")
	s.expect("› ")
	s.types("/auto on\r")
	s.expect("AUTO IS ON")
	s.expect("AUTO: plans") // the status line
	s.expect("› ")
	s.types("/init\r")
	s.expect("AGENTS.md")
	s.expect("Done")
	s.expect("› ")
	s.types("/ui\r")
	s.expect("Coderrr UI: http://127.0.0.1:1234/")
	s.expect("› ")
	s.types("/quit\r")
	require.Equal(t, ExitOK, s.code(), s.shown())
	require.True(t, s.cooked())
}

func TestREPLInADumbTerminal(t *testing.T) {
	s := start(t, []string{"TERM=dumb"})
	s.expect("> ")
	s.types("/status\n")
	s.expect("no request yet")
	s.expect("> ")
	s.types("\x04")
	require.Equal(t, ExitOK, s.code())
	require.NotContains(t, s.shown(), "\x1b")
}

func TestGuidedSetup(t *testing.T) {
	s := start(t, nil, "config")
	s.expect("Number or name: ")
	s.types("9\n")
	s.expect("Number or name: ")
	s.types("compatible\n")
	s.expect("1  http://127.0.0.1:1234/v1: it looks like LM Studio, with m1")
	s.expect("Number, or address")
	s.types("\n")
	s.expect("begins with http")
	s.expect("Number, or address")
	s.types("http://key@127.0.0.1:1/v1\n")
	s.expect("Leave the key out")
	s.expect("Number, or address")
	s.types("http://127.0.0.1:1/v1\n")
	s.expect("API key")
	s.types("CANARY-KEY\r")
	s.expect("the provider answers")
	s.expect("Number or name of the model: ")
	s.types("1\n")
	s.expect("saved")
	require.Equal(t, ExitOK, s.code(), s.shown())
	require.NotContains(t, s.shown(), "CANARY")
	text, err := os.ReadFile(filepath.Join(s.home, "config.toml"))
	require.NoError(t, err)
	require.Equal(t, "[provider]\nname = \"compatible\"\nmodel = \"m1\"\nendpoint = \"http://127.0.0.1:1/v1\"\n", string(text))
	stored, err := os.ReadFile(filepath.Join(s.home, "credentials.json"))
	require.NoError(t, err)
	require.Contains(t, string(stored), "CANARY-KEY")
}

func TestGuidedSetupLeftEarlySavesNothing(t *testing.T) {
	s := start(t, nil, "config")
	s.expect("Number or name: ")
	s.types("3\n")
	s.expect("Address")
	s.types("\n")
	s.expect("API key")
	s.types("\r")
	s.expect("A key is needed")
	s.types("\x03")
	require.NotZero(t, s.code(), s.shown())
	text, err := os.ReadFile(filepath.Join(s.home, "config.toml"))
	require.NoError(t, err)
	require.Equal(t, "[provider]\nname = \"ollama\"\nmodel = \"m\"\n", string(text))
	require.True(t, s.cooked())
}

func TestApproveInTheTerminal(t *testing.T) {
	s := start(t, nil, "spec", "approve", "1")
	s.expect("Use echo")
	s.expect("Approve this plan?")
	s.expect("[y/n/?] ")
	s.types("\n")
	s.expect("[y/n/?] ")
	s.types("y\n")
	s.expect("approved 001-greet")
	require.Equal(t, ExitOK, s.code())
	s = start(t, nil, "spec", "approve", "1")
	s.expect("[y/n/?] ")
	s.types("n\n")
	require.Equal(t, ExitDeclined, s.code())
}

func TestPlanIsEditedInTheEditor(t *testing.T) {
	script := filepath.Join(t.TempDir(), "ed")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\necho editing \"$@\"\n"), 0o755))
	s := start(t, []string{"EDITOR=" + script}, "run", "greet")
	specs := filepath.Join(s.cmd.Dir, ".coderrr", "specs", "001-greet")
	require.NoError(t, os.MkdirAll(specs, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(specs, "tasks.md"), nil, 0o600))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(specs, "design.md")))
	s.expect("[y/n/e/c/?] ")
	s.types("e\n")
	s.expect("editing " + filepath.Join(specs, "tasks.md"))
	s.expect("[y/n/e/c/?] ")
	require.NotContains(t, s.shown(), "design.md", "a link is not opened")
	s.types("y\n")
	require.Equal(t, ExitOK, s.code())
}
