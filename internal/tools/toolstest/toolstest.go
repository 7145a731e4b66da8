// Package toolstest has tools and files that do what a test says, in memory.
package toolstest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/coderrr/coderrr/internal/diff"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/policy"
	"github.com/coderrr/coderrr/internal/tools"
)

// Tool is a tool of any class. The zero Do succeeds.
type Tool struct {
	Name string
	Kind policy.Class
	Do   func(ctx context.Context, input json.RawMessage) tools.Result
}

// Spec implements tools.Tool.
func (t *Tool) Spec() tools.Spec {
	return tools.Spec{Name: t.Name, Description: "a fake", Schema: json.RawMessage(`{"type":"object"}`)}
}

// Class implements tools.Tool.
func (t *Tool) Class() policy.Class { return t.Kind }

// Run implements tools.Tool.
func (t *Tool) Run(ctx context.Context, input json.RawMessage) tools.Result {
	if t.Do == nil {
		return tools.Result{Content: "done"}
	}
	return t.Do(ctx, input)
}

// Flagged is a READ tool whose calls carry flags.
type Flagged struct {
	Tool
	With  []policy.Flag
	About string
}

// Flags implements tools.Flagger.
func (f *Flagged) Flags(context.Context, json.RawMessage) ([]policy.Flag, string) {
	return f.With, f.About
}

// External is an MCP tool as the Set sees one.
type External struct {
	Tool
	Allowed    bool
	Digest     string
	Remembered []bool
	Err        error // of Remember
}

// Approved implements tools.Approver.
func (e *External) Approved() bool { return e.Allowed }

// Hash implements tools.Approver.
func (e *External) Hash() string { return e.Digest }

// Card implements tools.Approver.
func (e *External) Card() string { return "what " + e.Name + " says of itself" }

// Remember implements tools.Approver.
func (e *External) Remember(_ context.Context, always bool) error {
	e.Remembered = append(e.Remembered, always)
	if e.Err == nil {
		e.Allowed = always
	}
	return e.Err
}

// Files are files in memory that implement tools.Files. Safe for concurrent use.
type Files struct {
	mu    sync.Mutex
	files map[string][]byte
	// Before is called at the start of each Commit; an error ends it there.
	Before func(tools.Change) error
	// Logged is called between the event and the replacement.
	Logged func(tools.Change)
}

// NewFiles returns files with the given contents.
func NewFiles(contents map[string]string) *Files {
	f := &Files{files: map[string][]byte{}}
	for path, text := range contents {
		f.files[path] = []byte(text)
	}
	return f
}

// Get returns a file's content and whether there is one.
func (f *Files) Get(path string) (string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	data, ok := f.files[path]
	return string(data), ok
}

// Set replaces a file as another program would.
func (f *Files) Set(path, content string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files[path] = []byte(content)
}

func (f *Files) bytes(path string) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.files[path]
}

// Current implements tools.Files.
func (f *Files) Current(_ context.Context, path string) (string, error) {
	return tools.HashOf(f.bytes(path)), nil
}

// Commit implements tools.Files.
func (f *Files) Commit(_ context.Context, c tools.Change, log func(event.FileChanged) error) error {
	if f.Before != nil {
		if err := f.Before(c); err != nil {
			return err
		}
	}
	if tools.HashOf(f.bytes(c.Path)) != c.BeforeHash {
		return fmt.Errorf("%s: %w", c.Path, tools.ErrMoved)
	}
	if err := log(c.Event()); err != nil {
		return err
	}
	if f.Logged != nil {
		f.Logged(c)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if c.After == nil {
		delete(f.files, c.Path)
		return nil
	}
	f.files[c.Path] = c.After
	return nil
}

// PutArgs are the arguments of Put.
type PutArgs struct {
	Path    string `json:"path" jsonschema_description:"file"`
	Content string `json:"content" jsonschema_description:"new content"`
}

// Put is a WRITE tool "put" that proposes a whole file, with the given flags.
func Put(f *Files, flags ...policy.Flag) tools.Proposer {
	return tools.DefineWrite("put", "replace a file", func(_ context.Context, in PutArgs) (tools.Change, error) {
		before, after := f.bytes(in.Path), []byte(in.Content)
		c := tools.Change{
			Path: in.Path, Op: tools.OpEdit, Before: before, After: after, Flags: flags,
			BeforeHash: tools.HashOf(before), AfterHash: tools.HashOf(after), Hunks: diff.Compute(before, after),
			Summary: "Edit " + in.Path,
		}
		if before == nil {
			c.Op, c.Summary = tools.OpCreate, "Create "+in.Path
		}
		return c, nil
	})
}
