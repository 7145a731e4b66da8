package term

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/event"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// session is a run with one event of every kind.
func session() []event.Payload {
	cost := 0.0123
	return []event.Payload{
		event.SessionStarted{Version: 1, SessionID: "s1", Workspace: "/home/u/greeter", Provider: "ollama", Model: "gemma4:31b-cloud", Sandbox: event.Sandbox{Tier: "confined"}, Request: "add a shout option"},
		event.PhaseChanged{Phase: event.Planning},
		event.UserMessage{Text: "add a shout option to the greeter so that everyone in the building can hear what it has to say"},
		event.ContextChanged{What: "guidance", Name: "AGENTS.md", Detail: "1.2 KB"},
		event.TurnStarted{Turn: 1},
		event.ThinkingDelta{Text: "hmm"},
		event.ThinkingDone{Text: "hmm"},
		event.TextDelta{Text: "I will look at the "},
		event.TextDelta{Text: "greeter first, then write a plan that adds the option and a test for it.\n\n```sh\n./greet.sh --shout    # stays as it is, however long the line may be and whatever the width of the terminal is\n```"},
		event.TextDone{Text: "I will look at the greeter first, then write a plan that adds the option and a test for it.\n\n```sh\n./greet.sh --shout    # stays as it is, however long the line may be and whatever the width of the terminal is\n```"},
		event.ToolStarted{ID: "c1", Name: "read_file", Class: "read", Input: json.RawMessage(`{"path":"greet.sh"}`)},
		event.ToolFinished{ID: "c1", Name: "read_file", OK: true, Display: "greet.sh (12 lines)", Content: "1\t#!/bin/sh"},
		event.SpecWritten{Spec: "001-shout", Document: "tasks", SHA256: "ab"},
		event.PlanReady{Spec: "001-shout", Hash: strings.Repeat("ab", 32), Title: "Shout option", Size: "full", Tasks: []event.PlanTask{
			{ID: "T001", Title: "Add --shout to the greeter and document it in the usage text", Files: []string{"greet.sh", "README.md"}},
			{ID: "T002", Title: "Test it", Files: []string{"test.sh"}},
		}, Documents: map[string]string{"requirements": "# Requirements\n\nThe greeter prints in capitals with --shout.\n", "design": "# Design\n\nUse tr.\n"}},
		event.AskOpened{ID: "q1", Kind: ask.Plan, Prompt: "Approve?"},
		event.AskClosed{ID: "q1", Choice: ask.Approve, By: ask.ByBrowser},
		event.PlanReady{
			Spec: "001-shout", Hash: strings.Repeat("cd", 32), Title: "Shout option", Size: "full", Previous: "ab",
			Diff:  "--- a/design.md\n+++ b/design.md\n@@ -1,3 +1,3 @@\n # Design\n \n-Use tr.\n+Use awk.\n",
			Tasks: []event.PlanTask{{ID: "T001", Title: "Add --shout", Status: "done"}, {ID: "T002", Title: "Test it"}},
		},
		event.PhaseChanged{Phase: event.Execute},
		event.TaskUpdated{ID: "T001", Status: "in_progress"},
		event.VerifyFinished{Path: "greet.sh", Verdict: "skipped", Reason: "the verifier did not answer"},
		event.FileChanged{Path: "greet.sh", Call: "c9", Op: "edit", Added: 2, Removed: 1, Mode: "0755", Flags: []string{"runs_code"}, Diff: "--- a/greet.sh\n+++ b/greet.sh\n@@ -1,3 +1,4 @@\n #!/bin/sh\n-echo hello\n+say() { echo hello; }\n+say  \n exit 0\n"},
		event.ToolFinished{ID: "c9", Name: "edit_file", OK: true, Display: "Edit greet.sh (+2 -1)"},
		event.ToolFinished{ID: "c8", Name: "mcp__x__y", OK: true, Display: "Read 3 files"},
		event.ToolStarted{ID: "c2", Name: "run_in_sandbox", Class: "system", Input: json.RawMessage(`{"command":"sh test.sh"}`)},
		event.ToolOutput{ID: "c2", Stream: "stdout", Text: lines(1, 30)},
		event.ToolOutput{ID: "c2", Stream: "stderr", Text: "the end, without a line feed"},
		event.ToolFinished{ID: "c2", Name: "run_in_sandbox", OK: true, Display: "sh test.sh: exit 0 in 0.4 s"},
		event.ToolFinished{ID: "c3", Name: "edit_file", OK: false, Display: "no match for old_string in greet.sh, which goes on for longer than the line has room for in most of the terminals that people use"},
		event.TaskUpdated{ID: "T001", Status: "in_progress", Evidence: &event.Evidence{Command: "sh test.sh"}},
		event.TaskUpdated{ID: "T001", Status: "in_progress"},
		event.TaskUpdated{ID: "T001", Status: "done", Evidence: &event.Evidence{Command: "sh test.sh"}},
		event.TaskUpdated{ID: "T002", Status: "done"},
		event.RetryScheduled{InMS: 1500, Attempt: 2, Reason: "overloaded"},
		event.Notice{Level: "warning", Kind: "x", Text: "something to know"},
		event.Notice{Level: "info", Kind: "x", Text: "less so"},
		event.AskClosed{ID: "q2", By: ask.ByPolicy},
		event.UsageAdded{Input: 1},
		event.SessionFinished{Status: "unmet", ExitCode: 6, Summary: "Added --shout.", PlanHash: "cd", Files: []string{"greet.sh", "test.sh"}, TasksDone: 2, TasksVerified: 1, TasksTotal: 2, Usage: event.Usage{Input: 1000, CacheRead: 500, Output: 200, CostUSD: &cost}},
	}
}

