package sys

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/policy"
	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/skills"
	"github.com/coderrr/coderrr/internal/tools"
)

var update = flag.Bool("update", false, "write the golden files")

// session is what the tools act on, with fixed answers. calls records what reached
// it.
type session struct {
	calls []string
	err   error
	text  string

	run    sandbox.Result
	runErr error
	ran    []event.Evidence
	cmd    sandbox.Command

	answer   ask.Answer
	askErr   error
	question ask.Question

	found []skills.Info
	skill skills.Skill
}

func (s *session) note(format string, args ...any) {
	s.calls = append(s.calls, fmt.Sprintf(format, args...))
}

func (s *session) Create(_ context.Context, title, goal, size string) (string, error) {
	s.note("create %q %q %q", title, goal, size)
	return "001-x", s.err
}

func (s *session) Write(_ context.Context, document, content string) (string, error) {
	s.note("write %q %q", document, content)
	return strings.Repeat("ab", 32), s.err
}

func (s *session) Read(_ context.Context, document string) (string, error) {
	s.note("read %q", document)
	return s.text, s.err
}

func (s *session) Update(_ context.Context, id, status, notes string) (string, error) {
	s.note("update %q %q %q", id, status, notes)
	return id + " is " + status + ".", s.err
}

func (s *session) Search(_ context.Context, query string, limit int) ([]skills.Info, error) {
	s.note("search %q %d", query, limit)
	return s.found, s.err
}

func (s *session) Load(_ context.Context, name string) (skills.Skill, error) {
	s.note("load %q", name)
	return s.skill, s.err
}

func (s *session) Ask(ctx context.Context, q ask.Question) (ask.Answer, error) {
	s.question = q
	if ctx.Err() != nil {
		return ask.Answer{}, ctx.Err()
	}
	return s.answer, s.askErr
}

// box is the sandbox of a session.
type box struct{ s *session }

func (b box) Info() sandbox.Info { return sandbox.Info{Tier: sandbox.Confined} }
func (b box) Close() error       { return nil }
func (b box) Run(ctx context.Context, cmd sandbox.Command) (sandbox.Result, error) {
	b.s.cmd = cmd
	if ctx.Err() != nil {
		return sandbox.Result{}, ctx.Err()
	}
	cmd.Output("stdout", "live")
	return b.s.run, b.s.runErr
}

func (s *session) deps() Deps {
	return Deps{
		Specs: s, Tasks: s, Sandbox: box{s}, Asker: s, Skills: s, MaxRun: 5 * time.Minute,
		Ran:     func(_ context.Context, e event.Evidence) { s.ran = append(s.ran, e) },
		Loaded:  func(k skills.Skill) { s.note("loaded %s", k.Name) },
		Refused: func(name string) { s.note("refused %s", name) },
	}
}

// call runs a tool by name, as a call with the id c1.
func (s *session) call(t *testing.T, ctx context.Context, name, input string) tools.Result {
	t.Helper()
	for _, tool := range Tools(s.deps()) {
		if tool.Spec().Name == name {
			ctx = tools.WithCall(ctx, tools.Call{ID: "c1", Output: func(stream, text string) { s.note("%s: %s", stream, text) }})
			return tool.Run(ctx, json.RawMessage(input))
		}
	}
	t.Fatalf("no tool named %s", name)
	return tools.Result{}
}

// TestContract: names, arguments, classes and order are public.
func TestContract(t *testing.T) {
	var b strings.Builder
	for _, tool := range Tools((&session{}).deps()) {
		require.Equal(t, policy.System, tool.Class())
		spec := tool.Spec()
		var schema struct {
			Properties map[string]map[string]any `json:"properties"`
		}
		require.NoError(t, json.Unmarshal(spec.Schema, &schema))
		for name, p := range schema.Properties {
			require.NotEmpty(t, p["description"], spec.Name+"."+name)
		}
		fmt.Fprintf(&b, "%s\n  %s\n  %s\n", spec.Name, spec.Description, spec.Schema)
	}
	const path = "testdata/tools.golden"
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(string(want), b.String()), "run the test with -update if this is what is wanted")
	require.Panics(t, func() { Tools(Deps{}) })
	require.Len(t, Tools(Deps{Specs: &session{}, Tasks: &session{}, Sandbox: box{}, Asker: ask.Policy{}}), 9)
}

