// Package agent is the inner loop: ask the model, run the tools it calls, give it
// the results, until it stops asking. It holds a tools.Set and a provider and can
// reach nothing else: what the Set does not expose does not exist here.
package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/tools"
)

// Stop says why a loop ended.
type Stop string

// The reasons. Every one leaves a conversation that can be sent again.
const (
	EndTurn   Stop = "end_turn"  // the model asked for no more tools
	Finished  Stop = "finished"  // the model called finish
	Spent     Stop = "budget"    // a limit was reached; see Result.Why
	Cancelled Stop = "cancelled" // the context ended
	Refused   Stop = "refusal"   // the model declined to answer
	Stuck     Stop = "stuck"     // the same call again and again
	Halted    Stop = "halted"    // Options.Halt said so
)

// Model is who answers.
type Model struct {
	Provider llm.Provider
	Name     string
	Info     llm.ModelInfo
	// Effort of its reasoning, in the provider's word; "" sends none.
	Effort string
	// Learn asks the provider for what Info lacks, and returns Info completed and a
	// warning for the person, "" for none; nil when nothing is missing.
	Learn func(context.Context) (info llm.ModelInfo, warning string)
}

// Options of a Loop. Model, Set, Log and Talk are required.
type Options struct {
	Model func() Model // read at each turn: it can change in mid-session
	Set   *tools.Set
	Log   *event.Log
	Talk  *Talk
	// System is the system prompt, read at each turn.
	System func() string
	// MaxTokens limits one answer; 0 leaves it to the provider.
	MaxTokens   int
	Temperature *float64
	Budget      *Budget
	// MaxTurns limits the turns of this loop; 0 is no limit.
	MaxTurns int
	// Queued returns what the person typed since the last turn.
	Queued func() []string
	// Halt is asked before each turn; a non-empty answer ends the loop.
	Halt func() string
	// Summary is who sums up a conversation that got too long; nil is Model.
	Summary func() Model
	// Memory tells a model that lost the beginning where else it can look.
	Memory func() string
	// Compact is asked before each turn whether the person wants a shorter
	// conversation; it answers true once for each wish.
	Compact func() bool
}

// Result is how a loop ended.
type Result struct {
	Stop Stop
	// Why explains Spent, Stuck and Halted in words for people.
	Why string
	// Text is the model's last visible text, or the summary given to finish.
	Text string
}

// Loop runs turns. It is used once, by one goroutine.
type Loop struct {
	o       Options
	turns   int
	cut     int  // answers in a row that were cut at the token limit
	long    bool // the last call failed because the prompt was too long
	texted  bool // the last answer had a call written as text
	reasked bool // it was told so, and has made no call since
	bad     int  // calls in a row that the provider could not read
	guard   guard
}

// New returns a loop.
func New(o Options) *Loop {
	if o.Budget == nil {
		o.Budget = &Budget{}
	}
	if o.Queued == nil {
		o.Queued = func() []string { return nil }
	}
	if o.Halt == nil {
		o.Halt = func() string { return "" }
	}
	if o.Summary == nil {
		o.Summary = o.Model
	}
	if o.Memory == nil {
		o.Memory = func() string { return "" }
	}
	if o.Compact == nil {
		o.Compact = func() bool { return false }
	}
	return &Loop{o: o}
}

// maxCut is how many answers in a row may be cut at the token limit.
const maxCut = 3

// Run takes turns until there is a reason to stop. Its error is a failure of the
// provider or of the log; tool failures are never errors.
func (l *Loop) Run(ctx context.Context) (Result, error) {
	for {
		if res, stop, err := l.before(ctx); stop || err != nil {
			return res, err
		}
		done, err := l.ask(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return Result{Stop: Cancelled}, nil
			}
			again, err := l.recover(ctx, err)
			if err != nil {
				return Result{}, err
			}
			if again {
				continue
			}
		}
		res, stop := l.after(ctx, done)
		if stop {
			return res, nil
		}
	}
}

