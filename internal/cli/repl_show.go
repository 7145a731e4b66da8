package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/term"
)

// meter counts what a conversation used, from the events of its sessions.
type meter struct {
	input, output   int64
	cost            float64
	priced, unknown bool // some calls had a price, some had none
	context, window int64
	tier, network   string
	phase           event.Phase
}

func (m *meter) add(e event.Event) {
	switch d := e.Data.(type) {
	case event.SessionStarted:
		m.tier, m.network = d.Sandbox.Tier, ""
		if d.Sandbox.Network {
			m.network = ", network on"
		}
	case event.PhaseChanged:
		m.phase = d.Phase
	case event.UsageAdded:
		m.input += d.Input + d.CacheRead + d.CacheWrite
		m.output += d.Output
		if d.CostUSD == nil {
			m.unknown = true
		} else {
			m.priced = true
			m.cost += *d.CostUSD
		}
		if d.Purpose == "" && d.Context > 0 {
			m.context, m.window = d.Context, d.Window
		}
	}
}

// money is the cost in words: never a number that leaves something out.
func (m *meter) money() string {
	switch {
	case m.unknown || !m.priced:
		return "cost unknown"
	default:
		return fmt.Sprintf("$%.4f", m.cost)
	}
}

// filled says how full the model's context is.
func (m *meter) filled() string {
	switch {
	case m.context == 0:
		return ""
	case m.window == 0:
		return fmt.Sprintf("context %s tokens", short(m.context))
	default:
		return fmt.Sprintf("context %d%% of %s", m.context*100/m.window, short(m.window))
	}
}

// short is a number of tokens for a line that has little room.
func short(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", (n+500)/1000)
	default:
		return fmt.Sprintf("%.1fM", float64(n)/1_000_000)
	}
}

// statusLine is shown above the prompt and while a session runs: mode, model,
// context, cost, sandbox.
func (p *repl) statusLine() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	mode := "plan first"
	switch {
	case p.auto:
		mode = "AUTO: plans are approved without asking"
	case p.running != nil && p.seen.phase == event.Planning:
		mode = "planning: nothing can be written"
	case p.running != nil && p.seen.phase == event.Execute:
		mode = "working on the approved plan"
	}
	if p.confirm {
		mode += ", each write asked"
	}
	parts := []string{mode}
	switch m, err := p.env.Config.Resolve("", p.env.Getenv); {
	case p.r.flags.demo:
		parts = append(parts, "demo model")
	case err != nil:
		parts = append(parts, "no model")
	default:
		parts = append(parts, m.String())
	}
	if text := p.seen.filled(); text != "" {
		parts = append(parts, text)
	}
	if p.seen.input+p.seen.output > 0 {
		parts = append(parts, p.seen.money())
	}
	tier := p.seen.tier
	if tier == "" {
		tier = p.env.Config.Sandbox.Tier
	}
	parts = append(parts, "sandbox "+tier+p.seen.network)
	if p.served != nil {
		parts = append(parts, "browser")
	}
	return strings.Join(parts, " | ")
}

func (p *repl) status(context.Context, string) error {
	p.welcome()
	p.out(term.OneLine(p.statusLine()))
	p.mu.Lock()
	running, phase := p.running, p.seen.phase
	p.mu.Unlock()
	switch {
	case running != nil:
		p.out(fmt.Sprintf("session %s runs: %s", term.OneLine(running.ID()), strings.ReplaceAll(string(phase), "_", " ")))
		return nil
	case p.last == "":
		p.out("no request yet")
		return nil
	}
	p.out(fmt.Sprintf("last session %s: %s", term.OneLine(p.last), term.OneLine(p.finished.Status)))
	if p.fresh {
		p.out("the next request starts a new conversation")
	}
	return nil
}

func (p *repl) plan(ctx context.Context, args string) error {
	if args != "" {
		return p.store(ctx, func(ws Workspace) error {
			s, err := ws.Specs().Load(ctx, args)
			if err == nil {
				p.out(specText(p.style, s))
			}
			return err
		})
	}
	events, err := p.events(ctx)
	if err != nil {
		return err
	}
	for _, e := range slices.Backward(events) {
		if d, ok := e.Data.(event.PlanReady); ok {
			d.Diff = ""
			p.out(p.style.Plan(d))
			return nil
		}
	}
	return errors.New("the last session wrote no plan")
}

func (p *repl) specs(ctx context.Context, _ string) error {
	return p.store(ctx, func(ws Workspace) error {
		all, err := ws.Specs().List(ctx)
		if err == nil {
			p.out(specTable(p.style, all))
		}
		return err
	})
}

