package event

import (
	"encoding/json"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/llm"
)

// Phase is where a session is.
type Phase string

// The phases of a session.
const (
	Planning Phase = "planning"
	Awaiting Phase = "awaiting_approval"
	Execute  Phase = "execution"
	Finished Phase = "done"
)

// The payloads, one per event type of CONTRACT.md §Events.
type (
	// SessionStarted is the header of every log.
	SessionStarted struct {
		Version   int     `json:"version"`
		SessionID string  `json:"session_id"`
		Workspace string  `json:"workspace"`
		Provider  string  `json:"provider"`
		Model     string  `json:"model"`
		Sandbox   Sandbox `json:"sandbox"`
		Request   string  `json:"request"`
		// Continues is the session whose conversation this one goes on with.
		Continues string `json:"continues,omitempty"`
		// Resumed is true when the same session was opened again.
		Resumed bool `json:"resumed,omitempty"`
	}
	// Sandbox names the tier in force.
	Sandbox struct {
		Tier    string `json:"tier"`
		Network bool   `json:"network"`
		Summary string `json:"summary,omitempty"`
	}
	// PhaseChanged marks a new phase.
	PhaseChanged struct {
		Phase Phase `json:"phase"`
	}
	// TurnStarted and TurnFinished bracket one model call and its tools.
	TurnStarted struct {
		Turn int `json:"turn"`
	}
	// TurnFinished says why the model stopped.
	TurnFinished struct {
		Turn       int            `json:"turn"`
		StopReason llm.StopReason `json:"stop_reason"`
	}
	// UserMessage is text from the person.
	UserMessage struct {
		Text string `json:"text"`
	}
	// TextDelta is streamed text; TextDone holds the whole of it.
	TextDelta struct {
		Text string `json:"text"`
	}
	// ThinkingDelta is streamed reasoning; ThinkingDone holds the whole of it.
	ThinkingDelta struct {
		Text string `json:"text"`
	}
	// TextDone is one whole block of visible text.
	TextDone struct {
		Text string `json:"text"`
	}
	// ThinkingDone is one whole block of reasoning.
	ThinkingDone struct {
		Text string `json:"text"`
	}
	// MessageAdded is one whole message as resume sends it back.
	MessageAdded struct {
		Role     llm.Role   `json:"role"`
		Provider string     `json:"provider,omitempty"`
		Model    string     `json:"model,omitempty"`
		Blocks   llm.Blocks `json:"blocks"`
	}
	// ToolStarted says that a call began; a ToolFinished always follows.
	ToolStarted struct {
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Class string          `json:"class"`
		Input json.RawMessage `json:"input"`
	}
	// ToolOutput is live output of a running call.
	ToolOutput struct {
		ID     string `json:"id"`
		Stream string `json:"stream"`
		Text   string `json:"text"`
	}
	// ToolFinished is the end of a call: Display for people, Content for the model.
	ToolFinished struct {
		ID      string `json:"id"`
		Name    string `json:"name"`
		OK      bool   `json:"ok"`
		Display string `json:"display"`
		Content string `json:"content"`
	}
	// SpecWritten says that a document of a spec has new bytes.
	SpecWritten struct {
		Spec     string `json:"spec"`
		Document string `json:"document"`
		SHA256   string `json:"sha256"`
	}
	// PlanReady presents a plan for approval.
	PlanReady struct {
		Spec  string     `json:"spec"`
		Hash  string     `json:"hash"`
		Title string     `json:"title"`
		Size  string     `json:"size"`
		Tasks []PlanTask `json:"tasks"`
		// Documents holds the text shown, by document name.
		Documents map[string]string `json:"documents"`
		// Previous is the hash last shown in this session, "" for the first;
		// Diff is the unified diff against it.
		Previous string `json:"previous,omitempty"`
		Diff     string `json:"diff,omitempty"`
	}
	// PlanTask is one task of a plan.
	PlanTask struct {
		ID     string   `json:"id"`
		Title  string   `json:"title"`
		Files  []string `json:"files"`
		Status string   `json:"status,omitempty"`
	}
	// AskOpened puts a question before everyone who watches.
	AskOpened struct {
		ID      string          `json:"id"`
		Kind    ask.Kind        `json:"kind"`
		Prompt  string          `json:"prompt"`
		Choices []ask.Choice    `json:"choices"`
		Default string          `json:"default,omitempty"`
		Hash    string          `json:"hash,omitempty"`
		About   string          `json:"about,omitempty"`
		Detail  json.RawMessage `json:"detail,omitempty"`
	}
	// AskClosed says how a question ended and who decided.
	AskClosed struct {
		ID     string             `json:"id"`
		Choice string             `json:"choice"`
		Text   string             `json:"text,omitempty"`
		Hunks  []ask.HunkDecision `json:"hunks,omitempty"`
		By     ask.By             `json:"by"`
	}
	// FileChanged says that a file of the workspace is about to hold After; its
	// pre-image is stored. From is set for a move.
	FileChanged struct {
		Path          string `json:"path"`
		Op            string `json:"op"`
		From          string `json:"from,omitempty"`
		Before        string `json:"before"`
		After         string `json:"after"`
		Added         int    `json:"added"`
		Removed       int    `json:"removed"`
		Diff          string `json:"diff"`
		DiffTruncated bool   `json:"diff_truncated"`
		// Call is the tool call that made it, Task the task it was made for.
		Call string `json:"call,omitempty"`
		Task string `json:"task,omitempty"`
		// Mode is the file's permission bits, as octal text, when they are not 0644.
		Mode  string   `json:"mode,omitempty"`
		Flags []string `json:"flags,omitempty"`
		// Made are the folders that did not exist before, outermost first.
		Made []string `json:"made,omitempty"`
		// Failed is set when an event before it could not be carried out, and says
		// why: this one says what the file holds instead.
		Failed string `json:"failed,omitempty"`
	}
	// TaskUpdated is a task's new status and what proves it.
	TaskUpdated struct {
		ID       string    `json:"id"`
		Status   string    `json:"status"`
		Evidence *Evidence `json:"evidence"`
	}
	// Evidence is the stored sandbox run that proves a task.
	Evidence struct {
		Command   string `json:"command"`
		ExitCode  int    `json:"exit_code"`
		LogSHA256 string `json:"log_sha256"`
		Tree      string `json:"tree"`
		// Tier names the sandbox it ran in, DurationMS how long it took.
		Tier       string `json:"tier,omitempty"`
		DurationMS int64  `json:"duration_ms,omitempty"`
		// Call is the tool call that ran it.
		Call string `json:"call,omitempty"`
	}
	// VerifyFinished is the verifier's word on one proposed write.
	VerifyFinished struct {
		Path    string `json:"path"`
		Verdict string `json:"verdict"`
		Reason  string `json:"reason"`
	}
	// UsageAdded is what one call used and the session's total. A nil cost is
	// unknown, never zero.
	UsageAdded struct {
		Input      int64    `json:"input"`
		Output     int64    `json:"output"`
		CacheRead  int64    `json:"cache_read"`
		CacheWrite int64    `json:"cache_write"`
		CostUSD    *float64 `json:"cost_usd"`
		Total      Usage    `json:"total"`
		// Context is how many tokens the last request held and Window how many the
		// model takes; 0 is unknown.
		Context int64 `json:"context,omitempty"`
		Window  int64 `json:"window,omitempty"`
		// Estimated is true when the provider reported nothing.
		Estimated bool `json:"estimated,omitempty"`
		// Purpose is "verify" or "summary" for calls outside the conversation.
		Purpose string `json:"purpose,omitempty"`
	}
	// Usage is a sum of tokens and money.
	Usage struct {
		Input      int64    `json:"input"`
		Output     int64    `json:"output"`
		CacheRead  int64    `json:"cache_read"`
		CacheWrite int64    `json:"cache_write"`
		CostUSD    *float64 `json:"cost_usd"`
	}
	// RetryScheduled says that a model call failed and is tried again.
	RetryScheduled struct {
		InMS    int64  `json:"in_ms"`
		Attempt int    `json:"attempt"`
		Reason  string `json:"reason"`
	}
	// ContextChanged says what the model was given, or lost: guidance, skill, mcp,
	// model, compaction, queue, undo.
	ContextChanged struct {
		What   string `json:"what"`
		Name   string `json:"name"`
		Detail string `json:"detail"`
		// Summary replaces the conversation except for its last Kept messages
		// (compaction).
		Summary string `json:"summary,omitempty"`
		Kept    int    `json:"kept,omitempty"`
	}
	// Notice is something a person should know; Level is info, warning or error.
	Notice struct {
		Level string `json:"level"`
		Kind  string `json:"kind"`
		Text  string `json:"text"`
		// On is the setting as it is now, for the kind confirm_writes.
		On *bool `json:"on,omitempty"`
	}
	// SessionFinished ends a run. Only an undo can follow it.
	SessionFinished struct {
		Status        string   `json:"status"`
		ExitCode      int      `json:"exit_code"`
		Summary       string   `json:"summary"`
		PlanHash      string   `json:"plan_hash"`
		Files         []string `json:"files"`
		TasksDone     int      `json:"tasks_done"`
		TasksVerified int      `json:"tasks_verified"`
		TasksTotal    int      `json:"tasks_total"`
		Usage         Usage    `json:"usage"`
	}
)

