package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/doctor"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/secret"
	"github.com/coderrr/coderrr/internal/tools"
)

// planHash is that of the only plan there is.
var planHash = strings.Repeat("ab", 32)

// fakeApp is an App whose sessions follow the words of the request.
type fakeApp struct{ env Env }

func buildFake(_ context.Context, env Env) (App, error) {
	if env.Config.Provider.Model == "unbuildable" {
		return nil, errors.New("cannot build")
	}
	return &fakeApp{env}, nil
}

func fileKeys(home string) KeyStore {
	return secret.Vault{File: filepath.Join(home, "credentials.json")}
}

func (a *fakeApp) NewSession(_ context.Context, o SessionOptions) (Session, error) {
	m, err := a.env.Config.Resolve("", a.env.Getenv)
	if err != nil && !o.Demo && o.Replay == "" {
		return nil, &Failure{Code: ExitProvider, Err: err, Remedy: "run `coderrr config` to choose one, or `coderrr ui --demo` to see how it works without one"}
	}
	switch o.Request {
	case "no sandbox":
		return nil, fmt.Errorf("start: %w", sandbox.ErrUnavailable)
	case "no model":
		return nil, &llm.Error{Provider: "fake", Kind: llm.KindModelNotFound, Message: "no such model"}
	case "mcp down":
		return nil, &Failure{Code: ExitMCP, Err: errors.New("the MCP server x is required and does not answer"), Remedy: "coderrr mcp test x"}
	}
	if o.Resume == "unknown" {
		return nil, fmt.Errorf("resume: %w", ErrNoSession)
	}
	var past []event.Event
	if o.Resume != "" || o.Continue {
		past = stored()
	}
	s := &fakeSession{o: o, log: event.NewLog(past, nil), said: make(chan string, 8), stop: make(chan struct{}), model: m.Name}
	s.start = event.SessionStarted{Version: 1, SessionID: s.ID(), Workspace: a.env.Dir, Provider: m.Profile, Model: m.Name, Sandbox: event.Sandbox{Tier: "scratch"}, Request: o.Request}
	return s, nil
}

type fakeSession struct {
	o     SessionOptions
	log   *event.Log
	said  chan string
	stop  chan struct{}
	once  sync.Once
	model string
	start event.SessionStarted
}

func (s *fakeSession) ID() string {
	if s.o.Resume != "" {
		return s.o.Resume
	}
	return "s-new"
}
func (s *fakeSession) Log() *event.Log       { return s.log }
func (s *fakeSession) Say(text string) error { s.said <- text; return nil }
func (s *fakeSession) Stop()                 { s.once.Do(func() { close(s.stop) }) }
func (s *fakeSession) SetModel(_ context.Context, ref string) error {
	s.log.Append(event.ContextChanged{What: "model", Name: ref, Detail: "instead of " + s.model})
	return nil
}
func (s *fakeSession) Compact()                 {}
func (s *fakeSession) SetConfirmWrites(on bool) { s.start.Model += fmt.Sprint(" confirm=", on) }
func (s *fakeSession) end(status string, code int, summary string) (event.SessionFinished, error) {
	fin := event.SessionFinished{Status: status, ExitCode: code, Summary: summary, Files: []string{}, PlanHash: planHash}
	s.log.Append(fin)
	return fin, nil
}

func (s *fakeSession) Run(ctx context.Context) (event.SessionFinished, error) {
	s.log.Append(s.start)
	s.log.Append(event.TextDelta{Text: "hello from "})
	s.log.Append(event.TextDone{Text: "hello from the model"})
	if s.o.Ask {
		return s.end("ok", 0, "")
	}
	switch s.o.Request {
	case "hang":
		select {
		case <-ctx.Done():
		case <-s.stop:
		}
		return s.end("cancelled", ExitInterrupted, "Stopped.")
	case "fail":
		return s.end("error", ExitFailure, "It failed.")
	case "unmet":
		return s.end("unmet", ExitUnmet, "1 of 2 tasks.")
	case "budget":
		return s.end("budget", ExitBudget, "Spent.")
	case "broken":
		return event.SessionFinished{}, errors.New("the log could not be written: no space left on device")
	case "phases":
		s.log.Append(event.PhaseChanged{Phase: event.Planning})
		s.log.Append(event.UsageAdded{Input: 10, Output: 1, Context: 64_000, Window: 128_000})
		s.log.Append(event.PhaseChanged{Phase: event.Execute})
	case "listen":
		s.log.Append(event.Notice{Level: "info", Text: "heard " + <-s.said})
	}
	return s.plan(ctx)
}

