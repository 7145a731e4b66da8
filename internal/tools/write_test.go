package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/ask/asktest"
	"github.com/coderrr/coderrr/internal/diff"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/policy"
	"github.com/coderrr/coderrr/internal/tools"
	"github.com/coderrr/coderrr/internal/tools/toolstest"
)

// verdict is a verifier that always says the same.
type verdict struct{ verdict, why string }

func (v verdict) Verify(context.Context, tools.Change) (string, string) { return v.verdict, v.why }

func changes(log *event.Log) []event.FileChanged {
	var out []event.FileChanged
	for _, e := range log.Events(0) {
		if c, ok := e.Data.(event.FileChanged); ok {
			out = append(out, c)
		}
	}
	return out
}

func TestWriteInsideThePlan(t *testing.T) {
	files := toolstest.NewFiles(map[string]string{"a": "one\n"})
	s, log := set(tools.Options{Mode: policy.Execution, Sources: fixed(toolstest.Put(files)), Files: files, Task: func() string { return "T001" }})
	res := s.Call(t.Context(), put("a", "two\n"))
	require.False(t, res.IsError)
	require.Equal(t, "Edited a (+1 -1).", res.Content)
	require.Equal(t, "Edit a", res.Display)
	got, _ := files.Get("a")
	require.Equal(t, "two\n", got)
	require.Equal(t, []event.FileChanged{{
		Path: "a", Op: "edit", Before: tools.HashOf([]byte("one\n")), After: tools.HashOf([]byte("two\n")), Added: 1, Removed: 1,
		Diff: "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+two\n", Call: "c1", Task: "T001",
	}}, changes(log))
	paired(t, log)
}

// TestVerifier: it can reject and it can be unreachable; it is never the boundary.
func TestVerifier(t *testing.T) {
	for _, tc := range []struct {
		v       verdict
		written bool
		content string
	}{
		{verdict{"accept", "fine"}, true, "Edited a"},
		{verdict{"reject", "the brace is missing"}, false, "The verifier rejected this change to a: the brace is missing. Nothing was written"},
		{verdict{"skipped", "unreachable"}, true, "Edited a"},
		{verdict{"", ""}, true, "Edited a"},
	} {
		files := toolstest.NewFiles(map[string]string{"a": "one\n"})
		s, log := set(tools.Options{Mode: policy.Execution, Sources: fixed(toolstest.Put(files)), Files: files, Verify: tc.v})
		res := s.Call(t.Context(), put("a", "two\n"))
		require.Equal(t, tc.written, !res.IsError)
		require.Contains(t, res.Content, tc.content)
		seen := 0
		for _, e := range log.Events(0) {
			if v, ok := e.Data.(event.VerifyFinished); ok {
				require.Equal(t, event.VerifyFinished{Path: "a", Verdict: tc.v.verdict, Reason: tc.v.why}, v)
				seen++
			}
		}
		require.Equal(t, tc.v.verdict != "", seen == 1)
		require.Equal(t, tc.written, len(changes(log)) == 1)
	}
	// What it accepts is still asked about.
	files := toolstest.NewFiles(nil)
	s, _ := set(tools.Options{Mode: policy.Execution, Sources: fixed(toolstest.Put(files, policy.FlagRunsCode)), Files: files, Verify: verdict{"accept", ""}})
	require.True(t, s.Call(t.Context(), put("a", "b")).IsError)
}

