// Package web is the markup of the browser UI: templ components over view.State,
// and the assets they need. It does no I/O and knows no session; what it writes
// has no inline script, style or event attribute, so that the strictest content
// policy holds.
package web

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/markdown"
	"github.com/coderrr/coderrr/internal/view"
)

// Page is everything a page shows. State may be empty, never nil.
type Page struct {
	State    *view.State
	Info     Info
	Sessions []Session
	Session  string // id of the one that is shown, "" for the start page
	Running  bool
	Stopping bool
	Confirm  bool // each write is reviewed
	ReadOnly bool
	MD       *markdown.Renderer
	// Stream returns the rendered parts of a text that still grows, or nil.
	Stream func(id string) *markdown.Stream
}

// Info is what the page says about where it works.
type Info struct {
	Project, Workspace, Branch string
	Provider, Model            string
	Tier                       string
	Network                    bool
	Summary, Limits, Better    string // of the sandbox
	Demo                       string // label, "" when it is no demo
	Suggestion                 string
	Problem                    string // why no session can start, and the remedy
	Version                    string
}

// Session is one line of the list of sessions.
type Session struct {
	ID, Title, Status  string
	Started            time.Time
	Running, Elsewhere bool
	Foreign            bool // its log came with the folder
}

// docs are the documents of a plan, in reading order.
func docs() []string { return []string{"requirements", "design", "tasks"} }

func title(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// state is the value of data-state: it drives looks only, never what is allowed.
func (p Page) state() string {
	run, _ := p.State.Status()
	if p.Stopping && p.State.Outcome == nil {
		return "stopping"
	}
	if p.broken() {
		return string(view.Stopped)
	}
	return string(run)
}

// status is the text of "Run status".
func (p Page) status() string {
	if p.Stopping && p.State.Outcome == nil {
		return "Stopping…"
	}
	if p.elsewhere() {
		return "Working · elsewhere"
	}
	if p.broken() {
		return "Stopped"
	}
	_, text := p.State.Status()
	return text
}

// broken reports a session that ended without saying so: its process died, or it
// runs elsewhere.
func (p Page) broken() bool {
	return p.Session != "" && !p.Running && p.State.Outcome == nil
}

// resumable reports a session that ended before its work did and can go on here.
func (p Page) resumable() bool {
	if p.Running || p.Info.Demo != "" || p.Session == "" {
		return false
	}
	if o := p.State.Outcome; o != nil && (o.Status == "ok" || o.Status == "declined") {
		return false
	}
	for _, s := range p.Sessions {
		if s.ID == p.Session {
			return !s.Foreign && !s.Elsewhere
		}
	}
	return false
}

// fixed reports a session whose changes cannot be undone from here.
func (p Page) fixed() bool {
	for _, s := range p.Sessions {
		if s.ID == p.Session && p.Session != "" {
			return p.ReadOnly || s.Foreign
		}
	}
	return p.ReadOnly
}

// elsewhere reports a session that another process runs.
func (p Page) elsewhere() bool {
	for _, s := range p.Sessions {
		if s.ID == p.Session && p.Session != "" {
			return s.Elsewhere && s.Running && p.broken()
		}
	}
	return false
}

// tabTitle is the title of the browser tab.
func (p Page) tabTitle() string {
	name := p.Info.Project
	if name == "" {
		name = "Coderrr"
	}
	prefix := ""
	if q := p.question(); q != nil {
		switch q.Kind {
		case ask.Plan:
			prefix = "● Approve plan"
		case ask.Write:
			prefix = "● Approve write"
		case ask.General:
			prefix = "● Question"
		default:
			prefix = "● Allow?"
		}
	} else {
		switch run, _ := p.State.Status(); run {
		case view.Planning:
			prefix = "⟳ Planning"
		case view.Working:
			done, _ := p.State.TasksDone()
			prefix = fmt.Sprintf("⟳ %d/%d", done, len(p.State.Tasks))
		case view.Finished:
			prefix = "✓ Done"
		case view.Failed:
			prefix = "! Error"
		case view.Stopped:
			prefix = "■ Stopped"
		}
	}
	if prefix == "" {
		return name + " · Coderrr"
	}
	return prefix + " · " + name
}

// hint is what the message box says while it is empty.
func (p Page) hint() string {
	switch run, _ := p.State.Status(); {
	case p.Session == "":
		return "What should change?"
	case p.elsewhere():
		return "Another Coderrr runs this session."
	case p.ReadOnly || !p.Running:
		return "This session has ended. A message starts a new one."
	case run == view.PlanReady:
		return "Ask for a change to the plan…"
	case run == view.Asking:
		return "Answer below, or queue a message…"
	default:
		return "Queue a message for the next turn…"
	}
}

// question is the one that is decided now, or nil.
func (p Page) question() *view.Question {
	if len(p.State.Questions) == 0 || p.ReadOnly {
		return nil
	}
	return p.State.Questions[0]
}

// planOpen reports whether the plan waits for approval, so that it can be edited.
func (p Page) planOpen() bool {
	q := p.question()
	return q != nil && q.Kind == ask.Plan && !p.Stopping
}

// pending is the write that waits, or nil.
func (p Page) pending() *view.Question {
	if q := p.question(); q != nil && q.Write != nil {
		return q
	}
	return nil
}

// FileID is the element id of a changed file.
func FileID(path string) string {
	sum := sha256.Sum256([]byte(path))
	return "f" + hex.EncodeToString(sum[:6])
}

// HashText is the hex SHA-256 of a text.
func HashText(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func dir(p string) string {
	d, _ := path.Split(p)
	return d
}

func base(p string) string { return path.Base(p) }

func took(d time.Duration) string {
	switch {
	case d < 50*time.Millisecond:
		return ""
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm %02ds", int(d.Minutes()), int(d.Seconds())%60)
	default:
		return fmt.Sprintf("%dh %02dm", int(d.Hours()), int(d.Minutes())%60)
	}
}

// ringDash is the stroke-dasharray of the context meter: a share of 100.
func ringDash(h view.Header) string { return fmt.Sprintf("%d 100", share(h)) }

// share is how full the context is, in percent.
func share(h view.Header) int64 {
	if h.Window <= 0 {
		return 0
	}
	return min(100, h.Context*100/h.Window)
}

func tokens(n int64) string {
	switch {
	case n >= 1_000_000:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 10_000:
		return fmt.Sprintf("%dk", n/1000)
	case n >= 1000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	default:
		return fmt.Sprint(n)
	}
}

func cost(u event.Usage) string {
	switch {
	case u.CostUSD == nil && u.Input+u.Output == 0:
		return ""
	case u.CostUSD == nil:
		return "cost unknown"
	case *u.CostUSD < 0.01 && *u.CostUSD > 0:
		return "< $0.01"
	default:
		return fmt.Sprintf("$%.2f", *u.CostUSD)
	}
}

// plural is "1 file" or "3 files".
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

func opLetter(op string) string {
	switch op {
	case "create":
		return "A"
	case "delete":
		return "D"
	case "move":
		return "R"
	default:
		return "M"
	}
}

func opWord(op string) string {
	switch op {
	case "create":
		return "Create"
	case "delete":
		return "Delete"
	case "move":
		return "Move"
	default:
		return "Write"
	}
}

// flagText explains a flag of a write in words.
func flagText(flag string) string {
	switch flag {
	case "runs_code":
		return "runs code outside the sandbox"
	case "secret":
		return "may hold credentials"
	case "hard_link":
		return "has other names (hard links)"
	default:
		return strings.ReplaceAll(flag, "_", " ")
	}
}
