package session_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/agent"
	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/ask/asktest"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/llmtest"
	"github.com/coderrr/coderrr/internal/policy"
	"github.com/coderrr/coderrr/internal/session"
)

var approve = asktest.Step{Kind: ask.Plan, Choice: ask.Approve}

func TestPlanApproveExecute(t *testing.T) {
	t.Parallel()
	r := newRig(t, newPlace(t), script(planTurns(), workTurns()), asktest.New(t, approve), setup{})
	fin := r.Run(t.Context(), session.Request{Text: "add three"})
	require.Equal(t, "ok", fin.Status, fin.Summary)
	require.Equal(t, 0, fin.ExitCode)
	require.Equal(t, "all done", fin.Summary)
	require.Equal(t, []string{"a.txt"}, fin.Files)
	require.Equal(t, [3]int{1, 1, 1}, [3]int{fin.TasksDone, fin.TasksVerified, fin.TasksTotal})
	require.Equal(t, "one\ntwo\nthree\n", r.read(t, "a.txt"))
	tasks := r.read(t, ".coderrr/specs/001-add-three/tasks.md")
	require.Contains(t, tasks, "**status**: done")
	require.Contains(t, tasks, "`true` exit 0")

	call := []string{"turn.started", "message.added", "usage.added", "turn.finished", "tool.started", "tool.finished", "message.added"}
	want := []string{"session.started", "phase.changed", "user.message", "message.added"}
	with := func(extra string) []string {
		return []string{"turn.started", "message.added", "usage.added", "turn.finished", "tool.started", extra, "tool.finished", "message.added"}
	}
	want = append(want, call...)
	want = append(want, with("spec.written")...)
	want = append(want, with("spec.written")...)
	want = append(want, call...)
	want = append(want, "phase.changed", "plan.ready", "ask.opened", "ask.closed", "phase.changed", "message.added")
	for _, extra := range []string{"task.updated", "file.changed", "task.updated", "task.updated"} {
		want = append(want, with(extra)...) // start, edit, prove, done
	}
	want = append(want, call...)
	want = append(want, "phase.changed", "session.finished")
	require.Empty(t, cmp.Diff(want, r.types()))

	ready := find[event.PlanReady](r.log)[0]
	closed := find[event.AskClosed](r.log)[0]
	require.Equal(t, ask.Approve, closed.Choice)
	require.Equal(t, ready.Hash, fin.PlanHash, "ticking a task does not change the plan")
	updated := find[event.TaskUpdated](r.log)
	require.NotNil(t, updated[2].Evidence)
	require.Equal(t, "true", updated[2].Evidence.Command)
	require.NotEmpty(t, updated[2].Evidence.Tree)
}

// The tools of each mode are golden: in planning no write tool exists, not even by
// name.
func TestWriteToolsDoNotExistWhilePlanning(t *testing.T) {
	t.Parallel()
	forged := []llmtest.Turn{
		llmtest.Use("write_file", m{"path": "x", "content": "x"}),
		llmtest.Use("edit_file", m{"path": "a.txt", "old_string": "one", "new_string": "x"}),
		llmtest.Use("delete_file", m{"path": "a.txt"}),
		llmtest.Use("move_file", m{"source": "a.txt", "destination": "b.txt"}),
		llmtest.Use("update_task", m{"task_id": "T001", "status": "done"}),
	}
	model := script(forged, planTurns(), workTurns())
	r := newRig(t, newPlace(t), model, asktest.New(t, approve), setup{})
	require.Equal(t, "ok", r.Run(t.Context(), session.Request{Text: "go"}).Status)
	for _, name := range []string{"write_file", "delete_file", "move_file", "edit_file"} {
		refused := results(r.log, name)[0]
		require.False(t, refused.OK)
		require.Contains(t, refused.Content, "no tool named")
	}
	require.False(t, results(r.log, "update_task")[0].OK)
	names := func(req llm.Request) []string {
		var out []string
		for _, s := range req.Tools {
			out = append(out, s.Name)
		}
		return out
	}
	planning := []string{
		"read_file", "list_dir", "tree", "grep",
		"create_spec", "write_spec", "read_spec", "update_task", "search_skills", "load_skill", "run_in_sandbox", "ask_review", "finish",
	}
	execution := append(append([]string{}, planning[:4]...), "write_file", "edit_file", "move_file", "delete_file")
	execution = append(execution, planning[4:]...)
	requests := model.Requests()
	require.Equal(t, planning, names(requests[0]))
	require.Equal(t, planning, names(requests[len(forged)+3]))
	require.Equal(t, execution, names(requests[len(forged)+4]))
}

