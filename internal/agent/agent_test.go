package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/coderrr/coderrr/internal/agent"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/policy"
	"github.com/coderrr/coderrr/internal/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// turn is one scripted answer: deltas, then an error or a result.
type turn struct {
	deltas []llm.Delta
	done   llm.Done
	err    error
	block  bool // wait for the context's end after the deltas
}

// script is a provider that plays turns and keeps the requests.
type script struct {
	turns    []turn
	requests []llm.Request
}

func (s *script) Name() string { return "script" }

func (s *script) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		s.requests = append(s.requests, req)
		if len(s.turns) == 0 {
			yield(nil, errors.New("the script has ended"))
			return
		}
		t := s.turns[0]
		s.turns = s.turns[1:]
		for _, d := range t.deltas {
			if !yield(d, nil) {
				return
			}
		}
		if t.block {
			<-ctx.Done()
			yield(nil, ctx.Err())
			return
		}
		if t.err != nil {
			yield(nil, t.err)
			return
		}
		yield(t.done, nil)
	}
}

func say(text string) turn {
	return turn{
		deltas: []llm.Delta{llm.TextDelta{Text: text}},
		done:   llm.Done{Message: llm.Message{Role: llm.Assistant, Blocks: llm.Blocks{llm.Text{Text: text}}}, Stop: llm.StopEndTurn},
	}
}

func call(name, input string) turn {
	return turn{done: llm.Done{
		Message: llm.Message{Role: llm.Assistant, Blocks: llm.Blocks{llm.ToolUse{ID: "id-" + name, Name: name, Input: json.RawMessage(input)}}},
		Stop:    llm.StopToolUse,
	}}
}

type echoArgs struct {
	Text string `json:"text" jsonschema_description:"what to say"`
}

func echo(calls *atomic.Int32) tools.Tool {
	return tools.Define("echo", "says it back", policy.Read, func(_ context.Context, in echoArgs) (tools.Result, error) {
		calls.Add(1)
		return tools.Result{Content: "echo: " + in.Text}, nil
	})
}

func ender() tools.Tool {
	return tools.Define("finish", "ends", policy.System, func(context.Context, struct{}) (tools.Result, error) {
		return tools.Result{Content: "all done", End: true}, nil
	})
}

type rig struct {
	log    *event.Log
	talk   *agent.Talk
	model  *script
	calls  atomic.Int32
	opts   agent.Options
	queued []string
}

func newRig(turns ...turn) *rig {
	r := &rig{log: event.NewLog(nil, nil), model: &script{turns: turns}}
	r.talk = agent.NewTalk(r.log, nil, 0)
	set := tools.NewSet(tools.Options{
		Mode: policy.Planning, Sources: []tools.Source{tools.Fixed{echo(&r.calls), ender()}}, Log: r.log,
		Gate: func() policy.Rules { return policy.Rules{} },
	})
	r.opts = agent.Options{
		Model: func() agent.Model { return agent.Model{Provider: r.model, Name: "m"} },
		Set:   set, Log: r.log, Talk: r.talk, System: func() string { return "system" },
		Queued: func() []string { q := r.queued; r.queued = nil; return q },
	}
	r.talk.Say("hello")
	return r
}

func (r *rig) run(t *testing.T) agent.Result {
	t.Helper()
	res, err := agent.New(r.opts).Run(t.Context())
	require.NoError(t, err)
	return res
}

func (r *rig) types() []string {
	var out []string
	for _, e := range r.log.Events(0) {
		out = append(out, e.Data.Type())
	}
	return out
}

// valid checks that each call has its result right after it.
func valid(t *testing.T, ms []llm.Message) {
	t.Helper()
	for i, m := range ms {
		if m.Role == llm.Assistant && len(llm.ToolUses(m)) > 0 {
			require.Less(t, i+1, len(ms), "a call without a result")
			for j, u := range llm.ToolUses(m) {
				r, ok := ms[i+1].Blocks[j].(llm.ToolResult)
				require.True(t, ok)
				require.Equal(t, u.ID, r.ToolUseID)
			}
		}
		if i > 0 {
			require.NotEqual(t, ms[i-1].Role, m.Role, "roles alternate")
		}
	}
}

