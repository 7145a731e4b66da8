package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/policy"
)

// Options of a Set. Sources, Gate, Log are required; Asker is required where the
// gate can ask; Files, and optionally Verify, where the mode has write tools.
type Options struct {
	Mode    policy.Mode
	Sources []Source
	Gate    func() policy.Rules // read at each call: a person can change it
	Asker   ask.Asker
	Log     *event.Log
	Files   Files
	Verify  Verifier
	// Hide drops tools by name (the planning set of `ask`).
	Hide map[string]bool
	// Task returns the id of the task in progress, or "".
	Task func() string
	// Refused is told of a call that was refused because nobody could be asked.
	Refused func(name string)
	// AcceptAll is told that the person accepts every further write of this task.
	AcceptAll func(task string)
}

// Files commits changes. Set calls Current right before Commit, and Commit checks
// the hash once more while it holds the file.
type Files interface {
	// Current returns the hash of the file now ("" if there is none).
	Current(ctx context.Context, path string) (string, error)
	// Commit stores the pre-image, logs file.changed through log, and replaces the
	// file atomically. ErrMoved is wrapped when the file is not what the change
	// was computed from.
	Commit(ctx context.Context, c Change, log func(event.FileChanged) error) error
}

// Verifier judges the content of a proposed write. It is never the boundary.
type Verifier interface {
	// Verify returns "accept", "reject" or "skipped" and why.
	Verify(ctx context.Context, c Change) (verdict, reason string)
}

// Set is what one mode can see and call. It cannot be widened: a class that the
// mode does not expose is absent. Safe for concurrent use.
type Set struct{ o Options }

// NewSet returns a Set; it panics when a required option is missing, which is a
// mistake in wiring.
func NewSet(o Options) *Set {
	if o.Gate == nil || o.Log == nil {
		panic("tools: a Set needs Gate and Log")
	}
	if o.Task == nil {
		o.Task = func() string { return "" }
	}
	if o.Asker == nil {
		o.Asker = ask.Policy{}
	}
	if o.Refused == nil {
		o.Refused = func(string) {}
	}
	if o.AcceptAll == nil {
		o.AcceptAll = func(string) {}
	}
	return &Set{o: o}
}

// Mode is the mode the Set was made for.
func (s *Set) Mode() policy.Mode { return s.o.Mode }

func (s *Set) tools() []Tool {
	var out []Tool
	rules, taken := s.o.Gate(), map[string]bool{}
	for _, src := range s.o.Sources {
		for _, t := range src.Tools() {
			name := t.Spec().Name
			if taken[name] || s.o.Hide[name] || rules.Denied[name] || !policy.Exposes(s.o.Mode, t.Class()) {
				continue
			}
			taken[name] = true // the first source wins: no later tool stands in for it
			out = append(out, t)
		}
	}
	return out
}

// Specs describes the tools to a model, in a stable order.
func (s *Set) Specs() []llm.ToolSpec {
	tools := s.tools()
	specs := make([]llm.ToolSpec, len(tools))
	for i, t := range tools {
		sp := t.Spec()
		specs[i] = llm.ToolSpec{Name: sp.Name, Description: sp.Description, Schema: sp.Schema}
	}
	return specs
}

// Call runs one call and returns what the model reads. It never panics and never
// returns an error; tool.started and tool.finished are always paired.
func (s *Set) Call(ctx context.Context, use llm.ToolUse) (res Result) {
	tool := s.lookup(use.Name)
	class := policy.Unclassified
	if tool != nil {
		class = tool.Class()
		use.Input = unquoted(tool.Spec().Schema, use.Input) // before anybody is asked about it
	}
	s.o.Log.Append(event.ToolStarted{ID: use.ID, Name: use.Name, Class: class.String(), Input: inputOf(use)})
	defer func() {
		if p := recover(); p != nil {
			res = Fail(fmt.Sprintf("%s crashed: %v. Look at what it left before you try another way.", use.Name, p))
			s.o.Log.Append(event.Notice{Level: "error", Kind: "tool_crash", Text: fmt.Sprintf("%s: %v\n%s", use.Name, p, debug.Stack())})
		}
		if res.Display == "" {
			res.Display = firstLine(res.Content)
		}
		s.o.Log.Append(event.ToolFinished{ID: use.ID, Name: use.Name, OK: !res.IsError, Display: res.Display, Content: res.Content})
	}()
	if tool == nil {
		return s.unknown(use.Name)
	}
	if ctx.Err() != nil {
		return Fail("stopped before it began")
	}
	ctx = WithCall(ctx, Call{ID: use.ID, Output: live(s.o.Log, use.ID)})
	if w, ok := tool.(Proposer); ok {
		return s.write(ctx, w, use)
	}
	if tool.Class() == policy.Write {
		return Fail(use.Name + " is a write tool that cannot propose; it is never run")
	}
	if refusal, ok := s.admit(ctx, tool, use); !ok {
		return refusal
	}
	return tool.Run(ctx, use.Input)
}

