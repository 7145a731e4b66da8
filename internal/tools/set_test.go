package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/ask/asktest"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/policy"
	"github.com/coderrr/coderrr/internal/tools"
	"github.com/coderrr/coderrr/internal/tools/toolstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func fixed(ts ...tools.Tool) []tools.Source { return []tools.Source{tools.Fixed(ts)} }

func rules(r policy.Rules) func() policy.Rules { return func() policy.Rules { return r } }

func use(name, input string) llm.ToolUse {
	return llm.ToolUse{ID: "c1", Name: name, Input: json.RawMessage(input)}
}

func put(path, content string) llm.ToolUse {
	raw, _ := json.Marshal(toolstest.PutArgs{Path: path, Content: content})
	return use("put", string(raw))
}

// set fills in the log and the gate.
func set(o tools.Options) (*tools.Set, *event.Log) {
	if o.Log == nil {
		o.Log = event.NewLog(nil, nil)
	}
	if o.Gate == nil {
		o.Gate = rules(policy.Rules{})
	}
	return tools.NewSet(o), o.Log
}

func names(s *tools.Set) string {
	var out []string
	for _, sp := range s.Specs() {
		out = append(out, sp.Name)
	}
	return strings.Join(out, " ")
}

// TestExposure is the proof that planning cannot write: the tool is not there.
func TestExposure(t *testing.T) {
	for mode, want := range map[policy.Mode]string{
		policy.None: "", policy.Planning: "read system mcp__a__b", policy.Execution: "read system mcp__a__b put", policy.Execution + 1: "",
	} {
		files := toolstest.NewFiles(nil)
		s, _ := set(tools.Options{Mode: mode, Files: files, Sources: fixed(
			&toolstest.Tool{Name: "read", Kind: policy.Read}, &toolstest.Tool{Name: "system", Kind: policy.System},
			&toolstest.External{Tool: toolstest.Tool{Name: "mcp__a__b", Kind: policy.External}, Allowed: true},
			toolstest.Put(files), &toolstest.Tool{Name: "unclassified"}, &toolstest.Tool{Name: "beyond", Kind: policy.Write + 1},
		)})
		require.Equal(t, want, names(s), mode)
		require.Equal(t, mode, s.Mode())
		for _, name := range []string{"put", "unclassified", "beyond", "read", "nothing"} {
			res := s.Call(t.Context(), use(name, `{"path":"a","content":"b"}`))
			exposed := strings.Contains(" "+want+" ", " "+name+" ")
			require.Equal(t, exposed, !res.IsError, "%s in %s: %s", name, mode, res.Content)
			if !exposed {
				require.Contains(t, res.Content, `no tool named "`+name+`"`)
			}
		}
		_, made := files.Get("a")
		require.Equal(t, mode == policy.Execution, made)
	}
}

func TestHiddenDeniedAndDoubleTools(t *testing.T) {
	first := &toolstest.Tool{Name: "twin", Kind: policy.Read, Do: func(context.Context, json.RawMessage) tools.Result { return tools.Result{Content: "first"} }}
	second := &toolstest.Tool{Name: "twin", Kind: policy.Read, Do: func(context.Context, json.RawMessage) tools.Result { return tools.Result{Content: "second"} }}
	s, _ := set(tools.Options{
		Mode: policy.Execution,
		Sources: []tools.Source{
			tools.Fixed{first, &toolstest.Tool{Name: "hidden", Kind: policy.Read}, &toolstest.Tool{Name: "denied", Kind: policy.Read}},
			tools.Fixed{second},
		},
		Hide: map[string]bool{"hidden": true}, Gate: rules(policy.Rules{Denied: map[string]bool{"denied": true}}),
	})
	require.Equal(t, "twin", names(s))
	require.Equal(t, "first", s.Call(t.Context(), use("twin", "{}")).Content)
	require.True(t, s.Call(t.Context(), use("hidden", "{}")).IsError)
	require.True(t, s.Call(t.Context(), use("denied", "{}")).IsError)
}

// TestWriteToolThatCannotPropose: a class alone does not let anything write.
func TestWriteToolThatCannotPropose(t *testing.T) {
	ran := false
	s, _ := set(tools.Options{Mode: policy.Execution, Sources: fixed(&toolstest.Tool{Name: "rogue", Kind: policy.Write, Do: func(context.Context, json.RawMessage) tools.Result {
		ran = true
		return tools.Result{}
	}})})
	res := s.Call(t.Context(), use("rogue", "{}"))
	require.True(t, res.IsError)
	require.False(t, ran)
	proposer := toolstest.Put(toolstest.NewFiles(nil))
	require.True(t, proposer.Run(t.Context(), nil).IsError, "and a proposer cannot be run")
}