// before says whether another turn may begin, and gives the model what the person
// typed meanwhile.
func (l *Loop) before(ctx context.Context) (Result, bool, error) {
	if ctx.Err() != nil {
		return Result{Stop: Cancelled}, true, nil
	}
	if err := l.o.Log.Err(); err != nil {
		return Result{}, true, fmt.Errorf("the session cannot go on, its log is not stored: %w", err)
	}
	if why := l.o.Halt(); why != "" {
		return Result{Stop: Halted, Why: why}, true, nil
	}
	if l.o.MaxTurns > 0 && l.turns >= l.o.MaxTurns {
		return Result{Stop: Spent, Why: fmt.Sprintf("%d turns were used (agent.max_tool_turns)", l.turns)}, true, nil
	}
	if why := l.o.Budget.Spent(); why != "" {
		return Result{Stop: Spent, Why: why}, true, nil
	}
	for _, text := range l.o.Queued() {
		l.o.Talk.Say(text)
	}
	if l.o.Compact() && !l.compact(ctx) {
		l.o.Log.Append(event.Notice{Level: "info", Kind: "compaction", Text: "There is nothing to shorten: the conversation is short."})
	}
	return Result{}, false, nil
}

// recover decides what a failed call means. again is true when the conversation
// was mended and the call can be repeated.
func (l *Loop) recover(ctx context.Context, err error) (again bool, _ error) {
	var e *llm.Error
	if !errors.As(err, &e) {
		return false, err
	}
	switch e.Kind {
	case llm.KindContextLength:
		if !l.long && l.tooLong(ctx, e) {
			l.long = true
			return true, nil
		}
	case llm.KindBadToolCall:
		if l.bad++; l.bad <= 2 {
			l.o.Talk.Add(llm.Message{Role: llm.User, Blocks: llm.Blocks{llm.Text{Text: "Your last tool call could not be read: its arguments were not valid JSON. Send it again, whole."}}})
			return true, nil
		}
	}
	return false, err
}

// after runs the calls of an answer and decides whether to go on.
func (l *Loop) after(ctx context.Context, done llm.Done) (Result, bool) {
	l.bad, l.long = 0, false
	text := llm.TextOf(done.Message)
	uses := llm.ToolUses(done.Message)
	if done.Stop == llm.StopMaxTokens {
		l.cut++
	} else {
		l.cut = 0
	}
	switch {
	case done.Stop == llm.StopRefusal:
		return Result{Stop: Refused, Text: text}, true
	case l.cut > maxCut:
		return Result{Stop: Spent, Why: "the model's answers are cut at the token limit again and again (agent.max_tokens)", Text: text}, true
	case len(uses) > 0:
		l.reasked = false
		return l.call(ctx, uses, done)
	case l.texted && !l.reasked:
		l.reasked = true
		l.o.Talk.Tell(asText)
		return Result{}, false
	case done.Stop == llm.StopMaxTokens:
		l.o.Talk.Tell(cutNote(done))
		return Result{}, false
	case done.Stop == llm.StopPause:
		return Result{}, false
	}
	if l.texted {
		l.o.Log.Append(event.Notice{Level: "warning", Kind: "model", Text: "The model writes tool calls as text again and again; such calls are not run. Choose a model that can call tools."})
	}
	if queued := l.o.Queued(); len(queued) > 0 {
		for _, q := range queued {
			l.o.Talk.Say(q)
		}
		return Result{}, false
	}
	return Result{Stop: EndTurn, Text: text}, true
}

// call runs each use in order; every use gets a result, whatever happens.
func (l *Loop) call(ctx context.Context, uses []llm.ToolUse, done llm.Done) (Result, bool) {
	var blocks llm.Blocks
	var end *tools.Result
	stuck := ""
	for _, use := range uses {
		res, again := l.guard.check(use)
		if !again {
			if ctx.Err() != nil {
				res = tools.Fail("not run: the session was stopped")
			} else {
				stop := l.o.Budget.Work()
				res = l.o.Set.Call(ctx, use)
				stop()
			}
		} else if l.guard.stuck() {
			stuck = use.Name
		}
		blocks = append(blocks, llm.ToolResult{ToolUseID: use.ID, Name: use.Name, Content: res.Content, Images: res.Images, IsError: res.IsError})
		if res.End {
			end = &res
		}
	}
	if len(done.Incomplete) > 0 {
		blocks = append(blocks, llm.Text{Text: cutNote(done)})
	}
	l.o.Talk.Add(llm.Message{Role: llm.User, Blocks: blocks})
	switch {
	case ctx.Err() != nil:
		return Result{Stop: Cancelled}, true
	case end != nil:
		return Result{Stop: Finished, Text: end.Content}, true
	case stuck != "":
		return Result{Stop: Stuck, Why: "the model made the same call of " + stuck + " again and again"}, true
	}
	return Result{}, false
}

func cutNote(done llm.Done) string {
	note := "Your answer was cut at the token limit."
	for _, u := range done.Incomplete {
		note += fmt.Sprintf(" The call of %s was not complete and was not run.", u.Name)
	}
	return note + " Go on in smaller steps: write long files in several edits."
}
