package app_test

import (
	"context"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/app"
	"github.com/coderrr/coderrr/internal/cli"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm/llmtest"
	"github.com/coderrr/coderrr/internal/term"
)

// sitting is a person at an interactive session: what they type, and what they
// wait for on the screen.
type sitting struct {
	x     *machine
	typed io.Writer
	ended chan int
	read  int
}

func (x *machine) interactive() *sitting {
	x.t.Helper()
	master, tty, err := pty.Open()
	require.NoError(x.t, err)
	s := &sitting{x: x, typed: master, ended: make(chan int, 1)}
	x.console = func(out io.Writer, _ bool) (*term.Console, error) { return term.NewConsole(tty, out, true), nil }
	x.out, x.err = &safeBuffer{}, &safeBuffer{}
	process := x.io(x.out)
	go func() { s.ended <- cli.Main(x.t.Context(), nil, process, "test", app.Build) }()
	x.t.Cleanup(func() { _ = master.Close() })
	return s
}

func (s *sitting) expect(text string) {
	s.x.t.Helper()
	for range 1000 {
		if i := strings.Index(s.x.err.String()[s.read:], text); i >= 0 {
			s.read += i + len(text)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.x.t.Fatalf("%q was not shown:\n%s", text, s.x.err.String()[s.read:])
}

func (s *sitting) types(line string) {
	s.x.t.Helper()
	_, err := io.WriteString(s.typed, line+"\n")
	require.NoError(s.x.t, err)
}

// page is where /ui serves.
func (s *sitting) page() page {
	s.x.t.Helper()
	s.expect("Coderrr UI: http://")
	s.expect("the first answer counts")
	m := regexp.MustCompile(`Coderrr UI: http://([^/]+)/#token=(\S+)`).FindStringSubmatch(s.x.err.String())
	require.NotNil(s.x.t, m)
	return page{host: m[1], token: m[2]}
}

// tab is a page of the browser that is open.
type tab struct {
	t    *testing.T
	ctx  context.Context
	ws   *websocket.Conn
	seen strings.Builder
}

func open(ctx context.Context, t *testing.T, p page) *tab {
	t.Helper()
	ws, _, err := websocket.Dial(ctx, "ws://"+p.host+"/ws", &websocket.DialOptions{HTTPHeader: map[string][]string{"Origin": {"http://" + p.host}}})
	require.NoError(t, err)
	ws.SetReadLimit(16 << 20)
	b := &tab{t: t, ctx: ctx, ws: ws}
	b.send(m{"type": "hello", "token": p.token})
	return b
}

func (b *tab) send(v any) {
	b.t.Helper()
	require.NoError(b.t, wsjson.Write(b.ctx, b.ws, v))
}

// expect reads until the pattern is seen.
func (b *tab) expect(pattern *regexp.Regexp) []string {
	b.t.Helper()
	for {
		if found := pattern.FindStringSubmatch(b.seen.String()); found != nil {
			return found
		}
		_, data, err := b.ws.Read(b.ctx)
		require.NoError(b.t, err, b.seen.String())
		b.seen.Write(data)
	}
}

// waits is the gate of a plan on the page.
var waits = regexp.MustCompile(`data-id=\\?"(plan-([^"\\]+)-\d+)\\?"[^>]*data-hash=\\?"([0-9a-f]{64})`)

func (x *machine) closedBy() (by []string) {
	for _, e := range x.log() {
		if c, ok := e.Data.(event.AskClosed); ok {
			by = append(by, string(c.By)+" "+c.Choice)
		}
	}
	return by
}

// /ui at the plan's question: the browser shows the running session and answers;
// the terminal says who decided.
func TestTheBrowserAnswersTheTerminalsSession(t *testing.T) {
	x := newMachine(t, llmtest.NewServer(t, turns()...).Always(accepting()).URL)
	s := x.interactive()
	s.expect("> ")
	s.types("greet the world")
	s.expect("/?] ")
	s.types("/status")
	s.expect("runs: awaiting approval")
	s.expect("/?] ")
	s.types("/ui")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	b := open(ctx, t, s.page())
	found := b.expect(waits)
	b.send(m{"type": "answer", "id": "1", "session": found[2], "question": found[1], "choice": "approve", "hash": found[3]})
	s.expect("withdrawn")
	s.expect("approve (by browser)")
	s.expect("Finished")
	s.expect("\n> ")
	require.Equal(t, "hello\n", x.read("hello.txt"))
	require.Equal(t, []string{"browser approve"}, x.closedBy())
	require.NoError(t, b.ws.CloseNow())
	s.types("/quit")
	require.Zero(t, <-s.ended, x)
}

// The terminal answers a question that the browser shows too: the page sees it.
func TestThePageSeesWhatTheTerminalAnswered(t *testing.T) {
	x := newMachine(t, llmtest.NewServer(t, turns()...).Always(accepting()).URL)
	s := x.interactive()
	s.expect("> ")
	s.types("/ui")
	p := s.page()
	s.types("/ui") // again: the same address
	s.expect(p.token)
	s.expect("> ")
	s.types("greet the world")
	s.expect("/?] ")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	b := open(ctx, t, p)
	found := b.expect(waits)
	s.types("y")
	s.expect("Finished")
	s.expect("\n> ")
	b.expect(regexp.MustCompile(`(?i)terminal`))
	b.send(m{"type": "answer", "id": "1", "session": found[2], "question": found[1], "choice": "discard", "hash": found[3]})
	b.expect(regexp.MustCompile(`decided already`))
	require.Equal(t, []string{"terminal approve"}, x.closedBy())
	s.types("/memory")
	s.expect("no AGENTS.md")
	s.types("/cost")
	s.expect("this conversation: ")
	s.types("/context")
	s.expect("tool results")
	require.NoError(t, b.ws.CloseNow())
	s.types("/quit")
	require.Zero(t, <-s.ended, x)
}