func TestATurnThenTheEnd(t *testing.T) {
	t.Parallel()
	r := newRig(call("echo", `{"text":"hi"}`), say("bye"))
	res := r.run(t)
	require.Equal(t, agent.Result{Stop: agent.EndTurn, Text: "bye"}, res)
	want := []string{
		"user.message", "message.added",
		"turn.started", "message.added", "usage.added", "turn.finished", "tool.started", "tool.finished", "message.added",
		"turn.started", "text.done", "message.added", "usage.added", "turn.finished",
	}
	require.Empty(t, cmp.Diff(want, r.types()))
	require.Len(t, r.model.requests, 2)
	require.Equal(t, "system", r.model.requests[0].System)
	require.Len(t, r.model.requests[0].Tools, 2)
	valid(t, r.talk.Messages())
}

func TestFinishEndsTheLoop(t *testing.T) {
	t.Parallel()
	require.Equal(t, agent.Result{Stop: agent.Finished, Text: "all done"}, newRig(call("finish", `{}`)).run(t))
}

func TestSameCallAgainAndAgain(t *testing.T) {
	t.Parallel()
	var turns []turn
	for range 10 {
		turns = append(turns, call("echo", `{"text":"hi"}`))
	}
	r := newRig(turns...)
	res := r.run(t)
	require.Equal(t, agent.Stuck, res.Stop)
	require.Contains(t, res.Why, "echo")
	require.Equal(t, int32(2), r.calls.Load(), "the third call in a row is not run")
	valid(t, r.talk.Messages())

	// The same arguments in another order are the same call; another call between
	// makes it a new one.
	r = newRig(call("echo", `{"text":"a"}`), call("echo", `{"text":"b"}`), call("echo", `{"text":"a"}`), call("echo", `{"text":"b"}`), say("end"))
	require.Equal(t, agent.EndTurn, r.run(t).Stop)
	require.Equal(t, int32(4), r.calls.Load())
}

func TestLimits(t *testing.T) {
	t.Parallel()
	r := newRig(call("echo", `{"text":"1"}`), call("echo", `{"text":"2"}`), say("never"))
	r.opts.MaxTurns = 2
	res := r.run(t)
	require.Equal(t, agent.Spent, res.Stop)
	require.Contains(t, res.Why, "agent.max_tool_turns")

	r = newRig(call("echo", `{"text":"1"}`), say("never"))
	r.opts.Budget = &agent.Budget{MaxTurns: 1}
	res = r.run(t)
	require.Equal(t, agent.Spent, res.Stop)
	require.Contains(t, res.Why, "--max-turns")

	halted := newRig(say("never"))
	halted.opts.Halt = func() string { return "the plan moved" }
	require.Equal(t, agent.Result{Stop: agent.Halted, Why: "the plan moved"}, halted.run(t))
}

func TestCostLimitAndUnknownPrice(t *testing.T) {
	t.Parallel()
	prices := &llm.Prices{Input: 1, Output: 1}
	spend := func(info llm.ModelInfo) (*rig, agent.Result) {
		first := call("echo", `{"text":"1"}`)
		first.done.Usage = llm.Usage{Input: 1_000_000, Output: 1_000_000, Known: true}
		r := newRig(first, say("end"))
		r.opts.Budget = &agent.Budget{MaxCostUSD: 1.5}
		r.opts.Model = func() agent.Model { return agent.Model{Provider: r.model, Name: "m", Info: info} }
		return r, r.run(t)
	}
	r, res := spend(llm.ModelInfo{Prices: prices})
	require.Equal(t, agent.Spent, res.Stop)
	require.InDelta(t, 2.0, *r.opts.Budget.Total().CostUSD, 1e-9)
	r, res = spend(llm.ModelInfo{})
	require.Equal(t, agent.Spent, res.Stop)
	require.Contains(t, res.Why, "price is unknown")
	require.Nil(t, r.opts.Budget.Total().CostUSD, "an unknown price is never zero")
}