func (p *repl) diff(ctx context.Context, _ string) error {
	events, err := p.events(ctx)
	if err != nil {
		return err
	}
	text := changes(p.style, events)
	if text == "" {
		text = "the last session changed no file"
	}
	p.out(text)
	return nil
}

func (p *repl) cost(context.Context, string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out(fmt.Sprintf("this conversation: %d tokens in, %d out, %s", p.seen.input, p.seen.output, p.seen.money()))
	return nil
}

func (p *repl) sessions(ctx context.Context, _ string) error {
	return p.store(ctx, func(ws Workspace) error {
		all, err := ws.Sessions().List(ctx)
		if err == nil {
			p.out(sessionTable(p.style, all))
		}
		return err
	})
}

// context says what the model was sent, by kind, and what was added or left out.
func (p *repl) context(ctx context.Context, _ string) error {
	events, err := p.events(ctx)
	if err != nil {
		return err
	}
	kinds, bytes := map[string]int{}, map[string]int{}
	count := func(kind string, n int) { kinds[kind]++; bytes[kind] += n }
	var changed []string
	for _, e := range events {
		switch d := e.Data.(type) {
		case event.MessageAdded:
			for _, b := range d.Blocks {
				kind, n := blockSize(string(d.Role), b)
				count(kind, n)
			}
		case event.ContextChanged:
			text := d.What + ": " + d.Name
			if d.Detail != "" && d.What != "queue" {
				text += " (" + d.Detail + ")"
			}
			changed = append(changed, text)
		}
	}
	p.mu.Lock()
	filled := p.seen.filled()
	p.mu.Unlock()
	if filled == "" {
		filled = "the provider has not said how many tokens that is"
	}
	rows := [][]string{{"KIND", "PARTS", "BYTES"}}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		rows = append(rows, []string{kind, fmt.Sprint(kinds[kind]), fmt.Sprint(bytes[kind])})
	}
	p.out(filled)
	p.out(p.style.Table(rows))
	for _, text := range changed {
		p.out("  " + term.OneLine(text))
	}
	return nil
}

func blockSize(role string, b llm.Block) (kind string, n int) {
	switch b := b.(type) {
	case llm.Text:
		return "text of " + role, len(b.Text)
	case llm.Thinking:
		return "reasoning", len(b.Text)
	case llm.ToolUse:
		return "tool calls", len(b.Input)
	case llm.ToolResult:
		return "tool results", len(b.Content)
	default:
		return "other", 0
	}
}

func (p *repl) memory(ctx context.Context, _ string) error {
	files, warnings, err := p.app.Guidance(ctx)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		p.out("no AGENTS.md (or a file like it) was found; /init drafts one")
	}
	for i, f := range files {
		p.out(fmt.Sprintf("%d  %s  %s", i+1, term.OneLine(f.Path), p.style.Dim(term.OneLine(f.Note))))
	}
	if len(files) > 1 {
		p.out("where two disagree, the later one counts")
	}
	for _, w := range warnings {
		p.out(p.style.Warning(w))
	}
	return nil
}

func (p *repl) permissions(context.Context, string) error {
	c := p.env.Config
	p.mu.Lock()
	confirm := p.confirm || c.Agent.ConfirmWrites
	p.mu.Unlock()
	p.out("before a plan is approved: reading and the sandbox; nothing can be written")
	switch {
	case p.auto:
		p.out(p.style.Bold("plans: approved without asking (/auto off ends it)"))
	default:
		p.out("plans: each is asked about; the answer holds for exactly that plan")
	}
	if confirm {
		p.out("writes of an approved plan: each is asked about (/confirm off)")
	} else {
		p.out("writes of an approved plan: made without asking again (/confirm on)")
	}
	p.out(fmt.Sprintf("network in the sandbox: %t (sandbox.network)", c.Sandbox.Network))
	p.out("secrets (.env, keys): each file is asked about")
	for _, name := range slices.Sorted(maps.Keys(c.MCP.Servers)) {
		s := c.MCP.Servers[name]
		text := "MCP server " + name + ": each tool is asked about"
		if len(s.AllowedTools) > 0 {
			text += "; without asking: " + strings.Join(s.AllowedTools, ", ")
		}
		if len(s.DeniedTools) > 0 {
			text += "; never: " + strings.Join(s.DeniedTools, ", ")
		}
		p.out("  " + term.OneLine(text))
	}
	for _, a := range p.r.flags.allow {
		p.out("  --allow-tool " + term.OneLine(a))
	}
	return nil
}