func TestAskHidesTheSpecTools(t *testing.T) {
	t.Parallel()
	model := script([]llmtest.Turn{llmtest.Use("create_spec", m{"title": "x"}), llmtest.Say("It has two lines.")})
	r := newRig(t, newPlace(t), model, asktest.New(t), setup{})
	fin := r.Run(t.Context(), session.Request{Text: "how long is a.txt?", ReadOnly: true})
	require.Equal(t, "ok", fin.Status)
	require.Equal(t, "It has two lines.", fin.Summary)
	require.Contains(t, results(r.log, "create_spec")[0].Content, "no tool named")
	require.NoDirExists(t, filepath.Join(r.ws, ".coderrr", "specs"))
}

func TestPlanOnlyThenApproveByHash(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	r := newRig(t, p, script(planTurns()), asktest.New(t), setup{})
	fin := r.Run(t.Context(), session.Request{Text: "go", PlanOnly: true})
	require.Equal(t, "needs_approval", fin.Status)
	require.Equal(t, 4, fin.ExitCode)
	require.Contains(t, fin.Summary, fin.PlanHash)
	require.Equal(t, "one\ntwo\n", r.read(t, "a.txt"))

	// A wrong hash prints both and calls no model.
	wrong := script(nil)
	r2 := newRig(t, p, wrong, asktest.New(t), setup{})
	bad := r2.Run(t.Context(), session.Request{Spec: "1", Approve: "feed"})
	require.Equal(t, 4, bad.ExitCode)
	require.Contains(t, bad.Summary, "feed")
	require.Contains(t, bad.Summary, fin.PlanHash)
	require.Empty(t, wrong.Requests())

	work := append([]llmtest.Turn{llmtest.Use("read_file", m{"path": "a.txt"})}, workTurns()...)
	r3 := newRig(t, p, script(work), asktest.New(t), setup{})
	good := r3.Run(t.Context(), session.Request{Spec: "1", Approve: fin.PlanHash})
	require.Equal(t, "ok", good.Status, good.Summary)
	require.Equal(t, ask.ByFlag, find[event.AskClosed](r3.log)[0].By)
}

func TestYesAnswersTheFirstPlanOnly(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	moved := llmtest.Turn{Func: func(llmtest.Ask) llmtest.Turn {
		p.write(t, ".coderrr/specs/001-add-three/tasks.md", tasksDoc+"\n## T002: More\n- **status**: pending\n")
		return prove()
	}}
	r := newRig(t, p, script(planTurns(), []llmtest.Turn{start(), moved}), ask.Policy{}, setup{})
	fin := r.Run(t.Context(), session.Request{Text: "go", Yes: true})
	require.Equal(t, "needs_approval", fin.Status, fin.Summary)
	require.Equal(t, 4, fin.ExitCode)
	require.Len(t, find[event.PlanReady](r.log), 2, "the changed plan is shown again")
	require.Contains(t, find[event.PlanReady](r.log)[1].Diff, "+## T002: More")
}

func TestNobodyToAsk(t *testing.T) {
	t.Parallel()
	r := newRig(t, newPlace(t), script(planTurns()), ask.Policy{}, setup{})
	fin := r.Run(t.Context(), session.Request{Text: "go"})
	require.Equal(t, 4, fin.ExitCode)
	require.Contains(t, fin.Summary, "--approve "+fin.PlanHash)
}

func TestDiscard(t *testing.T) {
	t.Parallel()
	r := newRig(t, newPlace(t), script(planTurns()), asktest.New(t, asktest.Step{Kind: ask.Plan, Choice: ask.Discard}), setup{})
	fin := r.Run(t.Context(), session.Request{Text: "go"})
	require.Equal(t, "declined", fin.Status)
	require.Equal(t, 5, fin.ExitCode)
}