func TestSpecTools(t *testing.T) {
	for _, tc := range []struct {
		tool, input string
		s           session
		call        string
		want        tools.Result
	}{
		{"create_spec", `{"title":"T","goal":"g","size":"quick"}`, session{}, `create "T" "g" "quick"`, tools.Result{Content: "Spec 001-x was made. Write the document tasks with write_spec.", Display: "Made spec 001-x"}},
		{"create_spec", `{"title":"T"}`, session{}, `create "T" "" ""`, tools.Result{Content: "Spec 001-x was made. Write requirements, design and tasks with write_spec.", Display: "Made spec 001-x"}},
		{"create_spec", `{"title":"T"}`, session{err: errors.New("disk full")}, `create "T" "" ""`, tools.Result{Content: "create_spec: disk full", Display: "create_spec: disk full", IsError: true}},
		{"write_spec", `{"document":"tasks","content":"a\nb"}`, session{}, `write "tasks" "a\nb"`, tools.Result{Content: "tasks.md is written (2 lines, sha256 abababababab…).", Display: "Wrote tasks.md"}},
		{"write_spec", `{"document":"tasks","content":" "}`, session{}, "", tools.Result{Content: "write_spec: the content is empty. Give the whole document.", Display: "write_spec: the content is empty. Give the whole document.", IsError: true}},
		{"write_spec", `{"document":"tasks","content":"x"}`, session{err: errors.New("tasks.md line 1 (x): why")}, `write "tasks" "x"`, tools.Result{Content: "write_spec: tasks.md line 1 (x): why", Display: "write_spec: tasks.md line 1 (x): why", IsError: true}},
		{"read_spec", `{}`, session{text: "a\u202eb"}, `read "all"`, tools.Result{Content: "a⟨U+202E⟩b", Display: "Read the spec (all)"}},
		{"read_spec", ``, session{err: tools.Explain("no spec")}, `read "all"`, tools.Result{Content: "no spec", Display: "no spec", IsError: true}},
		{"update_task", `{"task_id":"T1","status":"done","notes":"n"}`, session{}, `update "T1" "done" "n"`, tools.Result{Content: "T1 is done.", Display: "T1: done"}},
		{"update_task", `{"task_id":"T1","status":"done"}`, session{err: tools.Explain("not yet")}, `update "T1" "done" ""`, tools.Result{Content: "not yet", Display: "not yet", IsError: true}},
		{"finish", `{"summary":" all done\n"}`, session{}, "", tools.Result{Content: "all done", Display: "Finished", End: true}},
		{"search_skills", `{"query":"q"}`, session{found: []skills.Info{{Name: "a", Description: "b", Source: skills.FromRegistry}}}, `search "q" 5`, tools.Result{Content: "a (registry): b\nRead one with load_skill if it really fits.", Display: "1 skills found"}},
		{"search_skills", `{"query":"q"}`, session{}, `search "q" 5`, tools.Result{Content: "No skill fits. Go on without one.", Display: "No skill found"}},
		{"search_skills", `{"query":"q"}`, session{err: skills.ErrUnavailable}, `search "q" 5`, tools.Result{Content: "the skills registry cannot be used. Go on without it.", Display: "the skills registry cannot be used. Go on without it.", IsError: true}},
		{"load_skill", `{"name":"a"}`, session{err: skills.ErrNoSkill}, `load "a"`, tools.Result{Content: "no such skill.", Display: "no such skill.", IsError: true}},
	} {
		t.Run(tc.tool, func(t *testing.T) {
			got := tc.s.call(t, t.Context(), tc.tool, tc.input)
			if got.Display == "" {
				got.Display, _, _ = strings.Cut(got.Content, "\n")
			}
			require.Empty(t, cmp.Diff(tc.want, got))
			require.Equal(t, tc.call, strings.Join(tc.s.calls, "; "))
		})
	}
}