func lines(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func print(t *testing.T, o Options, payloads ...event.Payload) (out string) {
	t.Helper()
	var b bytes.Buffer
	o.Out, o.Progress = &b, &b
	p := NewPrinter(o)
	for i, d := range payloads {
		require.NoError(t, p.Print(event.Event{Seq: int64(i + 1), Time: time.Unix(0, 0), Data: d}))
	}
	p.settle()
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestPrinterGoldens(t *testing.T) {
	for _, w := range []int{20, 60, 80, 120} {
		got := print(t, Options{Style: Style{Unicode: true, Wrap: true, Width: w}, Stream: true, Usage: true}, session()...)
		golden(t, fmt.Sprintf("session-%d.txt", w), got)
		if w == 20 {
			continue // paths and hashes are longer
		}
		for l := range strings.SplitSeq(got, "\n") {
			if !strings.Contains(l, "stays as it is") && !strings.Contains(l, "  hash ") {
				require.LessOrEqual(t, columns(l), w, "%q", l)
			}
		}
	}
	golden(t, "session-ascii.txt", print(t, Options{}, session()...))
	golden(t, "session-verbose.txt", print(t, Options{Level: Verbose, Style: Style{Unicode: true, Wrap: true}, Stream: true}, session()...))
	golden(t, "session-quiet.txt", print(t, Options{Level: Quiet, Style: Style{Unicode: true, Wrap: true}, Stream: true}, session()...))
	golden(t, "session-color.txt", strings.ReplaceAll(print(t, Options{Style: Style{Color: true, Unicode: true, Wrap: true}, Stream: true}, session()...), "\x1b", "ESC"))
}

var ourCodes = regexp.MustCompile("\x1b\\[(0|1|2|31|32|33|36|31;7|32;7)m")

// hostile is text that drives a terminal, hides things or forges a line.
const hostile = "a\x1b[2J\x1b]0;title\x07\x1b]52;c;eA==\x07\x9b31m\u009b1A\u202etxt\U000E0041\rforged\x00\nsecond [y/n/?] y"

// T01, T03, T05: whatever field it comes in, untrusted text only shows.
func TestT01NothingDrivesTheTerminal(t *testing.T) {
	raw, err := json.Marshal(map[string]string{"command": hostile})
	require.NoError(t, err)
	all := []event.Payload{
		event.SessionStarted{Workspace: hostile, Provider: hostile, Model: hostile, Sandbox: event.Sandbox{Tier: hostile}, SessionID: hostile, Resumed: true},
		event.PhaseChanged{Phase: event.Phase(hostile)},
		event.UserMessage{Text: hostile},
		event.TextDelta{Text: hostile},
		event.TextDone{Text: hostile + "x"},
		event.ThinkingDelta{Text: hostile},
		event.ThinkingDone{Text: "other " + hostile},
		event.ToolStarted{ID: "1", Name: "run_in_sandbox", Input: raw},
		event.ToolOutput{ID: "1", Text: hostile + "\n" + hostile},
		event.ToolFinished{ID: "1", Name: hostile, Display: hostile, Content: hostile},
		event.SpecWritten{Spec: hostile, Document: hostile},
		event.PlanReady{Spec: hostile, Title: hostile, Size: hostile, Hash: hostile, Tasks: []event.PlanTask{{ID: hostile, Title: hostile, Files: []string{hostile}, Status: hostile}}, Documents: map[string]string{"design": hostile}},
		event.PlanReady{Diff: "--- a/" + hostile + "\n+++ b/x\n@@ -1 +1,2 @@\n-a\n+" + hostile + "\n"},
		event.AskOpened{ID: "q"},
		event.AskClosed{Choice: hostile, By: ask.By(hostile)},
		event.FileChanged{Path: hostile, From: hostile, Op: hostile, Mode: hostile, Flags: []string{hostile}, Diff: "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-" + strings.ReplaceAll(hostile, "\n", "") + "\n+b\n"},
		event.TaskUpdated{ID: hostile, Status: hostile, Evidence: &event.Evidence{Command: hostile}},
		event.VerifyFinished{Path: hostile, Verdict: "reject", Reason: hostile},
		event.RetryScheduled{Reason: hostile},
		event.ContextChanged{What: hostile, Name: hostile, Detail: hostile},
		event.Notice{Level: "error", Text: hostile},
		event.Notice{Level: hostile, Text: hostile},
		event.SessionFinished{Status: hostile, Summary: hostile, Files: []string{hostile}, PlanHash: hostile, ExitCode: 1},
		event.SessionFinished{Status: "needs_approval", PlanHash: hostile, ExitCode: 4},
	}
	for _, level := range []Level{Normal, Quiet, Verbose} {
		for _, s := range []Style{{}, {Color: true, Unicode: true, Wrap: true, Width: 40}} {
			for _, d := range all {
				out := print(t, Options{Style: s, Level: level, Stream: true, Usage: true}, d)
				rest := ourCodes.ReplaceAllString(out, "")
				for _, r := range rest {
					ok := r == '\n' || r >= 0x20 && r != 0x7f && (r < 0x80 || r > 0x9f) && r != 0x202e && r != 0xE0041
					require.True(t, ok, "%T: %q in %q", d, r, out)
				}
			}
		}
	}
}

// T13: a line break in a field that has one line cannot start a line of its own.
func TestT13LinesCannotBeForged(t *testing.T) {
	out := print(t, Options{},
		event.ToolFinished{ID: "1", Name: "read_file", OK: true, Display: "x\n2026-01-01 level=info msg=\"approved\""},
		event.FileChanged{Path: "a\n  ok finish", Op: "edit"},
		event.AskClosed{Choice: "a\nb", By: "x"},
	)
	require.Equal(t, 3, strings.Count(out, "\n"), out)
	require.Contains(t, out, "⏎")
}

// T11: odd widths neither panic nor loop.
func TestT11Widths(t *testing.T) {
	for _, w := range []int{-1, 0, 1, 2, 19, 20, 10_000} {
		require.NotEmpty(t, print(t, Options{Style: Style{Unicode: true, Wrap: true, Width: w}, Stream: true}, session()...))
	}
	pipe := Detect(func(string) string { return "" }, false, 0)
	require.NotContains(t, print(t, Options{Style: pipe, Stream: true}, session()...), "\x1b")
}

func TestDetect(t *testing.T) {
	env := func(pairs ...string) func(string) string {
		m := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return func(k string) string { return m[k] }
	}
	for _, tt := range []struct {
		name     string
		env      func(string) string
		terminal bool
		want     Style
	}{
		{"terminal", env("TERM", "xterm", "LANG", "C.UTF-8"), true, Style{Color: true, Unicode: true, Wrap: true, Width: 100}},
		{"no color", env("TERM", "xterm", "LANG", "C.UTF-8", "NO_COLOR", "1"), true, Style{Unicode: true, Wrap: true, Width: 100}},
		{"dumb", env("TERM", "dumb", "LANG", "C.UTF-8"), true, Style{Wrap: true, Width: 100}},
		{"other locale", env("TERM", "xterm", "LANG", "C.UTF-8", "LC_ALL", "de_DE.ISO-8859-1"), true, Style{Color: true, Wrap: true, Width: 100}},
		{"pipe", env("LANG", "C.UTF-8"), false, Style{Unicode: true, Width: 100}},
		{"forced", env("LANG", "C.UTF-8", "FORCE_COLOR", "1"), false, Style{Color: true, Unicode: true, Width: 100}},
		{"no color wins", env("FORCE_COLOR", "1", "NO_COLOR", "1"), false, Style{Width: 100}},
		{"not forced", env("FORCE_COLOR", "0"), false, Style{Width: 100}},
	} {
		require.Equal(t, tt.want, Detect(tt.env, tt.terminal, 100), tt.name)
	}
}

func TestStreamedText(t *testing.T) {
	delta := func(s string) event.Payload { return event.TextDelta{Text: s} }
	for _, tt := range []struct {
		name string
		in   []event.Payload
		want string
	}{
		{"streamed", []event.Payload{delta("a"), delta(" b"), event.TextDone{Text: "a b"}}, "a b\n"},
		{"not streamed", []event.Payload{event.TextDone{Text: "a b"}}, "a b\n"},
		{"deltas missed", []event.Payload{delta("a"), event.TextDone{Text: "a b c"}}, "a b c\n"},
		{"another attempt", []event.Payload{delta("wrong"), event.TextDone{Text: "right"}}, "wrong\nright\n"},
		{"cut", []event.Payload{delta("half"), event.Notice{Level: "error", Text: "x"}}, "half\nerror: x\n"},
		{"carriage return in pieces", []event.Payload{delta("a\r"), delta("\nb"), event.TextDone{Text: "a\r\nb"}}, "a\nb\n"},
		{"a lone carriage return", []event.Payload{delta("a\r"), delta("b"), event.TextDone{Text: "a\rb"}}, "a␍b\n"},
	} {
		require.Equal(t, tt.want, print(t, Options{Stream: true}, tt.in...), tt.name)
	}
	require.Equal(t, "a b\n", print(t, Options{}, delta("a"), event.TextDone{Text: "a b"}), "without streaming")
}

// T06: differences in bytes that look the same are shown.
func TestT06InvisibleDifferences(t *testing.T) {
	got := Style{}.diffText("--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n-a\r\n-b\n-c\n\\ No newline at end of file\n+a\n+b  \n+\tc\u200b\n", "", 0)
	require.Equal(t, "@@ -1,3 +1,3 @@\n-a␍\n-b\n-c\n\\ no newline at the end of the file\n+a\n+b··\n+    c⟨U+200B⟩\n", got)
}

// Words that changed stand out where there is colour; without it the lines are the
// same text.
func TestDiffWords(t *testing.T) {
	unified := "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-use tr here, please\t\n-quite other\n+use awk here, please\t \n+12345\n"
	require.Equal(t, "\x1b[36m@@ -1,2 +1,2 @@\x1b[0m\n"+
		"\x1b[31m-use \x1b[0m\x1b[31;7mtr\x1b[0m\x1b[31m here, please\x1b[0m\x1b[31;7m    \x1b[0m\n\x1b[31m-quite other\x1b[0m\n"+
		"\x1b[32m+use \x1b[0m\x1b[32;7mawk\x1b[0m\x1b[32m here, please\x1b[0m\x1b[32;7m    ·\x1b[0m\n\x1b[32m+12345\x1b[0m\n",
		Style{Color: true}.diffText(unified, "", 0))
	plain := Style{}.diffText(unified, "", 0)
	require.Equal(t, plain, regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(Style{Color: true}.diffText(unified, "", 0), ""))
}

// Markdown in the model's words is painted and wrapped with its indent; no letter of
// it is added, dropped or moved.
func TestMarkdown(t *testing.T) {
	src := "# A head\n\nSome **bold words** and `code here` and 2 ** 3.\n\n- a point that is longer than the line is\n10. ten\n> quoted\n\n```go\nfunc f() { **x } // long, but never broken at a space\n```\n| a table | is not broken | at any space |\nend"
	paint := Style{Color: true, Wrap: true, Width: 24}
	got := print(t, Options{Style: paint, Stream: true}, event.TextDelta{Text: src[:20]}, event.TextDelta{Text: src[20:]}, event.TextDone{Text: src})
	require.Contains(t, got, "\x1b[1m#\x1b[0m \x1b[1mA\x1b[0m \x1b[1mhead\x1b[0m\n")
	require.Contains(t, got, "\x1b[2m**\x1b[0m\x1b[1mbold\x1b[0m")
	require.Contains(t, got, "\x1b[36mcode\x1b[0m")
	require.Contains(t, got, "- a point that is\n  longer than the line\n  is\n10. ten\n\x1b[2m>\x1b[0m \x1b[2mquoted\x1b[0m\n")
	plain := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(got, "")
	require.Contains(t, plain, "\nfunc f() { **x } // long, but never broken at a space\n")
	require.Contains(t, plain, "\n| a table | is not broken | at any space |\nend\n", "one row is no table")
	require.Equal(t, strings.Fields(src), strings.Fields(plain))
	require.Equal(t, src+"\n", print(t, Options{}, event.TextDone{Text: src}), "a pipe gets the text as it is")
}

// T11: standard output is a pipe and standard error a terminal.
func TestT11PipedAnswer(t *testing.T) {
	for _, talk := range []bool{true, false} {
		var out, progress strings.Builder
		p := NewPrinter(Options{Out: &out, Progress: &progress, OutPiped: true, Talk: talk, Style: Style{Color: true, Wrap: true, Width: 20}})
		require.NoError(t, p.Print(event.Event{Data: event.TextDone{Text: "**bold** and long enough to be broken at 20"}}))
		require.NoError(t, p.Print(event.Event{Data: event.SessionFinished{Status: "ok", Summary: "did it"}}))
		require.NotContains(t, out.String(), "\x1b")
		if talk {
			require.Equal(t, "**bold** and long enough to be broken at 20\n", out.String())
		}
	}
}

// A terminal that gets another width in the middle of a run is followed.
func TestT11WidthChangesWhilePrinting(t *testing.T) {
	var out strings.Builder
	width := 80
	p := NewPrinter(Options{Out: &out, Progress: &out, Style: Style{Wrap: true, Width: 80}, Columns: func() int { return width }})
	for _, width = range []int{200, 80, 40, 20, 1, 0, 10000} {
		require.NoError(t, p.Print(event.Event{Data: event.TextDone{Text: strings.Repeat("word ", 60)}}))
		for line := range strings.SplitSeq(out.String(), "\n") {
			require.LessOrEqual(t, columns(line), clampWidth(width))
		}
		out.Reset()
	}
}

func TestColumns(t *testing.T) {
	for text, want := range map[string]int{"abc": 3, "日本": 4, "é": 1, "e\u0301": 1, "👍": 2, "": 0} {
		require.Equal(t, want, columns(text), text)
	}
	require.Equal(t, "日…", Style{Unicode: true}.cut("日本語", 4))
	require.Equal(t, "ab...", Style{}.cut("abcdefgh", 5))
}

// What is in force is said in one line, when a phase begins and now and then.
func TestStatusWhileItRuns(t *testing.T) {
	events := []event.Payload{event.PhaseChanged{Phase: event.Planning}}
	for turn := range 25 {
		events = append(events, event.TurnStarted{Turn: turn + 1})
	}
	events = append(events, event.PhaseChanged{Phase: event.Execute}, event.PhaseChanged{Phase: event.Finished})
	said := 0
	got := print(t, Options{Style: Style{Wrap: true, Width: 40}, Status: func() string {
		said++
		return "working | ollama/m\x1b[2J\n | context 12% of 128k | $0.0123 | sandbox confined"
	}}, events...)
	require.Equal(t, 4, said)
	require.Equal(t, 4, strings.Count(got, "working | ollama/m"))
	require.NotContains(t, got, "\x1b")
	for l := range strings.SplitSeq(got, "\n") {
		require.LessOrEqual(t, columns(l), 40, "%q", l)
	}
}

// A table is laid out for the width at hand, whatever the pieces it comes in.
func TestMarkdownTable(t *testing.T) {
	src := "Before\n\n| Name | Count | What it is for |\n|---|--:|:--|\n| `a` | 7 | short |\n| a longer name | 12345 | it says more than there is room for, \\| too |\n| ragged |\n\nAfter | not a table\n"
	for width, want := range map[int]string{
		60: "| Name          | Count | What it is for                  |\n" +
			"|---------------|-------|---------------------------------|\n" +
			"| `a`           |     7 | short                           |\n" +
			"| a longer name | 12345 | it says more than there is room |\n" +
			"|               |       | for, \\| too                     |\n" +
			"| ragged        |       |                                 |\n",
		120: "| Name          | Count | What it is for                              |\n" +
			"|---------------|-------|---------------------------------------------|\n" +
			"| `a`           |     7 | short                                       |\n" +
			"| a longer name | 12345 | it says more than there is room for, \\| too |\n" +
			"| ragged        |       |                                             |\n",
		20: "| Name | Count | What it is for |\n|---|--:|:--|\n", // as it is
	} {
		for _, piece := range []int{1, 7, len(src)} {
			var events []event.Payload
			for rest := src; rest != ""; {
				n := min(piece, len(rest))
				events = append(events, event.TextDelta{Text: rest[:n]})
				rest = rest[n:]
			}
			got := print(t, Options{Style: Style{Wrap: true, Width: width}, Stream: true}, append(events, event.TextDone{Text: src})...)
			require.Contains(t, got, "Before\n\n"+want, "width %d", width)
			require.Contains(t, got, "\n\nAfter | not a")
			if width > 20 {
				for l := range strings.SplitSeq(got, "\n") {
					require.LessOrEqual(t, columns(l), width)
				}
			}
		}
	}
	cut := print(t, Options{Style: Style{Wrap: true, Width: 60}, Stream: true}, event.TextDelta{Text: "| a | b |\n|---|---|\n| half"}, event.Notice{Level: "warning", Text: "cut"})
	require.Contains(t, cut, "| a    | b |\n|------|---|\n| half |   |\n")
}
