package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/ask/asktest"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/llmtest"
	"github.com/coderrr/coderrr/internal/session"
)

func unread(log *event.Log) []string {
	var out []string
	for _, n := range find[event.Notice](log) {
		if n.Kind == "queue" {
			out = append(out, n.Text)
		}
	}
	return out
}

// What a person typed and the model never read is said at the end, and told to the
// model by a resume.
func TestR20AMessageThatWasNotReadIsShown(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	var r *rig
	stopping := llmtest.Turn{Func: func(llmtest.Ask) llmtest.Turn {
		require.NoError(t, r.Say("use tabs"))
		r.Stop()
		return start()
	}}
	r = newRig(t, p, script(planTurns(), []llmtest.Turn{stopping}), asktest.New(t, approve), setup{})
	require.Equal(t, "cancelled", r.Run(t.Context(), session.Request{Text: "go"}).Status)
	require.Len(t, unread(r.log), 1)
	require.Contains(t, unread(r.log)[0], "use tabs")
	types := r.types()
	require.Equal(t, "session.finished", types[len(types)-1])
	require.ErrorIs(t, r.Say("too late"), session.ErrOver)
	require.Len(t, r.types(), len(types), "nothing follows the end")

	model := script([]llmtest.Turn{seen()}, workTurns())
	again := newRig(t, p, model, ask.Policy{}, setup{past: r.log.Events(0)})
	again.Run(t.Context(), session.Request{Resume: true})
	var told []string
	for _, u := range find[event.UserMessage](again.log) {
		told = append(told, u.Text)
	}
	require.Contains(t, told, "use tabs")
}

// A message that comes while the model calls finish is still read.
func TestR20AMessageAtTheEndOfATalkIsRead(t *testing.T) {
	t.Parallel()
	for _, readOnly := range []bool{true, false} {
		var r *rig
		last := llmtest.Turn{Func: func(llmtest.Ask) llmtest.Turn {
			require.NoError(t, r.Say("and how wide?"))
			return finish()
		}}
		model := script([]llmtest.Turn{last, llmtest.Use("finish", m{"summary": "three wide"})})
		r = newRig(t, newPlace(t), model, asktest.New(t), setup{})
		fin := r.Run(t.Context(), session.Request{Text: "how long?", ReadOnly: readOnly})
		require.Equal(t, "three wide", fin.Summary)
		require.Equal(t, "ok", fin.Status)
		require.Empty(t, unread(r.log))
		require.Equal(t, "and how wide?", find[event.UserMessage](r.log)[1].Text)
	}
}

// What is asked of a session that is opened again is said once.
func TestAResumeSaysItsTextOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	r := newRig(t, p, script([]llmtest.Turn{llmtest.Use("finish", m{"summary": "hello"})}), asktest.New(t), setup{})
	require.Equal(t, "ok", r.Run(t.Context(), session.Request{Text: "hi"}).Status)
	for _, readOnly := range []bool{true, false} {
		model := script([]llmtest.Turn{llmtest.Use("finish", m{"summary": "hello"})})
		again := newRig(t, p, model, asktest.New(t), setup{past: r.log.Events(0)})
		again.Run(t.Context(), session.Request{Text: "once more", Resume: true, ReadOnly: readOnly})
		said := 0
		for _, u := range find[event.UserMessage](again.log) {
			if u.Text == "once more" {
				said++
			}
		}
		require.Equal(t, 1, said)
	}
}

// A session that went on with another one is resumed with the words of both.
func TestResumedWithTheConversationBefore(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	model := llmtest.NewScript(llmtest.Say("one"), llmtest.Say("two"), llmtest.Say("three"))
	first := newRig(t, p, model, ask.Policy{}, setup{})
	require.Equal(t, "ok", first.Run(t.Context(), session.Request{Text: "what is first?", ReadOnly: true}).Status)
	second := newRig(t, p, model, ask.Policy{}, setup{})
	require.Equal(t, "ok", second.Run(t.Context(), session.Request{Text: "what is second?", ReadOnly: true}).Status)
	again := newRig(t, p, model, ask.Policy{}, setup{before: first.log.Events(0), past: second.log.Events(0)})
	require.Equal(t, "ok", again.Run(t.Context(), session.Request{Text: "what is third?", ReadOnly: true, Resume: true}).Status)
	var said string
	for _, m := range model.Requests()[2].Messages {
		said += llm.TextOf(m) + "\n"
	}
	for _, words := range []string{"what is first?", "one", "what is second?", "two", "what is third?"} {
		require.Contains(t, said, words)
	}
}
