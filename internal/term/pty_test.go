//go:build linux

package term

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/diff"
	"github.com/coderrr/coderrr/internal/event"
)

// person is the other end of a terminal.
type person struct {
	t      *testing.T
	master *os.File
	tty    *os.File
	mu     sync.Mutex
	seen   bytes.Buffer
	read   int // how much of seen was expected already
}

func sit(t *testing.T, cols uint16) *person {
	t.Helper()
	master, tty, err := pty.Open()
	require.NoError(t, err)
	require.NoError(t, pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: cols}))
	// A file that knows deadlines, as /dev/tty is opened.
	slave, err := os.OpenFile(tty.Name(), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	p := &person{t: t, master: master, tty: slave}
	done := make(chan struct{})
	go func() {
		defer close(done)
		chunk := make([]byte, 4096)
		for {
			n, err := master.Read(chunk)
			p.mu.Lock()
			p.seen.Write(chunk[:n])
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		require.NoError(t, tty.Close())
		_ = slave.Close() // the console closes it in some tests
		require.NoError(t, master.Close())
		<-done
	})
	return p
}

// expect waits until text is shown, after what was expected before.
func (p *person) expect(text string) {
	p.t.Helper()
	for range 1000 {
		p.mu.Lock()
		i := strings.Index(p.seen.String()[p.read:], text)
		if i >= 0 {
			p.read += i + len(text)
		}
		p.mu.Unlock()
		if i >= 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	p.t.Fatalf("%q was not shown after %d of\n%s", text, p.read, p.shown())
}

func (p *person) shown() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String()
}

func (p *person) types(text string) {
	p.t.Helper()
	_, err := p.master.WriteString(text)
	require.NoError(p.t, err)
}

// mode is what stty shows of the terminal.
func (p *person) mode() unix.Termios {
	p.t.Helper()
	var state *unix.Termios
	conn, err := p.tty.SyscallConn()
	require.NoError(p.t, err)
	require.NoError(p.t, conn.Control(func(fd uintptr) { state, err = unix.IoctlGetTermios(int(fd), unix.TCGETS) }))
	require.NoError(p.t, err)
	return *state
}

func (p *person) console() *Console { return NewConsole(p.tty, p.tty, false) }

func (p *person) prompter() *Prompter { return &Prompter{Console: p.console(), Style: Style{}} }

type reply struct {
	a   ask.Answer
	err error
}

func asking(t *testing.T, p *Prompter, q ask.Question) chan reply {
	t.Helper()
	c := make(chan reply, 1)
	go func() {
		a, err := p.Ask(t.Context(), q)
		c <- reply{a, err}
	}()
	return c
}

func (p *person) answer(c chan reply) ask.Answer {
	p.t.Helper()
	select {
	case r := <-c:
		require.NoError(p.t, r.err)
		return r.a
	case <-time.After(10 * time.Second):
		p.t.Fatalf("no answer after\n%s", p.shown())
		panic("unreachable")
	}
}

func planQuestion() ask.Question {
	return ask.Question{
		ID: "q1", Kind: ask.Plan, Prompt: "Approve this plan?", Hash: "h", About: "001-x",
		Choices: []ask.Choice{{ID: ask.Approve}, {ID: ask.Comment}, {ID: ask.Discard}},
	}
}

func TestPlanQuestion(t *testing.T) {
	for _, tt := range []struct {
		name, typed string
		want        ask.Answer
	}{
		{"yes", "y\n", ask.Answer{Choice: ask.Approve}},
		{"in words", "Yes\n", ask.Answer{Choice: ask.Approve}},
		{"no", "n\n", ask.Answer{Choice: ask.Discard}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			me := sit(t, 80)
			c := asking(t, me.prompter(), planQuestion())
			me.expect("Approve this plan? [y/n/c/?] ")
			me.types(tt.typed)
			tt.want.Hash, tt.want.By = "h", ask.ByTerminal
			require.Equal(t, tt.want, me.answer(c))
		})
	}
}