func (s *fakeSession) plan(ctx context.Context) (event.SessionFinished, error) {
	s.log.Append(event.PlanReady{Spec: "001-greet", Hash: planHash, Title: "Greet", Size: "quick", Tasks: []event.PlanTask{{ID: "T001", Title: "Say " + s.o.Request, Files: []string{"a.txt"}}}, Documents: map[string]string{}})
	switch {
	case s.o.PlanOnly:
		return s.end("needs_approval", ExitApproval, "The plan waits.")
	case s.o.Approve != "" && s.o.Approve != planHash:
		return s.end("needs_approval", ExitApproval, "The hash is "+planHash+", not "+s.o.Approve+".")
	case !s.o.Yes && s.o.Approve == "":
		q := ask.Question{ID: "q1", Kind: ask.Plan, Prompt: "Approve this plan and start?", Hash: planHash, About: "001-greet", Choices: []ask.Choice{{ID: ask.Approve}, {ID: ask.Comment}, {ID: ask.Discard}}}
		s.log.Append(event.AskOpened{ID: q.ID, Kind: q.Kind, Prompt: q.Prompt, Choices: q.Choices, Hash: q.Hash})
		a, err := s.o.Asker.Ask(ctx, q)
		s.log.Append(event.AskClosed{ID: q.ID, Choice: a.Choice, Text: a.Text, By: a.By})
		switch {
		case ctx.Err() != nil:
			return s.end("cancelled", ExitInterrupted, "Stopped.")
		case err != nil:
			return s.end("needs_approval", ExitApproval, "The plan waits.")
		case a.Choice != ask.Approve:
			return s.end("declined", ExitDeclined, "Declined "+a.Text)
		}
	}
	s.log.Append(event.FileChanged{Path: "a.txt", Op: "create", Added: 1, Diff: "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+hello\n"})
	return s.end("ok", ExitOK, fmt.Sprintf("Did %q, turns %d, cost %g, allow %v, after %q.", s.o.Request, s.o.MaxTurns, s.o.MaxCost, s.o.AllowTools, s.o.Continues))
}

