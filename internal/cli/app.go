package cli

import (
	"context"
	"time"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/config"
	"github.com/coderrr/coderrr/internal/doctor"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/tools"
)

// Env is what a command knows before anything heavy is built.
type Env struct {
	Getenv  func(string) string
	Home    string        // CODERRR_HOME, absolute
	Config  config.Config // loaded, environment and flags applied
	Dir     string        // the workspace as given, absolute
	Version string
	// Notice tells the person something beside the answer (stderr).
	Notice func(text string)
}

// Build makes the graph of a run. It is called at most once, and only by
// commands that need it: version, help, completion and config do not.
type Build func(ctx context.Context, env Env) (App, error)

// App is what the commands drive; wire.go implements it over the packages below.
// Errors that have an exit code of their own are a *Failure or wrap an
// *llm.Error (9) or sandbox.ErrUnavailable (8).
type App interface {
	// NewSession prepares a session; nothing is sent before Run.
	NewSession(ctx context.Context, o SessionOptions) (Session, error)
	// Serve runs the browser UI until the context ends.
	Serve(ctx context.Context, o ServeOptions) error
	// Workspace opens what is stored of the workspace: specs, sessions, undo.
	Workspace(ctx context.Context) (Workspace, error)
	// Parts gives single parts to the commands that show or try them.
	Parts
}

// Parts are the pieces that models, doctor, sandbox, skills and schema use.
type Parts interface {
	// Provider makes the configured adapter. It calls nobody. An adapter that can
	// list its models also implements llm.Lister.
	Provider(ctx context.Context) (llm.Provider, error)
	// About says what a session would use; whether it answers is another question.
	About(ctx context.Context) (doctor.About, error)
	// Sandbox prepares the sandbox in force for the workspace; the caller closes it.
	Sandbox(ctx context.Context) (sandbox.Sandbox, error)
	// Skills is the registry and the local skills.
	Skills(ctx context.Context) (Skills, error)
	// Guidance lists what the project's and the person's files tell agents, from the
	// general to the near, and warns of files that were not used.
	Guidance(ctx context.Context) (files []GuidanceFile, warnings []string, err error)
	// Files lists what a path that begins with prefix can go on to, folders with a
	// slash at their end; for a name alone, also files of that name further down.
	// What is ignored is left out. It gives up early in a big tree.
	Files(ctx context.Context, prefix string) ([]string, error)
	// ToolSpecs lists the built-in tools with their schemas, per mode name.
	ToolSpecs(ctx context.Context) (map[string][]tools.Spec, error)
}

// SessionOptions say what a session is to do.
type SessionOptions struct {
	Request string
	// ID of the new session; "" makes one.
	ID string
	// Ask makes a read-only session (coderrr ask): no spec, nothing written.
	Ask bool
	// Resume is the id of the session to go on with; Continue takes the newest.
	Resume   string
	Continue bool
	// Continues is the session whose conversation a new one goes on with: what was
	// said is known to the model, the plan and its approval are new.
	Continues string
	// Spec names a stored spec to execute (1, 001, slug or folder), Approve the
	// plan hash that may be executed. A hash that is not the plan's is a *Failure
	// with ExitApproval naming both, before any model is called. With a Spec or an
	// Approve there is no Request.
	Spec    string
	Approve string
	// Yes answers the first plan question as by=flag, and nothing else.
	Yes bool
	// PlanOnly ends the session at the plan: nobody is asked, the exit code is 4.
	PlanOnly bool
	// MaxTurns and MaxCost (US dollars) bound the session; zero is the config's.
	MaxTurns int
	MaxCost  float64
	// Record and Replay are cassette files; Demo plays the embedded one.
	Record, Replay string
	Demo           bool
	// AllowTools are SERVER/TOOL names allowed for this session.
	AllowTools []string
	// Share lets a browser that Serve shows the session to answer its questions too.
	Share bool
	// Asker is the person at the terminal, or ask.Policy when there is none; what
	// it answers with ask.ErrNobody is a no.
	Asker ask.Asker
}

// Session is one session. Run ends with the log's session.finished; an error is
// for what could not even be logged. The context's end stops it: cancelled is
// 130, a deadline (--timeout) is 124.
type Session interface {
	ID() string
	Log() *event.Log
	Run(ctx context.Context) (event.SessionFinished, error)
	// Control is what a person may do while it runs.
	Control
}

