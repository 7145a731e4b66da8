package term

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/coderrr/coderrr/internal/event"
)

// headLines and tailLines are how much of a command's output is shown.
const (
	headLines = 8
	tailLines = 12
	diffLines = 80
)

// call is a tool call that runs.
type call struct {
	name    string
	rest    string   // output after the last line feed
	lines   int      // printed or held
	tail    []string // held back
	dropped int
}

func (p *Printer) toolStarted(d event.ToolStarted) {
	p.calls[d.ID] = &call{name: d.Name}
	if d.Name != "run_in_sandbox" {
		return // one line at the end is enough
	}
	var in struct {
		Command string `json:"command"`
	}
	if json.Unmarshal(d.Input, &in) == nil && in.Command != "" {
		p.line(p.o.Style.bold("  $ ") + strings.TrimLeft(p.o.Style.wrapped(in.Command, "    "), " "))
	}
}

// toolOutput prints the first lines at once and holds the last ones back: the end
// of a long output is what says how it went.
func (p *Printer) toolOutput(d event.ToolOutput) {
	c, ok := p.calls[d.ID]
	if !ok {
		return
	}
	lines := strings.Split(c.rest+d.Text, "\n")
	c.rest = lines[len(lines)-1]
	if len(c.rest) > 4096 { // a line without end is shown in pieces
		lines, c.rest = append(lines, ""), ""
	}
	for _, l := range lines[:len(lines)-1] {
		p.outputLine(c, l)
	}
}

func (p *Printer) outputLine(c *call, line string) {
	c.lines++
	if p.o.Level == Verbose || c.lines <= headLines {
		p.output(line)
		return
	}
	c.tail = append(c.tail, line)
	if len(c.tail) > tailLines {
		c.tail = c.tail[1:]
		c.dropped++
	}
}

func (p *Printer) output(line string) {
	s := p.o.Style
	line = strings.TrimSuffix(line, "\r")
	p.line(s.dim("  "+s.sign("│ ", "| ")+s.cut(OneLine(line), s.width()-4)) + "\n")
}

func (p *Printer) toolFinished(d event.ToolFinished) {
	s := p.o.Style
	if c, ok := p.calls[d.ID]; ok {
		if c.rest != "" {
			p.outputLine(c, c.rest)
		}
		if c.dropped > 0 {
			p.line(s.dim(fmt.Sprintf("  %s (%d lines left out; -v shows all)", s.sign("┆", ":"), c.dropped)) + "\n")
		}
		for _, l := range c.tail {
			p.output(l)
		}
		delete(p.calls, d.ID)
	}
	if d.OK && p.o.Level != Verbose && p.toldBy(d) {
		return
	}
	mark := s.green(s.sign("✓", "ok"))
	if !d.OK {
		mark = s.red(s.sign("✗", "failed"))
	}
	text := d.Display
	switch {
	case text == "":
		text = d.Name
	case strings.HasPrefix(text, d.Name):
	case strings.HasPrefix(d.Name, "mcp__"), !d.OK:
		text = d.Name + ": " + text // a server's own words do not say who speaks
	}
	p.line("  " + mark + " " + s.cut(OneLine(text), s.width()-10) + "\n")
	if p.o.Level == Verbose && d.Content != "" {
		p.line(s.dim(strings.TrimRight(s.wrapped(d.Content, "    "), "\n")) + "\n")
	}
}

// toldBy reports whether what a call did was printed as an event of its own: the
// change of a file, a document, a task.
func (p *Printer) toldBy(d event.ToolFinished) bool {
	switch d.Name {
	case "create_spec", "write_spec", "update_task":
		return true
	}
	told := p.told[d.ID]
	delete(p.told, d.ID)
	return told
}

func (p *Printer) fileChanged(d event.FileChanged) {
	s := p.o.Style
	if d.Call != "" {
		p.told[d.Call] = true
	}
	name := OneLine(d.Path)
	if d.From != "" {
		name = OneLine(d.From) + s.sign(" → ", " -> ") + name
	}
	head := fmt.Sprintf("%s %s", OneLine(d.Op), name)
	counts := fmt.Sprintf(" (+%d -%d)", d.Added, d.Removed)
	if d.Mode != "" {
		counts += " mode " + OneLine(d.Mode)
	}
	for _, f := range d.Flags {
		counts += " [" + strings.ReplaceAll(OneLine(f), "_", " ") + "]"
	}
	p.line("  " + s.bold(head) + counts + "\n")
	max := diffLines
	if p.o.Level == Verbose {
		max = 0
	}
	p.line(s.diffText(d.Diff, "  ", max))
	if d.DiffTruncated {
		p.line("  " + s.dim("(the rest of this diff is left out; `coderrr session show` and the browser have the file's whole change)") + "\n")
	}
}