func TestTypedMessagesReachTheNextTurn(t *testing.T) {
	t.Parallel()
	r := newRig(call("echo", `{"text":"hi"}`), say("first end"), say("second end"))
	r.queued = []string{"and one more thing"}
	require.Equal(t, "first end", r.run(t).Text)
	require.Contains(t, lastText(r.model.requests[0]), "and one more thing")
	// A message that comes with the last answer keeps the loop going.
	r = newRig(say("first end"), say("second end"))
	polls := 0
	r.opts.Queued = func() []string {
		if polls++; polls == 2 {
			return []string{"wait"}
		}
		return nil
	}
	require.Equal(t, "second end", r.run(t).Text)
	valid(t, r.talk.Messages())
}

func lastText(req llm.Request) string {
	return llm.TextOf(req.Messages[len(req.Messages)-1])
}

func TestCancelWhileStreamingKeepsTheText(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(turn{deltas: []llm.Delta{llm.TextDelta{Text: "half an ans"}, llm.ToolUseStart{ID: "x", Name: "echo"}}, block: true})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { time.Sleep(time.Second); cancel() }()
		res, err := agent.New(r.opts).Run(ctx)
		require.NoError(t, err)
		require.Equal(t, agent.Cancelled, res.Stop)
		ms := r.talk.Messages()
		require.Equal(t, "half an ans", llm.TextOf(ms[len(ms)-1]))
		require.Empty(t, llm.ToolUses(ms[len(ms)-1]), "no half call is kept")
		require.Zero(t, r.calls.Load())
	})
}

func TestCancelBetweenCallsAnswersAll(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	stopper := tools.Define("stopper", "", policy.Read, func(context.Context, struct{}) (tools.Result, error) {
		cancel()
		return tools.Result{Content: "ran"}, nil
	})
	r := newRig(turn{done: llm.Done{Stop: llm.StopToolUse, Message: llm.Message{Role: llm.Assistant, Blocks: llm.Blocks{
		llm.ToolUse{ID: "1", Name: "stopper", Input: json.RawMessage(`{}`)},
		llm.ToolUse{ID: "2", Name: "stopper", Input: json.RawMessage(`{"a":1}`)},
	}}}})
	r.opts.Set = tools.NewSet(tools.Options{Mode: policy.Planning, Sources: []tools.Source{tools.Fixed{stopper}}, Log: r.log, Gate: func() policy.Rules { return policy.Rules{} }})
	res, err := agent.New(r.opts).Run(ctx)
	require.NoError(t, err)
	require.Equal(t, agent.Cancelled, res.Stop)
	valid(t, r.talk.Messages())
}

func TestCutAnswers(t *testing.T) {
	t.Parallel()
	cut := say("part")
	cut.done.Stop = llm.StopMaxTokens
	cut.done.Incomplete = []llm.ToolUse{{Name: "write_file"}}
	r := newRig(cut, say("rest"))
	require.Equal(t, "rest", r.run(t).Text)
	require.Contains(t, lastText(r.model.requests[1]), "write_file was not complete")
	withCall := call("echo", `{"text":"x"}`)
	withCall.done.Stop, withCall.done.Incomplete = llm.StopMaxTokens, cut.done.Incomplete
	r = newRig(withCall, say("rest"))
	require.Equal(t, "rest", r.run(t).Text)
	require.Contains(t, lastText(r.model.requests[1]), "write_file was not complete")
	r = newRig(cut, cut, cut, cut, cut)
	res := r.run(t)
	require.Equal(t, agent.Spent, res.Stop)
	require.Contains(t, res.Why, "agent.max_tokens")
}

