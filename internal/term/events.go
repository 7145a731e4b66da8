package term

import (
	"fmt"
	"strings"

	"github.com/coderrr/coderrr/internal/event"
)

// proofColumns is how much of a proving command is shown.
const proofColumns = 48

func (p *Printer) started(d event.SessionStarted) {
	p.mu.Lock()
	p.where = d.Workspace
	p.mu.Unlock()
	s := p.o.Style
	network := "network off"
	if d.Sandbox.Network {
		network = "network on"
	}
	parts := []string{"Coderrr", OneLine(d.Provider + "/" + d.Model), "sandbox " + OneLine(d.Sandbox.Tier) + ", " + network, OneLine(d.Workspace)}
	p.line(s.dim(strings.TrimRight(s.wrapped(strings.Join(parts, s.sign(" · ", " | ")), ""), "\n")) + "\n")
	if d.Resumed {
		p.line(s.dim("resumed "+OneLine(d.SessionID)) + "\n")
	}
}

func (p *Printer) phase(d event.PhaseChanged) {
	title := map[event.Phase]string{event.Planning: "Planning", event.Execute: "Working"}[d.Phase]
	if title == "" {
		return // the plan and the result speak for themselves
	}
	s := p.o.Style
	p.line("\n" + s.bold(s.sign("── ", "-- ")+title+s.sign(" ──", " --")) + "\n")
	p.inForce()
}

// statusTurns is how many turns pass before what is in force is said again.
const statusTurns = 10

func (p *Printer) inForce() {
	if p.o.Status == nil {
		return
	}
	s := p.o.Style
	p.line(s.dim(s.cut(OneLine(p.o.Status()), s.width()-1)) + "\n")
}

func (p *Printer) planReady(d event.PlanReady) {
	for _, t := range d.Tasks {
		p.tasks[t.ID] = t.Title
	}
	p.plan = d.Hash
	p.line("\n" + p.o.Style.Plan(d))
}

// Plan is a plan as text: what changed since it was last shown, or the whole of
// it for the first time.
func (s Style) Plan(d event.PlanReady) string {
	var b strings.Builder
	b.WriteString(s.bold(s.cut("Plan: "+OneLine(d.Title), s.width())) + "\n")
	where := fmt.Sprintf(".coderrr/specs/%s, %s", OneLine(d.Spec), OneLine(d.Size))
	b.WriteString(s.dim(strings.TrimRight(s.wrapped(where, "  "), "\n")) + "\n")
	b.WriteString("  " + s.dim("hash "+OneLine(d.Hash)) + "\n") // whole, to be copied
	if d.Diff != "" {
		b.WriteString("\n" + s.bold("Changed since it was last shown:") + "\n" + s.planDiff(d.Diff))
	} else {
		for _, name := range []string{"requirements", "design"} {
			if text := strings.TrimSpace(d.Documents[name]); text != "" {
				b.WriteString("\n" + s.wrapped(text, "  "))
			}
		}
	}
	b.WriteString("\n" + s.bold(fmt.Sprintf("Tasks (%d)", len(d.Tasks))) + "\n")
	for _, t := range d.Tasks {
		b.WriteString(s.planTask(t))
	}
	return b.String()
}

func (s Style) planTask(t event.PlanTask) string {
	status := ""
	if t.Status != "" && t.Status != "pending" {
		status = " [" + OneLine(t.Status) + "]"
	}
	text := s.wrapped(fmt.Sprintf("%s %s%s", OneLine(t.ID), OneLine(t.Title), status), "  ")
	if len(t.Files) > 0 {
		files := make([]string, len(t.Files))
		for i, f := range t.Files {
			files[i] = OneLine(f)
		}
		text += s.dim(strings.TrimRight(s.wrapped(strings.Join(files, ", "), "       "), "\n")) + "\n"
	}
	return text
}

func (s Style) planDiff(unified string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(unified, "--- ") {
		name, _, _ := strings.Cut(part, "\n")
		if name = strings.TrimPrefix(name, "a/"); name == "" {
			continue
		}
		b.WriteString("  " + s.bold(OneLine(name)) + "\n" + s.diffText("--- "+part, "  ", 0))
	}
	return b.String()
}

func (p *Printer) task(d event.TaskUpdated) {
	s := p.o.Style
	was := p.status[d.ID]
	p.status[d.ID] = d.Status
	if was == d.Status {
		text := "  " + OneLine(d.ID) + " is proved by this run"
		if d.Evidence == nil {
			text = "  " + OneLine(d.ID) + " is no longer proved: its files changed"
		}
		p.line(s.dim(text) + "\n")
		return
	}
	sign := map[string]string{"in_progress": s.sign("▶", ">"), "done": s.sign("✓", "done"), "blocked": s.sign("✗", "blocked")}[d.Status]
	if sign == "" {
		sign = s.sign("○", "-")
	}
	text := fmt.Sprintf("%s %s %s: %s", sign, OneLine(d.ID), OneLine(p.tasks[d.ID]), strings.ReplaceAll(OneLine(d.Status), "_", " "))
	if e := d.Evidence; e != nil {
		text += fmt.Sprintf(", proved by %q (exit %d)", s.cut(OneLine(e.Command), proofColumns), e.ExitCode)
	} else if d.Status == "done" {
		text += ", not proved by a sandbox run"
	}
	paint := s.bold
	switch {
	case d.Status == "done" && d.Evidence != nil:
		paint = s.green
	case d.Status == "done", d.Status == "blocked":
		paint = s.yellow
	}
	p.line(paint(strings.TrimRight(s.wrapped(text, ""), "\n")) + "\n")
}

