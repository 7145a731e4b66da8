package session_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/coderrr/coderrr/internal/agent"
	"github.com/coderrr/coderrr/internal/approval"
	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/history"
	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/llmtest"
	"github.com/coderrr/coderrr/internal/policy"
	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/session"
	"github.com/coderrr/coderrr/internal/spec"
	"github.com/coderrr/coderrr/internal/tools"
	fstools "github.com/coderrr/coderrr/internal/tools/fs"
	"github.com/coderrr/coderrr/internal/tools/search"
	"github.com/coderrr/coderrr/internal/tools/sys"
	"github.com/coderrr/coderrr/internal/workspace"
)

func TestMain(m *testing.M) {
	if os.Getenv(crashEnv) != "" {
		crashMain()
		return
	}
	goleak.VerifyTestMain(m)
}

// place is the workspace and the home of one test.
type place struct{ ws, home string }

func newPlace(t *testing.T) place {
	t.Helper()
	p := place{ws: filepath.Join(t.TempDir(), "ws"), home: t.TempDir()}
	require.NoError(t, os.MkdirAll(p.ws, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(p.ws, "a.txt"), []byte("one\ntwo\n"), 0o644))
	return p
}

func (p place) read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.ws, name))
	require.NoError(t, err)
	return string(data)
}

func (p place) write(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(p.ws, name), []byte(text), 0o644))
}

// box is a sandbox in which a command's exit code is its last word, or 0.
type box struct{}

func (box) Info() sandbox.Info {
	return sandbox.Info{Tier: sandbox.Scratch, Summary: "a fake for tests"}
}

func (box) Run(_ context.Context, c sandbox.Command) (sandbox.Result, error) {
	res := sandbox.Result{Output: "ran " + c.Line + "\n", LogSHA256: strings.Repeat("ab", 32), Duration: time.Millisecond}
	if strings.HasPrefix(c.Line, "false") {
		res.ExitCode = 1
	}
	return res, nil
}

func (box) Close() error { return nil }

// setup is what a rig may vary.
type setup struct {
	past   []event.Event
	before []event.Event
	sink   event.Sink
	limits session.Limits
	rules  policy.Rules
	budget *agent.Budget
	box    sandbox.Sandbox // nil is box{}
	verify tools.Verifier
	begin  func(context.Context) error
	learn  func(context.Context) (llm.ModelInfo, string)
}

// rig is one session over a real workspace, with a scripted model and person.
type rig struct {
	place
	*session.Session
	log   *event.Log
	model llm.Provider
}

func open(place place, model llm.Provider, asker ask.Asker, o setup) (*rig, func() error, error) {
	root, err := workspace.Open(place.ws, workspace.Options{Home: place.home})
	if err != nil {
		return nil, nil, err
	}
	if o.box == nil {
		o.box = box{}
	}
	log := event.NewLog(o.past, o.sink)
	seen := &workspace.Seen{}
	files := fstools.Options{Root: root, Seen: seen, History: history.Open(place.home, root.Dir())}
	opts := session.Options{
		ID: "s1", Root: root, Specs: spec.NewStore(root.Specs()), Log: log, Approvals: approval.Open(place.home, root.Dir()),
		Asker: asker, Files: fstools.NewCommitter(files), Sandbox: o.box, History: files.History, Verify: o.verify, Begin: o.begin,
		Model: agent.Model{Provider: model, Name: "scripted", Learn: o.learn}, Past: o.past, Before: o.before, Limits: o.limits, Rules: o.rules, Budget: o.budget,
	}
	opts.Sources = func(s *session.Session) []tools.Source {
		all := tools.Fixed(search.Tools(root, seen))
		all = append(all, fstools.Tools(files)...)
		all = append(all, sys.Tools(sys.Deps{Specs: s, Tasks: s, Sandbox: o.box, Asker: s.Asker(), Ran: s.Ran, Refused: s.Refuse})...)
		return []tools.Source{all}
	}
	return &rig{place: place, Session: session.New(opts), log: log, model: model}, root.Close, nil
}

func newRig(t *testing.T, p place, model llm.Provider, asker ask.Asker, o setup) *rig {
	t.Helper()
	r, closeIt, err := open(p, model, asker, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, closeIt()) })
	return r
}

func (r *rig) types() []string {
	var out []string
	for _, e := range r.log.Events(0) {
		out = append(out, e.Data.Type())
	}
	return out
}

// find returns the payloads of one kind.
func find[P event.Payload](log *event.Log) []P {
	var out []P
	for _, e := range log.Events(0) {
		if p, ok := e.Data.(P); ok {
			out = append(out, p)
		}
	}
	return out
}

func results(log *event.Log, name string) []event.ToolFinished {
	var out []event.ToolFinished
	for _, f := range find[event.ToolFinished](log) {
		if f.Name == name {
			out = append(out, f)
		}
	}
	return out
}

const tasksDoc = `# Tasks: Add three

## T001: Add a third line
- **status**: pending
- **files**: ` + "`a.txt`" + `
- **depends**: none
- **acceptance**: the file has three lines
`

type m = map[string]any

// planTurns write a quick plan of one task.
func planTurns() []llmtest.Turn {
	return []llmtest.Turn{
		llmtest.Use("read_file", m{"path": "a.txt"}),
		llmtest.Use("create_spec", m{"title": "Add three", "size": "quick"}),
		llmtest.Use("write_spec", m{"document": "tasks", "content": tasksDoc}),
		llmtest.Use("finish", m{"summary": "planned"}),
	}
}

func start() llmtest.Turn {
	return llmtest.Use("update_task", m{"task_id": "T001", "status": "in_progress"})
}

func edit() llmtest.Turn {
	return llmtest.Use("edit_file", m{"path": "a.txt", "old_string": "two\n", "new_string": "two\nthree\n"})
}

func prove() llmtest.Turn { return llmtest.Use("run_in_sandbox", m{"command": "true"}) }

func done() llmtest.Turn {
	return llmtest.Use("update_task", m{"task_id": "T001", "status": "done"})
}

func finish() llmtest.Turn { return llmtest.Use("finish", m{"summary": "all done"}) }

func workTurns() []llmtest.Turn {
	return []llmtest.Turn{start(), edit(), prove(), done(), finish()}
}

func script(parts ...[]llmtest.Turn) *llmtest.Script {
	var all []llmtest.Turn
	for _, p := range parts {
		all = append(all, p...)
	}
	return llmtest.NewScript(all...)
}