// Enter alone, nonsense and ? are no answer: nothing has "yes" as its default.
func TestNoDefaultOfYes(t *testing.T) {
	me := sit(t, 80)
	c := asking(t, me.prompter(), planQuestion())
	for _, typed := range []string{"\n", "yep\n", "?\n", "Y E S\n"} {
		me.expect("[y/n/c/?] ")
		me.types(typed)
		me.expect("approve this plan and start")
	}
	me.expect("[y/n/c/?] ")
	me.types("c\n")
	me.expect("Comment: ")
	me.types("\n")
	me.expect("[y/n/c/?] ")
	me.types("c\n")
	me.expect("Comment: ")
	me.types("use awk\n")
	require.Equal(t, ask.Answer{Choice: ask.Comment, Text: "use awk", Hash: "h", By: ask.ByTerminal}, me.answer(c))
}

// A terminal without deadlines, as /dev/tty is on some systems: a question does not
// wait for a key, and a withdrawn one ends at once.
func TestTerminalWithoutDeadlines(t *testing.T) {
	me := sit(t, 80)
	me.tty.Fd() // makes the file blocking
	p := me.prompter()
	said := make(chan string, 4)
	listen, stop := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() { defer close(gone); p.Console.Listen(listen, func(s string) { said <- s }) }()
	me.types("before\n")
	require.Equal(t, "before", <-said)
	c := asking(t, p, planQuestion())
	me.expect("[y/n/c/?] ")
	me.types("n\n")
	require.Equal(t, ask.Discard, me.answer(c).Choice)
	ctx, withdraw := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := p.Ask(ctx, planQuestion()); done <- err }()
	me.expect("[y/n/c/?] ")
	withdraw()
	require.ErrorIs(t, <-done, context.Canceled)
	me.types("after\n")
	require.Equal(t, "after", <-said, "no key is lost")
	stop()
	<-gone
	me.types("\n") // ends the read that goes on
}

// What was typed before a question was shown cannot answer it.
func TestTypedAheadIsNoAnswer(t *testing.T) {
	me := sit(t, 80)
	p := me.prompter()
	said := make(chan string, 4)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() { defer close(gone); p.Console.Listen(ctx, func(s string) { said <- s }) }()
	me.types("also fix the docs\n")
	require.Equal(t, "also fix the docs", <-said)
	me.types("y\n")
	require.Equal(t, "y", <-said)
	c := asking(t, p, planQuestion())
	me.expect("[y/n/c/?] ")
	me.types("n\n")
	require.Equal(t, ask.Discard, me.answer(c).Choice)
	me.types("more\n")
	require.Equal(t, "more", <-said, "the listener goes on after a question")
	cancel()
	<-gone
}

func TestPlanDiffAndEdit(t *testing.T) {
	me := sit(t, 80)
	p := me.prompter()
	edited := 0
	p.EditPlan = func(_ context.Context, spec string) error {
		require.Equal(t, "001-x", spec)
		if edited++; edited == 1 {
			return errors.New("no editor")
		}
		return nil
	}
	q := planQuestion()
	q.Detail, _ = json.Marshal(event.PlanCard{Diff: "--- a/design.md\n+++ b/design.md\n@@ -1 +1 @@\n-old\n+new\n"})
	ctx, withdraw := context.WithCancel(t.Context())
	c := make(chan reply, 1)
	go func() { a, err := p.Ask(ctx, q); c <- reply{a, err} }()
	me.expect("[y/n/e/c/d/?] ")
	me.types("d\n")
	me.expect("+new")
	me.expect("[y/n/e/c/d/?] ")
	me.types("e\n")
	me.expect("could not be used: no editor")
	me.expect("[y/n/e/c/d/?] ")
	withdraw() // the session noticed the edit
	r := <-c
	require.ErrorIs(t, r.err, context.Canceled)
	me.expect("withdrawn")
}

