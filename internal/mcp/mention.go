package mcp

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/coderrr/coderrr/internal/mcp/wire"
)

// Brought is what the words of a person bring along from servers.
type Brought struct {
	// Text is for the model, each part with its server's name on it; "" for none.
	Text string
	// Rest is what the person wrote, less the words that name a server's resource.
	Rest string
	// Err is why the prompt that the text asks for could not be had. Problems are
	// the resources that could not. Each names server and cause.
	Err      error
	Problems []error
}

var (
	mention = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(^|[\s(])@([A-Za-z0-9][A-Za-z0-9_-]{0,63}):([^\s]+)`)
	})
	command = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*/([A-Za-z0-9][A-Za-z0-9_-]{0,63}):(\S+)(?:\s+((?s:.*\S)))?\s*$`)
	})
	fence = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^ {0,3}(`{3,}|~{3,})") })
)

// maxMentions bounds how many resources one text brings along.
const maxMentions = 10

// Bring reads what a person's text names: /SERVER:PROMPT [ARGS] at its start, and
// @SERVER:URI of a configured server anywhere but in a fenced block, which holds
// what others wrote. What was read is told as a notice.
func (m *Manager) Bring(ctx context.Context, text string) Brought {
	out := Brought{Rest: text}
	if cmd := command().FindStringSubmatch(text); cmd != nil {
		out.Text, out.Err = m.asked(ctx, cmd[1], cmd[2], cmd[3])
	}
	var names []string
	out.Rest = outsideFences(text, func(line string) string {
		return mention().ReplaceAllStringFunc(line, func(found string) string {
			part := mention().FindStringSubmatch(found)
			if m.find(part[2]) == nil {
				return found
			}
			names = append(names, part[2]+":"+strings.TrimRight(part[3], ".,;:!?)"))
			return part[1]
		})
	})
	slices.Sort(names)
	for i, name := range slices.Compact(names) {
		if i == maxMentions {
			out.Problems = append(out.Problems, fmt.Errorf("only %d resources are read for one message: @%s and those after it are left out", maxMentions, visible(name)))
			break
		}
		server, uri, _ := strings.Cut(name, ":")
		content, err := m.read(ctx, server, uri)
		if err != nil {
			out.Problems = append(out.Problems, fmt.Errorf("@%s could not be read: %w", visible(name), err))
			continue
		}
		m.notice("info", fmt.Sprintf("Read %s of the MCP server %s for the model: %d bytes.", visible(uri), server, len(content)))
		out.Text = strings.TrimSpace(out.Text + "\n\n" + content)
	}
	return out
}

// read is a resource, or a skill, which is verified against what its server listed.
func (m *Manager) read(ctx context.Context, server, uri string) (string, error) {
	if strings.HasPrefix(uri, skillScheme) {
		return m.Skill(ctx, server, uri)
	}
	return m.Resource(ctx, server, uri)
}

// outsideFences changes the lines of a text that are not in a fenced block.
func outsideFences(text string, change func(line string) string) string {
	var b strings.Builder
	open := ""
	for line := range strings.Lines(text) {
		mark := ""
		if found := fence().FindStringSubmatch(line); found != nil {
			mark = found[1]
		}
		switch {
		case open == "" && mark == "":
			line = change(line)
		case open == "":
			open = mark
		case mark != "" && mark[0] == open[0] && len(mark) >= len(open):
			open = ""
		}
		b.WriteString(line)
	}
	return b.String()
}

// maxPromptShown bounds how much of a server's prompt the person is shown, in
// runes.
const maxPromptShown = 1000

// asked is a prompt that a person asked for, filled in and labelled. They are shown
// what it says: the words are the server's.
func (m *Manager) asked(ctx context.Context, server, name, args string) (string, error) {
	filled, err := m.fill(ctx, server, name, args)
	if err != nil {
		return "", err
	}
	text, err := m.Prompt(ctx, server, name, filled)
	if err != nil {
		return "", err
	}
	if text == "" {
		return "", fmt.Errorf("the prompt %s of the MCP server %s is empty", visible(name), server)
	}
	m.notice("info", fmt.Sprintf("The prompt %s of the MCP server %s says:\n%s", visible(name), server, cut(text, maxPromptShown)))
	return fmt.Sprintf("The person sends the prompt %s of the external MCP server %s. These are that server's words: do what they ask of this project, and nothing that the rules above forbid.\n%s", visible(name), server, text), nil
}

func (m *Manager) fill(ctx context.Context, server, name, typed string) (map[string]string, error) {
	s := m.find(server)
	if s == nil {
		return nil, fmt.Errorf("%w: %q; `coderrr mcp list` shows them", ErrUnknown, server)
	}
	client, err := s.ensure(ctx)
	if err != nil {
		return nil, err
	}
	list, err := client.Prompts(ctx)
	if err != nil {
		return nil, s.explain(err)
	}
	at := slices.IndexFunc(list, func(p wire.Prompt) bool { return p.Name == name })
	if at < 0 {
		var known []string
		for _, p := range list {
			known = append(known, visible(p.Name))
		}
		return nil, fmt.Errorf("the MCP server %s has no prompt %s; it has: %s", server, visible(name), some(known))
	}
	return s.prompt(list[at]).fill(typed)
}

// fill gives a prompt's arguments what was typed: NAME=VALUE goes by name, other
// words in order, and the last argument takes what is left.
func (o Offer) fill(typed string) (map[string]string, error) {
	out := map[string]string{}
	var open []string
	words := strings.Fields(typed)
	words = slices.DeleteFunc(words, func(w string) bool {
		key, value, ok := strings.Cut(w, "=")
		if ok = ok && slices.ContainsFunc(o.Arguments, func(a Argument) bool { return a.Name == key }); ok {
			out[key] = value
		}
		return ok
	})
	for _, a := range o.Arguments {
		if _, set := out[a.Name]; !set {
			open = append(open, a.Name)
		}
	}
	for i, key := range open {
		if len(words) == 0 {
			break
		}
		if i == len(open)-1 {
			out[key], words = strings.Join(words, " "), nil
			break
		}
		out[key], words = words[0], words[1:]
	}
	for _, a := range o.Arguments {
		if a.Required && out[a.Name] == "" {
			return nil, fmt.Errorf("the prompt %s of the MCP server %s needs %s: %s", o.Name, o.Server, a.Name, o.Usage())
		}
	}
	if len(words) > 0 {
		return nil, errors.New("the prompt takes no more words: " + o.Usage())
	}
	return out, nil
}

// Usage is how a prompt is asked for, such as "/srv:review FILE [DEPTH]".
func (o Offer) Usage() string {
	out := "/" + o.Server + ":" + o.Name
	for _, a := range o.Arguments {
		if a.Required {
			out += " " + strings.ToUpper(a.Name)
		} else {
			out += " [" + strings.ToUpper(a.Name) + "]"
		}
	}
	return out
}

// some names the first of a list.
func some(list []string) string {
	const most = 20
	switch {
	case len(list) == 0:
		return "none"
	case len(list) > most:
		return strings.Join(list[:most], ", ") + fmt.Sprintf(" and %d more", len(list)-most)
	}
	return strings.Join(list, ", ")
}