// Control steers a running session.
type Control interface {
	// Say queues text for the next turn.
	Say(text string) error
	// Stop ends the session as cancelled.
	Stop()
	// SetConfirmWrites turns the question before each write on or off.
	SetConfirmWrites(on bool)
}

// ServeOptions say how the browser UI runs.
type ServeOptions struct {
	Addr string // loopback host:port; anything else is a usage Failure
	Demo bool
	// Replay and Record are cassette files.
	Record, Replay string
	// Shared serves the sessions that are made with Share too: they run elsewhere
	// in this process, and either side may answer what they ask.
	Shared bool
	// Ready is called once with the whole URL, token included.
	Ready func(url string)
}

// Workspace is what is stored of one workspace.
type Workspace interface {
	Specs() Specs
	Sessions() Sessions
	// Undo reverses changes of a session.
	Undo(ctx context.Context, o UndoOptions) (UndoReport, error)
	Close() error
}

// Specs is the spec store. Errors for an unknown ref wrap ErrNoSpec.
type Specs interface {
	List(ctx context.Context) ([]SpecInfo, error)
	Load(ctx context.Context, ref string) (SpecInfo, error)
	// Approve records that the plan with this hash may be executed.
	Approve(ctx context.Context, ref, hash string) error
}

// SpecInfo is one stored spec. Problem is set, and the rest may be partial, when
// its tasks.md cannot be parsed: it names file, line and reason.
type SpecInfo struct {
	ID        string            `json:"id"` // folder name, NNN-slug
	Title     string            `json:"title"`
	Size      string            `json:"size"`
	Hash      string            `json:"hash"`
	Approved  bool              `json:"approved"` // a record holds for exactly Hash
	By        string            `json:"approved_by,omitempty"`
	When      time.Time         `json:"approved_at,omitzero"`
	Tasks     []SpecTask        `json:"tasks"`
	Problem   string            `json:"problem,omitempty"`
	Documents map[string]string `json:"documents,omitempty"` // only from Load
}

// SpecTask is one task of a spec.
type SpecTask struct {
	ID       string   `json:"id"`
	Title    string   `json:"title"`
	Status   string   `json:"status"`
	Files    []string `json:"files,omitempty"`
	Evidence string   `json:"evidence,omitempty"`
}

// Sessions is the store of session logs. Errors for an unknown id wrap
// ErrNoSession.
type Sessions interface {
	// List is newest first.
	List(ctx context.Context) ([]SessionInfo, error)
	Events(ctx context.Context, id string) ([]event.Event, error)
	Remove(ctx context.Context, id string) error
}

// SessionInfo is one stored session. Known is false for a log that this user's
// Coderrr did not write: it is read-only.
type SessionInfo struct {
	ID       string    `json:"id"`
	Title    string    `json:"title,omitempty"` // one a person gave it
	Request  string    `json:"request"`
	Started  time.Time `json:"started"`
	Status   string    `json:"status"` // of session.finished; "" when it did not end
	Provider string    `json:"provider"`
	Model    string    `json:"model"`
	Known    bool      `json:"known"`
	Running  bool      `json:"running"`
}

// UndoOptions say what to undo: all of a session, one path, one task's changes
// or only the last change.
type UndoOptions struct {
	Session string // "" is the newest known session with changes
	Path    string
	Task    string
	Last    bool
	DryRun  bool // only report
	Force   bool // also where a file changed since
}

// UndoReport lists what was, or would be, reversed.
type UndoReport struct {
	Session string     `json:"session"`
	Steps   []UndoStep `json:"steps"`
	Done    bool       `json:"done"`
}

// UndoStep is one file. Blocked says why it stays as it is ("" if it does not).
type UndoStep struct {
	Path    string `json:"path"`
	Action  string `json:"action"` // restore, delete, move back
	Blocked string `json:"blocked,omitempty"`
}

// Skills finds skills.
type Skills interface {
	Search(ctx context.Context, query string) ([]SkillInfo, error)
	// Show returns a skill's whole text. An unknown name wraps ErrNoSkill.
	Show(ctx context.Context, name string) (string, error)
}

// SkillInfo is one skill.
type SkillInfo struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Source      string `json:"source"` // registry, or the folder it lies in
}

// GuidanceFile is one file that tells agents about the project, such as AGENTS.md.
// Note says what was done to it: its size, whether it was cut.
type GuidanceFile struct {
	Path string `json:"path"`
	Note string `json:"note"`
}
