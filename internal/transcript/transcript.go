// Package transcript writes a session as a document for people. Its one rule:
// everything a model, a file or a server said stands there as text in which nothing
// hides and nothing acts.
package transcript

import (
	"fmt"
	"io"
	"strings"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/inert"
)

// Markdown writes a session as a document: what was asked, planned, decided,
// changed and proved, without what the tools said to the model.
type Markdown struct{ W io.Writer }

// Print writes what an event says, if anything.
func (m Markdown) Print(e event.Event) error {
	var s string
	switch d := e.Data.(type) {
	case event.SessionStarted:
		s = fmt.Sprintf("# %s\n\n%s, %s/%s, sandbox %s, %s\n", line(d.Request), d.SessionID, line(d.Provider), line(d.Model), d.Sandbox.Tier, e.Time.UTC().Format("2006-01-02 15:04 UTC"))
	case event.UserMessage:
		s = "## Request\n\n" + quoted(d.Text)
	case event.TextDone:
		s = strings.TrimSpace(unhidden(d.Text)) + "\n"
	case event.PlanReady:
		s = m.plan(d)
	case event.AskClosed:
		s = fmt.Sprintf("*Decided: %s, by %s.*\n", line(orNothing(d.Choice)), d.By)
		if d.Text != "" {
			s += "\n" + quoted(d.Text)
		}
	case event.ToolStarted:
		if d.Class != "write" && d.Name != "update_task" {
			s = fmt.Sprintf("- `%s`\n", strings.ReplaceAll(line(d.Name+" "+string(d.Input)), "`", "'"))
		}
	case event.FileChanged:
		s = fmt.Sprintf("### %s %s (+%d −%d)\n\n%s", line(d.Op), line(d.Path), d.Added, d.Removed, fenced("diff", d.Diff))
	case event.TaskUpdated:
		s = fmt.Sprintf("- **%s** is %s", line(d.ID), line(d.Status))
		if d.Evidence != nil {
			s += fmt.Sprintf(", proved by `%s` (exit %d)", strings.ReplaceAll(line(d.Evidence.Command), "`", "'"), d.Evidence.ExitCode)
		}
		s += "\n"
	case event.Notice:
		if d.Level != "info" {
			s = quoted(d.Level + ": " + d.Text)
		}
	case event.SessionFinished:
		s = m.end(d)
	}
	if s == "" {
		return nil
	}
	_, err := io.WriteString(m.W, s+"\n")
	return err
}

func (m Markdown) plan(d event.PlanReady) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## Plan: %s\n\n`%s`, hash `%s`\n", line(d.Title), d.Spec, d.Hash)
	if d.Diff != "" {
		return b.String() + "\nChanged since it was last shown:\n\n" + fenced("diff", d.Diff)
	}
	for _, name := range []string{"requirements", "design", "tasks"} {
		if doc := d.Documents[name]; strings.TrimSpace(doc) != "" {
			b.WriteString("\n" + fenced("markdown", doc))
		}
	}
	return b.String()
}

func (m Markdown) end(d event.SessionFinished) string {
	cost := "unknown"
	if d.Usage.CostUSD != nil {
		cost = fmt.Sprintf("$%.4f", *d.Usage.CostUSD)
	}
	return fmt.Sprintf("## Result: %s (exit %d)\n\n%s\n\n| tasks done | proved | files changed | tokens in | out | cost |\n| --- | --- | --- | --- | --- | --- |\n| %d of %d | %d | %d | %d | %d | %s |\n",
		line(d.Status), d.ExitCode, strings.TrimSpace(unhidden(d.Summary)), d.TasksDone, d.TasksTotal, d.TasksVerified, len(d.Files), d.Usage.Input, d.Usage.Output, cost)
}

func orNothing(s string) string {
	if s == "" {
		return "no answer"
	}
	return s
}

// unhidden is untrusted text in which nothing hides.
func unhidden(s string) string {
	s, _ = inert.Visible(s)
	return s
}

// line is shown text on one line, and not an endless one.
func line(s string) string {
	const most = 300
	s = unhidden(strings.Join(strings.Fields(s), " "))
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

func quoted(s string) string {
	return "> " + strings.ReplaceAll(strings.TrimSpace(unhidden(s)), "\n", "\n> ") + "\n"
}

// fenced is a block whose fence is longer than any in the text.
func fenced(language, text string) string {
	text = strings.TrimRight(unhidden(text), "\n")
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + text + "\n" + fence + "\n"
}