func hunks(n int) []diff.Hunk {
	var out []diff.Hunk
	for i := range n {
		out = append(out, diff.Hunk{OldStart: 10*i + 1, NewStart: 10*i + 1, OldLines: 1, NewLines: 1, Lines: []diff.Line{
			{Op: diff.Delete, Text: fmt.Sprint("old ", i), EOL: "\n"}, {Op: diff.Insert, Text: fmt.Sprint("new ", i), EOL: "\n"},
		}})
	}
	return out
}

func writeQuestion(t *testing.T, card event.WriteCard) ask.Question {
	t.Helper()
	raw, err := json.Marshal(card)
	require.NoError(t, err)
	return ask.Question{ID: "w", Kind: ask.Write, Hash: "h", Detail: raw, Choices: []ask.Choice{{ID: ask.Apply}, {ID: ask.SendBack}, {ID: ask.AcceptAll}}}
}

func TestWriteByHunk(t *testing.T) {
	yes, no := func(n int) ask.HunkDecision { return ask.HunkDecision{N: n, Accepted: true} }, func(n int, why string) ask.HunkDecision { return ask.HunkDecision{N: n, Comment: why} }
	for _, tt := range []struct {
		name  string
		typed []string
		want  ask.Answer
	}{
		{"one of three", []string{"y", "n", "not that", "n", ""}, ask.Answer{Choice: ask.Apply, Hunks: []ask.HunkDecision{yes(0), no(1, "not that"), no(2, "")}}},
		{"the rest", []string{"n", "", "a"}, ask.Answer{Choice: ask.Apply, Hunks: []ask.HunkDecision{no(0, ""), yes(1), yes(2)}}},
		{"none of the rest", []string{"y", "q"}, ask.Answer{Choice: ask.Apply, Hunks: []ask.HunkDecision{yes(0), no(1, ""), no(2, "")}}},
		{"none", []string{"q", "another way"}, ask.Answer{Choice: ask.SendBack, Text: "another way", Hunks: []ask.HunkDecision{no(0, ""), no(1, ""), no(2, "")}}},
		{"later", []string{"s", "y", "y", "n", ""}, ask.Answer{Choice: ask.Apply, Hunks: []ask.HunkDecision{no(0, ""), yes(1), yes(2)}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			me := sit(t, 80)
			c := asking(t, me.prompter(), writeQuestion(t, event.WriteCard{Path: "a.go", Op: "edit", Added: 3, Removed: 3, Hunks: hunks(3), Reason: "each write is confirmed"}))
			for _, typed := range tt.typed {
				me.expect("? ")
				if strings.HasSuffix(me.shown(), "[y/n/a/q/s/?] ") {
					me.read = len(me.shown())
				}
				me.types(typed + "\n")
			}
			tt.want.Hash, tt.want.By = "h", ask.ByTerminal
			require.Equal(t, tt.want, me.answer(c))
		})
	}
}

// T08: what no line of a diff shows has a row of its own.
func TestT08InvisibleOperations(t *testing.T) {
	for _, tt := range []struct {
		card event.WriteCard
		show []string
	}{
		{event.WriteCard{Path: "x.sh", Op: "edit", Mode: "0755", Flags: []string{"runs_code"}}, []string{"mode: 0755", "runs code outside the sandbox"}},
		{event.WriteCard{Path: "d", Op: "delete", Files: []string{"d/a", "d/b"}, Flags: []string{"delete"}}, []string{"something is removed", "takes away 2 files", "d/a", "d/b"}},
		{event.WriteCard{Path: "b", From: "a", Op: "move"}, []string{"move a -> b"}},
		{event.WriteCard{Path: "e", Op: "create"}, []string{"create e (+0 -0)"}},
		{event.WriteCard{Path: "i.png", Op: "create", Binary: true}, []string{"not text"}},
	} {
		me := sit(t, 80)
		c := asking(t, me.prompter(), writeQuestion(t, tt.card))
		for _, s := range tt.show {
			me.expect(s)
		}
		me.expect("[y/n/a/?] ")
		me.types("a\n")
		require.Equal(t, ask.AcceptAll, me.answer(c).Choice)
	}
}

