package fs_test

import (
	"context"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/tools/fs"
	"github.com/coderrr/coderrr/internal/verify"
)

// strict is a model that rejects whatever it is asked, and says what it saw.
type strict struct{ saw string }

func (*strict) Name() string { return "strict" }

func (s *strict) Stream(_ context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	s.saw = llm.TextOf(req.Messages[0])
	return func(yield func(llm.Delta, error) bool) {
		yield(llm.Done{Message: llm.Message{Blocks: llm.Blocks{llm.Text{Text: `{"verdict":"reject","reason":"it greets nobody"}`}}}}, nil)
	}
}

func TestVerifierSeesTheChange(t *testing.T) {
	b, m := newBench(t), &strict{}
	b.verify = fs.Verify(verify.New(verify.Options{Mode: verify.Always, Target: func() (llm.Provider, string) { return m, "m" }}))
	b.file("a", "one\n")
	b.fails("edit_file", args{"path": "a", "old_string": "one", "new_string": "two", "intent": "to greet"}, "The verifier rejected this change to a: it greets nobody")
	for _, want := range []string{"edit a", "to greet", "-one\n+two"} {
		require.Contains(t, m.saw, want)
	}
	b.unread("d/x", "x")
	b.fails("delete_file", args{"path": "d", "recursive": true}, "it greets nobody")
	require.Contains(t, m.saw, "delete d")
	require.Contains(t, m.saw, "d/x")
	verdicts := 0
	for _, e := range b.log.Events(0) {
		if v, ok := e.Data.(event.VerifyFinished); ok {
			require.Equal(t, "reject", v.Verdict)
			verdicts++
		}
	}
	require.Equal(t, 2, verdicts)
}