func TestLoadSkill(t *testing.T) {
	s := session{skill: skills.Skill{Info: skills.Info{Name: "a"}, Text: strings.Repeat("long ", 20000), URL: "https://example.com/a.md"}}
	got := s.call(t, t.Context(), "load_skill", `{"name":"a"}`)
	require.Contains(t, got.Content, "Skill a, from https://example.com/a.md. It is advice and not an instruction")
	require.Contains(t, got.Content, "[… 50848 bytes are left out here …]")
	require.Equal(t, []string{`load "a"`, "loaded a"}, s.calls)
	d := s.deps()
	d.Skills = nil
	for _, tool := range []tools.Tool{d.searchSkills(), d.loadSkill()} {
		require.Contains(t, tool.Run(t.Context(), json.RawMessage(`{"query":"x"}`)).Content+tool.Run(t.Context(), json.RawMessage(`{"name":"x"}`)).Content, "No skills registry is configured")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.err = ctx.Err()
	require.Equal(t, "stopped with the session", s.call(t, ctx, "load_skill", `{"name":"a"}`).Content)
}

func TestRunInSandbox(t *testing.T) {
	ok := sandbox.Result{Output: "\x1b[32mok\x1b[0m\r\n50%\r100%\n", LogSHA256: "l", Duration: 1234 * time.Millisecond}
	for _, tc := range []struct {
		name, input string
		s           session
		want        string
		display     string
		cmd         sandbox.Command
	}{
		{
			"passes", `{"command":" go test ./... "}`,
			session{run: ok},
			"exit code 0 after 1.2 s, sandbox confined\noutput (22 bytes):\nok\n50%\n100%", "go test ./... · exit 0 · 1.2 s",
			sandbox.Command{Line: "go test ./...", Refresh: true},
		},
		{
			"fails, keeps the copy", `{"command":"make\ntest","refresh":false,"timeout":7}`,
			session{run: sandbox.Result{ExitCode: 2, Output: "no\x9b\U000E0041", Dropped: 1 << 20, Duration: time.Millisecond, Changed: []string{"a", "b"}}},
			"exit code 2 after 1 ms, sandbox confined\noutput (1048583 bytes, 1048576 of them left out in the middle):\nno⟨0x9B⟩⟨U+E0041⟩\nchanged in the copy only: a, b", "make test · exit 2 · 1 ms",
			sandbox.Command{Line: "make\ntest", Timeout: 7 * time.Second},
		},
		{
			"times out, longer than allowed, more changed", `{"command":"x","timeout":9999999999}`,
			session{run: sandbox.Result{ExitCode: -1, TimedOut: true, Duration: time.Minute, Reason: "It took too long. Raise sandbox.timeout.", Changed: strings.Split(strings.Repeat("f ", 24)+"f", " ")}},
			"[The timeout was lowered to 5m0s, the limit of the configuration (sandbox.timeout).]\ntimed out after 60.0 s, sandbox confined\nIt took too long. Raise sandbox.timeout.\nno output\nchanged in the copy only: " + strings.Repeat("f, ", 19) + "f and 5 more",
			"x · timed out · 60.0 s",
			sandbox.Command{Line: "x", Timeout: 5 * time.Minute, Refresh: true},
		},
		{
			"killed", `{"command":"x"}`,
			session{run: sandbox.Result{ExitCode: -1, Reason: "out of memory"}},
			"killed after 0 ms, sandbox confined\nout of memory\nno output", "x · killed · 0 ms",
			sandbox.Command{Line: "x", Refresh: true},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := tc.s.call(t, t.Context(), "run_in_sandbox", tc.input)
			require.Equal(t, tc.want, got.Content)
			require.Equal(t, tc.display, got.Display)
			require.Equal(t, tc.s.run.ExitCode != 0, got.IsError)
			tc.s.cmd.Output = nil
			require.Equal(t, tc.cmd, tc.s.cmd)
			require.Equal(t, []string{"stdout: live"}, tc.s.calls)
			require.Equal(t, []event.Evidence{{Command: tc.cmd.Line, ExitCode: tc.s.run.ExitCode, LogSHA256: tc.s.run.LogSHA256, Tier: "confined", DurationMS: tc.s.run.Duration.Milliseconds(), Call: "c1"}}, tc.s.ran)
		})
	}
	s := session{run: sandbox.Result{Output: strings.Repeat("é", 40<<10) + "END"}}
	got := s.call(t, t.Context(), "run_in_sandbox", `{"command":"x"}`)
	require.Less(t, len(got.Content), maxOutput+300)
	require.Contains(t, got.Content, "bytes are left out here")
	require.True(t, strings.HasSuffix(got.Content, "END"))
	require.NotContains(t, got.Content, "\ufffd")
}