// TestWriteGate is the table of what is asked about.
func TestWriteGate(t *testing.T) {
	for _, tc := range []struct {
		name   string
		rules  policy.Rules
		flags  []policy.Flag
		reason string // "" is not asked
	}{
		{"plain", policy.Rules{}, nil, ""},
		{"delete, hard link and hidden characters are shown, not asked", policy.Rules{}, []policy.Flag{policy.FlagDelete, policy.FlagHardLink, policy.FlagHidden}, ""},
		{"runs code", policy.Rules{}, []policy.Flag{policy.FlagRunsCode}, "the file runs code outside the sandbox"},
		{"secret", policy.Rules{}, []policy.Flag{policy.FlagSecret}, "the file usually holds credentials"},
		{"confirm", policy.Rules{ConfirmWrites: true}, nil, "each write is confirmed"},
		{"confirm and runs code", policy.Rules{ConfirmWrites: true}, []policy.Flag{policy.FlagDelete, policy.FlagRunsCode}, "the file runs code outside the sandbox"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			files := toolstest.NewFiles(map[string]string{"a": "one\n"})
			o := tools.Options{Mode: policy.Execution, Sources: fixed(toolstest.Put(files, tc.flags...)), Files: files, Gate: rules(tc.rules), Verify: verdict{"skipped", "no model"}}
			refused := ""
			o.Refused = func(n string) { refused = n }
			s, log := set(o)
			res := s.Call(t.Context(), put("a", "two\n"))
			if tc.reason == "" {
				require.False(t, res.IsError)
				return
			}
			require.Equal(t, "put a needs a person's approval ("+tc.reason+") and there is nobody to ask. Go on without it.", res.Content)
			require.Equal(t, "put a", refused)
			require.Empty(t, changes(log))

			var card event.WriteCard
			o.Asker = asktest.New(t, asktest.Step{Kind: ask.Write, ID: "write-c1", Prompt: "Edit a?", Choice: ask.Apply, Look: func(q ask.Question) {
				require.NotEmpty(t, q.Hash)
				require.NoError(t, json.Unmarshal(q.Detail, &card))
			}})
			o.Task = func() string { return "T001" }
			s, _ = set(o)
			require.False(t, s.Call(t.Context(), put("a", "two\n")).IsError)
			require.Equal(t, tc.reason, card.Reason)
			require.Equal(t, tools.HashOf([]byte("one\n")), card.Before)
			require.Equal(t, tools.HashOf([]byte("two\n")), card.After)
			require.Equal(t, "T001", card.Task)
			require.Equal(t, "skipped", card.Verdict)
			require.Equal(t, "no model", card.Why)
			require.Len(t, card.Hunks, 1)
		})
	}
}

func TestDeniedTool(t *testing.T) {
	files := toolstest.NewFiles(nil)
	s, _ := set(tools.Options{Mode: policy.Execution, Sources: fixed(toolstest.Put(files)), Files: files, Gate: rules(policy.Rules{Denied: map[string]bool{"put": true}})})
	require.Contains(t, s.Call(t.Context(), put("a", "b")).Content, `no tool named "put"`)
}

// three is a file with three places to change, far apart.
func three(a, b, c string) string {
	gap := strings.Repeat("same\n", 10)
	return a + "\r\n" + gap + b + "\n" + gap + c
}

// TestHunks: exactly the accepted hunks land, byte for byte.
func TestHunks(t *testing.T) {
	before, after := three("a", "b", "c"), three("A", "B", "C")
	for _, tc := range []struct {
		name     string
		hunks    []ask.HunkDecision
		want     string
		isError  bool
		contains []string
	}{
		{"no decisions: all", nil, after, false, []string{"Edited f (+3 -3)."}},
		{"all", []ask.HunkDecision{{N: 0, Accepted: true}, {N: 1, Accepted: true}, {N: 2, Accepted: true}}, after, false, []string{"Edited f (+3 -3)."}},
		{"the first", []ask.HunkDecision{{N: 0, Accepted: true}, {N: 1}, {N: 2}}, three("A", "b", "c"), false, []string{"accepted hunks 1 and rejected hunks 2, 3", "do not propose the rejected ones again"}},
		{"first and last", []ask.HunkDecision{{N: 2, Accepted: true}, {N: 0, Accepted: true}, {N: 1, Comment: "b is right"}}, three("A", "b", "C"), false, []string{"accepted hunks 1, 3 and rejected hunks 2", "On hunk 2: b is right"}},
		{"not mentioned is rejected", []ask.HunkDecision{{N: 1, Accepted: true}}, three("a", "B", "c"), false, []string{"accepted hunks 2 and rejected hunks 1, 3"}},
		{"none", []ask.HunkDecision{{N: 0}, {N: 1}, {N: 2, Comment: "no"}}, before, true, []string{"The person rejected the change to f", "On hunk 3: no"}},
		{"of another change", []ask.HunkDecision{{N: 7, Accepted: true}, {N: -1, Accepted: true}}, before, true, []string{"The person rejected the change to f"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			files := toolstest.NewFiles(map[string]string{"f": before})
			s, log := set(tools.Options{
				Mode:    policy.Execution,
				Sources: fixed(toolstest.Put(files)), Files: files, Gate: rules(policy.Rules{ConfirmWrites: true}),
				Asker: asktest.New(t, asktest.Step{Choice: ask.Apply, Hunks: tc.hunks}),
			})
			res := s.Call(t.Context(), put("f", after))
			require.Equal(t, tc.isError, res.IsError)
			for _, c := range tc.contains {
				require.Contains(t, res.Content, c)
			}
			got, _ := files.Get("f")
			require.Equal(t, tc.want, got)
			if tc.isError {
				require.Empty(t, changes(log))
				return
			}
			e := changes(log)[0]
			require.Equal(t, tools.HashOf([]byte(tc.want)), e.After, "the event describes the bytes applied")
			text, _ := diff.Unified("a/f", "b/f", diff.Compute([]byte(before), []byte(tc.want)), 0)
			require.Equal(t, text, e.Diff)
		})
	}
}

