package app_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/app"
	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/ask/asktest"
	"github.com/coderrr/coderrr/internal/cli"
	"github.com/coderrr/coderrr/internal/config"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm/llmtest"
)

// steered is what a front end may do with a running session.
type steered interface {
	cli.Session
	SetModel(ctx context.Context, ref string) error
	Compact()
}

// open makes a session without a front end.
func (x *machine) open(asker ask.Asker, request string) steered {
	x.t.Helper()
	c, _, err := config.Load(x.home)
	require.NoError(x.t, err)
	a, err := app.Build(x.t.Context(), cli.Env{
		Getenv: func(k string) string { return x.env[k] }, Home: x.home, Config: c, Dir: x.ws, Version: "test", Notice: func(string) {},
	})
	require.NoError(x.t, err)
	s, err := a.NewSession(x.t.Context(), cli.SessionOptions{Request: request, Asker: asker})
	require.NoError(x.t, err)
	return s.(steered)
}

// Another model goes on in mid-session, whichever provider it is at: it gets the
// whole conversation, less what only the first one can read.
func TestSwitchModelInMidSession(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			all := turns()
			var s steered
			all[3].Func = func(llmtest.Ask) llmtest.Turn {
				require.NoError(t, s.SetModel(t.Context(), "second/next"))
				return llmtest.Turn{Thinking: "secret thought", Text: "Planned.", Calls: []llmtest.Call{{ID: "functions.finish:0", Name: "finish", Input: m{"summary": "planned"}}}}
			}
			first := llmtest.NewServer(t, all[:4]...)
			second := llmtest.NewServer(t, all[4:]...).Always(accepting())
			x := newMachine(t, first.URL)
			x.config("[provider]\nname = \"compatible\"\nmodel = \"scripted\"\nendpoint = \"" + first.URL + "\"\n[sandbox]\ntier = \"scratch\"\n" +
				"[providers.second]\nname = \"" + w.kind + "\"\nendpoint = \"" + second.URL + "\"\n" + w.extra)
			s = x.open(asktest.New(t, asktest.Step{Kind: ask.Plan, Choice: ask.Approve}), "greet the world")
			fin, err := s.Run(t.Context())
			require.NoError(t, err)
			require.Equal(t, "ok", fin.Status, fin.Summary)
			require.Equal(t, "hello\n", x.read("hello.txt"))
			require.Zero(t, first.Left()+second.Left())
			body := string(second.Requests()[0].Body)
			require.Contains(t, body, "greet the world")
			require.Contains(t, body, "Planned.")
			require.NotContains(t, body, "secret thought")
			if w.kind == "anthropic" {
				require.NotContains(t, body, "functions.finish:0", "that id is refused there")
			}
			changed := false
			for _, e := range x.log() {
				if c, ok := e.Data.(event.ContextChanged); ok && c.What == "model" {
					changed = c.Name == "next" && strings.Contains(c.Detail, "compatible/scripted")
				}
			}
			require.True(t, changed)
		})
	}
}
