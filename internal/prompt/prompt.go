// Package prompt is what Coderrr says to a model: the system prompt of each mode
// and the few messages of the host's own. The words are in texts/, one file each;
// what comes from outside is put in as data. Its one rule: a prompt describes only
// the SYSTEM tools, since every other tool describes itself, and forbids nothing
// that the mode's tools make impossible.
package prompt

import (
	"embed"
	"fmt"
	"strconv"
	"strings"
	"text/template"

	"github.com/coderrr/coderrr/internal/inert"
	"github.com/coderrr/coderrr/internal/policy"
)

//go:embed texts/*.md
var texts embed.FS

// Data is what a system prompt is made from. Mode and Workspace are required; what
// is empty is left out.
type Data struct {
	Mode policy.Mode
	// ReadOnly is a session that answers questions and writes no spec.
	ReadOnly  bool
	Workspace string // absolute path
	Platform  string // such as linux/amd64
	Date      string // of the session's start, so that the prompt stays the same
	Sandbox   string // the sandbox in force, in one line
	Spec      string // the current spec and its state, in one line
	Listing   string // the top of the workspace, a name per line
	Guidance  []Guidance
}

// Guidance is one file that tells agents about the project. Later ones are nearer.
type Guidance struct{ Path, Text string }

// tool is a line about a SYSTEM tool.
type tool struct{ Name, Text string }

// System is the system prompt of a mode. It is the same for the same data.
func System(d Data) string {
	name := d.Mode.String()
	if d.ReadOnly {
		name = "ask"
	}
	parts := []string{
		fill(name+".md", nil),
		fill("tools.md", map[string]any{"Tools": toolsOf(name)}),
		fill("rules.md", nil),
		fill("surroundings.md", map[string]any{
			"Workspace": visible(d.Workspace), "Platform": d.Platform, "Date": d.Date, "Sandbox": visible(d.Sandbox),
			"Spec": visible(d.Spec), "Listing": inside("listing", d.Listing),
		}),
	}
	if len(d.Guidance) > 0 {
		var files []Guidance
		for _, g := range d.Guidance {
			files = append(files, Guidance{Path: strconv.Quote(visible(g.Path)), Text: inside("guidance", g.Text)})
		}
		parts = append(parts, fill("guidance.md", map[string]any{"Guidance": files}))
	}
	return strings.Join(parts, "\n\n")
}

// toolsOf lists the SYSTEM tools that exist where a prompt is used.
func toolsOf(name string) []tool {
	write := []tool{
		{"create_spec", "start the spec of this request, once."},
		{"write_spec", "write one document of the spec, whole."},
	}
	read := []tool{{"read_spec", "read the spec as it is on disk. It outlives the conversation; people edit it too."}}
	update := []tool{{"update_task", "set a task's status: `in_progress` before its work, then `done` or `blocked`."}}
	rest := []tool{
		{"run_in_sandbox", "run a shell command at the root of a copy of the project, as its files are now. This is the only way to run anything. What a command writes stays in the copy: files of the project change only by tools that change files. `refresh=false` keeps what earlier commands left, such as installed packages."},
		{"search_skills", "find written advice for a kind of work; `load_skill` reads one. Ordinary work needs none."},
		{"ask_review", "ask the person a question and wait for the answer."},
		{"finish", "end this phase. Call it alone, as the last thing."},
	}
	switch name {
	case "planning":
		return append(append(write, read...), rest...)
	case "execution":
		return append(append(append(update, read...), write[1:]...), rest...)
	default:
		return append(read, rest...)
	}
}

// Nudge is told to a model that ended planning without a plan that can be
// approved. why says what is wrong with the plan, or is NoPlan.
func Nudge(why string) string {
	return fill("nudge.md", map[string]any{"Why": strings.TrimRight(visible(why), "."), "Started": why != NoPlan})
}

// NoPlan is the reason given to Nudge when no spec was made at all.
const NoPlan = "no plan was written"

// Revise gives a model the person's comments on its plan.
func Revise(text string) string { return fill("revise.md", map[string]any{"Text": visible(text)}) }

// Execute opens the execution of an approved spec; list is its tasks, a line each.
func Execute(spec, list string) string {
	return fill("execute.md", map[string]any{"Spec": spec, "List": visible(strings.TrimSpace(list))})
}

// Unmet sends a model back to the tasks that are open, a line each.
func Unmet(list string) string {
	return fill("unmet.md", map[string]any{"List": visible(strings.TrimSpace(list))})
}

// Repeated is the result of a call that was made too often in a row.
func Repeated(tool string, times int) string {
	return fill("repeated.md", map[string]any{"Tool": tool, "Times": times})
}

// Resumed tells a model that its session was interrupted.
func Resumed() string { return fill("resumed.md", nil) }

// fill reads a text and puts the data in. The texts are part of the program: one
// that cannot be read is a mistake that every test shows.
func fill(name string, data any) string {
	raw, err := texts.ReadFile("texts/" + name)
	if err != nil {
		panic(fmt.Sprintf("prompt: %v", err))
	}
	t, err := template.New(name).Parse(string(raw))
	if err != nil {
		panic(fmt.Sprintf("prompt: %v", err))
	}
	var b strings.Builder
	if err := t.Execute(&b, data); err != nil {
		panic(fmt.Sprintf("prompt: %v", err))
	}
	return strings.TrimSpace(b.String())
}

func visible(s string) string {
	s, _ = inert.Visible(s)
	return s
}

// inside makes text fit between the tags of a name: it cannot close them.
func inside(tag, s string) string {
	s = visible(strings.TrimSpace(s))
	for _, t := range []string{"</" + tag, "<" + tag} {
		s = replaceFold(s, t, t[:1]+"\\"+t[1:])
	}
	return s
}

// replaceFold replaces old, in any case, by repl.
func replaceFold(s, old, repl string) string {
	var b strings.Builder
	for len(s) >= len(old) {
		if strings.EqualFold(s[:len(old)], old) {
			b.WriteString(repl)
			s = s[len(old):]
			continue
		}
		b.WriteByte(s[0])
		s = s[1:]
	}
	return b.String() + s
}