func TestCommentsReviseThePlan(t *testing.T) {
	t.Parallel()
	revised := tasksDoc + "\n## T002: Test it\n- **status**: pending\n"
	model := script(planTurns(), []llmtest.Turn{
		llmtest.Use("write_spec", m{"document": "tasks", "content": revised}), llmtest.Use("finish", m{"summary": "revised"}),
	})
	asker := asktest.New(t,
		asktest.Step{Kind: ask.Plan, Choice: ask.Comment, Text: "test it too"},
		asktest.Step{Kind: ask.Plan, Choice: ask.Discard})
	r := newRig(t, newPlace(t), model, asker, setup{})
	r.Run(t.Context(), session.Request{Text: "go"})
	ready := find[event.PlanReady](r.log)
	require.Len(t, ready, 2)
	require.Equal(t, ready[0].Hash, ready[1].Previous)
	require.Contains(t, ready[1].Diff, "+## T002: Test it")
	require.NotEqual(t, asker.Asked()[0].ID, asker.Asked()[1].ID)
	requests := model.Requests()
	last := requests[4].Messages[len(requests[4].Messages)-1]
	require.Contains(t, llm.TextOf(last), "test it too")
}

// Edits while the plan is on the screen, in the page or in the file itself, show
// it anew; an approval counts only for what was shown.
func TestEditsWhileThePlanWaits(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := ".coderrr/specs/001-add-three/tasks.md"
	var r *rig
	edited := tasksDoc + "\nA remark.\n"
	sum := sha256.Sum256([]byte(tasksDoc))
	asker := asktest.New(t,
		asktest.Step{Kind: ask.Plan, Wait: true, Look: func(ask.Question) {
			require.ErrorIs(t, r.EditSpec(t.Context(), "tasks", "x", "stale"), session.ErrStale)
			require.NoError(t, r.EditSpec(t.Context(), "tasks", edited, hex.EncodeToString(sum[:])))
		}},
		asktest.Step{Kind: ask.Plan, Wait: true, Look: func(ask.Question) { p.write(t, file, edited+"By hand.\n") }},
		asktest.Step{Kind: ask.Plan, Choice: ask.Approve, Look: func(ask.Question) {
			p.write(t, file, edited+"By hand, at the last moment.\n")
		}},
		asktest.Step{Kind: ask.Plan, Choice: ask.Discard})
	r = newRig(t, p, script(planTurns()), asker, setup{})
	require.ErrorIs(t, r.EditSpec(t.Context(), "tasks", "x", ""), session.ErrNotWaiting)
	fin := r.Run(t.Context(), session.Request{Text: "go"})
	require.Equal(t, "declined", fin.Status)
	require.NotContains(t, r.types(), "file.changed")
	closed := find[event.AskClosed](r.log)
	require.Equal(t, ask.ByCancelled, closed[0].By)
	require.Equal(t, ask.ByCancelled, closed[1].By)
	hashes := map[string]bool{}
	for _, q := range asker.Asked() {
		hashes[q.Hash] = true
	}
	require.Len(t, hashes, 4, "each version is asked for by its own hash")
}

func TestAnUnreadablePlanCannotBeApproved(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := ".coderrr/specs/001-add-three/tasks.md"
	asker := asktest.New(t,
		asktest.Step{Kind: ask.Plan, Wait: true, Look: func(ask.Question) { p.write(t, file, "# Tasks\n\n## T001: a\n\n## T001: b\n") }},
		asktest.Step{Kind: ask.Plan, Choice: ask.Discard, Look: func(q ask.Question) {
			require.False(t, q.Has(ask.Approve))
			require.Contains(t, q.Prompt, "line 5")
		}})
	r := newRig(t, p, script(planTurns()), asker, setup{})
	require.Equal(t, "declined", r.Run(t.Context(), session.Request{Text: "go"}).Status)
}

func TestTypingWhileThePlanWaitsIsAComment(t *testing.T) {
	t.Parallel()
	var r *rig
	asker := asktest.New(t,
		asktest.Step{Kind: ask.Plan, Wait: true, Look: func(ask.Question) { require.NoError(t, r.Say("shorter, please")) }},
		asktest.Step{Kind: ask.Plan, Choice: ask.Discard})
	model := script(planTurns(), []llmtest.Turn{llmtest.Use("finish", m{"summary": "ok"})})
	r = newRig(t, newPlace(t), model, asker, setup{})
	r.Run(t.Context(), session.Request{Text: "go"})
	requests := model.Requests()
	require.Contains(t, llm.TextOf(requests[4].Messages[len(requests[4].Messages)-1]), "shorter, please")
}

