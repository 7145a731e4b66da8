package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/term"
)

// TestMain makes the test binary a coderrr too, for the tests that need one with a
// terminal of its own.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"coderrr-pty": func() {
			s, err := System(fileKeys)
			if err != nil {
				panic(err)
			}
			os.Exit(Main(context.Background(), os.Args[1:], s, "v0.0-test", buildFake))
		},
	})
}

func noConsole(io.Writer, bool) (*term.Console, error) { return nil, term.ErrNoTerminal }

func TestScripts(t *testing.T) {
	server := guarded(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			home := e.WorkDir + "-home"
			e.Defer(func() { _ = os.RemoveAll(home) })
			e.Setenv("CODERRR_HOME", home)
			e.Setenv("HOME", home+"/user")
			e.Setenv("HASH", planHash)
			e.Setenv("MCP_URL", server)
			for _, name := range []string{"DISPLAY", "WAYLAND_DISPLAY", "NO_COLOR", "FORCE_COLOR", "CI", "EDITOR", "VISUAL", "OPENAI_API_KEY", "OLLAMA_HOST"} {
				e.Setenv(name, "")
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"coderrr": func(ts *testscript.TestScript, neg bool, args []string) { inScript(ts, neg, "0", args) },
			"code": func(ts *testscript.TestScript, neg bool, args []string) {
				if len(args) < 2 || args[1] != "coderrr" {
					ts.Fatalf("usage: code N coderrr arguments...")
				}
				inScript(ts, neg, args[0], args[2:])
			},
		},
	})
}

// inScript runs a command line in this process; "code N coderrr" expects the exit
// code N. The variable INPUT names the file that is piped into it, once.
func inScript(ts *testscript.TestScript, neg bool, want string, args []string) {
	if neg {
		ts.Fatalf("use: code N coderrr arguments...")
	}
	s := IO{
		In: strings.NewReader(""), Out: ts.Stdout(), Err: ts.Stderr(), Getenv: ts.Getenv, Dir: ts.MkAbs("."),
		OpenConsole: noConsole, Keys: fileKeys,
	}
	if name := ts.Getenv("INPUT"); name != "" {
		s.In, s.InPipe = strings.NewReader(ts.ReadFile(name)), true
		ts.Setenv("INPUT", "")
	}
	if got := fmt.Sprint(Main(context.Background(), args, s, "v0.0-test", buildFake)); got != want {
		ts.Fatalf("exit code %s, want %s", got, want)
	}
}

func inProcess(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	home := t.TempDir()
	s := IO{
		In: strings.NewReader(""), Out: &o, Err: &e, Dir: t.TempDir(), Keys: fileKeys, OpenConsole: noConsole,
		Getenv: func(k string) string { return map[string]string{"CODERRR_HOME": home, "HOME": "/nowhere"}[k] },
	}
	code = Main(t.Context(), args, s, "v0.0-test", buildFake)
	return code, o.String(), e.String()
}

// Start-up: what needs no graph builds none and reads no configuration.
func TestVersionNeedsNothing(t *testing.T) {
	var o bytes.Buffer
	s := IO{Out: &o, Err: &o, Getenv: func(k string) string { panic("the environment is not read: " + k) }}
	code := Main(t.Context(), []string{"version"}, s, "v1.2.3", nil)
	require.Zero(t, code)
	require.Contains(t, o.String(), "coderrr v1.2.3")
}

func TestEveryCommandHasHelp(t *testing.T) {
	r := &runner{}
	var walk func(prefix []string)
	walk = func(prefix []string) {
		cmd, _, err := r.root().Find(prefix)
		require.NoError(t, err)
		code, out, errOut := inProcess(t, append(prefix, "--help")...)
		require.Zero(t, code, "%v: %s", prefix, errOut)
		require.Contains(t, out, "Usage:")
		require.NotEmpty(t, cmd.Short, "%v", prefix)
		for _, sub := range cmd.Commands() {
			if sub.Name() != "help" && sub.Name() != "completion" {
				walk(append(append([]string{}, prefix...), sub.Name()))
			}
		}
	}
	walk(nil)
}