// disguised is a proposer that says it only reads.
type disguised struct{ tools.Proposer }

func (disguised) Class() policy.Class { return policy.Read }

func TestDisguisedWriteTool(t *testing.T) {
	files := toolstest.NewFiles(nil)
	s, log := set(tools.Options{Mode: policy.Planning, Sources: fixed(disguised{toolstest.Put(files)}), Files: files})
	res := s.Call(t.Context(), put("a", "b"))
	require.True(t, res.IsError)
	require.Contains(t, res.Content, "no write tools exist in planning mode")
	_, made := files.Get("a")
	require.False(t, made)
	paired(t, log)
}

// paired checks that every started call finished, in order, and returns the log.
func paired(t *testing.T, log *event.Log) []event.Event {
	t.Helper()
	open := map[string]int{}
	for _, e := range log.Events(0) {
		switch p := e.Data.(type) {
		case event.ToolStarted:
			open[p.ID]++
		case event.ToolFinished:
			open[p.ID]--
			require.GreaterOrEqual(t, open[p.ID], 0)
		}
	}
	for id, n := range open {
		require.Zero(t, n, id)
	}
	return log.Events(0)
}

func TestEvents(t *testing.T) {
	s, log := set(tools.Options{Mode: policy.Execution, Sources: fixed(&toolstest.Tool{Name: "talk", Kind: policy.System, Do: func(ctx context.Context, in json.RawMessage) tools.Result {
		call := tools.CallOf(ctx)
		call.Output("stdout", "one ")
		call.Output("stderr", "two")
		return tools.Result{Content: "first line\nsecond " + call.ID + string(in)}
	}})})
	s.Call(t.Context(), use("talk", `{"a":1}`))
	s.Call(t.Context(), use("talk", `not JSON`))
	var got []string
	for _, e := range paired(t, log) {
		got = append(got, fmt.Sprintf("%+v", e.Data))
	}
	require.Equal(t, []string{
		"{ID:c1 Name:talk Class:system Input:[123 34 97 34 58 49 125]}",
		"{ID:c1 Stream:stdout Text:one }",
		"{ID:c1 Stream:stderr Text:two}",
		"{ID:c1 Name:talk OK:true Display:first line Content:first line\nsecond c1{\"a\":1}}",
	}, got[:4])
	started := log.Events(0)[4].Data.(event.ToolStarted)
	require.JSONEq(t, `"not JSON"`, string(started.Input), "the log stays valid JSON")
	tools.CallOf(t.Context()).Output("stdout", "outside a call nothing happens")
}

// TestCrash: a tool that panics is a failed result, wherever it does.
func TestCrash(t *testing.T) {
	crash := func(context.Context, json.RawMessage) tools.Result { panic("index out of range") }
	files := toolstest.NewFiles(map[string]string{"a": "x\n"})
	files.Before = func(tools.Change) error { panic("in commit") }
	propose := tools.DefineWrite("propose", "", func(context.Context, struct{}) (tools.Change, error) { panic("in propose") })
	s, log := set(tools.Options{
		Mode:    policy.Execution,
		Sources: fixed(&toolstest.Tool{Name: "crash", Kind: policy.Read, Do: crash}, propose, toolstest.Put(files)), Files: files,
	})
	for name, in := range map[string]string{"crash": "{}", "propose": "{}", "put": `{"path":"a","content":"b"}`} {
		res := s.Call(t.Context(), use(name, in))
		require.True(t, res.IsError)
		require.Contains(t, res.Content, name+" crashed: ")
		require.NotContains(t, res.Content, "goroutine", "the model needs no stack")
	}
	notices := 0
	for _, e := range paired(t, log) {
		if n, ok := e.Data.(event.Notice); ok {
			require.Equal(t, "tool_crash", n.Kind)
			notices++
		}
	}
	require.Equal(t, 3, notices)
}

func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ran := 0
	s, log := set(tools.Options{Mode: policy.Execution, Sources: fixed(&toolstest.Tool{Name: "slow", Kind: policy.Read, Do: func(ctx context.Context, _ json.RawMessage) tools.Result {
		ran++
		cancel()
		<-ctx.Done()
		return tools.Fail("stopped")
	}})})
	require.True(t, s.Call(ctx, use("slow", "{}")).IsError)
	res := s.Call(ctx, use("slow", "{}"))
	require.Equal(t, "stopped before it began", res.Content)
	require.Equal(t, 1, ran)
	paired(t, log)
}