func TestQuestionWithOptions(t *testing.T) {
	me := sit(t, 80)
	p := me.prompter()
	q := ask.Question{ID: "g", Kind: ask.General, Prompt: "Which?", Choices: []ask.Choice{{ID: "a", Label: "Tabs"}, {ID: "b", Label: "Spaces"}, {ID: ask.FreeText}}}
	c := asking(t, p, q)
	me.expect("2  Spaces")
	me.expect("Number, or an answer in words: ")
	me.types("\n")
	me.expect("Number, or an answer in words: ")
	me.types("2\n")
	require.Equal(t, "b", me.answer(c).Choice)
	c = asking(t, p, q)
	me.expect("words: ")
	me.types("neither\n")
	require.Equal(t, "neither", me.answer(c).Text)
	q.Choices = q.Choices[:2]
	c = asking(t, p, q)
	me.expect("Number: ")
	me.types("neither\n")
	me.expect("Number: ")
	me.types("tabs\n")
	require.Equal(t, "a", me.answer(c).Choice)
}

func TestPermissions(t *testing.T) {
	raw, err := json.Marshal(event.ToolCard{Card: "delete \x1b[2Jeverything", Arguments: map[string]any{"all": true}})
	require.NoError(t, err)
	q := ask.Question{ID: "m", Kind: ask.MCPTool, Prompt: "Allow?", Detail: raw, Choices: []ask.Choice{{ID: ask.AllowOnce, Label: "Allow once"}, {ID: ask.Always, Label: "Always allow this tool", Danger: true}, {ID: ask.DenyIt, Label: "Deny"}}}
	for typed, want := range map[string]string{"y": ask.AllowOnce, "n": ask.DenyIt, "a": ask.Always, "deny": ask.DenyIt} {
		me := sit(t, 80)
		c := asking(t, me.prompter(), q)
		me.expect("␛[2J")
		me.expect(`"all": true`)
		me.expect("careful")
		me.expect("[y/a/n/?] ")
		me.types("\n")
		me.expect("[y/a/n/?] ")
		me.types(typed + "\n")
		require.Equal(t, want, me.answer(c).Choice)
		require.NotContains(t, me.shown(), "\x1b[2J")
	}
}

// Ctrl-D at a question is nobody, not yes.
func TestEndOfInputIsNobody(t *testing.T) {
	me := sit(t, 80)
	c := asking(t, me.prompter(), planQuestion())
	me.expect("[y/n/c/?] ")
	me.types("\x04")
	r := <-c
	require.ErrorIs(t, r.err, ask.ErrNobody)
}

func TestWaitsForThePrinter(t *testing.T) {
	me := sit(t, 80)
	printer := NewPrinter(Options{Out: me.tty, Progress: me.tty})
	p := me.prompter()
	p.Wait = printer.WaitAsked
	c := asking(t, p, planQuestion())
	require.NoError(t, printer.Print(event.Event{Seq: 1, Data: event.Notice{Level: "info", Text: "before"}}))
	require.NoError(t, printer.Print(event.Event{Seq: 2, Data: event.AskOpened{ID: "q1"}}))
	me.expect("before")
	me.expect("[y/n/c/?] ")
	me.types("n\n")
	me.answer(c)
}

