package term

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	lined "github.com/coderrr/coderrr/internal/line"
	"github.com/coderrr/coderrr/internal/slash"
)

// ErrQuit is returned by a command that ends the REPL.
var ErrQuit = errors.New("quit")

// Command is one slash command. Run gets what stands after its name.
type Command struct {
	Name    string // without the slash
	Aliases []string
	Args    string // for the help, such as "[PATH]"
	Help    string
	Run     func(ctx context.Context, args string) error
}

// REPL reads requests and commands until the person leaves. Errors of a request
// or a command are told and do not end it.
type REPL struct {
	Console  *Console
	Style    Style
	History  *History
	Commands []Command
	// Request handles what is no command.
	Request func(ctx context.Context, text string) error
	// Complete and Outside are for the editing of a request; either may be nil.
	Complete lined.Completer
	Outside  func(ctx context.Context, text string) (string, error)
	// Status is a line shown above the prompt; nil shows none. A dumb terminal gets
	// none either.
	Status func() string
	// Explain turns an error into lines for a person.
	Explain func(error) string
}

// Run returns nil when the person left, by /quit, Ctrl-D or Ctrl-C twice.
func (r *REPL) Run(ctx context.Context) error {
	prompt := r.Style.sign("› ", "> ")
	interrupted := false
	for {
		r.status()
		text, err := r.Console.EditLine(ctx, Editing{Prompt: prompt, History: r.History, Complete: r.Complete, Outside: r.Outside})
		switch {
		case errors.Is(err, ErrInterrupt):
			if interrupted {
				return nil
			}
			interrupted = true
			r.say("(Ctrl-C again, Ctrl-D or /quit leaves)\n")
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		interrupted = false
		r.History.Add(text)
		err = r.one(ctx, strings.TrimSpace(text))
		switch {
		case errors.Is(err, ErrQuit):
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			r.say(r.Explain(err))
		}
	}
}

func (r *REPL) status() {
	if r.Status == nil || r.Console.dumb {
		return
	}
	s := r.Style
	if width := r.Console.Width(); width > 0 {
		s.Width = clampWidth(width)
	}
	r.say(s.dim(s.cut(OneLine(r.Status()), s.width()-1)) + "\n")
}

func (r *REPL) say(text string) { _, _ = io.WriteString(r.Console.Out(), text) }

func (r *REPL) one(ctx context.Context, text string) error {
	if text == "" {
		return nil
	}
	name, args, ok := slash.Split(text)
	if !ok {
		return r.Request(ctx, text)
	}
	if name == "help" || name == "?" || name == "" {
		r.say(r.help())
		return nil
	}
	for _, c := range r.Commands {
		if c.Name == name || slices.Contains(c.Aliases, name) {
			return c.Run(ctx, args)
		}
	}
	hint := "/help lists the commands"
	if near := r.nearest(name); near != "" {
		hint = "did you mean /" + near + "? " + hint
	}
	r.say(fmt.Sprintf("There is no command /%s: %s.\n", OneLine(name), hint))
	return nil
}

func (r *REPL) help() string {
	var b strings.Builder
	b.WriteString("Type what is to be done; a plan comes first, and nothing is changed before you approve it.\n")
	b.WriteString("A line that ends in \\ goes on, and Alt-Enter starts a new one. @ and Tab complete a file, / and Tab a command,\n")
	b.WriteString("Ctrl-R searches what was typed, Ctrl-G opens your editor, !COMMAND runs in the sandbox.\n")
	b.WriteString("While a run works, what you type is told to the model, and Esc stops it.\n\n")
	for _, c := range append([]Command{{Name: "help", Aliases: []string{"?"}, Help: "show this"}}, r.Commands...) {
		left := "/" + c.Name
		if c.Args != "" {
			left += " " + c.Args
		}
		help := c.Help
		if len(c.Aliases) > 0 {
			help += " (also /" + strings.Join(c.Aliases, ", /") + ")"
		}
		fmt.Fprintf(&b, "  %-20s %s\n", left, help)
	}
	return b.String()
}

// nearest finds the command that a mistyped one means.
func (r *REPL) nearest(name string) string {
	names := []string{"help"}
	for _, c := range r.Commands {
		names = append(append(names, c.Name), c.Aliases...)
	}
	return slash.Closest(name, names)
}
