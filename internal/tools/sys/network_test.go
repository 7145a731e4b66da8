package sys

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/tools"
)

// offline is a sandbox in which a command needs the network.
type offline struct {
	box
	info sandbox.Info
	got  *[]bool // for each run, whether it had the network
}

func (o offline) Info() sandbox.Info { return o.info }

func (o offline) Run(_ context.Context, cmd sandbox.Command) (sandbox.Result, error) {
	*o.got = append(*o.got, cmd.Network)
	if cmd.Network || o.info.Network {
		return sandbox.Result{Output: "added 12 packages\n"}, nil
	}
	return sandbox.Result{ExitCode: 1, Output: "EAI_AGAIN\n", NetworkDenied: true}, nil
}

// TestNetworkIsAsked: a command that failed for lack of the network runs again
// only after a person said so, and for no longer than was said.
func TestNetworkIsAsked(t *testing.T) {
	const (
		once  = "[The person allowed the network for this command.]"
		no    = "[The person did not allow the network"
		alone = "[Nobody allowed the network"
	)
	for name, tc := range map[string]struct {
		answer ask.Answer
		err    error
		open   bool
		runs   []bool // of two calls
		note   string
		ok     bool
	}{
		"once":             {answer: ask.Answer{Choice: ask.AllowOnce}, runs: []bool{false, true, false, true}, note: once, ok: true},
		"for the session":  {answer: ask.Answer{Choice: ask.Always}, runs: []bool{false, true, true}, note: once, ok: true},
		"no":               {answer: ask.Answer{Choice: ask.DenyIt}, runs: []bool{false, false}, note: no},
		"an unknown word":  {answer: ask.Answer{Choice: "yes"}, runs: []bool{false, false}, note: no},
		"nobody to ask":    {err: ask.ErrNobody, runs: []bool{false, false}, note: alone},
		"it has a network": {open: true, runs: []bool{false, false}, ok: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &session{answer: tc.answer, askErr: tc.err}
			var got []bool
			d := s.deps()
			d.Network = &Network{}
			d.Sandbox = offline{box{s}, sandbox.Info{Tier: sandbox.Confined, Network: tc.open}, &got}
			for range 2 {
				res := callOf(t, d, `{"command":"npm ci"}`)
				require.Equal(t, tc.ok, !res.IsError)
				require.Contains(t, res.Content, tc.note)
			}
			require.Equal(t, tc.runs, got)
			require.Len(t, s.ran, 2, "a call is evidence once")
		})
	}
}

// callOf calls run_in_sandbox.
func callOf(t *testing.T, d Deps, input string) tools.Result {
	t.Helper()
	for _, tool := range Tools(d) {
		if tool.Spec().Name == "run_in_sandbox" {
			ctx := tools.WithCall(t.Context(), tools.Call{ID: "c1", Output: func(string, string) {}})
			return tool.Run(ctx, json.RawMessage(input))
		}
	}
	t.Fatal("no run_in_sandbox")
	return tools.Result{}
}

// TestNetworkQuestion: what is asked shows the command as inert text, and the
// answer is bound to all of it.
func TestNetworkQuestion(t *testing.T) {
	a, b := wantsNetwork("c1", "npm ci\x1b[2K"), wantsNetwork("c1", "npm ci")
	require.Equal(t, ask.Network, a.Kind)
	require.NotContains(t, a.Prompt+string(a.Detail), "\x1b")
	require.Equal(t, "`npm ci` wants the network.", b.Prompt)
	require.NotEqual(t, a.Hash, b.Hash)
	require.Empty(t, b.Default)
	require.Equal(t, []string{ask.AllowOnce, ask.Always, ask.DenyIt}, []string{b.Choices[0].ID, b.Choices[1].ID, b.Choices[2].ID})
}

// TestNetworkAskedWhileStopped: a session that ends while the question is open
// runs nothing more.
func TestNetworkAskedWhileStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &session{}
	var got []bool
	d := s.deps()
	d.Network = &Network{}
	d.Sandbox = offline{box{s}, sandbox.Info{}, &got}
	d.Asker = stopping{cancel}
	_, _, err := d.run(ctx, tools.CallOf(ctx), sandbox.Command{Line: "npm ci"})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []bool{false}, got)
}

type stopping struct{ stop func() }

func (s stopping) Ask(ctx context.Context, _ ask.Question) (ask.Answer, error) {
	s.stop()
	return ask.Answer{Choice: ask.AllowOnce}, ctx.Err()
}