func (a *fakeApp) Serve(ctx context.Context, o ServeOptions) error {
	if !strings.HasPrefix(o.Addr, "127.0.0.1:") {
		return &Failure{Code: ExitUsage, Err: fmt.Errorf("%s is not a loopback address", o.Addr), Remedy: "use ssh -L to reach it from another machine"}
	}
	o.Ready("http://127.0.0.1:1234/#token=CANARY-TOKEN")
	if a.env.Getenv("FAKE_SERVE") == "once" {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

type fakeProvider struct{ name string }

func (p fakeProvider) Name() string { return p.name }
func (p fakeProvider) Stream(context.Context, llm.Request) iter.Seq2[llm.Delta, error] {
	return func(func(llm.Delta, error) bool) {}
}

type fakeLister struct{ fakeProvider }

func (fakeLister) Models(context.Context) ([]llm.ModelInfo, error) {
	return []llm.ModelInfo{{ID: "m1", ContextTokens: 128000, Prices: &llm.Prices{Input: 3, Output: 15}}, {ID: "m2\x1b[2J"}}, nil
}

func (a *fakeApp) About(context.Context) (doctor.About, error) {
	m, err := a.env.Config.Resolve("", a.env.Getenv)
	if err != nil {
		return doctor.About{}, &Failure{Code: ExitProvider, Err: err, Remedy: "run `coderrr config`"}
	}
	return doctor.About{Provider: m.Kind, Profile: m.Profile, Endpoint: m.Address(), Key: "$KEY", Model: m.Name}, nil
}

func (a *fakeApp) Provider(context.Context) (llm.Provider, error) {
	m, err := a.env.Config.Resolve("", a.env.Getenv)
	if err != nil {
		return nil, &Failure{Code: ExitProvider, Err: err, Remedy: "run `coderrr config`"}
	}
	if m.Kind == "anthropic" {
		return fakeProvider{m.Kind}, nil
	}
	return fakeLister{fakeProvider{m.Kind}}, nil
}

type fakeBox struct{}

func (fakeBox) Info() sandbox.Info {
	return sandbox.Info{Tier: sandbox.Scratch, Summary: "a copy", Limits: "hide your other files.", Better: "install bubblewrap", Isolation: sandbox.Isolation{WorkingTree: true, Secrets: true}}
}

func (fakeBox) Run(_ context.Context, c sandbox.Command) (sandbox.Result, error) {
	c.Output("stdout", "ran "+c.Line+"\n")
	c.Output("stderr", "to stderr\n")
	switch {
	case strings.Contains(c.Line, "false"):
		return sandbox.Result{ExitCode: 3}, nil
	case strings.Contains(c.Line, "sleep"):
		return sandbox.Result{ExitCode: -1, TimedOut: true, Reason: "it took too long"}, nil
	}
	return sandbox.Result{}, nil
}
func (fakeBox) Close() error { return nil }

func (a *fakeApp) Sandbox(context.Context) (sandbox.Sandbox, error) {
	if a.env.Config.Sandbox.Tier == "docker" {
		return nil, fmt.Errorf("docker: %w", sandbox.ErrUnavailable)
	}
	return fakeBox{}, nil
}

type fakeSkills struct{}

func (fakeSkills) Search(_ context.Context, q string) ([]SkillInfo, error) {
	if q == "nothing" {
		return []SkillInfo{}, nil
	}
	return []SkillInfo{{Name: "go-tests", Description: "write tests \x1b]0;x\x07", Source: "registry"}}, nil
}

func (fakeSkills) Show(_ context.Context, name string) (string, error) {
	if name != "go-tests" {
		return "", fmt.Errorf("%w: %s", ErrNoSkill, name)
	}
	return "# Go tests\n\x1b[2J\n", nil
}

func (a *fakeApp) Skills(context.Context) (Skills, error) { return fakeSkills{}, nil }

func (a *fakeApp) Files(_ context.Context, prefix string) ([]string, error) {
	var out []string
	for _, f := range []string{"main.go", "main_test.go", "docs/"} {
		if strings.HasPrefix(f, prefix) {
			out = append(out, f)
		}
	}
	return out, nil
}

func (a *fakeApp) Guidance(context.Context) ([]GuidanceFile, []string, error) {
	return []GuidanceFile{{Path: "AGENTS.md", Note: "1 kB \x1b[2J"}}, []string{"CLAUDE.md was not used."}, nil
}

func (a *fakeApp) ToolSpecs(context.Context) (map[string][]tools.Spec, error) {
	return map[string][]tools.Spec{"planning": {{Name: "read_file", Description: "read", Schema: json.RawMessage(`{"type":"object"}`)}}}, nil
}

func (a *fakeApp) Workspace(context.Context) (Workspace, error) {
	info, err := os.Stat(a.env.Dir)
	if err != nil || !info.IsDir() {
		return nil, &Failure{Code: ExitUsage, Err: fmt.Errorf("%s is not a directory", a.env.Dir), Remedy: "name your project with --dir"}
	}
	return fakeWorkspace{}, nil
}

type fakeWorkspace struct{}

func (fakeWorkspace) Specs() Specs       { return fakeSpecs{} }
func (fakeWorkspace) Sessions() Sessions { return fakeSessions{} }
func (fakeWorkspace) Close() error       { return nil }

func (fakeWorkspace) Undo(_ context.Context, o UndoOptions) (UndoReport, error) {
	if o.Session == "unknown" {
		return UndoReport{}, ErrNoSession
	}
	r := UndoReport{Session: "s1", Done: !o.DryRun, Steps: []UndoStep{{Path: "a.txt", Action: "restore"}, {Path: "b.txt", Action: "delete"}}}
	if o.Path == "changed.txt" && !o.Force {
		r.Steps = []UndoStep{{Path: o.Path, Action: "restore", Blocked: "it changed since"}}
	}
	if o.Path == "none.txt" {
		r.Steps = nil
	}
	return r, nil
}

type fakeSpecs struct{}

func spec1() SpecInfo {
	return SpecInfo{ID: "001-greet", Title: "Greet", Size: "quick", Hash: planHash, Tasks: []SpecTask{
		{ID: "T001", Title: "Say hello", Status: "done", Files: []string{"a.txt"}, Evidence: "`sh test.sh` exit 0"}, {ID: "T002", Title: "Test", Status: "pending"},
	}}
}

func (fakeSpecs) List(context.Context) ([]SpecInfo, error) {
	return []SpecInfo{spec1(), {ID: "002-bad", Problem: "tasks.md:3: a task without a title"}}, nil
}

func (fakeSpecs) Load(_ context.Context, ref string) (SpecInfo, error) {
	switch ref {
	case "1", "001", "greet", "001-greet":
		s := spec1()
		s.Documents = map[string]string{"design": "# Design\n\nUse echo.\n", "tasks": "# Tasks\n"}
		return s, nil
	case "2":
		return SpecInfo{ID: "002-bad", Problem: "tasks.md:3: a task without a title"}, nil
	}
	return SpecInfo{}, fmt.Errorf("%w: %s", ErrNoSpec, ref)
}

func (fakeSpecs) Approve(context.Context, string, string) error { return nil }

type fakeSessions struct{}

func stored() []event.Event {
	cost := 0.25
	var out []event.Event
	for i, d := range []event.Payload{
		event.SessionStarted{Version: 1, SessionID: "s1", Provider: "fake", Model: "m", Request: "greet"},
		event.PlanReady{Spec: "001-greet", Hash: "old", Title: "Greet", Tasks: []event.PlanTask{}, Documents: map[string]string{"design": "# Design\n\nUse printf.\n", "tasks": "# Tasks\n"}},
		event.TextDone{Text: "worked \x1b[2J"},
		event.FileChanged{Path: "a.txt", Op: "edit", Added: 1, Removed: 1, Diff: "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-old\n+new\n"},
		event.UsageAdded{Input: 100, Output: 20, CostUSD: &cost},
		event.SessionFinished{Status: "ok", Summary: "Greeted.", Files: []string{"a.txt"}},
	} {
		out = append(out, event.Event{Seq: int64(i + 1), Time: time.Unix(1_700_000_000, 0).UTC(), Data: d})
	}
	return out
}

func (fakeSessions) List(context.Context) ([]SessionInfo, error) {
	return []SessionInfo{
		{ID: "s1", Request: "greet", Started: time.Unix(1_700_000_000, 0), Status: "ok", Provider: "fake", Model: "m", Known: true},
		{ID: "s0", Request: "foreign", Started: time.Unix(1_600_000_000, 0), Provider: "fake", Model: "m"},
	}, nil
}

func (fakeSessions) Events(_ context.Context, id string) ([]event.Event, error) {
	switch id {
	case "s1", "s-new":
		return stored(), nil
	case "s2": // goes on with s1
		out := stored()
		start := out[0].Data.(event.SessionStarted)
		start.SessionID, start.Request, start.Continues = "s2", "then more", "s1"
		out[0].Data = start
		return out, nil
	case "s0":
		return nil, nil
	}
	return nil, fmt.Errorf("%w: %s", ErrNoSession, id)
}

func (fakeSessions) Remove(_ context.Context, id string) error {
	if id != "s1" {
		return fmt.Errorf("%w: %s", ErrNoSession, id)
	}
	return nil
}
