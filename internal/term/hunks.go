package term

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/event"
)

// write asks about a change, hunk by hunk as git add -p does. Nothing is applied
// that was not accepted: a hunk that was passed over is a no.
func (p *Prompter) write(ctx context.Context, q ask.Question) (ask.Answer, error) {
	var card event.WriteCard
	if err := json.Unmarshal(q.Detail, &card); err != nil {
		return ask.Answer{}, fmt.Errorf("read what is to be decided: %w", err)
	}
	p.say(p.Style.writeCard(card))
	if len(card.Hunks) < 2 || !q.Has(ask.Apply) {
		for _, h := range card.Hunks {
			p.say(p.Style.hunkText(h, "  "))
		}
		return p.whole(ctx, q, card)
	}
	return p.byHunk(ctx, card)
}

// whole decides about a change that has no parts.
func (p *Prompter) whole(ctx context.Context, q ask.Question, card event.WriteCard) (ask.Answer, error) {
	keys := []option{
		{"y", "yes", "make this change"},
		{"n", "no", "do not make it; say why"},
	}
	if q.Has(ask.AcceptAll) {
		keys = append(keys, option{"a", "all", "make it, and do not ask again in this task"})
	}
	k, err := p.pick(ctx, "Make this change to "+OneLine(card.Path)+"?", keys)
	if err != nil {
		return ask.Answer{}, err
	}
	switch k.key {
	case "y":
		return ask.Answer{Choice: ask.Apply, Hunks: decide(len(card.Hunks), true)}, nil
	case "a":
		return ask.Answer{Choice: ask.AcceptAll, Hunks: decide(len(card.Hunks), true)}, nil
	default:
		return p.sendBack(ctx, decide(len(card.Hunks), false))
	}
}

func decide(n int, accepted bool) []ask.HunkDecision {
	var out []ask.HunkDecision
	for i := range n {
		out = append(out, ask.HunkDecision{N: i, Accepted: accepted})
	}
	return out
}

func (p *Prompter) sendBack(ctx context.Context, hunks []ask.HunkDecision) (ask.Answer, error) {
	why, err := p.text(ctx, "Why not (for the model; empty is fine)? ")
	return ask.Answer{Choice: ask.SendBack, Text: why, Hunks: hunks}, err
}

// byHunk goes through the hunks.
func (p *Prompter) byHunk(ctx context.Context, card event.WriteCard) (ask.Answer, error) {
	keys := []option{
		{"y", "yes", "accept this hunk"},
		{"n", "no", "reject this hunk; say why"},
		{"a", "all", "accept this hunk and the rest of the file"},
		{"q", "quit", "reject this hunk and the rest of the file"},
		{"s", "skip", "decide later: shows it again at the end"},
	}
	if p.EditText != nil {
		keys = append(keys, option{"e", "explain", "reject it and write the reason in your editor"})
	}
	decided := map[int]ask.HunkDecision{}
	queue := make([]int, len(card.Hunks))
	for i := range queue {
		queue[i] = i
	}
	for len(queue) > 0 {
		i := queue[0]
		p.say(p.Style.hunkText(card.Hunks[i], "  "))
		k, err := p.pick(ctx, fmt.Sprintf("(%d/%d) Accept this hunk?", i+1, len(card.Hunks)), keys)
		if err != nil {
			return ask.Answer{}, err
		}
		switch k.key {
		case "a", "q":
			for _, n := range queue {
				decided[n] = ask.HunkDecision{N: n, Accepted: k.key == "a"}
			}
			queue = nil
			continue
		case "s":
			queue = append(queue[1:], i)
			continue
		}
		d, err := p.hunk(ctx, i, k.key, card)
		if err != nil {
			return ask.Answer{}, err
		}
		decided[i], queue = d, queue[1:]
	}
	return p.together(ctx, card, decided)
}

func (p *Prompter) hunk(ctx context.Context, i int, key string, card event.WriteCard) (ask.HunkDecision, error) {
	d := ask.HunkDecision{N: i, Accepted: key == "y"}
	var err error
	switch key {
	case "n":
		d.Comment, err = p.text(ctx, "Why not (for the model; empty is fine)? ")
	case "e":
		d.Comment, err = p.EditText(ctx, "reason.md", "")
		if err != nil {
			p.say("The editor could not be used: " + OneLine(err.Error()) + "\n")
			d.Comment, err = p.text(ctx, "Why not? ")
		}
	}
	return d, err
}

// together makes one answer of the decisions. If every hunk was rejected, nothing
// is written.
func (p *Prompter) together(ctx context.Context, card event.WriteCard, decided map[int]ask.HunkDecision) (ask.Answer, error) {
	var hunks []ask.HunkDecision
	accepted := 0
	for i := range card.Hunks {
		hunks = append(hunks, decided[i])
		if decided[i].Accepted {
			accepted++
		}
	}
	if accepted == 0 {
		return p.sendBack(ctx, hunks)
	}
	p.say(p.Style.dim(fmt.Sprintf("%d of %d hunks of %s accepted", accepted, len(hunks), OneLine(card.Path))) + "\n")
	return ask.Answer{Choice: ask.Apply, Hunks: hunks}, nil
}

// writeCard is everything about a change but its hunks: an operation that no line
// of a diff shows has a row of its own.
func (s Style) writeCard(c event.WriteCard) string {
	var b strings.Builder
	name := OneLine(c.Path)
	if c.From != "" {
		name = OneLine(c.From) + s.sign(" → ", " -> ") + name
	}
	b.WriteString("\n" + s.bold(fmt.Sprintf("%s %s", OneLine(c.Op), name)) + fmt.Sprintf(" (+%d -%d)\n", c.Added, c.Removed))
	row := func(label, text string) {
		if text != "" {
			b.WriteString("  " + label + ": " + OneLine(text) + "\n")
		}
	}
	row("asked because", c.Reason)
	row("intent", c.Intent)
	row("task", c.Task)
	row("mode", c.Mode)
	if c.Binary {
		b.WriteString("  not text: its bytes cannot be shown\n")
	}
	for _, f := range c.Flags {
		b.WriteString("  " + s.yellow("! "+flagWords(f)) + "\n")
	}
	if c.Verdict != "" {
		row("verifier", c.Verdict+" "+c.Why)
	}
	if len(c.Files) > 0 {
		fmt.Fprintf(&b, "  takes away %d files:\n", len(c.Files))
		for _, f := range c.Files {
			b.WriteString("    " + OneLine(f) + "\n")
		}
	}
	return b.String()
}

func flagWords(flag string) string {
	words := map[string]string{
		"runs_code":         "this file runs code outside the sandbox",
		"secret":            "this file usually holds credentials",
		"hard_link":         "this file has further names, perhaps outside the workspace",
		"hidden_characters": "the text holds characters that do not show",
		"delete":            "something is removed",
	}
	if w, ok := words[flag]; ok {
		return w
	}
	return OneLine(flag)
}
