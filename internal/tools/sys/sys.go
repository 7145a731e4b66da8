// Package sys holds the SYSTEM tools: the spec and its tasks, skills, the sandbox,
// a question to the person, and the end of a phase. They reach the session only
// through the small interfaces of Deps. Its one rule: what a tool returns is
// bounded, and says when it was cut.
package sys

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/inert"
	"github.com/coderrr/coderrr/internal/policy"
	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/skills"
	"github.com/coderrr/coderrr/internal/tools"
)

// Specs is the current spec of a session.
type Specs interface {
	// Create starts a spec, makes it the current one and returns its id.
	Create(ctx context.Context, title, goal, size string) (string, error)
	// Write replaces a document and returns the hex SHA-256 of what is on disk.
	Write(ctx context.Context, document, content string) (string, error)
	// Read returns a document, or with "all" every one.
	Read(ctx context.Context, document string) (string, error)
}

// Tasks are the tasks of an approved plan; before that Update says so.
type Tasks interface {
	// Update sets a task's status, and its notes unless they are "", and returns
	// what the model is told.
	Update(ctx context.Context, id, status, notes string) (string, error)
}

// Skills finds written advice.
type Skills interface {
	Search(ctx context.Context, query string, limit int) ([]skills.Info, error)
	Load(ctx context.Context, name string) (skills.Skill, error)
}

// Deps is what the tools act on. Specs, Tasks, Sandbox and Asker are required.
type Deps struct {
	Specs   Specs
	Tasks   Tasks
	Sandbox sandbox.Sandbox
	Asker   ask.Asker
	// Network remembers a person's word on the network for the session; nil is one
	// that lasts as long as these tools.
	Network *Network
	// Skills may be nil: then there is no registry.
	Skills Skills
	// Ran is told of each command that was run, for evidence. Tree is left to the
	// session.
	Ran func(ctx context.Context, run event.Evidence)
	// Loaded is told of each skill that the model was given.
	Loaded func(s skills.Skill)
	// Refused is told the name of a tool that found nobody to ask.
	Refused func(name string)
	// MaxRun bounds the timeout that a model may give; 0 does not.
	MaxRun time.Duration
}

// Tools returns the SYSTEM tools in a stable order. It panics when something
// required is missing, which is a mistake in wiring.
func Tools(d Deps) []tools.Tool {
	if d.Specs == nil || d.Tasks == nil || d.Sandbox == nil || d.Asker == nil {
		panic("sys: Specs, Tasks, Sandbox and Asker are required")
	}
	if d.Network == nil {
		d.Network = &Network{}
	}
	if d.Ran == nil {
		d.Ran = func(context.Context, event.Evidence) {}
	}
	if d.Loaded == nil {
		d.Loaded = func(skills.Skill) {}
	}
	if d.Refused == nil {
		d.Refused = func(string) {}
	}
	return []tools.Tool{
		d.createSpec(), d.writeSpec(), d.readSpec(), d.updateTask(),
		d.searchSkills(), d.loadSkill(), d.runInSandbox(), d.askReview(), d.finish(),
	}
}

type createSpecIn struct {
	Title string `json:"title" jsonschema_description:"What will be done, in a few words, such as: Reject empty names."`
	Goal  string `json:"goal,omitempty" jsonschema_description:"What the person wants, in one to three sentences."`
	Size  string `json:"size,omitempty" jsonschema:"enum=full,enum=quick,default=full" jsonschema_description:"quick: a small change, only the document tasks. full: requirements, design and tasks."`
}

func (d Deps) createSpec() tools.Tool {
	return tools.Define("create_spec", "Start the spec of this request: the plan that the person will approve. Call it once, then fill the documents with write_spec.", policy.System,
		func(ctx context.Context, in createSpecIn) (tools.Result, error) {
			id, err := d.Specs.Create(ctx, in.Title, in.Goal, in.Size)
			if err != nil {
				return tools.Result{}, err
			}
			next := "Write requirements, design and tasks with write_spec."
			if in.Size == "quick" {
				next = "Write the document tasks with write_spec."
			}
			return tools.Result{Content: "Spec " + id + " was made. " + next, Display: "Made spec " + id}, nil
		})
}