func TestAPlanThatChangesDuringExecutionIsAskedAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	changed := llmtest.Turn{Func: func(llmtest.Ask) llmtest.Turn {
		p.write(t, ".coderrr/specs/001-add-three/tasks.md", tasksDoc+"\nA remark.\n")
		return edit()
	}}
	asker := asktest.New(t, approve, approve)
	r := newRig(t, p, script(planTurns(), []llmtest.Turn{start(), changed, edit(), prove(), done(), finish()}), asker, setup{})
	fin := r.Run(t.Context(), session.Request{Text: "go"})
	require.Equal(t, "ok", fin.Status, fin.Summary)
	edits := results(r.log, "edit_file")
	require.False(t, edits[0].OK, "nothing is written under a plan that was not approved")
	require.Contains(t, edits[0].Content, "the plan changed")
	require.True(t, edits[1].OK)
}

func TestTheSpecFolderIsDeleted(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	gone := llmtest.Turn{Func: func(llmtest.Ask) llmtest.Turn {
		require.NoError(t, os.RemoveAll(filepath.Join(p.ws, ".coderrr", "specs", "001-add-three")))
		return edit()
	}}
	r := newRig(t, p, script(planTurns(), []llmtest.Turn{start(), gone}), asktest.New(t, approve), setup{})
	fin := r.Run(t.Context(), session.Request{Text: "go"})
	require.Equal(t, 1, fin.ExitCode)
	require.Contains(t, fin.Summary, "deleted")
	require.Equal(t, "one\ntwo\n", r.read(t, "a.txt"))
}

func TestUnmetTasks(t *testing.T) {
	t.Parallel()
	lazy := []llmtest.Turn{start(), finish()}
	model := script(planTurns(), lazy, []llmtest.Turn{finish()})
	r := newRig(t, newPlace(t), model, asktest.New(t, approve), setup{limits: session.Limits{MaxIter: 2}})
	fin := r.Run(t.Context(), session.Request{Text: "go"})
	require.Equal(t, "unmet", fin.Status)
	require.Equal(t, 6, fin.ExitCode)
	require.Zero(t, model.Left(), "the open tasks are named and another round follows")

	blocked := []llmtest.Turn{llmtest.Use("update_task", m{"task_id": "T001", "status": "blocked", "notes": "no"}), finish()}
	model = script(planTurns(), blocked)
	r = newRig(t, newPlace(t), model, asktest.New(t, approve), setup{limits: session.Limits{MaxIter: 5}})
	require.Equal(t, 6, r.Run(t.Context(), session.Request{Text: "go"}).ExitCode)
}

func TestEvidence(t *testing.T) {
	t.Parallel()
	// Done without a run is done, but not verified, and 6 where proof is required.
	unproved := []llmtest.Turn{start(), edit(), done(), finish()}
	r := newRig(t, newPlace(t), script(planTurns(), unproved), asktest.New(t, approve), setup{})
	fin := r.Run(t.Context(), session.Request{Text: "go"})
	require.Equal(t, [3]int{0, 1, 0}, [3]int{fin.ExitCode, fin.TasksDone, fin.TasksVerified})
	require.Contains(t, results(r.log, "update_task")[1].Content, "nothing proves it")
	r = newRig(t, newPlace(t), script(planTurns(), unproved), asktest.New(t, approve), setup{limits: session.Limits{RequireEvidence: true}})
	require.Equal(t, 6, r.Run(t.Context(), session.Request{Text: "go"}).ExitCode)

	// A failed run proves nothing; a write after the run voids it; a run after
	// "done" still counts.
	failing := []llmtest.Turn{start(), edit(), llmtest.Use("run_in_sandbox", m{"command": "false"}), done(), finish()}
	r = newRig(t, newPlace(t), script(planTurns(), failing), asktest.New(t, approve), setup{})
	require.Zero(t, r.Run(t.Context(), session.Request{Text: "go"}).TasksVerified)
	voided := []llmtest.Turn{start(), prove(), done(), edit(), finish()}
	r = newRig(t, newPlace(t), script(planTurns(), voided), asktest.New(t, approve), setup{})
	require.Zero(t, r.Run(t.Context(), session.Request{Text: "go"}).TasksVerified)
	require.NotContains(t, r.read(t, ".coderrr/specs/001-add-three/tasks.md"), "exit 0")
	late := []llmtest.Turn{start(), edit(), done(), prove(), finish()}
	r = newRig(t, newPlace(t), script(planTurns(), late), asktest.New(t, approve), setup{})
	require.Equal(t, 1, r.Run(t.Context(), session.Request{Text: "go"}).TasksVerified)
}

