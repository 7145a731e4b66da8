package web

import (
	"fmt"
	"strings"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/view"
)

func kindIcon(k ask.Kind) string {
	switch k {
	case ask.Plan:
		return "list"
	case ask.Write:
		return "pen"
	case ask.Read:
		return "eye"
	case ask.MCPTool:
		return "plug"
	case ask.Network, ask.Image:
		return "box"
	case ask.Trust:
		return "shield"
	default:
		return "help"
	}
}

func askedTitle(q *view.Question) string {
	switch {
	case q.Kind == ask.Plan:
		return "Plan" + strings.TrimSuffix(": "+planTitle(q), ": ")
	case q.Write != nil:
		return opWord(q.Write.Op) + " " + q.Write.Path
	default:
		return q.Prompt
	}
}

func planTitle(q *view.Question) string {
	if q.Plan == nil {
		return ""
	}
	return q.Plan.Title
}

// answerText is the label of what was chosen, in the past where there is one.
func answerText(q *view.Question) string {
	a := q.Answer
	switch a.Choice {
	case ask.Approve:
		return "Approved"
	case ask.Comment:
		return "Comments sent"
	case ask.Discard:
		return "Discarded"
	case ask.Apply:
		if rejectedAny(a) {
			return fmt.Sprintf("Applied %d of %d hunks", acceptedHunks(a), len(a.Hunks))
		}
		return "Applied"
	case ask.SendBack:
		return "Sent back"
	case ask.AcceptAll:
		return "Applied, and all others of the task"
	case ask.AllowOnce:
		return "Allowed once"
	case ask.Always:
		return "Always allowed"
	case ask.DenyIt:
		return "Denied"
	case ask.FreeText:
		return a.Text
	}
	for _, c := range q.Choices {
		if c.ID == a.Choice {
			return c.Label
		}
	}
	if a.By == ask.ByCancelled || a.Choice == "" {
		return "Not answered"
	}
	return a.Choice
}

func byText(by ask.By) string {
	switch by {
	case ask.ByBrowser:
		return "decided in the browser"
	case ask.ByTerminal:
		return "decided in the terminal"
	case ask.ByEditor:
		return "decided in the editor"
	case ask.ByFlag:
		return "decided by a flag"
	case ask.ByPolicy:
		return "decided by the configuration"
	case ask.ByCancelled:
		return "cancelled"
	default:
		return string(by)
	}
}

func verdictClass(a *event.AskClosed) string {
	switch a.Choice {
	case ask.SendBack, ask.DenyIt, ask.Discard:
		return "no"
	case ask.Apply, ask.Approve, ask.AcceptAll, ask.AllowOnce, ask.Always:
		return "yes"
	default:
		return ""
	}
}

func rejectedAny(a *event.AskClosed) bool {
	if a.Choice == ask.SendBack {
		return true
	}
	return len(a.Hunks) > 0 && acceptedHunks(a) < len(a.Hunks)
}

func acceptedHunks(a *event.AskClosed) int {
	n := 0
	for _, h := range a.Hunks {
		if h.Accepted {
			n++
		}
	}
	return n
}

func firstLine(s string) string {
	s = strings.TrimSpace(s)
	line, _, _ := strings.Cut(s, "\n")
	if r := []rune(line); len(r) > 120 {
		line = string(r[:120]) + "…"
	}
	return show(line)
}
