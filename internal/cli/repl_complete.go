package cli

import (
	"context"
	"strings"
	"time"

	"github.com/coderrr/coderrr/internal/slash"
)

// completeTime bounds how long a person waits for a completion.
const completeTime = 300 * time.Millisecond

// prompter is an App that knows prompts of MCP servers, as SERVER:PROMPT.
type prompter interface{ Prompts(prefix string) []string }

// complete goes on with a /command at the start, an @file anywhere, and the path
// that /undo takes.
func (p *repl) complete(text []rune, at int) (from int, options []string) {
	from = at
	for from > 0 && text[from-1] != ' ' && text[from-1] != '\n' && text[from-1] != '\t' {
		from--
	}
	word := string(text[from:at])
	if name, ok := strings.CutPrefix(word, "/"); ok && from == 0 {
		for _, n := range slash.Complete(name, slash.Prompt) {
			options = append(options, "/"+n)
		}
		if servers, ok := p.app.(prompter); ok && name != "" {
			for _, n := range servers.Prompts(name) {
				options = append(options, "/"+n)
			}
		}
		return from, options
	}
	prefix, mention := strings.CutPrefix(word, "@")
	name, _, command := slash.Split(string(text[:at]))
	c, found := slash.Find(name, slash.Prompt)
	if !mention && !(command && found && c.Name == "undo") {
		return from, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), completeTime)
	defer cancel()
	files, err := p.app.Files(ctx, prefix)
	if err != nil {
		return from, nil // nothing to offer is no fault of a line that is being typed
	}
	for _, f := range files {
		if mention {
			f = "@" + f
		}
		options = append(options, f)
	}
	return from, options
}
