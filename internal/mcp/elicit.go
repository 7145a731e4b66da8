package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/inert"
	"github.com/coderrr/coderrr/internal/mcp/wire"
)

// maxFields bounds a server's form.
const maxFields = 20

// private finds fields that ask for a secret: a form must not (2025-11-25,
// client/elicitation.mdx), and no model or log is a place for one.
var private = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)pass(word|phrase|code)|secret|api[-_ ]?key|token|credential|private[-_ ]?key|\bpin\b|cvv|card[-_ ]?number`)
})

// field is one question of a form.
type field struct {
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Enum        []string `json:"enum"`
	Default     any      `json:"default"`
	OneOf       []struct {
		Const string `json:"const"`
		Title string `json:"title"`
	} `json:"oneOf"`
	Format string `json:"format"`
}

// elicit puts a server's question to the person, one field at a time. Whatever is
// not an answer is "no".
func (s *server) elicit(ctx context.Context, e wire.Elicitation) wire.ElicitResult {
	if e.Mode == "url" {
		return s.elicitURL(ctx, e)
	}
	var form struct {
		Properties map[string]field `json:"properties"`
		Required   []string         `json:"required"`
	}
	if json.Unmarshal(e.Schema, &form) != nil || len(form.Properties) > maxFields {
		return wire.ElicitResult{Action: "decline"}
	}
	if private().MatchString(e.Message) {
		s.m.notice("warning", "The MCP server "+s.name+" asked for something secret; it was declined. Secrets belong into its configuration, not into a form.")
		return wire.ElicitResult{Action: "decline"}
	}
	for name, f := range form.Properties {
		if private().MatchString(name) || private().MatchString(f.Title) || private().MatchString(f.Description) || f.Format == "password" {
			s.m.notice("warning", "The MCP server "+s.name+" asked for something secret; it was declined. Secrets belong into its configuration, not into a form.")
			return wire.ElicitResult{Action: "decline"}
		}
	}
	content := map[string]any{}
	for i, name := range slices.Sorted(maps.Keys(form.Properties)) {
		value, given, action := s.field(ctx, e.Message, i, name, form.Properties[name])
		if action != "" {
			return wire.ElicitResult{Action: action}
		}
		if given {
			content[name] = value
		} else if slices.Contains(form.Required, name) {
			return wire.ElicitResult{Action: "decline"}
		}
	}
	if len(form.Properties) == 0 {
		q := s.question("confirm", e.Message, []ask.Choice{{ID: "accept", Label: "Accept"}, {ID: ask.DenyIt, Label: "Decline"}})
		if a, err := s.m.o.Questions.Ask(ctx, q); err != nil || a.Choice != "accept" {
			return wire.ElicitResult{Action: "decline"}
		}
	}
	return wire.ElicitResult{Action: "accept", Content: content}
}

// field asks one thing. given is false for an empty answer to a field without a
// default; action is not empty when the whole form is over.
func (s *server) field(ctx context.Context, message string, i int, name string, f field) (value any, given bool, action string) {
	label := name
	if f.Title != "" {
		label = f.Title
	}
	text := fmt.Sprintf("%s\n%s", message, label)
	if f.Description != "" {
		text += ": " + f.Description
	}
	if f.Default != nil {
		text += fmt.Sprintf(" (default: %v)", f.Default)
	}
	choices, values := f.choices()
	q := s.question(strconv.Itoa(i), text, choices)
	a, err := s.m.o.Questions.Ask(ctx, q)
	switch {
	case err != nil:
		return nil, false, "cancel"
	case a.Choice == ask.DenyIt:
		return nil, false, "decline"
	case a.Choice != ask.FreeText:
		return values[a.Choice], true, ""
	}
	answer := strings.TrimSpace(a.Text)
	if answer == "" {
		return f.Default, f.Default != nil, ""
	}
	switch f.Type {
	case "integer":
		n, err := strconv.ParseInt(answer, 10, 64)
		if err != nil {
			return nil, false, "decline"
		}
		return n, true, ""
	case "number":
		n, err := strconv.ParseFloat(answer, 64)
		if err != nil {
			return nil, false, "decline"
		}
		return n, true, ""
	case "array":
		var list []string
		for part := range strings.SplitSeq(answer, ",") {
			list = append(list, strings.TrimSpace(part))
		}
		return list, true, ""
	}
	return answer, true, ""
}

// choices are what a field can be answered with, and what each stands for.
func (f field) choices() ([]ask.Choice, map[string]any) {
	values := map[string]any{}
	var list []ask.Choice
	add := func(value any, label string) {
		id := "v" + strconv.Itoa(len(list))
		shown, _ := inert.Visible(cut(label, 200))
		values[id] = value
		list = append(list, ask.Choice{ID: id, Label: shown})
	}
	switch {
	case f.Type == "boolean":
		add(true, "Yes")
		add(false, "No")
	case len(f.OneOf) > 0:
		for _, o := range f.OneOf {
			add(o.Const, o.Title)
		}
	case f.Type == "string" && len(f.Enum) > 0:
		for _, v := range f.Enum {
			add(v, v)
		}
	default:
		list = append(list, ask.Choice{ID: ask.FreeText, Label: "Answer"})
	}
	return append(list, ask.Choice{ID: ask.DenyIt, Label: "Decline"}), values
}

// elicitURL shows an address that the server wants opened. Nothing is opened or
// fetched here: the person does it, or does not.
func (s *server) elicitURL(ctx context.Context, e wire.Elicitation) wire.ElicitResult {
	u, err := url.Parse(e.URL)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || len(e.URL) > 4<<10 {
		s.m.notice("warning", "The MCP server "+s.name+" asked to open an address that is not a plain https one; it was declined.")
		return wire.ElicitResult{Action: "decline"}
	}
	text := fmt.Sprintf("%s\nIt asks you to open a page on %s yourself:\n%s", e.Message, u.Host, u)
	q := s.question("url", text, []ask.Choice{{ID: "accept", Label: "I will open it"}, {ID: ask.DenyIt, Label: "Decline"}})
	if a, err := s.m.o.Questions.Ask(ctx, q); err != nil || a.Choice != "accept" {
		return wire.ElicitResult{Action: "decline"}
	}
	return wire.ElicitResult{Action: "accept"}
}

func (s *server) question(id, text string, choices []ask.Choice) ask.Question {
	shown, _ := inert.Visible(cut(text, 4<<10))
	return ask.Question{
		ID: "elicit-" + s.name + "-" + id + "-" + serial(), Kind: ask.General,
		Prompt:  "The MCP server " + s.name + " asks: " + shown,
		Choices: choices,
	}
}

// serial tells questions apart that are asked twice.
func serial() string { return rand.Text()[:8] }