func TestAWriteThatNobodyCanApprove(t *testing.T) {
	t.Parallel()
	hook := llmtest.Use("write_file", m{"path": ".envrc", "content": "echo\n"})
	r := newRig(t, newPlace(t), script(planTurns(), []llmtest.Turn{start(), hook, prove(), done(), finish()}), ask.Policy{}, setup{})
	fin := r.Run(t.Context(), session.Request{Text: "go", Yes: true})
	require.Equal(t, "needs_approval", fin.Status)
	require.Equal(t, 4, fin.ExitCode)
	require.NoFileExists(t, filepath.Join(r.ws, ".envrc"))
}

func TestConfirmWritesAndAcceptAll(t *testing.T) {
	t.Parallel()
	again := llmtest.Use("edit_file", m{"path": "a.txt", "old_string": "three\n", "new_string": "three\nfour\n"})
	asker := asktest.New(t, approve, asktest.Step{Kind: ask.Write, Choice: ask.AcceptAll})
	r := newRig(t, newPlace(t), script(planTurns(), []llmtest.Turn{start(), edit(), again, prove(), done(), finish()}), asker,
		setup{rules: policy.Rules{ConfirmWrites: true}})
	require.Equal(t, "ok", r.Run(t.Context(), session.Request{Text: "go"}).Status)
	require.Equal(t, "one\ntwo\nthree\nfour\n", r.read(t, "a.txt"))
}

func TestModelWithoutAPlan(t *testing.T) {
	t.Parallel()
	model := script([]llmtest.Turn{llmtest.Say("hm"), llmtest.Say("hm"), llmtest.Say("hm")})
	r := newRig(t, newPlace(t), model, asktest.New(t), setup{})
	fin := r.Run(t.Context(), session.Request{Text: "go"})
	require.Equal(t, 1, fin.ExitCode)
	require.Contains(t, fin.Summary, "without a plan")
	require.Contains(t, llm.TextOf(model.Requests()[1].Messages[2]), "create_spec", "it is reminded")

	model = script([]llmtest.Turn{llmtest.Use("finish", m{"summary": "Nothing to change."})})
	r = newRig(t, newPlace(t), model, asktest.New(t), setup{})
	fin = r.Run(t.Context(), session.Request{Text: "is it fine?"})
	require.Equal(t, "ok", fin.Status)
	require.Equal(t, "Nothing to change.", fin.Summary)
}

func TestStopsWithinASecond(t *testing.T) {
	t.Parallel()
	slow := llmtest.Turn{Text: "a long answer that takes its time", Pause: time.Hour}
	r := newRig(t, newPlace(t), script([]llmtest.Turn{slow}), asktest.New(t), setup{})
	go func() {
		for range r.log.Follow(t.Context(), 0) {
			r.Stop()
			return
		}
	}()
	begin := time.Now()
	fin := r.Run(t.Context(), session.Request{Text: "go"})
	require.Equal(t, "cancelled", fin.Status)
	require.Equal(t, 130, fin.ExitCode)
	require.Less(t, time.Since(begin), time.Second)

	// While the plan waits, and before the run began.
	var waiting *rig
	waiting = newRig(t, newPlace(t), script(planTurns()), asktest.New(t, asktest.Step{Kind: ask.Plan, Wait: true, Look: func(ask.Question) { waiting.Stop() }}), setup{})
	require.Equal(t, 130, waiting.Run(t.Context(), session.Request{Text: "go"}).ExitCode)
	early := newRig(t, newPlace(t), script(nil), asktest.New(t), setup{})
	early.Stop()
	require.Equal(t, 130, early.Run(t.Context(), session.Request{Text: "go"}).ExitCode)
}

