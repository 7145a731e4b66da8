package spec

import (
	"fmt"
	"strings"
)

// Status is where a task is.
type Status string

// The statuses, as they are written.
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Done       Status = "done"
	Blocked    Status = "blocked"
)

// ParseStatus reads a status or one of the words people use for it, in any case,
// with or without marks around it. Nothing at all is pending.
func ParseStatus(word string) (Status, error) {
	w := strings.ToLower(strings.TrimSpace(word))
	if s, ok := statusOf(w); ok {
		return s, nil
	}
	w = strings.Trim(w, "*_`\"'.! ✓✔✅☑✗❌⏳🚧\ufe0f")
	w = strings.Join(strings.FieldsFunc(w, func(r rune) bool { return r == ' ' || r == '\t' || r == '_' || r == '-' }), " ")
	if s, ok := statusOf(w); ok && w != "" {
		return s, nil
	}
	return "", fmt.Errorf("unknown status %q: use pending, in_progress, done or blocked", clip(word, 40))
}

func statusOf(w string) (Status, bool) {
	switch w {
	case "", "pending", "todo", "to do", "open", "not started", "new", "planned", "queued", "[ ]", "☐":
		return Pending, true
	case "in progress", "inprogress", "wip", "doing", "active", "started", "ongoing", "working", "current", "[~]", "[/]", "🚧", "⏳":
		return InProgress, true
	case "done", "complete", "completed", "finished", "closed", "passed", "ok", "x", "[x]", "✓", "✔", "✔️", "✅", "☑", "☑️":
		return Done, true
	case "blocked", "stuck", "failed", "on hold", "error", "✗", "❌":
		return Blocked, true
	}
	return "", false
}