func (p *Printer) answered(d event.AskClosed) {
	if d.By == p.o.By && d.By != "" {
		return // the person saw what they typed
	}
	choice := d.Choice
	if choice == "" {
		choice = "no answer"
	}
	p.line(p.o.Style.dim(fmt.Sprintf("  answered: %s (by %s)", OneLine(strings.ReplaceAll(choice, "_", " ")), OneLine(string(d.By)))) + "\n")
}

func (p *Printer) notice(d event.Notice) {
	s := p.o.Style
	text := strings.TrimRight(s.wrapped(d.Text, "  "), "\n")
	switch d.Level {
	case "error":
		p.must(p.o.Progress, s.red("error:")+" "+strings.TrimLeft(text, " ")+"\n")
	case "warning":
		p.must(p.o.Progress, s.yellow("warning:")+" "+strings.TrimLeft(text, " ")+"\n")
	default:
		p.line(s.dim(text) + "\n")
	}
}

func (p *Printer) verified(d event.VerifyFinished) {
	s := p.o.Style
	switch d.Verdict {
	case "reject":
		p.line(s.yellow("  verifier rejects "+OneLine(d.Path)+": ") + OneLine(d.Reason) + "\n")
	case "skipped":
		p.line(s.yellow("  not verified: "+OneLine(d.Path)+": ") + OneLine(d.Reason) + "\n")
	default:
		if p.o.Level == Verbose {
			p.line(s.dim("  verified "+OneLine(d.Path)+": "+OneLine(d.Reason)) + "\n")
		}
	}
}

func (p *Printer) contextChanged(d event.ContextChanged) {
	text := "  " + OneLine(d.What) + ": " + OneLine(d.Name)
	if d.Detail != "" {
		text += " (" + OneLine(d.Detail) + ")"
	}
	p.line(p.o.Style.dim(p.o.Style.cut(text, p.o.Style.width())) + "\n")
}

// finished prints the result: the answer of a run.
func (p *Printer) finished(d event.SessionFinished) {
	s := p.o.Style
	if p.o.Talk && d.ExitCode == 0 {
		return // the words were the answer
	}
	out := p.o.Out
	if p.o.Talk {
		out = p.o.Progress
	} else if p.o.OutPiped {
		s = Style{Unicode: s.Unicode}
	}
	p.line("\n")
	head := statusWords(d.Status)
	switch {
	case d.ExitCode == 0:
		head = s.green(s.sign("✓ ", "")+head) + "\n"
	default:
		head = s.red(s.sign("✗ ", "")+head) + fmt.Sprintf(" (exit code %d)\n", d.ExitCode)
	}
	var b strings.Builder
	b.WriteString(head)
	if d.Summary != "" {
		b.WriteString(s.wrapped(d.Summary, "  "))
	}
	if d.TasksTotal > 0 {
		fmt.Fprintf(&b, "  tasks: %d of %d done, %d proved\n", d.TasksDone, d.TasksTotal, d.TasksVerified)
	}
	for i, f := range d.Files {
		if i == 0 {
			b.WriteString("  files:\n")
		}
		b.WriteString("    " + OneLine(f) + "\n")
	}
	if d.Status == "needs_approval" && d.PlanHash != "" {
		b.WriteString("  plan hash: " + OneLine(d.PlanHash) + "\n")
	}
	if p.o.Usage && d.Usage.Input+d.Usage.CacheRead+d.Usage.CacheWrite+d.Usage.Output > 0 {
		b.WriteString("  " + s.dim(usageWords(d.Usage)) + "\n")
	}
	p.must(out, b.String())
}

func statusWords(status string) string {
	words := map[string]string{
		"ok": "Done", "declined": "Declined", "needs_approval": "Approval needed", "unmet": "Not all tasks are met",
		"budget": "Stopped at a limit", "error": "Failed", "cancelled": "Stopped",
	}
	if w, ok := words[status]; ok {
		return w
	}
	return OneLine(status)
}

func usageWords(u event.Usage) string {
	text := fmt.Sprintf("tokens: %d in, %d out", u.Input+u.CacheRead+u.CacheWrite, u.Output)
	if u.CacheRead > 0 {
		text += fmt.Sprintf(" (%d from cache)", u.CacheRead)
	}
	if u.CostUSD == nil {
		return text + ", cost unknown"
	}
	return text + fmt.Sprintf(", cost $%.4f", *u.CostUSD)
}
