package server

import (
	"context"
	"errors"
	"time"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/diff"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/sandbox"
)

// Errors a Backend or a Live may wrap; the page explains them.
var (
	// ErrReadOnly: the session is stored, or another process runs it.
	ErrReadOnly = errors.New("this session is read-only here")
	// ErrStale: what was to be changed has changed since it was shown.
	ErrStale = errors.New("it has changed since it was shown")
	// ErrDelivered: the message is with the model already.
	ErrDelivered = errors.New("the message was delivered already")
	// ErrNoSession: there is no session with this id.
	ErrNoSession = errors.New("no such session")
)

// Backend is what the browser UI is a face of. All methods are safe for
// concurrent use.
type Backend interface {
	// Info describes the workspace and the defaults a new session starts with.
	Info() Info
	// Sessions lists stored and running sessions, newest first.
	Sessions(ctx context.Context) ([]SessionInfo, error)
	// Start runs a new session. It goes on when ctx has ended; Live.Stop and the
	// backend's own life end it.
	Start(ctx context.Context, request string, o StartOptions) (Live, error)
	// Open returns the running session with this id, or a stored one, whose Log is
	// closed and whose other methods return ErrReadOnly. Opening the same id twice
	// must give the same log while it runs.
	Open(ctx context.Context, id string) (Live, error)
	// Resume goes on with a session that was stopped or broke off; what was open of
	// it before is over.
	Resume(ctx context.Context, id string, o StartOptions) (Live, error)
	// Rename gives a session of ours another title; "" is its request again.
	Rename(ctx context.Context, id, title string) error
	// Remove deletes the log of a session that does not run.
	Remove(ctx context.Context, id string) error
	// Files lists a dozen paths of the workspace that fit a few letters, the best
	// first.
	Files(ctx context.Context, query string) ([]string, error)
	// Picture keeps a picture for a message and returns the path that names it there.
	Picture(ctx context.Context, data []byte) (string, error)
	// Models lists what the configured provider serves.
	Models(ctx context.Context) ([]ModelChoice, error)
}

// ModelChoice is a model that a session could go on with. Context and Price are in
// words; "unknown" where nobody says.
type ModelChoice struct {
	Name string `json:"name"`
	// Ref names it for SetModel whatever its name looks like.
	Ref     string `json:"ref"`
	Context string `json:"context"`
	Price   string `json:"price"`
}

// Info is what the page says about where it works.
type Info struct {
	Workspace string // absolute path
	Project   string // its last element
	Branch    string // "" when unknown
	Provider  string // "" when none is configured: the page shows the first-run help
	Model     string
	// Problem says why no session can start (no key, a setting that is wrong), and
	// what to do; "" when all is well.
	Problem string
	Sandbox sandbox.Info
	Demo    bool
	// DemoLabel is shown beside the model's name all the time ("" uses
	// "demo model: replays a recorded session").
	DemoLabel string
	// Suggestion is a request offered on an empty page ("" for none).
	Suggestion string
	// ConfirmWrites is the configured agent.confirm_writes.
	ConfirmWrites bool
	Version       string
}

// StartOptions are the choices made on the page for one session.
type StartOptions struct {
	// ConfirmWrites asks before each write.
	ConfirmWrites bool
}

// SessionInfo is one line of the list of sessions.
type SessionInfo struct {
	ID      string    `json:"id"`
	Title   string    `json:"title"`
	Started time.Time `json:"started"`
	Running bool      `json:"running"`
	// Elsewhere is true when another process runs it.
	Elsewhere bool `json:"elsewhere,omitempty"`
	// Foreign is true when its log came with the folder: it can only be read.
	Foreign bool `json:"foreign,omitempty"`
	// Status is the status of session.finished, "" while there is none.
	Status string `json:"status,omitempty"`
}

// Follower is a Live whose log another process writes. Follow takes over what that
// adds until ctx ends.
type Follower interface{ Follow(ctx context.Context) }

// Live is one session as the page sees it. All methods are safe for concurrent
// use.
type Live interface {
	ID() string
	Log() *event.Log
	// Running is false once session.finished is in the log, and for stored ones.
	Running() bool
	// Answer settles an open question, as ask.Inbox.Answer does: ask.ErrNotOpen,
	// ask.ErrStale, ask.ErrChoice.
	Answer(id string, a ask.Answer) error
	// Say queues text for the next turn; while a plan waits it is a comment on it.
	Say(text string) error
	// Unsay takes a queued message back; ErrDelivered when it is too late.
	Unsay(text string) error
	// Compact shortens the conversation before the next turn.
	Compact() error
	// SetModel lets another model ([provider/]model) answer from the next turn on.
	SetModel(ctx context.Context, ref string) error
	// Stop cancels the session; it returns at once.
	Stop()
	// EditSpec replaces one document (requirements, design, tasks) of the plan that
	// waits for approval. base is the hex SHA-256 of the bytes that were edited;
	// ErrStale when the file holds others.
	EditSpec(ctx context.Context, document, content, base string) error
	// SetConfirmWrites turns the review of each write on or off.
	SetConfirmWrites(on bool)
	// Undo takes back what the session changed at path ("": everywhere) for the
	// task ("": for any).
	Undo(ctx context.Context, path, task string) error
	// UndoHunk takes back one group of lines of a file that holds after (a hash), and
	// refuses when it holds something else by now.
	UndoHunk(ctx context.Context, path, after string, lines diff.Hunk) error
	// Content is what a file that the session changed held when its hash was hash.
	Content(ctx context.Context, path, hash string) ([]byte, error)
}
