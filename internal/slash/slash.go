// Package slash is the table of the commands that a person types with a slash,
// the same for the terminal and the browser. It is pure data and says what each
// is for and where it works; what they do is the front ends' business. No command
// is found by luck: a name or an alias matches whole or not at all, and a
// mistyped one only gets a suggestion.
package slash

import (
	"slices"
	"strings"
)

// Where says where a command works; the values are bits.
type Where uint8

// The places.
const (
	// Prompt: at the terminal's prompt, while nothing runs.
	Prompt Where = 1 << iota
	// Running: in the terminal while a session runs, and at its questions.
	Running
	// Browser: in the browser's request field.
	Browser
)

// Everywhere is all places.
const Everywhere = Prompt | Running | Browser

// Command is one row of the table.
type Command struct {
	Name    string   // without the slash, lower case
	Aliases []string // names that other agents use for it
	Args    string   // for the help, such as "[PATH]"; "" takes none
	Help    string   // one line, lower case, no full stop
	Where   Where
}

// Works says whether the command works at a place.
func (c Command) Works(w Where) bool { return c.Where&w != 0 }

// Usage is the command as it is typed, such as "/undo [PATH]".
func (c Command) Usage() string {
	if c.Args == "" {
		return "/" + c.Name
	}
	return "/" + c.Name + " " + c.Args
}

// Table returns all commands in the order of the help. The caller owns it.
func Table() []Command {
	return slices.Concat(work(), look(), settings(), leave())
}

// work are the commands that make, decide and take back changes.
func work() []Command {
	return []Command{
		{"help", []string{"?", "h", "commands"}, "", "show this", Everywhere},
		{"plan", []string{"spec"}, "[SPEC]", "show the last plan, or a stored one", Prompt | Running | Browser},
		{"specs", []string{"tasks", "todos"}, "", "list the stored plans", Prompt},
		{"ask", []string{"btw"}, "QUESTION", "ask without changing anything", Prompt},
		{"approve", []string{"execute", "yes"}, "[SPEC]", "approve the plan that waits; execute a stored one, after asking", Everywhere},
		{"reject", []string{"discard", "no"}, "", "discard the plan that waits", Running | Browser},
		{"stop", []string{"cancel", "interrupt"}, "", "stop what runs; Esc and Ctrl-C do too", Running | Browser},
		{"diff", []string{"changes", "review"}, "", "show the last session's changes", Everywhere},
		{"undo", []string{"revert", "restore"}, "[PATH]", "take the last session's changes back; shows them and asks first", Prompt | Browser},
		{"rewind", []string{"checkpoints"}, "[N [files]]", "list the requests of this conversation; go back to before one, with its files or without", Prompt},
		{"confirm", nil, "on|off", "ask before each write", Prompt | Running | Browser},
		{"auto", []string{"yolo", "auto-approve"}, "on|off", "approve the plan of each request without asking, until you leave or type /new", Prompt},
		{"init", nil, "", "draft an AGENTS.md for this project, through a plan as any change", Prompt},
		{"new", []string{"clear", "reset"}, "", "start a new conversation", Prompt | Browser},
		{"resume", []string{"continue"}, "[ID]", "go on where a session stopped: the newest, or the one named", Prompt},
		{"sessions", []string{"history", "chats"}, "", "list the stored sessions", Prompt},
		{"export", []string{"share"}, "[ID]", "print a session's log as JSON lines", Prompt},
		{"compact", []string{"compress", "summarize"}, "", "shorten the conversation that the model is sent", Prompt | Running | Browser},
	}
}