func repl(t *testing.T, me *person, dumb bool) (done chan error, got chan string) {
	t.Helper()
	got = make(chan string, 8)
	c := NewConsole(me.tty, me.tty, dumb)
	r := &REPL{
		Console: c, History: LoadHistory(filepath.Join(t.TempDir(), "h")),
		Commands: []Command{
			{Name: "status", Help: "show", Run: func(_ context.Context, args string) error { got <- "status:" + args; return nil }},
			{Name: "quit", Aliases: []string{"exit"}, Help: "leave", Run: func(context.Context, string) error { return ErrQuit }},
			{Name: "fail", Help: "fail", Run: func(context.Context, string) error { return errors.New("broken") }},
		},
		Request: func(_ context.Context, text string) error { got <- text; return nil },
		Explain: func(err error) string { return "error: " + err.Error() + "\n" },
	}
	done = make(chan error, 1)
	go func() { done <- r.Run(t.Context()) }()
	return done, got
}

func TestREPL(t *testing.T) {
	for _, tt := range []struct {
		name  string
		dumb  bool
		width uint16
		enter string
	}{{"editor", false, 80, "\r"}, {"dumb", true, 80, "\n"}, {"narrow", false, 20, "\r"}, {"wide", false, 200, "\r"}} {
		t.Run(tt.name, func(t *testing.T) {
			me := sit(t, tt.width)
			before := me.mode()
			done, got := repl(t, me, tt.dumb)
			me.expect("> ")
			me.types("add a flag" + tt.enter)
			require.Equal(t, "add a flag", <-got)
			me.expect("> ")
			me.types("/status now" + tt.enter)
			require.Equal(t, "status:now", <-got)
			me.expect("> ")
			me.types("/staus" + tt.enter)
			me.expect("did you mean /status?")
			me.expect("> ")
			me.types("/fail" + tt.enter)
			me.expect("error: broken")
			me.expect("> ")
			me.types("/help" + tt.enter)
			me.expect("/quit")
			me.expect("> ")
			me.types("first \\" + tt.enter)
			me.types("second" + tt.enter)
			require.Equal(t, "first \nsecond", <-got)
			me.expect("> ")
			me.types("/usr/bin is a path" + tt.enter)
			require.Equal(t, "/usr/bin is a path", <-got)
			me.expect("> ")
			me.types("/exit" + tt.enter)
			require.NoError(t, <-done)
			require.Equal(t, before, me.mode(), "the terminal is as it was")
			if tt.dumb {
				require.NotContains(t, me.shown(), "\x1b")
			}
		})
	}
}

func TestREPLKeys(t *testing.T) {
	me := sit(t, 80)
	done, got := repl(t, me, false)
	me.expect("> ")
	me.types("one\r")
	require.Equal(t, "one", <-got)
	me.expect("> ")
	me.types("\x1b[A") // up: from the history
	me.expect("one")
	me.types(" more\x1b[D\x1b[D\x7f\x7fxx\r")
	require.Equal(t, "one xxre", <-got)
	me.expect("> ")
	me.types("\x1b[200~pasted\rin two lines\x1b[201~ and typed\r")
	require.Equal(t, "pasted\nin two lines and typed", <-got)
	me.expect("> ")
	me.types("half a line\x03")
	me.expect("Ctrl-C again")
	me.expect("> ")
	me.types("not kept\r")
	require.Equal(t, "not kept", <-got)
	me.expect("> ")
	me.types("\x03")
	me.expect("Ctrl-C again")
	me.expect("> ")
	me.types("\x03")
	require.NoError(t, <-done)
}

