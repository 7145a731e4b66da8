// Package tools is what a model can do: the contract of a tool, and the Set that
// one mode exposes. Set.Call is the only place where a call is dispatched, so
// gate, questions, pre-images and events cannot be forgotten by a tool.
package tools

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/coderrr/coderrr/internal/diff"
	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/policy"
)

// Spec describes a tool to a model. Schema is a JSON Schema with an object root
// in which every property has a description.
type Spec struct {
	Name        string
	Description string
	Schema      json.RawMessage
}

// Result is the outcome of a call, with two faces: Content is what the model
// reads, Display the one line that people read.
type Result struct {
	Content string
	Display string
	IsError bool
	// Images go to a model that is known to take them; Content names each.
	Images []llm.Image
	// End asks the loop to stop after this turn (finish).
	End bool
}

// Fail is a result that tells the model what went wrong and what to do next.
func Fail(content string) Result {
	return Result{Content: content, Display: firstLine(content), IsError: true}
}

// Call is what a running tool is told about itself, from its context.
type Call struct {
	ID     string
	Output func(stream, text string) // live output; never nil
}

type callKey struct{}

// WithCall returns a context that carries c.
func WithCall(ctx context.Context, c Call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// CallOf returns the call a context belongs to; outside a call its Output drops
// what it is given.
func CallOf(ctx context.Context) Call {
	if c, ok := ctx.Value(callKey{}).(Call); ok {
		return c
	}
	return Call{Output: func(string, string) {}}
}

// Tool is one thing a model can do. Run has no error: every failure is a Result
// that the model reads (invariant 4). Tools cannot reach the gate or the asker.
type Tool interface {
	Spec() Spec
	Class() policy.Class
	Run(ctx context.Context, input json.RawMessage) Result
}

// Change is a write that is proposed and not yet made. Before and After are whole
// contents; a nil Before means that the file does not exist, a nil After that it
// will not. BeforeHash and AfterHash are hex SHA-256 ("" for nil).
type Change struct {
	Path  string // slash-separated, relative to the workspace
	From  string // for a move: where the file was
	Op    Op
	Files []Removed // of a directory that is deleted or moved: what goes with it
	// Folder is true when Path (or From) is a directory: Before and After are nil
	// then, and the hashes stand for all that is in it.
	Folder bool

	Before, After         []byte
	BeforeHash, AfterHash string
	Mode                  uint32 // permission bits of the result
	Hunks                 []diff.Hunk
	Flags                 []policy.Flag
	Intent                string
	// Summary is the one line for people, such as "Edit a.go (+3 -1)".
	Summary string
	// Note is told to the model with the result, such as that line endings were
	// kept.
	Note string
}

// Removed is one file of a directory that is deleted or moved. For a link Data is
// its text and Link is true.
type Removed struct {
	Path string
	Hash string
	Data []byte
	Mode uint32
	Link bool
}

// Op is what a change does to a path.
type Op string

// The operations (CONTRACT: file.changed).
const (
	OpCreate Op = "create"
	OpEdit   Op = "edit"
	OpMove   Op = "move"
	OpDelete Op = "delete"
)

// Proposer is a WRITE tool. It never writes: Propose computes what would change,
// from the file as it is now, and Set commits what was decided. Its error is for
// the model (see Failure).
type Proposer interface {
	Tool
	Propose(ctx context.Context, input json.RawMessage) (Change, error)
}

// Flagger is a READ tool that can say beforehand what a call touches, so that the
// gate can ask (a file that holds credentials).
type Flagger interface {
	Tool
	Flags(ctx context.Context, input json.RawMessage) (flags []policy.Flag, about string)
}

// Approver is an EXTERNAL tool: it shows what an approval would cover and keeps
// the answer. Hash identifies name, description and schema at this server.
type Approver interface {
	Tool
	Approved() bool
	Hash() string
	// Card is what the person is shown, as plain text.
	Card() string
	// Remember stores "always" or "deny" for exactly what Hash names.
	Remember(ctx context.Context, always bool) error
}

// Source yields the tools of one kind. It is read at each turn: an MCP server's
// list can change. The order is stable.
type Source interface {
	Tools() []Tool
}

// Fixed is a Source that never changes.
type Fixed []Tool

// Tools returns the list itself.
func (f Fixed) Tools() []Tool { return f }

// Failure is an error whose text is written for the model: it says what to do
// next and is passed on whole.
type Failure struct{ Text string }

// Error returns the text.
func (f *Failure) Error() string { return f.Text }

// Explain makes a Failure.
func Explain(text string) error { return &Failure{Text: text} }

// AsResult turns an error into a failed result, a Failure word for word.
func AsResult(what string, err error) Result {
	var f *Failure
	if errors.As(err, &f) {
		return Fail(f.Text)
	}
	return Fail(what + ": " + err.Error())
}

func firstLine(s string) string {
	for i := range len(s) {
		if s[i] == '\n' {
			return s[:i]
		}
	}
	return s
}