func TestSendBack(t *testing.T) {
	files := toolstest.NewFiles(map[string]string{"f": "one\n"})
	s, log := set(tools.Options{
		Mode:    policy.Execution,
		Sources: fixed(toolstest.Put(files)), Files: files, Gate: rules(policy.Rules{ConfirmWrites: true}),
		Asker: asktest.New(t, asktest.Step{Choice: ask.SendBack, Text: " use three ", Hunks: []ask.HunkDecision{{N: 0, Accepted: true, Comment: "wrong"}}}),
	})
	res := s.Call(t.Context(), put("f", "two\n"))
	require.True(t, res.IsError)
	require.Equal(t, "The person rejected the change to f. Nothing was written; do not propose the same again.\nThe person said: use three\nOn hunk 1: wrong", res.Content)
	require.Empty(t, changes(log))
}

func TestCommentsReachTheModel(t *testing.T) {
	files := toolstest.NewFiles(map[string]string{"f": "one\n"})
	s, _ := set(tools.Options{
		Mode:    policy.Execution,
		Sources: fixed(toolstest.Put(files)), Files: files, Gate: rules(policy.Rules{ConfirmWrites: true}),
		Asker: asktest.New(t, asktest.Step{Choice: ask.Apply, Text: "and add a test", Hunks: []ask.HunkDecision{{N: 0, Accepted: true, Comment: "nice"}}}),
	})
	require.Equal(t, "Edited f (+1 -1).\nOn hunk 1: nice\nThe person said: and add a test", s.Call(t.Context(), put("f", "two\n")).Content)
}

// session is a gate that a person changes with "accept all", as a session does.
type session struct{ accepted bool }

func (s *session) rules() policy.Rules { return policy.Rules{ConfirmWrites: !s.accepted} }

// TestAcceptAll: further ordinary writes are not asked about, code that runs
// outside the sandbox always is.
func TestAcceptAll(t *testing.T) {
	files := toolstest.NewFiles(map[string]string{"f": "one\n"})
	person, sess := asktest.New(t, asktest.Step{Choice: ask.AcceptAll}, asktest.Step{Choice: ask.SendBack}), &session{}
	var task string
	o := tools.Options{
		Mode:    policy.Execution,
		Sources: fixed(toolstest.Put(files)), Files: files, Gate: sess.rules, Asker: person,
		Task: func() string { return "T002" }, AcceptAll: func(id string) { task, sess.accepted = id, true },
	}
	s, _ := set(o)
	require.False(t, s.Call(t.Context(), put("f", "two\n")).IsError)
	require.Equal(t, "T002", task)
	require.False(t, s.Call(t.Context(), put("f", "three\n")).IsError, "not asked")
	o.Sources = fixed(toolstest.Put(files, policy.FlagRunsCode))
	s, _ = set(o)
	require.True(t, s.Call(t.Context(), put("f", "four\n")).IsError, "asked, and sent back")
	require.Len(t, person.Asked(), 2)
}

// TestMoved: what changed while the question was open is computed and asked anew.
func TestMoved(t *testing.T) {
	files := toolstest.NewFiles(map[string]string{"f": "one\n"})
	var cards []event.WriteCard
	look := func(then string) func(ask.Question) {
		return func(q ask.Question) {
			var c event.WriteCard
			require.NoError(t, json.Unmarshal(q.Detail, &c))
			cards = append(cards, c)
			if then != "" {
				files.Set("f", then)
			}
		}
	}
	person := asktest.New(t, asktest.Step{ID: "write-c1", Choice: ask.Apply, Look: look("mine\n")}, asktest.Step{ID: "write-c1-2", Choice: ask.Apply, Look: look("")})
	s, log := set(tools.Options{Mode: policy.Execution, Sources: fixed(toolstest.Put(files)), Files: files, Gate: rules(policy.Rules{ConfirmWrites: true}), Asker: person})
	require.False(t, s.Call(t.Context(), put("f", "two\n")).IsError)
	require.Len(t, cards, 2)
	require.Equal(t, tools.HashOf([]byte("mine\n")), cards[1].Before)
	require.NotEqual(t, person.Asked()[0].Hash, person.Asked()[1].Hash)
	require.Equal(t, tools.HashOf([]byte("mine\n")), changes(log)[0].Before)
}

// TestMovedAtTheLastMoment: Commit itself finds out.
func TestMovedAtTheLastMoment(t *testing.T) {
	files := toolstest.NewFiles(map[string]string{"f": "one\n"})
	tries := 0
	files.Before = func(tools.Change) error {
		if tries++; tries == 1 {
			files.Set("f", "mine\n")
		}
		return nil
	}
	s, log := set(tools.Options{Mode: policy.Execution, Sources: fixed(toolstest.Put(files)), Files: files})
	require.False(t, s.Call(t.Context(), put("f", "two\n")).IsError)
	require.Equal(t, 2, tries)
	require.Equal(t, tools.HashOf([]byte("mine\n")), changes(log)[0].Before)
}

func TestMovesForever(t *testing.T) {
	files := toolstest.NewFiles(map[string]string{"f": "one\n"})
	files.Before = func(tools.Change) error { return tools.ErrMoved }
	s, log := set(tools.Options{Mode: policy.Execution, Sources: fixed(toolstest.Put(files)), Files: files})
	res := s.Call(t.Context(), put("f", "two\n"))
	require.Contains(t, res.Content, "the file keeps changing")
	require.Empty(t, changes(log))
	paired(t, log)
}

// TestAcceptAllAndMoved: "accept all" counts only once its own change is made, so
// that hunks rejected with it are asked about again and not written after all.
func TestAcceptAllAndMoved(t *testing.T) {
	before, after := three("a", "b", "c"), three("A", "B", "C")
	files := toolstest.NewFiles(map[string]string{"f": before})
	sess := &session{}
	only := []ask.HunkDecision{{N: 0, Accepted: true}, {N: 1}, {N: 2}}
	person := asktest.New(t,
		asktest.Step{Choice: ask.AcceptAll, Hunks: only, Look: func(ask.Question) { files.Set("f", three("a", "b", "c")+"\nmine") }},
		asktest.Step{Choice: ask.AcceptAll, Hunks: only})
	s, _ := set(tools.Options{
		Mode:    policy.Execution,
		Sources: fixed(toolstest.Put(files)), Files: files, Gate: sess.rules, Asker: person, AcceptAll: func(string) { sess.accepted = true },
	})
	require.False(t, s.Call(t.Context(), put("f", after)).IsError)
	got, _ := files.Get("f")
	require.Equal(t, three("A", "b", "c")+"\nmine", got)
}

// TestStopAfterTheAnswer: a stop that comes with the answer wins.
func TestStopAfterTheAnswer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	files := toolstest.NewFiles(map[string]string{"f": "one\n"})
	s, log := set(tools.Options{
		Mode:    policy.Execution,
		Sources: fixed(toolstest.Put(files)), Files: files, Gate: rules(policy.Rules{ConfirmWrites: true}),
		Asker: stopping{cancel},
	})
	res := s.Call(ctx, put("f", "two\n"))
	require.Equal(t, "stopped before anything was written", res.Content)
	require.Empty(t, changes(log))
}

// stopping answers yes and stops the session in the same moment.
type stopping struct{ stop context.CancelFunc }

func (s stopping) Ask(_ context.Context, q ask.Question) (ask.Answer, error) {
	s.stop()
	return ask.Answer{Choice: ask.Apply, Hash: q.Hash}, nil
}

// TestW20WriteAnswerIsBoundToItsCard: an answer to another card writes nothing.
func TestW20WriteAnswerIsBoundToItsCard(t *testing.T) {
	for _, hash := range []string{"", "0000"} {
		files := toolstest.NewFiles(map[string]string{"f": "one\n"})
		s, log := set(tools.Options{
			Mode:    policy.Execution,
			Sources: fixed(toolstest.Put(files)), Files: files, Gate: rules(policy.Rules{ConfirmWrites: true}),
			Asker: answering{ask.Answer{Choice: ask.Apply, Hash: hash}},
		})
		require.True(t, s.Call(t.Context(), put("f", "two\n")).IsError)
		require.Empty(t, changes(log))
	}
}

func TestCommitFails(t *testing.T) {
	files := toolstest.NewFiles(map[string]string{"f": "one\n"})
	files.Before = func(tools.Change) error { return errors.New("f: no space left on device") }
	s, log := set(tools.Options{Mode: policy.Execution, Sources: fixed(toolstest.Put(files)), Files: files})
	res := s.Call(t.Context(), put("f", "two\n"))
	require.True(t, res.IsError)
	require.Equal(t, "put: f: no space left on device", res.Content)
	paired(t, log)

	closed := event.NewLog(nil, nil)
	require.NoError(t, closed.Close())
	files = toolstest.NewFiles(map[string]string{"f": "one\n"})
	s, _ = set(tools.Options{Mode: policy.Execution, Sources: fixed(toolstest.Put(files)), Files: files, Log: closed})
	require.True(t, s.Call(t.Context(), put("f", "two\n")).IsError)
	got, _ := files.Get("f")
	require.Equal(t, "one\n", got, "what cannot be logged is not written")
}

// TestT08EmptyFileIsAFile: emptying by hunks keeps the file.
func TestT08EmptyFileIsAFile(t *testing.T) {
	files := toolstest.NewFiles(map[string]string{"f": "one\n"})
	s, log := set(tools.Options{
		Mode:    policy.Execution,
		Sources: fixed(toolstest.Put(files)), Files: files, Gate: rules(policy.Rules{ConfirmWrites: true}),
		Asker: asktest.New(t, asktest.Step{Choice: ask.Apply, Hunks: []ask.HunkDecision{{N: 0, Accepted: true}}}),
	})
	require.False(t, s.Call(t.Context(), put("f", "")).IsError)
	got, there := files.Get("f")
	require.True(t, there)
	require.Empty(t, got)
	require.Equal(t, tools.HashOf([]byte{}), changes(log)[0].After)
}

func TestCard(t *testing.T) {
	card := tools.CardOf(tools.Change{
		Op: tools.OpDelete, Path: "d", Folder: true, Mode: 0o755, Flags: []policy.Flag{policy.FlagDelete}, Intent: "why",
		Files: []tools.Removed{{Path: "d/a"}, {Path: "d/b"}},
	})
	require.Equal(t, event.WriteCard{
		Path: "d", Op: "delete", Mode: "0755", Flags: []string{"delete"}, Files: []string{"d/a", "d/b"}, Intent: "why",
	}, card)
	require.True(t, tools.CardOf(tools.Change{Before: []byte("\x00")}).Binary)
	require.Equal(t, "", tools.ModeText(0o644))
	require.Equal(t, "0600", tools.ModeText(0o600))
	require.Equal(t, "", tools.HashOf(nil))
}

func TestEventIsCapped(t *testing.T) {
	after := []byte(strings.Repeat("a long line of text\n", 10_000))
	e := tools.Change{Op: tools.OpCreate, Path: "f", After: after, Hunks: diff.Compute(nil, after)}.Event()
	require.LessOrEqual(t, len(e.Diff), 64<<10)
	require.True(t, e.DiffTruncated)
	require.Equal(t, 10_000, e.Added)
	require.True(t, strings.HasPrefix(e.Diff, "--- /dev/null\n+++ b/f\n"))
}