func (s *Set) lookup(name string) Tool {
	for _, t := range s.tools() {
		if t.Spec().Name == name {
			return t
		}
	}
	return nil
}

// unknown is also the answer for a tool that exists in another mode: here it does
// not.
func (s *Set) unknown(name string) Result {
	names := make([]string, 0, 16)
	for _, t := range s.tools() {
		names = append(names, t.Spec().Name)
	}
	return Fail(fmt.Sprintf("no tool named %q. The tools are: %s.", name, strings.Join(names, ", ")))
}

// admit asks the gate, and the person where the gate says so.
func (s *Set) admit(ctx context.Context, t Tool, use llm.ToolUse) (Result, bool) {
	call := policy.Call{Mode: s.o.Mode, Class: t.Class(), Name: use.Name}
	var about string
	if f, ok := t.(Flagger); ok {
		call.Flags, about = f.Flags(ctx, use.Input)
	}
	approver, external := t.(Approver)
	if external {
		call.Approved = approver.Approved()
	}
	decision, reason := s.o.Gate().Decide(call)
	switch decision {
	case policy.Allow:
		return Result{}, true
	case policy.Deny:
		return Fail(use.Name + " is denied: " + reason + "."), false
	}
	q := s.readQuestion(use, about, reason)
	if external {
		q = mcpQuestion(approver, use)
	}
	a, err := s.ask(ctx, q)
	if err != nil {
		return s.refused(ctx, use.Name, reason, err), false
	}
	switch a.Choice {
	case ask.AllowOnce:
		return Result{}, true
	case ask.Always:
		if external {
			if err := approver.Remember(ctx, true); err != nil {
				s.o.Log.Append(event.Notice{Level: "warning", Kind: "approval", Text: "the answer could not be stored: " + err.Error()})
			}
		}
		return Result{}, true
	}
	if text := strings.TrimSpace(a.Text); text != "" {
		return Fail("The person denied " + use.Name + " and said: " + text), false
	}
	return Fail("The person denied " + use.Name + ". Do not try it again; find another way or ask."), false
}

// ask takes only an answer to exactly what was shown, whoever the asker is.
func (s *Set) ask(ctx context.Context, q ask.Question) (ask.Answer, error) {
	a, err := s.o.Asker.Ask(ctx, q)
	if err == nil {
		err = ask.Check(q, a)
	}
	return a, err
}

func (s *Set) refused(ctx context.Context, name, reason string, err error) Result {
	if ctx.Err() != nil {
		return Fail(name + " was not run: the session was stopped.")
	}
	s.o.Refused(name)
	why := "it could not be asked for: " + err.Error()
	if errors.Is(err, ask.ErrNobody) {
		why = "there is nobody to ask"
	}
	return Fail(fmt.Sprintf("%s needs a person's approval (%s) and %s. Go on without it.", name, reason, why))
}

func (s *Set) readQuestion(use llm.ToolUse, about, reason string) ask.Question {
	detail := detailOf(event.ReadCard{Path: about, Reason: reason})
	return ask.Question{
		ID: "read-" + use.ID, Kind: ask.Read, About: use.ID, Detail: detail,
		Prompt:  fmt.Sprintf("Let the model read %s? %s.", about, upperFirst(reason)),
		Choices: []ask.Choice{{ID: ask.AllowOnce, Label: "Allow once", Danger: true}, {ID: ask.DenyIt, Label: "Deny"}},
		Default: ask.DenyIt,
	}
}

func mcpQuestion(t Approver, use llm.ToolUse) ask.Question {
	detail := detailOf(event.ToolCard{Card: t.Card(), Arguments: inputOf(use)})
	return ask.Question{
		ID: "mcp-" + use.ID, Kind: ask.MCPTool, About: use.ID, Hash: t.Hash(), Detail: detail,
		Prompt: "Let the model call " + use.Name + "?",
		Choices: []ask.Choice{
			{ID: ask.AllowOnce, Label: "Allow once"},
			{ID: ask.Always, Label: "Always allow this tool", Danger: true},
			{ID: ask.DenyIt, Label: "Deny"},
		},
		Default: ask.DenyIt,
	}
}

// detailOf encodes a card; cards hold strings, numbers and valid JSON only.
func detailOf(card any) json.RawMessage {
	raw, err := json.Marshal(card)
	if err != nil {
		panic(fmt.Sprintf("encode a question's detail: %v", err))
	}
	return raw
}

func inputOf(use llm.ToolUse) json.RawMessage {
	if json.Valid(use.Input) {
		return use.Input
	}
	raw, _ := json.Marshal(string(use.Input))
	return raw
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
