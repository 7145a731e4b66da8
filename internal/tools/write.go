package tools

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/diff"
	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/policy"
)

// ErrMoved is wrapped by Files.Commit when the file changed since the change was
// computed.
var ErrMoved = errors.New("the file changed meanwhile")

// maxProposals bounds how often one call is computed again because the file keeps
// changing under it.
const maxProposals = 4

// maxDiff is the size up to which file.changed carries its diff (CONTRACT).
const maxDiff = 64 << 10

// write takes a change from proposal to disk. Bytes written are the bytes shown:
// the file is read again after the answer, and if it moved the whole is computed
// and asked anew.
func (s *Set) write(ctx context.Context, w Proposer, use llm.ToolUse) Result {
	if s.o.Files == nil {
		return Fail("no files can be changed here")
	}
	for try := 1; try <= maxProposals; try++ {
		change, err := w.Propose(ctx, use.Input)
		if ctx.Err() != nil {
			return Fail(stopped)
		}
		if err != nil {
			return AsResult(use.Name, err)
		}
		res, again := s.settle(ctx, change, use, try)
		if !again {
			return res
		}
	}
	return Fail("the file keeps changing while this is decided; read it again and try once more.")
}

const stopped = "stopped before anything was written"

// settle judges, asks and commits one proposal; again means that the file moved.
func (s *Set) settle(ctx context.Context, change Change, use llm.ToolUse, try int) (res Result, again bool) {
	verdict, why := s.verify(ctx, change)
	if verdict == "reject" {
		return Fail(fmt.Sprintf("The verifier rejected this change to %s: %s. Nothing was written; correct it and try again.", change.Path, why)), false
	}
	call := policy.Call{Mode: s.o.Mode, Class: policy.Write, Name: use.Name, Flags: change.Flags}
	decision, reason := s.o.Gate().Decide(call)
	answer := ask.Answer{Choice: ask.Apply}
	switch decision {
	case policy.Deny:
		return Fail(use.Name + " is denied: " + reason + "."), false
	case policy.Ask:
		var err error
		answer, err = s.ask(ctx, s.writeQuestion(change, use, try, reason, verdict, why))
		if err != nil {
			return s.refused(ctx, use.Name+" "+change.Path, reason, err), false
		}
	}
	decided, note, ok := decide(change, answer)
	if !ok {
		return Fail(note), false
	}
	if ctx.Err() != nil {
		return Fail(stopped), false
	}
	if now, err := s.o.Files.Current(ctx, sourceOf(change)); err != nil {
		return AsResult(use.Name, err), false
	} else if now != change.BeforeHash {
		return Result{}, true
	}
	err := s.o.Files.Commit(ctx, decided, func(e event.FileChanged) error {
		e.Call, e.Task = use.ID, s.o.Task()
		return s.o.Log.Commit(e)
	})
	if errors.Is(err, ErrMoved) {
		return Result{}, true
	}
	if err != nil {
		return AsResult(use.Name, err), false
	}
	// Only now: if the file had moved, what was rejected must be asked again.
	if answer.Choice == ask.AcceptAll {
		s.o.AcceptAll(s.o.Task())
	}
	return Result{Content: note, Display: decided.Summary}, false
}

func sourceOf(c Change) string {
	if c.Op == OpMove {
		return c.From
	}
	return c.Path
}

func (s *Set) verify(ctx context.Context, c Change) (verdict, why string) {
	if s.o.Verify == nil {
		return "", ""
	}
	verdict, why = s.o.Verify.Verify(ctx, c)
	if verdict != "" {
		s.o.Log.Append(event.VerifyFinished{Path: c.Path, Verdict: verdict, Reason: why})
	}
	return verdict, why
}

func (s *Set) writeQuestion(c Change, use llm.ToolUse, try int, reason, verdict, why string) ask.Question {
	card := CardOf(c)
	card.Reason, card.Task, card.Verdict, card.Why = reason, s.o.Task(), verdict, why
	id := "write-" + use.ID
	if try > 1 {
		id = fmt.Sprintf("%s-%d", id, try) // another question: something else is shown
	}
	return ask.Question{
		ID: id, Kind: ask.Write, About: use.ID, Hash: shown(c), Detail: detailOf(card),
		Prompt: c.Summary + "?",
		Choices: []ask.Choice{
			{ID: ask.Apply, Label: "Apply accepted"},
			{ID: ask.SendBack, Label: "Send back"},
			{ID: ask.AcceptAll, Label: "Accept all in task", Danger: true},
		},
	}
}

