package term

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/event"
)

// Prompter answers questions by asking at the console. It implements ask.Asker;
// questions come one at a time.
type Prompter struct {
	Console *Console
	Style   Style
	// Wait returns when everything before the question was printed; nil does not
	// wait.
	Wait func(ctx context.Context, id string)
	// EditPlan opens a spec's documents in the person's editor; nil offers no e.
	EditPlan func(ctx context.Context, spec string) error
	// Slash does a line that begins with a slash, typed at a question of this kind.
	// It returns what to take for typed instead, or that nothing is left to do; nil
	// takes such lines as any.
	Slash func(ctx context.Context, kind ask.Kind, line string) (typed string, handled bool)
	// EditText lets the person write a longer text; nil asks for one line.
	EditText func(ctx context.Context, name, text string) (string, error)

	kind ask.Kind // of the question that is asked
}

// settle is how long to wait after an edit for the session to notice that the
// plan is another one now: it withdraws the question and asks anew.
const settle = 1500 * time.Millisecond

// Ask implements ask.Asker.
func (p *Prompter) Ask(ctx context.Context, q ask.Question) (ask.Answer, error) {
	if p.Wait != nil {
		p.Wait(ctx, q.ID)
	}
	if err := ctx.Err(); err != nil {
		return ask.Answer{}, err
	}
	p.kind = q.Kind
	var a ask.Answer
	var err error
	switch q.Kind {
	case ask.Plan:
		a, err = p.plan(ctx, q)
	case ask.Write:
		a, err = p.write(ctx, q)
	case ask.General:
		a, err = p.question(ctx, q)
	default:
		a, err = p.permission(ctx, q)
	}
	if errors.Is(err, io.EOF) {
		// The terminal's end was typed, or it is gone: nobody answers.
		p.say("\n")
		return ask.Answer{}, ask.ErrNobody
	}
	if ctx.Err() != nil {
		p.say("\n" + p.Style.dim("(the question was withdrawn)") + "\n")
		return ask.Answer{}, ctx.Err()
	}
	a.Hash, a.By = q.Hash, ask.ByTerminal
	return a, err
}

// say prints to the console. A console that cannot be written to cannot be read
// from either, which is where it is noticed.
func (p *Prompter) say(text string) { _, _ = io.WriteString(p.Console.Out(), text) }

// pick asks until the answer is one of keys, in a word or its first letter. An
// empty line is no answer.
func (p *Prompter) pick(ctx context.Context, prompt string, keys []option) (option, error) {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.key
	}
	ending := " [" + strings.Join(names, "/") + "/?] "
	for {
		line, err := p.line(ctx, p.Style.bold(prompt)+ending)
		if err != nil {
			return option{}, err
		}
		line = strings.ToLower(strings.TrimSpace(line))
		for _, k := range keys {
			if line == k.key || line == k.word {
				return k, nil
			}
		}
		for _, k := range keys {
			p.say(fmt.Sprintf("  %s  %s\n", k.key, k.help))
		}
	}
}

// option is one thing to type.
type option struct{ key, word, help string }

func (p *Prompter) plan(ctx context.Context, q ask.Question) (ask.Answer, error) {
	var card event.PlanCard
	_ = json.Unmarshal(q.Detail, &card) // without a card there is no diff to show
	keys := []option{
		{"y", "yes", "approve this plan and start"},
		{"n", "no", "discard it and end the session"},
	}
	if !q.Has(ask.Approve) {
		keys = keys[1:] // a plan that cannot be read cannot be approved
	}
	if p.EditPlan != nil {
		keys = append(keys, option{"e", "edit", "edit the plan's files in your editor, then decide"})
	}
	keys = append(keys, option{"c", "comment", "send it back with a comment"})
	if card.Diff != "" {
		keys = append(keys, option{"d", "diff", "show what changed since it was last shown"})
	}
	for {
		k, err := p.pick(ctx, planPrompt(q), keys)
		if err != nil {
			return ask.Answer{}, err
		}
		switch k.key {
		case "y":
			return ask.Answer{Choice: ask.Approve}, nil
		case "n":
			return ask.Answer{Choice: ask.Discard}, nil
		case "d":
			p.say(p.Style.planDiff(card.Diff))
		case "e":
			if err := p.editPlan(ctx, q.About); err != nil {
				return ask.Answer{}, err
			}
		case "c":
			text, err := p.text(ctx, "Comment: ")
			if err != nil || text != "" {
				return ask.Answer{Choice: ask.Comment, Text: text}, err
			}
		}
	}
}

func planPrompt(q ask.Question) string {
	if q.Prompt != "" {
		return OneLine(q.Prompt)
	}
	return "Approve this plan and start?"
}

// editPlan opens the editor. The session watches the files: if they are another
// plan now, it withdraws this question and shows the new one.
func (p *Prompter) editPlan(ctx context.Context, spec string) error {
	if err := p.EditPlan(ctx, spec); err != nil {
		p.say("The editor could not be used: " + OneLine(err.Error()) + "\n")
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(settle):
		return nil
	}
}