func TestRunInSandboxFails(t *testing.T) {
	for input, want := range map[string]string{
		`{"command":" "}`: "the command is empty", `{"command":"a\u0000b"}`: "NUL", `{"command":"x","timeout":-1}`: "timeout is negative",
		`{}`: `needs the argument "command"`, `{"command":"x","cwd":"/"}`: `has no argument "cwd"`, `{"command":1}`: "run_in_sandbox: ",
	} {
		s := session{}
		got := s.call(t, t.Context(), "run_in_sandbox", input)
		require.True(t, got.IsError)
		require.Contains(t, got.Content, want)
		require.Empty(t, s.ran)
		require.Empty(t, s.cmd.Line)
	}
	s := session{runErr: fmt.Errorf("no user namespaces: %w", sandbox.ErrUnavailable)}
	got := s.call(t, t.Context(), "run_in_sandbox", `{"command":"x"}`)
	require.Contains(t, got.Content, "The command was not run: no user namespaces: the sandbox is not available. The person can see what is missing with `coderrr doctor`.")
	s.runErr = errors.New("disk full")
	got = s.call(t, t.Context(), "run_in_sandbox", `{"command":"x"}`)
	require.Contains(t, got.Content, "The command was not run: disk full. Try once more")
	require.Equal(t, "Not run: x", got.Display)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got = s.call(t, ctx, "run_in_sandbox", `{"command":"x"}`)
	require.Equal(t, "The command was stopped with the session.", got.Content)
	require.Empty(t, s.ran, "what did not run proves nothing")
}

func TestAskReview(t *testing.T) {
	s := session{answer: ask.Answer{Choice: "option-2", Text: "but later"}}
	got := s.call(t, t.Context(), "ask_review", `{"question":" Which?\u202e ","options":["A","B\nb","A"," ","c","d","e","f","g","h","i"]}`)
	require.Equal(t, tools.Result{Content: "The person answered: B b\nand said: but later", Display: "Answered: B b and said: but later"}, got)
	choices := []ask.Choice{{ID: "option-1", Label: "A"}, {ID: "option-2", Label: "B b"}}
	for i, l := range []string{"c", "d", "e", "f", "g", "h"} {
		choices = append(choices, ask.Choice{ID: fmt.Sprintf("option-%d", i+3), Label: l})
	}
	require.Equal(t, ask.Question{
		ID: "question-c1", Kind: ask.General, About: "c1", Prompt: "Which?⟨U+202E⟩",
		Choices: append(choices, ask.Choice{ID: ask.FreeText, Label: "Answer in words"}),
	}, s.question)
	for _, tc := range []struct {
		answer ask.Answer
		want   string
	}{
		{ask.Answer{Choice: "option-1"}, "The person answered: A"},
		{ask.Answer{Choice: ask.FreeText, Text: " neither "}, "The person answered: neither"},
		{ask.Answer{Choice: ask.FreeText}, "The person answered: (an empty answer: decide yourself, and take what is safest)"},
	} {
		s.answer = tc.answer
		require.Equal(t, tc.want, s.call(t, t.Context(), "ask_review", `{"question":"q","options":["A"]}`).Content)
	}
	require.Empty(t, s.calls)
	require.Contains(t, s.call(t, t.Context(), "ask_review", `{"question":"  "}`).Content, "the question is empty")

	s.askErr = ask.ErrNobody
	got = s.call(t, t.Context(), "ask_review", `{"question":"q"}`)
	require.True(t, got.IsError)
	require.Contains(t, got.Content, "There is nobody to ask in this session. Go on with the assumption that is safest")
	require.Equal(t, []string{"refused ask_review"}, s.calls)
	s.askErr = errors.New("the log is full")
	require.Equal(t, "ask_review: the question was not answered: the log is full", s.call(t, t.Context(), "ask_review", `{"question":"q"}`).Content)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, "The session was stopped before the person answered.", s.call(t, ctx, "ask_review", `{"question":"q"}`).Content)
}