// Keys that go beyond a line: completion, search, new lines, resize, another
// character set, the person's editor.
func TestEditingKeys(t *testing.T) {
	me := sit(t, 40)
	c := me.console()
	h := LoadHistory("")
	h.Add("run all tests")
	h.Add("write docs")
	o := Editing{
		Prompt: "> ", History: h,
		Complete: func(text []rune, _ int) (int, []string) { return len(text) - 1, []string{"@main.go"} },
		Outside:  func(_ context.Context, text string) (string, error) { return text + "\nfrom the editor", nil },
	}
	before := me.mode()
	for i, tt := range []struct{ keys, want string }{
		{"see @\tnow\r", "see @main.go now"},
		{"\x12all\r", "run all tests"},
		{"one\x1b\rtwo\r", "one\ntwo"},
		{"caf\xe9\r", "café"},
		{"logs\x07\r", "logs\nfrom the editor"},
		{strings.Repeat("wide ", 30) + "\x01x\r", "x" + strings.Repeat("wide ", 30)},
	} {
		got := make(chan string, 1)
		o.Prompt = fmt.Sprint(i, "> ") // one of its own, as others are drawn again and again
		go func() { text, err := c.EditLine(t.Context(), o); got <- text + fmt.Sprint(err) }()
		me.expect(o.Prompt)
		me.types(tt.keys)
		require.Equal(t, tt.want+"<nil>", <-got)
		require.Equal(t, before, me.mode())
	}
	got := make(chan string, 1)
	o.Prompt = "last> "
	go func() { text, err := c.EditLine(t.Context(), o); got <- text + fmt.Sprint(err) }()
	me.expect("last> ")
	me.types("0123456789012345678901234567890123456789")
	me.expect("9")
	me.types("half\x1b") // a lone Esc is a key after a moment
	time.Sleep(2 * keyWait)
	me.types("\x1b")
	time.Sleep(2 * keyWait)
	me.types("new\r")
	require.Equal(t, "new<nil>", <-got)
}

// What was typed before the prompt is not lost, and Enter in it is Enter.
func TestTypedAheadOfThePrompt(t *testing.T) {
	me := sit(t, 80)
	c := me.console()
	me.types("one\ntwo\n")
	for _, want := range []string{"one", "two"} {
		text, err := c.Edit(t.Context(), "> ", nil)
		require.NoError(t, err)
		require.Equal(t, want, text)
	}
}

// T11: the rows follow the terminal's width, at any size.
func TestT11Resize(t *testing.T) {
	me := sit(t, 80)
	c := me.console()
	got := make(chan string, 1)
	resized := make(chan os.Signal, 1)
	for _, cols := range []uint16{200, 80, 40, 20, 1} {
		require.NoError(t, pty.Setsize(me.master, &pty.Winsize{Rows: 24, Cols: cols}))
		require.Equal(t, int(cols), c.columns())
	}
	require.NoError(t, pty.Setsize(me.master, &pty.Winsize{Rows: 24, Cols: 0}))
	require.Equal(t, defaultWidth, c.columns())
	go func() {
		_, again, err := c.key(t.Context(), resized)
		got <- fmt.Sprint(again, err)
	}()
	resized <- os.Interrupt // any signal of the channel
	require.Equal(t, "true<nil>", strings.ReplaceAll(<-got, " ", ""))
}

func TestREPLEndsAtControlD(t *testing.T) {
	me := sit(t, 80)
	done, _ := repl(t, me, false)
	me.expect("> ")
	me.types("\x04")
	require.NoError(t, <-done)
}

// T12: cancelled in the middle of a line, or a panic: the terminal is as before.
func TestT12TerminalIsPutBack(t *testing.T) {
	me := sit(t, 80)
	before := me.mode()
	c := me.console()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := c.Edit(ctx, "> ", nil); done <- err }()
	me.expect("> ")
	require.NotEqual(t, before, me.mode(), "the editor uses raw mode")
	me.types("half")
	me.expect("half")
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.Equal(t, before, me.mode())

	require.Panics(t, func() {
		_, _ = c.raw(t.Context(), func(*term.Terminal) (string, error) { panic("x") })
	})
	require.Equal(t, before, me.mode())

	go func() { _, err := c.Secret(t.Context(), "Key: "); done <- err }()
	me.expect("Key: ")
	me.types("sk-hidden\r")
	require.NoError(t, <-done)
	require.Equal(t, before, me.mode())
	require.NotContains(t, me.shown(), "hidden")
}