// look are the commands that show what is in force.
func look() []Command {
	return []Command{
		{"status", []string{"about", "session"}, "", "what is in force: model, sandbox, workspace, last result", Everywhere},
		{"context", nil, "", "what the model was sent: messages, results, files, tokens", Prompt | Running | Browser},
		{"cost", []string{"usage", "stats", "tokens"}, "", "tokens and cost of this conversation", Everywhere},
		{"memory", []string{"guidance", "rules"}, "", "the AGENTS.md files (and others) that were loaded", Prompt | Running},
		{"permissions", []string{"allowed-tools", "approvals", "policies"}, "", "what may be done without asking", Prompt | Running},
		{"sandbox", nil, "[ARGS]", "how commands are contained here; with words, as `coderrr sandbox`", Prompt},
		{"doctor", []string{"debug"}, "", "check the installation, each fault with its remedy", Prompt},
	}
}

// settings are the commands that change what the next requests use.
func settings() []Command {
	return []Command{
		{"model", []string{"models"}, "[[PROVIDER/]MODEL]", "show or change the model, from the next turn on", Everywhere},
		{"mcp", nil, "[ARGS]", "list the MCP servers; with words, as `coderrr mcp`; /SERVER:PROMPT sends a prompt of one", Prompt},
		{"skills", []string{"skill"}, "[QUERY]", "find skills in the registry and the project", Prompt},
		{"config", []string{"settings"}, "[ARGS]", "show the configuration; with words, as `coderrr config`", Prompt},
		{"ui", []string{"web", "browser"}, "", "serve this conversation to the browser; either side can answer", Prompt | Running},
	}
}

func leave() []Command {
	return []Command{
		{"quit", []string{"exit", "q", "bye"}, "", "leave", Prompt},
	}
}

// Find looks a name or an alias up among the commands that work at one of the
// places. The name has no slash; case does not matter.
func Find(name string, w Where) (Command, bool) {
	name = strings.ToLower(name)
	for _, c := range Table() {
		if c.Works(w) && (c.Name == name || slices.Contains(c.Aliases, name)) {
			return c, true
		}
	}
	return Command{}, false
}

// Split takes a typed line apart. ok is false for what is no command but a message:
// a line without a slash, a path such as /etc/hosts, and the prompt of an MCP server,
// /SERVER:PROMPT, which the session fetches.
func Split(line string) (name, args string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), "/")
	if !ok {
		return "", "", false
	}
	name, args = rest, ""
	if i := strings.IndexAny(rest, " \t\n"); i >= 0 {
		name, args = rest[:i], strings.TrimSpace(rest[i:])
	}
	return name, args, !strings.ContainsAny(name, "/:")
}

// maxDistance is how many typing mistakes still get a suggestion.
const maxDistance = 2

// Nearest is the command that a mistyped name most likely means, "" for none. It
// only looks at those that work at one of the places.
func Nearest(name string, w Where) string {
	var names []string
	for _, c := range Table() {
		if c.Works(w) {
			names = append(append(names, c.Name), c.Aliases...)
		}
	}
	return Closest(name, names)
}

// Closest is the one of names that a mistyped word most likely means: the first
// that begins with it, else the one with the fewest mistakes, "" for none.
func Closest(word string, names []string) string {
	word = strings.ToLower(word)
	best, score := "", maxDistance+1
	for _, n := range names {
		if len(word) > 1 && strings.HasPrefix(n, word) {
			return n
		}
		if d := distance(n, word); d < score && d < len(n) {
			best, score = n, d
		}
	}
	return best
}

// Complete lists the names that begin with prefix and work at one of the places,
// in the order of the table. An alias is listed only when no name fits.
func Complete(prefix string, w Where) []string {
	prefix = strings.ToLower(prefix)
	var names, aliases []string
	for _, c := range Table() {
		if !c.Works(w) {
			continue
		}
		if strings.HasPrefix(c.Name, prefix) {
			names = append(names, c.Name)
		}
		for _, a := range c.Aliases {
			if strings.HasPrefix(a, prefix) {
				aliases = append(aliases, a)
			}
		}
	}
	if len(names) > 0 {
		return names
	}
	return aliases
}

// distance counts the mistakes between two words: letters added, left out,
// changed, or two that changed places.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