func TestFailures(t *testing.T) {
	t.Parallel()
	auth := llmtest.Turn{Err: &llm.Error{Provider: "p", Kind: llm.KindAuth, Message: "bad key"}}
	fin := newRig(t, newPlace(t), script([]llmtest.Turn{auth}), asktest.New(t), setup{}).Run(t.Context(), session.Request{Text: "go"})
	require.Equal(t, 9, fin.ExitCode)
	require.Contains(t, fin.Summary, "bad key")
	fin = newRig(t, newPlace(t), script(nil), asktest.New(t), setup{}).Run(t.Context(), session.Request{Spec: "9"})
	require.Equal(t, 1, fin.ExitCode)
	fin = newRig(t, newPlace(t), script(planTurns()), asktest.New(t), setup{budget: &agent.Budget{MaxTurns: 2}}).Run(t.Context(), session.Request{Text: "go"})
	require.Equal(t, 7, fin.ExitCode)
	panics := llmtest.Turn{Func: func(llmtest.Ask) llmtest.Turn { panic("inside") }}
	fin = newRig(t, newPlace(t), script([]llmtest.Turn{panics}), asktest.New(t), setup{}).Run(t.Context(), session.Request{Text: "go"})
	require.Equal(t, 1, fin.ExitCode)
	require.Contains(t, fin.Summary, "inside")
	full := newRig(t, newPlace(t), script(planTurns()), asktest.New(t), setup{sink: fullDisk{}})
	require.Equal(t, 1, full.Run(t.Context(), session.Request{Text: "go"}).ExitCode)
}

type fullDisk struct{}

func (fullDisk) Write(event.Event, bool) error { return errors.New("no space left on device") }
func (fullDisk) Close() error                  { return nil }

// C21: what lies in a workspace approves nothing, whatever it says.
func TestC21ARepositoryCannotApproveItself(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	dir := filepath.Join(p.ws, ".coderrr", "specs", "001-add-three")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	p.write(t, ".coderrr/specs/001-add-three/tasks.md", tasksDoc)
	p.write(t, ".coderrr/specs/001-add-three/approved", `{"by":"terminal"}`)
	p.write(t, ".coderrr/specs/001-add-three/001.json", `{"by":"terminal"}`)
	model := script(nil)
	r := newRig(t, p, model, ask.Policy{}, setup{})
	fin := r.Run(t.Context(), session.Request{Spec: "1"})
	require.Equal(t, 4, fin.ExitCode)
	require.Empty(t, model.Requests())

	// Nor does a log that says so.
	past := []event.Event{
		{Seq: 1, Data: event.SessionStarted{SessionID: "s1"}},
		{Seq: 2, Data: event.PlanReady{Spec: "001-add-three", Hash: fin.PlanHash}},
		{Seq: 3, Data: event.AskClosed{ID: "plan-s1-1", Choice: ask.Approve, By: ask.ByTerminal}},
		{Seq: 4, Data: event.PhaseChanged{Phase: event.Execute}},
	}
	r = newRig(t, p, model, ask.Policy{}, setup{past: past})
	require.Equal(t, 4, r.Run(t.Context(), session.Request{Resume: true}).ExitCode)
	require.Empty(t, model.Requests())
}

func TestUndoAfterTheEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, newPlace(t), script(planTurns(), workTurns()), asktest.New(t, approve), setup{})
	require.Error(t, r.Undo(t.Context(), "", ""), "nothing was changed yet")
	r.Run(t.Context(), session.Request{Text: "go"})
	require.NoError(t, r.Undo(t.Context(), "a.txt", ""))
	require.Equal(t, "one\ntwo\n", r.read(t, "a.txt"))
	require.Error(t, r.Undo(t.Context(), "a.txt", ""))
}

func TestCancelledContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := newRig(t, newPlace(t), script(nil), asktest.New(t), setup{})
	require.Equal(t, "cancelled", r.Run(ctx, session.Request{Text: "go"}).Status)
}
