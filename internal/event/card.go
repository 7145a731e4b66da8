package event

import "github.com/coderrr/coderrr/internal/diff"

// WriteCard is the detail of a write question: everything that is decided about.
// Before and After are hex SHA-256 of the file it was computed from and of the
// result ("" for none).
type WriteCard struct {
	Path    string      `json:"path"`
	From    string      `json:"from,omitempty"`
	Op      string      `json:"op"`
	Before  string      `json:"before"`
	After   string      `json:"after"`
	Added   int         `json:"added"`
	Removed int         `json:"removed"`
	Hunks   []diff.Hunk `json:"hunks,omitempty"`
	Files   []string    `json:"files,omitempty"` // what a recursive delete takes away
	Flags   []string    `json:"flags,omitempty"`
	Mode    string      `json:"mode,omitempty"` // octal, when not 0644
	Binary  bool        `json:"binary,omitempty"`
	Intent  string      `json:"intent,omitempty"`
	Reason  string      `json:"reason"`
	Task    string      `json:"task,omitempty"`
	Verdict string      `json:"verdict,omitempty"`
	Why     string      `json:"why,omitempty"`
}

// ReadCard is the detail of a read question.
type ReadCard struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// ToolCard is the detail of an mcp_tool question: Card describes the tool as the
// server shows it, Arguments is the whole call.
type ToolCard struct {
	Card      string `json:"card"`
	Arguments any    `json:"arguments"`
}

// PlanCard is the detail of a plan question.
type PlanCard struct {
	Spec  string     `json:"spec"`
	Title string     `json:"title"`
	Tasks []PlanTask `json:"tasks"`
	// Diff is the unified diff against the version last shown ("" for the first).
	Diff string `json:"diff,omitempty"`
}
