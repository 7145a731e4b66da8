package approval

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/coderrr/coderrr/internal/lock"
)

// ToolAnswer is a person's lasting word on one MCP tool: it covers exactly what
// Hash names (description and schema as they were shown) and nothing else.
type ToolAnswer struct {
	Hash   string    `json:"hash"`
	Always bool      `json:"always"` // false: always deny
	Time   time.Time `json:"time"`
	// Shown is the beginning of what was shown, so that a change can be shown too.
	Shown string `json:"shown,omitempty"`
}

// ToolAnswers is CODERRR_HOME/approvals/mcp.json. Safe for concurrent use, also by
// several processes: each change reads the file again under a lock.
type ToolAnswers struct{ path string }

// OpenToolAnswers returns the answers kept under home (CODERRR_HOME).
func OpenToolAnswers(home string) *ToolAnswers {
	return &ToolAnswers{path: filepath.Join(home, "approvals", "mcp.json")}
}

// toolFile is the file: server, then tool.
type toolFile struct {
	Servers map[string]map[string]ToolAnswer `json:"servers"`
}

// Answer returns what was stored for a server's tool. A damaged file holds no
// answers.
func (a *ToolAnswers) Answer(server, tool string) (ToolAnswer, bool, error) {
	var f toolFile
	ok, err := load(a.path, &f)
	if err != nil {
		return ToolAnswer{}, false, fmt.Errorf("read the answers for MCP tools: %w", err)
	}
	if !ok {
		return ToolAnswer{}, false, nil
	}
	got, ok := f.Servers[server][tool]
	return got, ok && got.Hash != "", nil
}

// Set stores an answer. It is on disk when Set returns.
func (a *ToolAnswers) Set(ctx context.Context, server, tool string, answer ToolAnswer) error {
	return a.change(ctx, func(f *toolFile) {
		if f.Servers[server] == nil {
			f.Servers[server] = map[string]ToolAnswer{}
		}
		if answer.Time.IsZero() {
			answer.Time = time.Now().UTC()
		}
		f.Servers[server][tool] = answer
	})
}

// Reset drops the answers of a server, or of one of its tools.
func (a *ToolAnswers) Reset(ctx context.Context, server, tool string) error {
	return a.change(ctx, func(f *toolFile) {
		if tool == "" {
			delete(f.Servers, server)
			return
		}
		delete(f.Servers[server], tool)
	})
}

func (a *ToolAnswers) change(ctx context.Context, edit func(*toolFile)) error {
	held, err := lock.File(ctx, a.path+".lock")
	if err != nil {
		return fmt.Errorf("store an answer for an MCP tool: %w", err)
	}
	defer func() { _ = held.Close() }()
	var f toolFile
	ok, err := load(a.path, &f)
	if err != nil {
		return fmt.Errorf("store an answer for an MCP tool: %w", err)
	}
	if !ok || f.Servers == nil {
		f = toolFile{Servers: map[string]map[string]ToolAnswer{}}
	}
	edit(&f)
	if err := save(a.path, f); err != nil {
		return fmt.Errorf("store an answer for an MCP tool: %w", err)
	}
	return nil
}
