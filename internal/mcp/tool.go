package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/coderrr/coderrr/internal/approval"
	"github.com/coderrr/coderrr/internal/inert"
	"github.com/coderrr/coderrr/internal/llm/schema"
	"github.com/coderrr/coderrr/internal/mcp/wire"
	"github.com/coderrr/coderrr/internal/policy"
	"github.com/coderrr/coderrr/internal/tools"
)

// The parts of a tool's description that a model is given, in bytes.
const (
	maxAbout  = 4 << 10
	maxSchema = 32 << 10
)

// tool is one tool of one server, as it was listed.
type tool struct {
	s      *server
	raw    wire.Tool
	spec   tools.Spec
	shown  string // the server's name for it, made harmless
	about  string // what the server says of it, cut and made harmless
	card   string
	hash   string
	denied atomic.Bool // the person said "always deny" to exactly this
}

var _ tools.Approver = (*tool)(nil)

func newTool(s *server, raw wire.Tool, name string) *tool {
	t := &tool{s: s, raw: raw}
	t.shown, _ = inert.Visible(cut(raw.Name, 200))
	t.about, _ = inert.Visible(cut(strings.TrimSpace(raw.Description), maxAbout))
	t.spec = tools.Spec{
		Name:        name,
		Description: fmt.Sprintf("[%s of the external MCP server %s] %s", t.shown, s.name, t.about),
		Schema:      fitSchema(raw.InputSchema),
	}
	t.hash = hashOf(s.cfg, raw)
	t.card = cardOf(s, t)
	return t
}

// fitSchema makes a schema that a model can be given: an object, without hidden
// characters, of bounded size.
func fitSchema(raw json.RawMessage) json.RawMessage {
	if len(raw) > maxSchema {
		raw, _ = schema.Flatten(raw, schema.Plain)
	}
	out, _ := schema.Flatten(raw, schema.Full)
	if text, hidden := inert.Visible(string(out)); hidden > 0 && json.Valid([]byte(text)) {
		out = json.RawMessage(text)
	}
	out = visibleEscapes(out)
	if len(out) > maxSchema {
		return json.RawMessage(`{"type":"object","properties":{},"description":"the schema is too large to show; any object is accepted"}`)
	}
	return out
}

// visibleEscapes marks hidden characters that a schema holds as \u escapes.
func visibleEscapes(raw json.RawMessage) json.RawMessage {
	if !strings.Contains(string(raw), `\u`) {
		return raw
	}
	var v any
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return raw
	}
	out, err := json.Marshal(visibleIn(v))
	if err != nil {
		return raw
	}
	return out
}

func visibleIn(v any) any {
	switch v := v.(type) {
	case string:
		s, _ := inert.Visible(v)
		return s
	case []any:
		for i := range v {
			v[i] = visibleIn(v[i])
		}
	case map[string]any:
		for k, x := range v {
			v[k] = visibleIn(x)
		}
	}
	return v
}

// Spec implements tools.Tool.
func (t *tool) Spec() tools.Spec { return t.spec }

// Class implements tools.Tool. It is EXTERNAL whatever the server says.
func (t *tool) Class() policy.Class { return policy.External }

// Hash implements tools.Approver.
func (t *tool) Hash() string { return t.hash }

// Approved implements tools.Approver: the stored answer is to exactly this tool,
// or it was allowed for the session when it was first seen.
func (t *tool) Approved() bool {
	t.s.mu.Lock()
	pin := t.s.pins[t.raw.Name]
	t.s.mu.Unlock()
	if pin == t.hash {
		return true
	}
	a, ok, err := t.s.m.o.Answers.Answer(t.s.name, t.raw.Name)
	return err == nil && ok && a.Always && a.Hash == t.hash
}

// Card implements tools.Approver. A tool that was answered for and changed since
// shows what changed.
func (t *tool) Card() string {
	a, ok, err := t.s.m.o.Answers.Answer(t.s.name, t.raw.Name)
	if err != nil || !ok || a.Hash == t.hash {
		return t.card
	}
	return changedCard(a.Shown, t.card)
}

// Remember implements tools.Approver.
func (t *tool) Remember(ctx context.Context, always bool) error {
	err := t.s.m.o.Answers.Set(ctx, t.s.name, t.raw.Name, approval.ToolAnswer{Hash: t.hash, Always: always, Shown: cut(t.card, maxShown)})
	if err == nil {
		t.denied.Store(!always)
	}
	return err
}

// Run implements tools.Tool.
func (t *tool) Run(ctx context.Context, input json.RawMessage) tools.Result {
	if !t.s.current(t) {
		return tools.Fail(fmt.Sprintf("%s changed at the server %s while this call was decided. Look at the list of tools again.", t.spec.Name, t.s.name))
	}
	if t.raw.Execution.TaskSupport == "required" {
		return tools.Fail(fmt.Sprintf("%s can only be run as a background task, which is not supported. Use another tool.", t.spec.Name))
	}
	if len(strings.TrimSpace(string(input))) > 0 && !strings.HasPrefix(strings.TrimSpace(string(input)), "{") {
		return tools.Fail(t.spec.Name + ": the arguments are not a JSON object.")
	}
	client, err := t.s.ensure(ctx)
	if err != nil {
		return t.failed(ctx, err)
	}
	output := tools.CallOf(ctx).Output
	res, err := client.Call(ctx, wire.Call{Tool: t.raw.Name, Arguments: input, Progress: func(p wire.Progress) {
		output("stderr", progressLine(p))
	}})
	if err != nil {
		return t.failed(ctx, err)
	}
	return t.render(res)
}

func progressLine(p wire.Progress) string {
	line := strconv.FormatFloat(p.Progress, 'f', -1, 64)
	if p.Total > 0 {
		line += " of " + strconv.FormatFloat(p.Total, 'f', -1, 64)
	}
	if p.Message != "" {
		msg, _ := inert.Visible(cut(p.Message, 500))
		line += ": " + msg
	}
	return line + "\n"
}

// failed is a call that was not answered.
func (t *tool) failed(ctx context.Context, err error) tools.Result {
	if ctx.Err() != nil {
		return tools.Fail(t.spec.Name + " was stopped; the server may have done a part of it.")
	}
	text, _ := inert.Visible(cut(t.s.explain(err).Error(), 2<<10))
	var rpc *wire.RPCError
	switch {
	case errors.As(err, &rpc):
		return tools.Fail(fmt.Sprintf("The external MCP server %s refused the call: %s", t.s.name, text))
	case isLogin(err):
		return tools.Fail(text + ". Only the person can do that; go on without this tool.")
	case errors.Is(err, wire.ErrTimeout), errors.Is(err, wire.ErrClosed):
		return tools.Fail(text + ". It may have carried the call out, or a part of it; check before you repeat it.")
	}
	return tools.Fail(text)
}