type writeSpecIn struct {
	Document string `json:"document" jsonschema:"enum=requirements,enum=design,enum=tasks" jsonschema_description:"Which document to write."`
	Content  string `json:"content" jsonschema_description:"The whole document in Markdown. In tasks, each task begins with a heading such as: ## T001: Title."`
}

func (d Deps) writeSpec() tools.Tool {
	return tools.Define("write_spec", "Write one document of the current spec, whole. The status and evidence of tasks are kept by the host: what the content says about them is ignored.", policy.System,
		func(ctx context.Context, in writeSpecIn) (tools.Result, error) {
			if strings.TrimSpace(in.Content) == "" {
				return tools.Result{}, tools.Explain("write_spec: the content is empty. Give the whole document.")
			}
			sum, err := d.Specs.Write(ctx, in.Document, in.Content)
			if err != nil {
				return tools.Result{}, err
			}
			name := strings.TrimSuffix(strings.ToLower(strings.TrimSpace(in.Document)), ".md") + ".md"
			return tools.Result{Content: fmt.Sprintf("%s is written (%d lines, sha256 %s).", name, strings.Count(in.Content, "\n")+1, short(sum)), Display: "Wrote " + name}, nil
		})
}

type readSpecIn struct {
	Document string `json:"document,omitempty" jsonschema:"enum=all,enum=requirements,enum=design,enum=tasks,default=all" jsonschema_description:"Which document to read; all reads every one."`
}

// maxSpec bounds what read_spec returns, in bytes.
const maxSpec = 96 << 10

func (d Deps) readSpec() tools.Tool {
	return tools.Define("read_spec", "Read the current spec as it is on disk now. People edit it too.", policy.System,
		func(ctx context.Context, in readSpecIn) (tools.Result, error) {
			if in.Document == "" {
				in.Document = "all"
			}
			text, err := d.Specs.Read(ctx, in.Document)
			if err != nil {
				return tools.Result{}, err
			}
			return tools.Result{Content: clean(text, maxSpec), Display: "Read the spec (" + in.Document + ")"}, nil
		})
}

type updateTaskIn struct {
	TaskID string `json:"task_id" jsonschema_description:"The id of the task, such as T001."`
	Status string `json:"status" jsonschema:"enum=pending,enum=in_progress,enum=done,enum=blocked" jsonschema_description:"in_progress before the work, done when it is proved, blocked when it cannot be done."`
	Notes  string `json:"notes,omitempty" jsonschema_description:"One line for the person: for blocked, what is missing. Empty keeps the notes."`
}

func (d Deps) updateTask() tools.Tool {
	return tools.Define("update_task", "Set the status of a task of the approved plan. One task is in_progress at a time. A task is proved by a command that succeeded in run_in_sandbox while it was in_progress, after its last change.", policy.System,
		func(ctx context.Context, in updateTaskIn) (tools.Result, error) {
			said, err := d.Tasks.Update(ctx, in.TaskID, in.Status, in.Notes)
			if err != nil {
				return tools.Result{}, err
			}
			return tools.Result{Content: said, Display: oneLine(in.TaskID + ": " + in.Status)}, nil
		})
}

type finishIn struct {
	Summary string `json:"summary" jsonschema_description:"What was done or planned, what was checked and what is open, in a few lines for the person."`
}

func (d Deps) finish() tools.Tool {
	return tools.Define("finish", "End this phase. Call it alone, when the plan is written, or when every task is done or blocked.", policy.System,
		func(_ context.Context, in finishIn) (tools.Result, error) {
			const most = 8 << 10
			return tools.Result{Content: clean(strings.TrimSpace(in.Summary), most), Display: "Finished", End: true}, nil
		})
}

// clean makes text from outside fit for a result: nothing hidden, and cut in the
// middle when it is longer than most bytes.
func clean(s string, most int) string {
	s, _ = inert.Visible(s)
	if len(s) <= most {
		return s
	}
	head, tail := most/3, most-most/3
	for head > 0 && s[head]&0xC0 == 0x80 {
		head--
	}
	from := len(s) - tail
	for from < len(s) && s[from]&0xC0 == 0x80 {
		from++
	}
	return fmt.Sprintf("%s\n[… %d bytes are left out here …]\n%s", s[:head], from-head, s[from:])
}

func short(hash string) string {
	const n = 12
	if len(hash) > n {
		return hash[:n] + "…"
	}
	return hash
}