// text asks for a line; an empty one is taken back.
func (p *Prompter) text(ctx context.Context, prompt string) (string, error) {
	line, err := p.line(ctx, prompt)
	return strings.TrimSpace(line), err
}

// line asks for a line; commands with a slash are done in between.
func (p *Prompter) line(ctx context.Context, prompt string) (string, error) {
	for {
		line, err := p.Console.Line(ctx, prompt)
		if err != nil || p.Slash == nil || !strings.HasPrefix(strings.TrimSpace(line), "/") {
			return line, err
		}
		typed, handled := p.Slash(ctx, p.kind, line)
		if !handled {
			return typed, nil
		}
	}
}

func (p *Prompter) question(ctx context.Context, q ask.Question) (ask.Answer, error) {
	var options []ask.Choice
	for _, c := range q.Choices {
		if c.ID != ask.FreeText {
			options = append(options, c)
		}
	}
	p.say(p.Style.bold(p.Style.wrapped(q.Prompt, "")))
	for i, c := range options {
		p.say(fmt.Sprintf("  %d  %s\n", i+1, OneLine(c.Label)))
	}
	prompt := "Answer: "
	if len(options) > 0 && q.Has(ask.FreeText) {
		prompt = "Number, or an answer in words: "
	} else if len(options) > 0 {
		prompt = "Number: "
	}
	for {
		line, err := p.text(ctx, prompt)
		if err != nil {
			return ask.Answer{}, err
		}
		for i, c := range options {
			if line == fmt.Sprint(i+1) || strings.EqualFold(line, c.Label) {
				return ask.Answer{Choice: c.ID}, nil
			}
		}
		if line != "" && q.Has(ask.FreeText) {
			return ask.Answer{Choice: ask.FreeText, Text: line}, nil
		}
	}
}

// permission asks for what is neither a plan nor a write: a file with
// credentials, an MCP tool, network, an image, trust. Every choice is typed in
// full or by its letter; none is preselected.
func (p *Prompter) permission(ctx context.Context, q ask.Question) (ask.Answer, error) {
	p.say(p.Style.permissionCard(q))
	var keys []option
	ids := map[string]string{}
	for _, c := range q.Choices {
		key := freeLetter(c.ID, ids)
		label := OneLine(c.Label)
		if c.Danger {
			label += " (careful)"
		}
		ids[key] = c.ID
		keys = append(keys, option{key, strings.ToLower(label), label})
	}
	if len(keys) == 0 {
		return ask.Answer{}, ask.ErrNobody
	}
	for _, k := range keys {
		p.say(fmt.Sprintf("  %s  %s\n", k.key, k.help))
	}
	k, err := p.pick(ctx, "Your answer?", keys)
	return ask.Answer{Choice: ids[k.key]}, err
}

// freeLetter is y for allowing once and n for denying, as everywhere; a letter of
// the id for anything else.
func freeLetter(id string, taken map[string]string) string {
	switch id {
	case ask.AllowOnce:
		return "y"
	case ask.DenyIt:
		return "n"
	}
	for _, r := range id {
		if key := string(r); key != "y" && key != "n" && r >= 'a' && r <= 'z' && taken[key] == "" {
			return key
		}
	}
	return fmt.Sprint(len(taken) + 1)
}

func (s Style) permissionCard(q ask.Question) string {
	out := s.bold(strings.TrimRight(s.wrapped(q.Prompt, ""), "\n")) + "\n"
	switch q.Kind {
	case ask.Read:
		var card event.ReadCard
		if json.Unmarshal(q.Detail, &card) == nil && card.Path != "" {
			return out + "  " + OneLine(card.Path) + ": " + OneLine(card.Reason) + "\n"
		}
	case ask.MCPTool:
		var card event.ToolCard
		if json.Unmarshal(q.Detail, &card) == nil {
			args, err := json.MarshalIndent(card.Arguments, "", "  ")
			if err != nil {
				args = []byte("(arguments cannot be shown)")
			}
			return out + s.wrapped(card.Card, "  ") + "  arguments:\n" + s.wrapped(string(args), "    ")
		}
	}
	var text string
	if json.Unmarshal(q.Detail, &text) == nil && text != "" {
		return out + s.wrapped(text, "  ")
	}
	if len(q.Detail) > 0 && string(q.Detail) != "null" {
		return out + s.wrapped(string(q.Detail), "  ")
	}
	return out
}

// YesNo asks a question that has no default.
func YesNo(ctx context.Context, c *Console, s Style, prompt string) (bool, error) {
	p := Prompter{Console: c, Style: s}
	k, err := p.pick(ctx, prompt, []option{{"y", "yes", "yes"}, {"n", "no", "no"}})
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return k.key == "y", err
}