// Esc is heard at once while lines are read, an arrow is not Esc, and the terminal
// is as before.
func TestEscapeWhileListening(t *testing.T) {
	me := sit(t, 80)
	before := me.mode()
	c := me.console()
	escapes, lines := make(chan bool, 8), make(chan string, 8)
	c.OnEscape(func() { escapes <- true })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan bool)
	go func() { defer close(done); c.Listen(ctx, func(l string) { lines <- l }) }()
	me.types("one\n")
	require.Equal(t, "one", <-lines)
	me.types("tw\x1b[A\x1b[1;5Do\n")
	require.Equal(t, "two", <-lines)
	require.Empty(t, escapes)
	me.types("dropped\x1b")
	<-escapes
	me.types("three\n")
	require.Equal(t, "three", <-lines)
	answer := make(chan string)
	go func() { l, _ := c.Line(t.Context(), "? "); answer <- l }()
	me.expect("? ")
	require.Equal(t, before, me.mode(), "a question reads as always")
	me.types("yes\n")
	require.Equal(t, "yes", <-answer)
	require.Eventually(t, func() bool { return me.mode() != before }, 10*time.Second, time.Millisecond, "the listener reads again")
	me.types("\x1b")
	<-escapes
	cancel()
	<-done
	require.Equal(t, before, me.mode())
}

func TestT12Hangup(t *testing.T) {
	me := sit(t, 80)
	c := me.console()
	done := make(chan error, 1)
	go func() { _, err := c.Line(t.Context(), "? "); done <- err }()
	me.expect("? ")
	require.NoError(t, c.Close())
	require.Error(t, <-done)
	c.Listen(t.Context(), func(string) {}) // ends by itself
}

func TestWidth(t *testing.T) {
	me := sit(t, 123)
	require.Equal(t, 123, me.console().Width())
}

func TestEditor(t *testing.T) {
	me := sit(t, 80)
	dir := t.TempDir()
	script := filepath.Join(dir, "ed")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\nread line < /dev/stdin\necho \"$line\" > \"$2\"\n"), 0o755))
	e := Editor{Console: me.console(), Getenv: func(k string) string { return map[string]string{"EDITOR": script + " -x"}[k] }, Environ: os.Environ()}
	me.types("typed in the editor\n")
	text, err := e.Text(t.Context(), "a.md", "before")
	require.NoError(t, err)
	require.Equal(t, "typed in the editor", text)
	line := make(chan string, 1)
	go func() { l, _ := e.Console.Line(t.Context(), "after? "); line <- l }()
	me.expect("after? ")
	me.types("still works\n")
	require.Equal(t, "still works", <-line)

	e.Getenv = func(string) string { return "no-such-editor" }
	_, err = e.Text(t.Context(), "a.md", "")
	require.ErrorContains(t, err, "set EDITOR")
	_, err = exec.LookPath("sh")
	require.NoError(t, err)
}

func TestHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	h := LoadHistory(path)
	for i := range maxHistory + 10 {
		h.Add(fmt.Sprint("line ", i))
	}
	h.Add(" not kept")
	h.Add("  ")
	h.Add("same")
	h.Add("same")
	require.NoError(t, h.Save())
	again := LoadHistory(path)
	require.Equal(t, maxHistory, again.Len())
	require.Equal(t, "same", again.At(0))
	require.Equal(t, fmt.Sprint("line ", maxHistory+9), again.At(1))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	h.Add("two\nlines")
	require.NoError(t, h.Save())
	require.Equal(t, "two\nlines", LoadHistory(path).At(0), "an entry of several lines is one entry")
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Symlink("/etc/passwd", path))
	require.Zero(t, LoadHistory(path).Len())
	_, err = (&Console{}).joined(func(string) (string, bool, error) { return "", false, io.EOF })
	require.ErrorIs(t, err, io.EOF)
}
