package agent_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/agent"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm"
)

// scribe is a model that writes summaries, or fails to.
type scribe struct {
	text  string
	err   error
	asked []llm.Request
}

func (s *scribe) Name() string { return "scribe" }

func (s *scribe) Stream(_ context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		s.asked = append(s.asked, req)
		if s.err != nil {
			yield(nil, s.err)
			return
		}
		yield(llm.Done{
			Message: llm.Message{Role: llm.Assistant, Blocks: llm.Blocks{llm.Text{Text: s.text}}}, Stop: llm.StopEndTurn,
			Usage: llm.Usage{Input: 7, Output: 3, Known: true},
		}, nil)
	}
}

// long is a session of n calls with results of about 500 tokens each.
func long(n int, end ...turn) []turn {
	var turns []turn
	for i := range n {
		turns = append(turns, call("echo", fmt.Sprintf(`{"text":%q}`, strings.Repeat(fmt.Sprint(i%10), 2000))))
	}
	return append(turns, end...)
}

func withWindow(r *rig, window int64, s *scribe) {
	r.opts.Model = func() agent.Model {
		return agent.Model{Provider: r.model, Name: "m", Info: llm.ModelInfo{ContextTokens: window}}
	}
	r.opts.Summary = func() agent.Model { return agent.Model{Provider: s, Name: "small"} }
	r.opts.Memory = func() string { return "The plan is in read_spec." }
}

func compactions(log *event.Log) (results, summaries []event.ContextChanged) {
	for _, e := range log.Events(0) {
		p, ok := e.Data.(event.ContextChanged)
		switch {
		case !ok || p.What != "compaction":
		case p.Summary != "":
			summaries = append(summaries, p)
		default:
			results = append(results, p)
		}
	}
	return results, summaries
}

// A long session is shortened in two steps, keeps the person's last request and
// every pair of call and result, and is the same when it is rebuilt from its log.
func TestCompactionAtTheThreshold(t *testing.T) {
	t.Parallel()
	s := &scribe{text: "SUMMARY of it all"}
	r := newRig(long(40, say("done"))...)
	withWindow(r, 12_000, s)
	require.Equal(t, "done", r.run(t).Text)
	valid(t, r.talk.Messages())
	results, summaries := compactions(r.log)
	require.NotEmpty(t, results)
	require.NotEmpty(t, summaries)
	require.Less(t, r.log.Events(0)[0].Seq, r.log.Events(0)[1].Seq)
	first := r.talk.Messages()[0]
	require.Equal(t, llm.User, first.Role)
	text := llm.TextOf(first)
	require.Contains(t, text, "SUMMARY of it all")
	require.Contains(t, text, "hello", "the person's last request, word for word")
	require.Contains(t, text, "The plan is in read_spec.")
	for i, req := range r.model.requests {
		require.Less(t, llm.EstimateTokens(req), int64(12_000), "request %d", i)
	}
	require.Contains(t, llm.TextOf(s.asked[0].Messages[0]), "CALL echo")
	require.Empty(t, s.asked[0].Tools)
	summed := 0
	for _, e := range r.log.Events(0) {
		if u, ok := e.Data.(event.UsageAdded); ok && u.Purpose == "summary" {
			summed++
		}
	}
	require.Equal(t, len(s.asked), summed)
	again, _ := agent.Rebuild(r.log.Events(0), func(llm.ToolUse) string { return "lost" })
	require.Empty(t, cmp.Diff(r.talk.Messages(), again))
}

// What the provider counted decides, not our guess.
func TestThresholdCountsWhatTheProviderSaid(t *testing.T) {
	t.Parallel()
	s := &scribe{text: "short"}
	turns := long(3, say("done"))
	turns[1].done.Usage = llm.Usage{Input: 9_000, Output: 100, Known: true}
	r := newRig(turns...)
	withWindow(r, 10_000, s)
	r.run(t)
	_, summaries := compactions(r.log)
	require.NotEmpty(t, summaries)
	valid(t, r.talk.Messages())
}

// Three compactions that do not help are enough; then it says so once and goes on.
func TestCompactionBreaker(t *testing.T) {
	t.Parallel()
	s := &scribe{text: strings.Repeat("much ", 50)}
	r := newRig(long(12, say("done"))...)
	withWindow(r, 900, s)
	require.Equal(t, "done", r.run(t).Text)
	notices := 0
	for _, e := range r.log.Events(0) {
		if n, ok := e.Data.(event.Notice); ok && n.Kind == "compaction" {
			notices++
			require.Contains(t, n.Text, "3 times")
		}
	}
	require.Equal(t, 1, notices)
	require.LessOrEqual(t, len(s.asked), 3)
}

// Without a summary a list of what was done takes its place.
func TestCompactionWithoutASummary(t *testing.T) {
	t.Parallel()
	s := &scribe{err: &llm.Error{Kind: llm.KindOverloaded, Message: "busy"}}
	r := newRig(long(40, say("done"))...)
	withWindow(r, 12_000, s)
	require.Equal(t, "done", r.run(t).Text)
	require.Contains(t, llm.TextOf(r.talk.Messages()[0]), "The calls so far:")
	valid(t, r.talk.Messages())
}

// A refused prompt is shortened once and tried once more; the limit that came with
// the refusal is kept.
func TestTooLongOneCompactionOneRetry(t *testing.T) {
	t.Parallel()
	refused := turn{err: &llm.Error{Kind: llm.KindContextLength, Tokens: 5_000, Limit: 4_000}}
	s := &scribe{text: "short"}
	r := newRig(long(6, refused, say("fits"))...)
	withWindow(r, 0, s)
	require.Equal(t, "fits", r.run(t).Text)
	_, summaries := compactions(r.log)
	require.Len(t, summaries, 1)

	r = newRig(long(6, refused, refused, say("never asked"))...)
	withWindow(r, 0, s)
	_, err := agent.New(r.opts).Run(t.Context())
	var e *llm.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, llm.KindContextLength, e.Kind)
	require.Len(t, r.model.turns, 1, "one retry, not more")
}

// The person can ask for it; a short conversation stays as it is.
func TestCompactOnRequest(t *testing.T) {
	t.Parallel()
	s := &scribe{text: "short"}
	r := newRig(long(8, say("done"))...)
	withWindow(r, 0, s)
	wish := 0
	r.opts.Compact = func() bool { wish++; return wish == 1 || wish == 8 }
	r.run(t)
	_, summaries := compactions(r.log)
	require.Len(t, summaries, 1)
	require.Contains(t, summaries[0].Detail, "you asked for it")
	valid(t, r.talk.Messages())
}