func TestConcurrentCalls(t *testing.T) {
	s, log := set(tools.Options{Mode: policy.Execution, Sources: fixed(&toolstest.Tool{Name: "read", Kind: policy.Read})})
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			s.Call(t.Context(), llm.ToolUse{ID: fmt.Sprint(i), Name: "read"})
			s.Specs()
		})
	}
	wg.Wait()
	require.Len(t, paired(t, log), 40)
}

func TestSecretReadIsAsked(t *testing.T) {
	read := &toolstest.Flagged{Tool: toolstest.Tool{Name: "read", Kind: policy.Read}, With: []policy.Flag{policy.FlagSecret}, About: ".env"}
	plain := &toolstest.Flagged{Tool: toolstest.Tool{Name: "plain", Kind: policy.Read}, About: "a"}
	var refused []string
	person := asktest.New(t,
		asktest.Step{Kind: ask.Read, ID: "read-c1", Prompt: "Let the model read .env? The file usually holds credentials.", Choice: ask.AllowOnce},
		asktest.Step{Kind: ask.Read, Choice: ask.DenyIt},
		asktest.Step{Kind: ask.Read, Choice: ask.DenyIt, Text: "use the example file"})
	s, _ := set(tools.Options{Mode: policy.Execution, Sources: fixed(read, plain), Asker: person, Refused: func(n string) { refused = append(refused, n) }})
	require.False(t, s.Call(t.Context(), use("plain", "{}")).IsError)
	require.False(t, s.Call(t.Context(), use("read", "{}")).IsError)
	require.Equal(t, "The person denied read. Do not try it again; find another way or ask.", s.Call(t.Context(), use("read", "{}")).Content)
	require.Equal(t, "The person denied read and said: use the example file", s.Call(t.Context(), use("read", "{}")).Content)
	require.Empty(t, refused)
	require.Equal(t, ask.DenyIt, person.Asked()[0].Default)

	s, _ = set(tools.Options{Mode: policy.Execution, Sources: fixed(read), Refused: func(n string) { refused = append(refused, n) }})
	res := s.Call(t.Context(), use("read", "{}"))
	require.True(t, res.IsError)
	require.Equal(t, "read needs a person's approval (the file usually holds credentials) and there is nobody to ask. Go on without it.", res.Content)
	require.Equal(t, []string{"read"}, refused)
}

func TestExternal(t *testing.T) {
	mcp := func() *toolstest.External {
		return &toolstest.External{Tool: toolstest.Tool{Name: "mcp__s__t", Kind: policy.External}, Digest: "d1"}
	}
	call := func(e *toolstest.External, o tools.Options) (tools.Result, *event.Log) {
		o.Sources = fixed(e)
		s, log := set(o)
		return s.Call(t.Context(), use("mcp__s__t", `{"q":"x"}`)), log
	}
	e := mcp()
	e.Allowed = true
	res, _ := call(e, tools.Options{Mode: policy.Execution})
	require.False(t, res.IsError)

	e = mcp()
	person := asktest.New(t, asktest.Step{Kind: ask.MCPTool, Choice: ask.AllowOnce})
	res, _ = call(e, tools.Options{Mode: policy.Execution, Asker: person})
	require.False(t, res.IsError)
	require.Empty(t, e.Remembered, "once is not remembered")
	q := person.Asked()[0]
	require.Equal(t, "d1", q.Hash)
	var card event.ToolCard
	require.NoError(t, json.Unmarshal(q.Detail, &card))
	require.Equal(t, "what mcp__s__t says of itself", card.Card)
	require.Equal(t, map[string]any{"q": "x"}, card.Arguments)

	e = mcp()
	res, _ = call(e, tools.Options{Mode: policy.Execution, Asker: asktest.New(t, asktest.Step{Choice: ask.Always})})
	require.False(t, res.IsError)
	require.Equal(t, []bool{true}, e.Remembered)
	res, _ = call(e, tools.Options{Mode: policy.Execution})
	require.False(t, res.IsError, "and not asked again")

	e = mcp()
	e.Err = errors.New("disk full")
	res, log := call(e, tools.Options{Mode: policy.Execution, Asker: asktest.New(t, asktest.Step{Choice: ask.Always})})
	require.False(t, res.IsError, "the person allowed this call")
	require.Contains(t, fmt.Sprint(log.Events(0)), "the answer could not be stored: disk full")

	res, _ = call(mcp(), tools.Options{Mode: policy.Execution, Asker: asktest.New(t, asktest.Step{Choice: ask.DenyIt})})
	require.Contains(t, res.Content, "The person denied mcp__s__t")

	refused := ""
	res, _ = call(mcp(), tools.Options{Mode: policy.Execution, Refused: func(n string) { refused = n }})
	require.Contains(t, res.Content, "there is nobody to ask")
	require.Equal(t, "mcp__s__t", refused)

	res, _ = call(mcp(), tools.Options{Mode: policy.Execution, Asker: answering{ask.Answer{Choice: ask.AllowOnce, Hash: "another tool"}}})
	require.True(t, res.IsError, "an answer to another version does not count")
	require.Contains(t, res.Content, ask.ErrStale.Error())
}

