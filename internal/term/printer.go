package term

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/coderrr/coderrr/internal/ask"
	"github.com/coderrr/coderrr/internal/event"
)

// Level is how much is printed.
type Level int

// The levels. Quiet prints warnings, errors and the result; Verbose adds
// reasoning, whole outputs and diffs.
const (
	Normal Level = iota
	Quiet
	Verbose
)

// Options of a Printer.
type Options struct {
	// Out gets the answer: the result of a run, or the model's words when Talk is
	// set. Progress gets everything else. They may be the same writer.
	Out, Progress io.Writer
	// OutPiped is true when Out is no terminal though Progress is one: what goes
	// there has neither colours nor breaks of ours.
	OutPiped bool
	Style    Style
	// Columns is asked for the width before each event, 0 when it is not known; nil
	// keeps that of Style.
	Columns func() int
	Level   Level
	// Talk makes the model's words the answer (coderrr ask).
	Talk bool
	// Stream prints words as they come; otherwise whole blocks.
	Stream bool
	// Usage adds tokens and cost to the result.
	Usage bool
	// Status says in a line what is in force; it is printed when a phase begins and
	// every statusTurns turns. nil prints none.
	Status func() string
	// By is how a person who sits here answers: they saw what they typed, so only
	// others' answers are told.
	By ask.By
}

// Printer turns events into text. It is used by one goroutine; WaitAsked may be
// called from others.
type Printer struct {
	o       Options
	text    flow
	said    string // streamed of the current block
	think   flow
	thought string
	calls   map[string]*call
	told    map[string]bool   // calls whose effect was printed
	tasks   map[string]string // id → title
	status  map[string]string // of tasks, last printed
	plan    string            // hash last printed
	err     error

	mu    sync.Mutex
	where string                   // the workspace
	asked map[string]chan struct{} // closed when a question was reached
}

// NewPrinter returns a printer for one log.
func NewPrinter(o Options) *Printer {
	words := o.Progress
	if o.Talk {
		words = o.Out
	}
	style := o.Style
	if o.Talk && o.OutPiped {
		style = Style{}
	}
	return &Printer{
		o:    o,
		text: flow{w: words, style: style, markdown: true}, think: flow{w: o.Progress, style: o.Style, indent: "  "},
		calls: map[string]*call{}, told: map[string]bool{}, tasks: map[string]string{}, status: map[string]string{}, asked: map[string]chan struct{}{},
	}
}

// Follow prints a log until it ends, or the context does. The error is the
// writer's: nobody reads any more.
func (p *Printer) Follow(ctx context.Context, log *event.Log, after int64) error {
	for e := range log.Follow(ctx, after) {
		if err := p.Print(e); err != nil {
			return err
		}
	}
	p.settle()
	return p.failed()
}

// WaitAsked returns when everything up to the question was printed, so that a
// prompt does not cut into what it is about.
func (p *Printer) WaitAsked(ctx context.Context, id string) {
	select {
	case <-p.reached(id):
	case <-ctx.Done():
	}
}

// Workspace is where the session works, "" before that was printed.
func (p *Printer) Workspace() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.where
}

func (p *Printer) reached(id string) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, ok := p.asked[id]
	if !ok {
		c = make(chan struct{})
		p.asked[id] = c
	}
	return c
}

// open lets a question go ahead. A log can hold the same id twice.
func (p *Printer) open(id string) {
	c := p.reached(id)
	select {
	case <-c:
	default:
		close(c)
	}
}

// Print prints one event.
func (p *Printer) Print(e event.Event) error {
	if p.o.Columns != nil {
		if width := p.o.Columns(); width > 0 {
			p.o.Style.Width = clampWidth(width)
			p.text.style.Width, p.think.style.Width = p.o.Style.Width, p.o.Style.Width
		}
	}
	switch d := e.Data.(type) {
	case event.TextDelta:
		p.delta(&p.text, &p.said, d.Text)
	case event.ThinkingDelta:
		if p.o.Level == Verbose {
			p.delta(&p.think, &p.thought, d.Text)
		}
	case event.TextDone:
		p.done(&p.text, &p.said, d.Text)
	case event.ThinkingDone:
		if p.o.Level == Verbose {
			p.done(&p.think, &p.thought, d.Text)
		}
	default:
		p.settle()
		p.printRun(e)
	}
	return p.failed()
}

func (p *Printer) failed() error {
	for _, err := range []error{p.err, p.text.err, p.think.err} {
		if err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	return nil
}

func (p *Printer) mute() bool { return p.o.Level == Quiet }

func (p *Printer) delta(f *flow, said *string, text string) {
	if !p.o.Stream || (p.mute() && !p.o.Talk) {
		return
	}
	f.write(text)
	*said += text
}

// done ends a block. What was not streamed of it is printed now; when the stream
// was another attempt's, all of it.
func (p *Printer) done(f *flow, said *string, whole string) {
	if p.mute() && !p.o.Talk {
		return
	}
	rest, ok := strings.CutPrefix(whole, *said)
	if !ok {
		f.end()
		rest = whole
	}
	f.write(rest)
	f.end()
	*said = ""
}

// settle ends a block that was cut.
func (p *Printer) settle() {
	p.text.end()
	p.think.end()
	p.said, p.thought = "", ""
}

func (p *Printer) printRun(e event.Event) {
	switch d := e.Data.(type) {
	case event.SessionStarted:
		p.started(d)
	case event.PhaseChanged:
		p.phase(d)
	case event.TurnStarted:
		if d.Turn%statusTurns == 0 {
			p.inForce()
		}
	case event.UserMessage:
		p.line(p.o.Style.bold(p.o.Style.sign("› ", "> ")) + strings.TrimLeft(p.o.Style.wrapped(d.Text, "  "), " "))
	case event.PlanReady:
		p.planReady(d)
	case event.TaskUpdated:
		p.task(d)
	case event.AskOpened:
		p.open(d.ID)
	case event.AskClosed:
		p.answered(d)
	case event.SessionFinished:
		p.finished(d)
	case event.RetryScheduled:
		p.line(p.o.Style.yellow(fmt.Sprintf("Trying again in %.1f s (attempt %d): %s", float64(d.InMS)/1000, d.Attempt, OneLine(d.Reason))) + "\n")
	case event.Notice:
		p.notice(d)
	default:
		p.printWork(e)
	}
}

func (p *Printer) printWork(e event.Event) {
	switch d := e.Data.(type) {
	case event.ToolStarted:
		p.toolStarted(d)
	case event.ToolOutput:
		p.toolOutput(d)
	case event.ToolFinished:
		p.toolFinished(d)
	case event.FileChanged:
		p.fileChanged(d)
	case event.SpecWritten:
		p.line(p.o.Style.dim(fmt.Sprintf("  wrote .coderrr/specs/%s/%s.md", OneLine(d.Spec), OneLine(d.Document))) + "\n")
	case event.VerifyFinished:
		p.verified(d)
	case event.ContextChanged:
		p.contextChanged(d)
	}
}

// line prints to progress; a quiet printer drops it.
func (p *Printer) line(text string) {
	if !p.mute() {
		p.must(p.o.Progress, text)
	}
}

// must prints whatever the level.
func (p *Printer) must(w io.Writer, text string) {
	if p.err == nil {
		_, p.err = io.WriteString(w, text)
	}
}
