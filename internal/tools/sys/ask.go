package sys

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/policy"
	"github.com/coderrr/coderrr/internal/tools"
)

type askIn struct {
	Question string   `json:"question" jsonschema_description:"One clear question with what the person needs to know to answer it."`
	Options  []string `json:"options,omitempty" jsonschema_description:"Answers to choose from, the one you advise first. The person can always answer in words."`
}

// The limits of a question, in bytes and options.
const (
	maxQuestion = 4 << 10
	maxOption   = 300
	maxOptions  = 8
)

func (d Deps) askReview() tools.Tool {
	return tools.Define("ask_review", "Ask the person a question and wait for the answer. Ask when two readings lead to different work, when something is missing that only the person can give, or when the plan does not fit.", policy.System,
		func(ctx context.Context, in askIn) (tools.Result, error) {
			if strings.TrimSpace(in.Question) == "" {
				return tools.Result{}, tools.Explain("ask_review: the question is empty. Ask something that the person can answer.")
			}
			q := question(tools.CallOf(ctx).ID, in)
			a, err := d.Asker.Ask(ctx, q)
			switch {
			case err == nil:
				return answered(q, a), nil
			case ctx.Err() != nil:
				return tools.Fail("The session was stopped before the person answered."), nil
			case errors.Is(err, ask.ErrNobody):
				d.Refused("ask_review")
				return tools.Fail("There is nobody to ask in this session. Go on with the assumption that is safest and easiest to undo, and say in the spec or in the summary which one you made."), nil
			default:
				return tools.Result{}, fmt.Errorf("the question was not answered: %w", err)
			}
		})
}

func question(call string, in askIn) ask.Question {
	q := ask.Question{ID: "question-" + call, Kind: ask.General, About: call, Prompt: clean(strings.TrimSpace(in.Question), maxQuestion)}
	var labels []string
	for _, o := range in.Options {
		label := clean(strings.Join(strings.Fields(o), " "), maxOption)
		if label == "" || slices.Contains(labels, label) || len(labels) == maxOptions {
			continue
		}
		labels = append(labels, label)
		q.Choices = append(q.Choices, ask.Choice{ID: fmt.Sprintf("option-%d", len(labels)), Label: label})
	}
	q.Choices = append(q.Choices, ask.Choice{ID: ask.FreeText, Label: "Answer in words"})
	return q
}

func answered(q ask.Question, a ask.Answer) tools.Result {
	text := strings.TrimSpace(a.Text)
	label := ""
	for _, c := range q.Choices {
		if c.ID == a.Choice && c.ID != ask.FreeText {
			label = c.Label
		}
	}
	switch {
	case label != "" && text != "":
		text = label + "\nand said: " + text
	case label != "":
		text = label
	case text == "":
		text = "(an empty answer: decide yourself, and take what is safest)"
	}
	return tools.Result{Content: "The person answered: " + clean(text, maxQuestion), Display: "Answered: " + oneLine(text)}
}
