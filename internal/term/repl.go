package term

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
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
	// Explain turns an error into lines for a person.
	Explain func(error) string
}

// Run returns nil when the person left, by /quit, Ctrl-D or Ctrl-C twice.
func (r *REPL) Run(ctx context.Context) error {
	prompt := r.Style.sign("› ", "> ")
	interrupted := false
	for {
		text, err := r.Console.Edit(ctx, prompt, r.History)
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

func (r *REPL) say(text string) { _, _ = io.WriteString(r.Console.Out(), text) }

func (r *REPL) one(ctx context.Context, text string) error {
	if text == "" {
		return nil
	}
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return r.Request(ctx, text)
	}
	name, args, _ := strings.Cut(rest, " ")
	if strings.ContainsRune(name, '/') {
		return r.Request(ctx, text) // a path, not a command
	}
	if name == "help" || name == "?" || name == "" {
		r.say(r.help())
		return nil
	}
	for _, c := range r.Commands {
		if c.Name == name || slices.Contains(c.Aliases, name) {
			return c.Run(ctx, strings.TrimSpace(args))
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
	b.WriteString("A line that ends in \\ goes on. While a run works, what you type is told to the model.\n\n")
	rows := append([]Command{{Name: "help", Aliases: []string{"?"}, Help: "show this"}}, r.Commands...)
	for _, c := range rows {
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
	best, score := "", 3
	for _, c := range append([]Command{{Name: "help"}}, r.Commands...) {
		for _, n := range append([]string{c.Name}, c.Aliases...) {
			if strings.HasPrefix(n, name) && len(name) > 1 {
				return n
			}
			if d := distance(n, name); d < score && d < len(n) {
				best, score = n, d
			}
		}
	}
	return best
}

// distance is the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