// Type names of the payloads.
func (SessionStarted) Type() string  { return "session.started" }
func (PhaseChanged) Type() string    { return "phase.changed" }
func (TurnStarted) Type() string     { return "turn.started" }
func (TurnFinished) Type() string    { return "turn.finished" }
func (UserMessage) Type() string     { return "user.message" }
func (TextDelta) Type() string       { return "text.delta" }
func (ThinkingDelta) Type() string   { return "thinking.delta" }
func (TextDone) Type() string        { return "text.done" }
func (ThinkingDone) Type() string    { return "thinking.done" }
func (MessageAdded) Type() string    { return "message.added" }
func (ToolStarted) Type() string     { return "tool.started" }
func (ToolOutput) Type() string      { return "tool.output" }
func (ToolFinished) Type() string    { return "tool.finished" }
func (SpecWritten) Type() string     { return "spec.written" }
func (PlanReady) Type() string       { return "plan.ready" }
func (AskOpened) Type() string       { return "ask.opened" }
func (AskClosed) Type() string       { return "ask.closed" }
func (FileChanged) Type() string     { return "file.changed" }
func (TaskUpdated) Type() string     { return "task.updated" }
func (VerifyFinished) Type() string  { return "verify.finished" }
func (UsageAdded) Type() string      { return "usage.added" }
func (RetryScheduled) Type() string  { return "retry.scheduled" }
func (ContextChanged) Type() string  { return "context.changed" }
func (Notice) Type() string          { return "notice" }
func (SessionFinished) Type() string { return "session.finished" }

func (TextDelta) transient()     {}
func (ThinkingDelta) transient() {}

func (SessionStarted) durable()  {}
func (AskClosed) durable()       {}
func (FileChanged) durable()     {}
func (TaskUpdated) durable()     {}
func (SessionFinished) durable() {}
