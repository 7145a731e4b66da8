// Package view is what any front end shows of a session: one value, folded from
// the log by Apply and from nothing else. It holds no markup, asks nothing and
// reads no clock, so that a refresh, a second window and a resumed session see
// the same.
package view

import (
	"time"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/diff"
	"github.com/coderrr/coderrr/internal/event"
)

// State is everything a front end shows. The zero State is a session before its
// first event. It is not safe for concurrent use; readers of its parts must not
// change them.
type State struct {
	Header    Header
	Items     []*Item
	Plan      *Plan
	Tasks     []*Task
	Files     []*File
	Questions []*Question // open ones, oldest first
	Context   []Context
	Queue     []string // messages that wait for the next turn
	Retry     *Retry
	Outcome   *event.SessionFinished
	// Confirm is whether each write is shown before it is made; nil while the log
	// does not say, then it is as configured.
	Confirm *bool

	seq     int64
	next    int // number of the next item
	open    map[string]*Item
	asked   map[string]*Question
	text    *Item // the text block that streams
	thought *Item // the reasoning that streams
	drafts  map[string]draft
	pending bool // the request was shown and its user.message has not come yet
}

// Header is the line on top.
type Header struct {
	Session   string
	Workspace string
	Request   string
	Provider  string
	Model     string
	Sandbox   event.Sandbox
	Phase     event.Phase
	Turn      int
	Started   time.Time
	Ended     time.Time
	Usage     event.Usage
	Estimated bool
	// Context and Window are tokens of the last request and of the model, 0 when
	// unknown.
	Context, Window int64
}

// Kind sorts the items of a conversation.
type Kind string

// The kinds of item.
const (
	User     Kind = "user"
	Text     Kind = "text"
	Thinking Kind = "thinking"
	Call     Kind = "call"
	Asked    Kind = "asked" // a question that was closed
	Divider  Kind = "divider"
	Note     Kind = "note" // a notice; Level says how bad
	Ending   Kind = "ending"
)

// Item is one entry of the conversation. ID is unique in a State, stable, and
// made of letters and digits.
type Item struct {
	ID    string
	Kind  Kind
	Time  time.Time
	Done  bool
	Level string // notes: info, warning, error
	Title string // dividers and endings
	Body  string // text of users, text, thinking and notes; grows while not Done
	Tool  *Tool
	Ask   *Question
	// Run is the id of the first of the reading calls that this one follows without
	// anything between, its own when it is the first; "" for all else.
	Run string
}

// Tool is one call.
type Tool struct {
	CallID  string
	Name    string
	Class   string
	Arg     string // the one line that matters of its input
	Input   string // the whole input as indented JSON, capped
	Display string
	Content string // what the model read, capped
	Output  Output
	OK      bool
	Done    bool
	Started time.Time
	Took    time.Duration
	Task    string // the task that was in progress
}

// Plan is the plan as last shown, or as it is being written.
type Plan struct {
	Spec      string
	Title     string
	Size      string
	Hash      string // "" while it is written
	Documents map[string]string
	Revision  int // how often it was presented
	Diff      []FileDiff
	Approved  bool
	By        ask.By
	Writing   string // the document that is being written, "" for none
}

// Document returns the text of a document, "" for none.
func (p *Plan) Document(name string) string {
	if p == nil {
		return ""
	}
	return p.Documents[name]
}

// Task is one task of the plan.
type Task struct {
	ID       string
	Title    string
	Files    []string
	Status   string
	Evidence *event.Evidence
	Started  time.Time // when it went in progress
	Took     time.Duration
}

// File is everything that happened to one path since the session began.
type File struct {
	Path    string
	From    string // where it was when the session began, if elsewhere
	Op      string // create, edit, move, delete: the sum of Edits
	Before  string // hash when the session began
	After   string // hash now
	Added   int
	Removed int
	Hunks   []diff.Hunk // the sum of the edits; nil when Partial
	Partial bool        // a diff was cut or does not compose: Edits hold the pieces
	Edits   []Edit
	Flags   []string
	Mode    string
	Undone  bool // as it was when the session began
}

// Edit is one file.changed.
type Edit struct {
	Op        string
	Task      string
	Call      string
	Hunks     []diff.Hunk
	Added     int
	Removed   int
	Truncated bool
	Verdict   string
	Why       string
}

// Question is something that waits for a person, or did. Exactly one of the
// cards is set, by Kind; none for a plain question or a detail that is not
// understood (then Raw holds it).
type Question struct {
	event.AskOpened
	Opened time.Time
	Write  *event.WriteCard
	Read   *event.ReadCard
	Tool   *event.ToolCard
	Plan   *event.PlanCard
	Raw    string
	Answer *event.AskClosed
}

// Context is something the model was given.
type Context struct{ What, Name, Detail string }

// Retry is a model call that is tried again.
type Retry struct {
	At      time.Time // when
	Attempt int
	Reason  string
}

// Part names a part of the State that an event changed.
type Part uint16

// The parts.
const (
	PartHeader Part = 1 << iota
	PartPlan
	PartTasks
	PartFiles
	PartQuestions
	PartContext
	PartQueue
	PartRetry
	PartOutcome
)

// Touched says what Apply changed: parts, items (by id, new ones too) and files
// (by path).
type Touched struct {
	Parts Part
	Items []string
	Files []string
	// Stream is true when the event only added to something that streams.
	Stream bool
}

// Item returns the item with this id, or nil.
func (s *State) Item(id string) *Item {
	for i := len(s.Items) - 1; i >= 0; i-- {
		if s.Items[i].ID == id {
			return s.Items[i]
		}
	}
	return nil
}

// Run returns the items of a run of reading calls.
func (s *State) Run(id string) []*Item {
	var out []*Item
	for _, it := range s.Items {
		if it.Run == id && id != "" {
			out = append(out, it)
		}
	}
	return out
}

// File returns what happened to path, or nil.
func (s *State) File(path string) *File {
	for _, f := range s.Files {
		if f.Path == path {
			return f
		}
	}
	return nil
}

// Task returns the task with this id, or nil.
func (s *State) Task(id string) *Task {
	for _, t := range s.Tasks {
		if t.ID == id {
			return t
		}
	}
	return nil
}

// Current is the task in progress, or nil.
func (s *State) Current() *Task {
	for _, t := range s.Tasks {
		if t.Status == InProgress {
			return t
		}
	}
	return nil
}

// TasksDone counts tasks that are done, and those with evidence.
func (s *State) TasksDone() (done, verified int) {
	for _, t := range s.Tasks {
		if t.Status == Done {
			done++
			if t.Evidence != nil {
				verified++
			}
		}
	}
	return done, verified
}

// Seq is the number of the last event that was applied.
func (s *State) Seq() int64 { return s.seq }
