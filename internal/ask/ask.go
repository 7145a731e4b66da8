// Package ask is how anything asks a person: a question as data, an answer as
// data, and the interface between. Nobody to ask is an answer too: no.
package ask

import (
	"context"
	"encoding/json"
	"errors"
)

// Kind sorts questions.
type Kind string

// The kinds of question (CONTRACT: ask.opened).
const (
	Plan    Kind = "plan"
	Write   Kind = "write"
	Read    Kind = "read"
	General Kind = "question"
	MCPTool Kind = "mcp_tool"
	Network Kind = "network"
	Image   Kind = "image"
	Trust   Kind = "trust"
)

// By says who answered.
type By string

// The possible deciders.
const (
	ByBrowser   By = "browser"
	ByTerminal  By = "terminal"
	ByEditor    By = "editor"
	ByFlag      By = "flag"
	ByPolicy    By = "policy"
	ByCancelled By = "cancelled"
)

// Choice ids that have a meaning to the session.
const (
	Approve   = "approve"    // plan: start; the hash must match
	Comment   = "comment"    // plan: back to planning with Text
	Discard   = "discard"    // plan: end the session
	Apply     = "apply"      // write: apply the accepted hunks
	SendBack  = "send_back"  // write: apply nothing, tell the model why
	AcceptAll = "accept_all" // write: apply, and do not ask again in this task
	AllowOnce = "allow_once"
	Always    = "always"
	DenyIt    = "deny"
	FreeText  = "text" // question: the answer is Text
)

// Choice is one thing a person can pick.
type Choice struct {
	ID     string `json:"id"`
	Label  string `json:"label"`
	Danger bool   `json:"danger,omitempty"`
}

// Question is asked once and closed once. Hash, when set, identifies exactly
// what is shown; an answer must carry the same one. Default is only what a front
// end may preselect: it is never taken without a person.
type Question struct {
	ID      string          `json:"id"`
	Kind    Kind            `json:"kind"`
	Prompt  string          `json:"prompt"`
	Choices []Choice        `json:"choices"`
	Default string          `json:"default,omitempty"`
	Hash    string          `json:"hash,omitempty"`
	About   string          `json:"about,omitempty"` // tool-call id or spec id
	Detail  json.RawMessage `json:"detail,omitempty"`
}

// Has reports whether id is one of the choices.
func (q Question) Has(id string) bool {
	for _, c := range q.Choices {
		if c.ID == id {
			return true
		}
	}
	return false
}

// HunkDecision is a person's word on one hunk, numbered from 0.
type HunkDecision struct {
	N        int    `json:"n"`
	Accepted bool   `json:"accepted"`
	Comment  string `json:"comment,omitempty"`
}

// Answer is what was decided and by whom.
type Answer struct {
	Choice string         `json:"choice"`
	Text   string         `json:"text,omitempty"`
	Hash   string         `json:"hash,omitempty"`
	Hunks  []HunkDecision `json:"hunks,omitempty"`
	By     By             `json:"by"`
}

// Errors of asking.
var (
	// ErrNobody: nobody can be asked; the caller takes it as no.
	ErrNobody = errors.New("nobody to ask")
	// ErrNotOpen: the question is unknown, cancelled or already decided.
	ErrNotOpen = errors.New("the question is not open")
	// ErrStale: the answer was given to another version of what is asked now.
	ErrStale = errors.New("the answer is to something that has changed since")
	// ErrChoice: the answer names a choice that was not offered.
	ErrChoice = errors.New("not one of the choices")
)

// Asker puts a question to whoever can answer. It returns when answered, or with
// the context's error, or with ErrNobody. Implementations are safe for
// concurrent use.
type Asker interface {
	Ask(ctx context.Context, q Question) (Answer, error)
}

// Check says whether an answer fits a question.
func Check(q Question, a Answer) error {
	switch {
	case !q.Has(a.Choice):
		return ErrChoice
	case q.Hash != "" && a.Hash != q.Hash:
		return ErrStale
	default:
		return nil
	}
}