// shown identifies what a write question shows.
func shown(c Change) string {
	h := sha256.New()
	for _, part := range []string{string(c.Op), c.From, c.Path, c.BeforeHash, c.AfterHash, fmt.Sprint(c.Mode)} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	for _, f := range c.Files {
		h.Write([]byte(f.Path + "\x00" + f.Hash + "\x00"))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// CardOf is what a person is shown of a change.
func CardOf(c Change) event.WriteCard {
	added, removed := diff.Stats(c.Hunks)
	card := event.WriteCard{
		Path: c.Path, From: c.From, Op: string(c.Op), Before: c.BeforeHash, After: c.AfterHash,
		Added: added, Removed: removed, Hunks: c.Hunks, Intent: c.Intent, Mode: ModeText(c.Mode),
		Binary: isBinary(c.Before) || isBinary(c.After),
	}
	for _, f := range c.Files {
		card.Files = append(card.Files, f.Path)
	}
	for _, f := range c.Flags {
		card.Flags = append(card.Flags, string(f))
	}
	return card
}

// ModeText is a file mode as octal text, "" for the ordinary 0644 and for none.
func ModeText(mode uint32) string {
	if mode == 0 || mode == 0o644 {
		return ""
	}
	return fmt.Sprintf("%04o", mode)
}

func isBinary(b []byte) bool {
	return bytes.IndexByte(b[:min(len(b), 8<<10)], 0) >= 0
}

// decide applies an answer to a change: what lands, and what the model is told.
// ok is false when nothing lands.
func decide(c Change, a ask.Answer) (decided Change, note string, ok bool) {
	if a.Choice != ask.Apply && a.Choice != ask.AcceptAll {
		return c, refusalNote(c, a), false
	}
	accepted, comments := 0, ""
	byN := map[int]ask.HunkDecision{}
	for _, h := range a.Hunks {
		byN[h.N] = h
	}
	take := func(i int) bool { return len(a.Hunks) == 0 || byN[i].Accepted }
	var applied, rejected []string
	for i := range c.Hunks {
		label := fmt.Sprint(i + 1)
		if take(i) {
			accepted++
			applied = append(applied, label)
		} else {
			rejected = append(rejected, label)
		}
		if text := strings.TrimSpace(byN[i].Comment); text != "" {
			comments += fmt.Sprintf("\nOn hunk %d: %s", i+1, text)
		}
	}
	if text := strings.TrimSpace(a.Text); text != "" {
		comments += "\nThe person said: " + text
	}
	switch {
	case len(rejected) == 0:
		return c, summaryNote(c) + comments, true
	case accepted == 0:
		return c, refusalNote(c, a), false
	}
	c.After = diff.Apply(c.Before, c.Hunks, take)
	c.AfterHash = HashOf(c.After)
	c.Hunks = diff.Compute(c.Before, c.After)
	added, removed := diff.Stats(c.Hunks)
	c.Summary = fmt.Sprintf("Edit %s (+%d -%d), %d of %d hunks", c.Path, added, removed, accepted, accepted+len(rejected))
	note = fmt.Sprintf("%s: the person accepted hunks %s and rejected hunks %s. Only the accepted ones are in the file; do not propose the rejected ones again.%s",
		c.Path, strings.Join(applied, ", "), strings.Join(rejected, ", "), comments)
	return c, note, true
}

func refusalNote(c Change, a ask.Answer) string {
	note := fmt.Sprintf("The person rejected the change to %s. Nothing was written; do not propose the same again.", c.Path)
	if text := strings.TrimSpace(a.Text); text != "" {
		note += "\nThe person said: " + text
	}
	for _, h := range a.Hunks {
		if text := strings.TrimSpace(h.Comment); text != "" {
			note += fmt.Sprintf("\nOn hunk %d: %s", h.N+1, text)
		}
	}
	return note
}

func summaryNote(c Change) string {
	added, removed := diff.Stats(c.Hunks)
	note := fmt.Sprintf("Edited %s (+%d -%d).", c.Path, added, removed)
	switch {
	case c.Op == OpCreate:
		note = fmt.Sprintf("Created %s (%d lines).", c.Path, added)
	case c.Op == OpMove && c.Folder:
		note = fmt.Sprintf("Moved the folder %s to %s (%d files).", c.From, c.Path, len(c.Files))
	case c.Op == OpMove:
		note = fmt.Sprintf("Moved %s to %s.", c.From, c.Path)
	case c.Op == OpDelete && c.Folder:
		note = fmt.Sprintf("Deleted the folder %s (%d files).", c.Path, len(c.Files))
	case c.Op == OpDelete:
		note = fmt.Sprintf("Deleted %s.", c.Path)
	}
	if c.Note != "" {
		note += " " + c.Note
	}
	return note
}

// HashOf is the hex SHA-256 of a file's content, "" for nil (no file).
func HashOf(b []byte) string {
	if b == nil {
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Event is the file.changed of a change; Call and Task are filled by Set.
func (c Change) Event() event.FileChanged {
	added, removed := diff.Stats(c.Hunks)
	oldName, newName := "a/"+sourceOf(c), "b/"+c.Path
	if c.Before == nil {
		oldName = "/dev/null"
	}
	if c.After == nil {
		newName = "/dev/null"
	}
	text, cut := diff.Unified(oldName, newName, c.Hunks, maxDiff)
	e := event.FileChanged{
		Path: c.Path, Op: string(c.Op), From: c.From, Before: c.BeforeHash, After: c.AfterHash,
		Added: added, Removed: removed, Diff: text, DiffTruncated: cut, Mode: ModeText(c.Mode),
	}
	for _, f := range c.Flags {
		e.Flags = append(e.Flags, string(f))
	}
	return e
}