func TestExitCodes(t *testing.T) {
	for _, tt := range []struct {
		err  error
		code int
	}{
		{nil, 0},
		{errors.New("x"), 1},
		{&Failure{Code: ExitMCP, Err: errors.New("x")}, 3},
		{fmt.Errorf("w: %w", &Failure{Code: ExitApproval, Err: errors.New("x")}), 4},
		{fmt.Errorf("w: %w", sandbox.ErrUnavailable), 8},
		{fmt.Errorf("w: %w", &llm.Error{Kind: llm.KindAuth}), 9},
		{context.DeadlineExceeded, 124},
		{fmt.Errorf("w: %w", context.Canceled), 130},
		{quiet{6}, 6},
	} {
		require.Equal(t, tt.code, codeOf(tt.err), "%v", tt.err)
	}
	for _, k := range []llm.Kind{llm.KindAuth, llm.KindQuota, llm.KindModelNotFound, llm.KindNetwork, llm.KindTimeout, llm.KindBadResponse} {
		require.NotEmpty(t, remedyOf(&llm.Error{Kind: k}), k)
	}
}

// The schema names every event that the codec knows.
func TestSchemaIsComplete(t *testing.T) {
	source, err := os.ReadFile("../event/payload.go")
	require.NoError(t, err)
	var want []string
	for _, m := range regexp.MustCompile(`Type\(\) string +\{ return "([a-z._]+)" \}`).FindAllStringSubmatch(string(source), -1) {
		want = append(want, m[1])
	}
	var got []string
	for _, p := range payloads() {
		got = append(got, p.Type())
	}
	require.ElementsMatch(t, want, got)
}

// Every event of a run fits the schema: its fields are there and have the types.
func TestEventsFitTheSchema(t *testing.T) {
	raw, err := json.Marshal(eventSchema())
	require.NoError(t, err)
	var schema struct {
		OneOf []struct {
			Title      string
			Required   []string
			Properties map[string]json.RawMessage
		}
	}
	require.NoError(t, json.Unmarshal(raw, &schema))
	byType := map[string]int{}
	for i, s := range schema.OneOf {
		byType[s.Title] = i
	}
	for _, p := range payloads() {
		line, err := json.Marshal(event.Event{Seq: 1, Data: p})
		require.NoError(t, err)
		var fields map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(line, &fields))
		s := schema.OneOf[byType[p.Type()]]
		for _, name := range s.Required {
			require.Contains(t, fields, name, p.Type())
		}
		for name := range fields {
			require.Contains(t, s.Properties, name, p.Type())
		}
	}
}

func TestShellLine(t *testing.T) {
	require.Equal(t, `go test ./... 'a b' 'it'\''s' ''`, shellLine([]string{"go", "test", "./...", "a b", "it's", ""}))
}

func TestJoinRequest(t *testing.T) {
	require.Equal(t, "a\n\nb", joinRequest(" a ", "b"))
	require.Equal(t, "a", joinRequest("a", ""))
	require.Equal(t, "b", joinRequest("", "b"))
}

// A reader of --json that goes away stops the session.
func TestJSONReaderGone(t *testing.T) {
	s := IO{In: strings.NewReader(""), Out: full{}, Err: &bytes.Buffer{}, Dir: t.TempDir(), Keys: fileKeys, OpenConsole: noConsole}
	home := t.TempDir()
	s.Getenv = func(k string) string { return map[string]string{"CODERRR_HOME": home, "HOME": "/nowhere"}[k] }
	code := Main(t.Context(), []string{"run", "--json", "--yes", "-m", "ollama/m", "x"}, s, "v", buildFake)
	require.Equal(t, ExitFailure, code)
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }
