package session_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/approval"
	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/ask/asktest"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/llmtest"
	"github.com/coderrr/coderrr/internal/policy"
	"github.com/coderrr/coderrr/internal/session"
)

const specFile = ".coderrr/specs/001-add-three/tasks.md"

// planned leaves a plan that waits, and returns its hash.
func planned(t *testing.T, p place) string {
	t.Helper()
	r := newRig(t, p, script(planTurns()), asktest.New(t), setup{})
	return r.Run(t.Context(), session.Request{Text: "go", PlanOnly: true}).PlanHash
}

func seen() llmtest.Turn { return llmtest.Use("read_file", m{"path": "a.txt"}) }

func write(name, text string) llmtest.Turn {
	return llmtest.Use("write_file", m{"path": name, "content": text})
}

func begin(task string) llmtest.Turn {
	return llmtest.Use("update_task", m{"task_id": task, "status": "in_progress"})
}

// --approve alone takes the one spec with that hash; a wrong one calls no model.
func TestW20ApproveAloneFindsTheSpec(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	hash := planned(t, p)
	wrong := strings.Repeat("0", 64)
	model := script(nil)
	fin := newRig(t, p, model, ask.Policy{}, setup{}).Run(t.Context(), session.Request{Approve: wrong})
	require.Equal(t, 4, fin.ExitCode, fin.Summary)
	require.Contains(t, fin.Summary, wrong)
	require.Contains(t, fin.Summary, hash)
	require.Empty(t, model.Requests())

	r := newRig(t, p, script([]llmtest.Turn{seen()}, workTurns()), ask.Policy{}, setup{})
	fin = r.Run(t.Context(), session.Request{Approve: hash})
	require.Equal(t, 0, fin.ExitCode, fin.Summary)
	require.Equal(t, "one\ntwo\nthree\n", r.read(t, "a.txt"))

	// Two plans with the same bytes: it is not clear which one is meant.
	planned(t, p)
	fin = newRig(t, p, model, ask.Policy{}, setup{}).Run(t.Context(), session.Request{Approve: hash})
	require.Equal(t, 4, fin.ExitCode)
	require.Contains(t, fin.Summary, "--spec")
	require.Empty(t, model.Requests())

	empty := newRig(t, newPlace(t), model, ask.Policy{}, setup{}).Run(t.Context(), session.Request{Approve: hash})
	require.Equal(t, 4, empty.ExitCode)
	require.Contains(t, empty.Summary, "no plans")
}

// --yes stands for the first plan, also when that needs no answer any more.
func TestYesIsNotKeptForAChangedPlan(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	hash := planned(t, p)
	require.NoError(t, approval.Open(p.home, p.ws).Record("001-add-three", hash, ask.ByTerminal))
	moved := llmtest.Turn{Func: func(llmtest.Ask) llmtest.Turn {
		p.write(t, specFile, tasksDoc+"\n## T002: More\n- **status**: pending\n")
		return prove()
	}}
	r := newRig(t, p, script([]llmtest.Turn{moved}), ask.Policy{}, setup{})
	fin := r.Run(t.Context(), session.Request{Spec: "1", Yes: true})
	require.Equal(t, 4, fin.ExitCode, fin.Summary)
	require.Equal(t, "needs_approval", fin.Status)
}

// A plan that was sent back is asked for, even if the very same was approved once.
func TestW22APlanSentBackIsAskedAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	hash := planned(t, p)
	require.NoError(t, approval.Open(p.home, p.ws).Record("001-add-three", hash, ask.ByTerminal))
	other := tasksDoc + "\nA remark.\n"
	moved := llmtest.Turn{Func: func(llmtest.Ask) llmtest.Turn {
		p.write(t, specFile, other)
		return prove()
	}}
	model := script([]llmtest.Turn{
		moved,
		llmtest.Use("write_spec", m{"document": "tasks", "content": tasksDoc}),
		llmtest.Use("finish", m{"summary": "as it was"}),
	})
	asker := asktest.New(t,
		asktest.Step{Kind: ask.Plan, Choice: ask.Comment, Text: "no remarks"},
		asktest.Step{Kind: ask.Plan, Choice: ask.Discard})
	r := newRig(t, p, model, asker, setup{})
	require.Equal(t, "declined", r.Run(t.Context(), session.Request{Spec: "1"}).Status)
	require.Equal(t, hash, asker.Asked()[1].Hash)

	// And after a resume: what was discarded is not carried out.
	again := newRig(t, p, script(nil), ask.Policy{}, setup{past: r.log.Events(0)})
	require.Equal(t, 4, again.Run(t.Context(), session.Request{Resume: true}).ExitCode)
}

// "Accept all in task" ends with the task, and does not come back with it.
func TestAcceptAllEndsWithTheTask(t *testing.T) {
	t.Parallel()
	two := tasksDoc + "\n## T002: More\n- **status**: pending\n"
	plan := planTurns()
	plan[2] = llmtest.Use("write_spec", m{"document": "tasks", "content": two})
	work := []llmtest.Turn{
		begin("T001"), write("1", "x"), write("2", "x"),
		begin("T002"), write("3", "x"),
		begin("T001"), write("4", "x"),
		llmtest.Use("finish", m{"summary": "end"}),
	}
	asker := asktest.New(t, approve,
		asktest.Step{Kind: ask.Write, Choice: ask.AcceptAll},
		asktest.Step{Kind: ask.Write, Choice: ask.Apply},
		asktest.Step{Kind: ask.Write, Choice: ask.SendBack})
	r := newRig(t, newPlace(t), script(plan, work), asker, setup{rules: policy.Rules{ConfirmWrites: true}})
	r.Run(t.Context(), session.Request{Text: "go"})
	require.Equal(t, "x", r.read(t, "3"))
	require.NoFileExists(t, r.ws+"/4")
}

// What is typed while the model says that it is done is read before the end.
func TestTypedInTheLastTurn(t *testing.T) {
	t.Parallel()
	var r *rig
	last := llmtest.Turn{Func: func(llmtest.Ask) llmtest.Turn {
		require.NoError(t, r.Say("and a fourth line"))
		return finish()
	}}
	model := script(planTurns(), []llmtest.Turn{start(), edit(), prove(), done(), last, finish()})
	r = newRig(t, newPlace(t), model, asktest.New(t, approve), setup{})
	require.Equal(t, "ok", r.Run(t.Context(), session.Request{Text: "go"}).Status)
	requests := model.Requests()
	end := requests[len(requests)-1].Messages
	require.Contains(t, llm.TextOf(end[len(end)-1]), "and a fourth line")
}

// What was typed and not read before a stop is read when the session goes on.
func TestTypedBeforeAStop(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	var r *rig
	stop := llmtest.Turn{Func: func(llmtest.Ask) llmtest.Turn {
		require.NoError(t, r.Say("in capitals"))
		r.Stop()
		return prove()
	}}
	r = newRig(t, p, script(planTurns(), []llmtest.Turn{start(), stop}), asktest.New(t, approve), setup{})
	require.Equal(t, 130, r.Run(t.Context(), session.Request{Text: "go"}).ExitCode)
	model := script([]llmtest.Turn{finish()})
	again := newRig(t, p, model, ask.Policy{}, setup{past: append([]event.Event(nil), r.log.Events(0)...)})
	again.Run(t.Context(), session.Request{Resume: true})
	require.NotEmpty(t, model.Requests())
	ms := model.Requests()[0].Messages
	require.Contains(t, llm.TextOf(ms[len(ms)-1]), "in capitals")
}