func TestRefusalAndPause(t *testing.T) {
	t.Parallel()
	refuse := say("I will not")
	refuse.done.Stop = llm.StopRefusal
	require.Equal(t, agent.Refused, newRig(refuse).run(t).Stop)
	pause := say("thinking")
	pause.done.Stop = llm.StopPause
	require.Equal(t, "end", newRig(pause, say("end")).run(t).Text)
}

func TestProviderFailures(t *testing.T) {
	t.Parallel()
	auth := &llm.Error{Provider: "p", Kind: llm.KindAuth}
	r := newRig(turn{deltas: []llm.Delta{llm.TextDelta{Text: "so far"}}, err: auth})
	_, err := agent.New(r.opts).Run(t.Context())
	require.ErrorIs(t, err, error(auth))
	require.Equal(t, 1, strings.Count(strings.Join(r.types(), " "), "text.done"), "what was shown is kept")

	// A call that the provider could not read is asked for again, a few times.
	bad := turn{err: &llm.Error{Kind: llm.KindBadToolCall}}
	require.Equal(t, "ok", newRig(bad, say("ok")).run(t).Text)
	_, err = agent.New(newRig(bad, bad, bad).opts).Run(t.Context())
	require.Error(t, err)
}

func TestPromptTooLongShrinksOnce(t *testing.T) {
	t.Parallel()
	var turns []turn
	for i := range 10 {
		turns = append(turns, call("echo", fmt.Sprintf(`{"text":%q}`, strings.Repeat(fmt.Sprint(i), 2000))))
	}
	tooLong := turn{err: &llm.Error{Kind: llm.KindContextLength}}
	r := newRig(append(turns, tooLong, say("fits now"))...)
	require.Equal(t, "fits now", r.run(t).Text)
	valid(t, r.talk.Messages())
	last := r.model.requests[len(r.model.requests)-1]
	require.Contains(t, fmt.Sprint(last.Messages[2].Blocks), "left out to save room")
	require.Contains(t, r.types(), "context.changed")
	r = newRig(tooLong)
	_, err := agent.New(r.opts).Run(t.Context())
	require.Error(t, err, "nothing to leave out: the failure is shown")
}

func TestWindowIsKept(t *testing.T) {
	t.Parallel()
	var turns []turn
	for i := range 12 {
		turns = append(turns, call("echo", fmt.Sprintf(`{"text":%q}`, strings.Repeat(fmt.Sprint(i), 2000))))
	}
	r := newRig(append(turns, say("end"))...)
	r.opts.Model = func() agent.Model {
		return agent.Model{Provider: r.model, Name: "m", Info: llm.ModelInfo{ContextTokens: 6000}}
	}
	require.Equal(t, "end", r.run(t).Text)
	require.Contains(t, r.types(), "context.changed")
}

func TestRetryVoidsWhatWasStreamed(t *testing.T) {
	t.Parallel()
	again := say("whole answer")
	again.deltas = []llm.Delta{llm.ThinkingDelta{Text: "hm"}, llm.TextDelta{Text: "half"}, llm.Retry{Wait: 1000, Attempt: 2, Reason: "overloaded"}, llm.TextDelta{Text: "whole answer"}}
	r := newRig(again)
	r.run(t)
	for _, e := range r.log.Events(0) {
		if d, ok := e.Data.(event.TextDone); ok {
			require.Equal(t, "whole answer", d.Text)
		}
	}
	require.Contains(t, r.types(), "retry.scheduled")
}

type brokenSink struct{}

func (brokenSink) Write(event.Event, bool) error { return errors.New("disk full") }
func (brokenSink) Close() error                  { return nil }

func TestALogThatCannotBeStoredStopsTheLoop(t *testing.T) {
	t.Parallel()
	r := newRig(say("never"))
	r.log = event.NewLog(nil, brokenSink{})
	r.opts.Log = r.log
	r.log.Append(event.Notice{})
	_, err := agent.New(r.opts).Run(t.Context())
	require.ErrorContains(t, err, "disk full")
}