// answering gives one answer, fitting or not.
type answering struct{ a ask.Answer }

func (a answering) Ask(context.Context, ask.Question) (ask.Answer, error) { return a.a, nil }

func TestStopWhileAsked(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	person := asktest.New(t, asktest.Step{Wait: true, Look: func(ask.Question) { cancel() }})
	refused := 0
	files := toolstest.NewFiles(map[string]string{"a": "x\n"})
	s, log := set(tools.Options{
		Mode:    policy.Execution,
		Sources: fixed(toolstest.Put(files)), Files: files, Asker: person,
		Gate: rules(policy.Rules{ConfirmWrites: true}), Refused: func(string) { refused++ },
	})
	res := s.Call(ctx, put("a", "y\n"))
	require.Contains(t, res.Content, "the session was stopped")
	require.Zero(t, refused, "a stop is not a missing approval")
	got, _ := files.Get("a")
	require.Equal(t, "x\n", got)
	paired(t, log)
}

func TestNewSetNeedsGateAndLog(t *testing.T) {
	require.Panics(t, func() { tools.NewSet(tools.Options{Mode: policy.Execution, Log: event.NewLog(nil, nil)}) })
	require.Panics(t, func() { tools.NewSet(tools.Options{Mode: policy.Execution, Gate: rules(policy.Rules{})}) })
}

func TestWritesWithoutFiles(t *testing.T) {
	s, _ := set(tools.Options{Mode: policy.Execution, Sources: fixed(toolstest.Put(toolstest.NewFiles(nil)))})
	require.Equal(t, "no files can be changed here", s.Call(t.Context(), put("a", "b")).Content)
}

// TestR18LiveOutputIsBounded: a command that prints without end fills neither the
// log nor memory; what is left out is said once, and the result is whole.
func TestR18LiveOutputIsBounded(t *testing.T) {
	for name, chunk := range map[string]string{"large pieces": strings.Repeat("x", 64<<10), "single letters": "x", "runes": strings.Repeat("é", 5_000) + "x"} {
		loud := &toolstest.Tool{Name: "loud", Kind: policy.System, Do: func(ctx context.Context, _ json.RawMessage) tools.Result {
			out := tools.CallOf(ctx).Output
			for range (16 << 20) / max(len(chunk), 256) {
				out("stdout", chunk)
			}
			return tools.Result{Content: "quiet now"}
		}}
		s, log := set(tools.Options{Mode: policy.Planning, Sources: fixed(loud)})
		require.Equal(t, "quiet now", s.Call(t.Context(), use("loud", "{}")).Content, name)
		size, count, said := 0, 0, 0
		for _, e := range log.Events(0) {
			if o, ok := e.Data.(event.ToolOutput); ok {
				require.True(t, utf8.ValidString(o.Text), name)
				size, count = size+len(o.Text), count+1
				said += strings.Count(o.Text, "not shown")
			}
		}
		require.LessOrEqual(t, size, 1<<20+200, name)
		require.LessOrEqual(t, count, 10_001, name)
		require.Equal(t, 1, said, name)
	}
}

// moving is a source whose list changes, as an MCP server's does.
type moving struct{ list []tools.Tool }

func (m *moving) Tools() []tools.Tool { return m.list }

// A source that changes its list in mid-session cannot widen a mode: a write tool
// that it brings is as absent in planning as if it had never come.
func TestAChangedSourceCannotWidenAMode(t *testing.T) {
	t.Parallel()
	src := &moving{list: []tools.Tool{&toolstest.Tool{Name: "read", Kind: policy.Read}}}
	s, _ := set(tools.Options{Mode: policy.Planning, Sources: []tools.Source{src}})
	require.Equal(t, "read", s.Specs()[0].Name)
	src.list = append(src.list,
		&toolstest.Tool{Name: "late", Kind: policy.Read},
		&toolstest.Tool{Name: "write_file", Kind: policy.Write, Do: func(context.Context, json.RawMessage) tools.Result {
			t.Error("a write tool ran in planning")
			return tools.Result{}
		}})
	var names []string
	for _, spec := range s.Specs() {
		names = append(names, spec.Name)
	}
	require.Equal(t, []string{"read", "late"}, names)
	res := s.Call(t.Context(), llm.ToolUse{ID: "1", Name: "write_file"})
	require.True(t, res.IsError)
	require.Contains(t, res.Content, "no tool named")
}