func TestRebuildAnswersOrphans(t *testing.T) {
	t.Parallel()
	use := llm.ToolUse{ID: "1", Name: "write_file", Input: json.RawMessage(`{}`)}
	add := func(role llm.Role, blocks ...llm.Block) event.Event {
		return event.Event{Data: event.MessageAdded{Role: role, Blocks: blocks}}
	}
	lost := func(u llm.ToolUse) string { return "lost " + u.ID }
	for name, events := range map[string][]event.Event{
		"killed before the result":   {add(llm.User, llm.Text{Text: "go"}), add(llm.Assistant, use)},
		"resumed before the result":  {add(llm.User, llm.Text{Text: "go"}), add(llm.Assistant, use), add(llm.User, llm.Text{Text: "resumed"})},
		"one of two results":         {add(llm.User, llm.Text{Text: "go"}), add(llm.Assistant, use, llm.ToolUse{ID: "2", Name: "x"}), add(llm.User, llm.ToolResult{ToolUseID: "2"})},
		"a result nobody asked for":  {add(llm.User, llm.ToolResult{ToolUseID: "9"}, llm.Text{Text: "go"}), add(llm.Assistant, llm.Text{Text: "ok"})},
		"assistant after assistant":  {add(llm.User, llm.Text{Text: "go"}), add(llm.Assistant, use), add(llm.User, llm.Text{Text: "hm"})},
		"turns are counted as shown": {{Data: event.TurnStarted{Turn: 3}}, add(llm.User, llm.Text{Text: "go"})},
	} {
		ms, turns := agent.Rebuild(events, lost)
		valid(t, ms)
		require.LessOrEqual(t, turns, 3, name)
	}
}

func TestBudgetClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &agent.Budget{MaxSeconds: 10}
		stop := b.Start()
		time.Sleep(6 * time.Second)
		waited := b.Wait()
		time.Sleep(time.Hour) // a person thinks
		waited()
		require.Empty(t, b.Spent())
		time.Sleep(4 * time.Second)
		require.Contains(t, b.Spent(), "agent.max_seconds")
		stop()
		b = &agent.Budget{}
		cost := 0.5
		b.Restore(event.Usage{Input: 3, CostUSD: &cost}, 2)
		require.Equal(t, int64(3), b.Total().Input)
		b.Add(llm.Usage{Input: 1_000_000, Known: true}, llm.ModelInfo{Prices: &llm.Prices{Input: 1}}, "")
		require.InDelta(t, 1.5, *b.Total().CostUSD, 1e-9)
	})
}

// TestRepeatedCallIDs: a provider that gives two calls one id, in a turn and across
// turns, gets results that belong to the right call.
func TestRepeatedCallIDs(t *testing.T) {
	use := func(text string) llm.ToolUse {
		return llm.ToolUse{ID: "0", Name: "echo", Input: json.RawMessage(`{"text":"` + text + `"}`)}
	}
	answer := func(blocks ...llm.Block) turn {
		return turn{done: llm.Done{Message: llm.Message{Role: llm.Assistant, Blocks: blocks}, Stop: llm.StopToolUse}}
	}
	nameless := use("d")
	nameless.ID = ""
	r := newRig(answer(use("a"), use("b")), answer(use("c"), nameless), say("done"))
	_, err := agent.New(r.opts).Run(t.Context())
	require.NoError(t, err)
	var started, finished []string
	for _, e := range r.log.Events(0) {
		switch p := e.Data.(type) {
		case event.ToolStarted:
			started = append(started, p.ID)
		case event.ToolFinished:
			finished = append(finished, p.ID+" "+p.Content)
		}
	}
	require.Equal(t, []string{"0", "0-2", "0-3", "call-2"}, started)
	require.Equal(t, []string{"0 echo: a", "0-2 echo: b", "0-3 echo: c", "call-2 echo: d"}, finished)
	rebuilt, _ := agent.Rebuild(r.log.Events(0), func(llm.ToolUse) string { return "lost" })
	require.Empty(t, cmp.Diff(r.talk.Messages(), rebuilt), "a resume finds the same pairs")
}
