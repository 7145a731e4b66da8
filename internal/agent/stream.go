package agent

import (
	"context"
	"errors"
	"strings"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm"
)

// ask makes one model call, shows it as it streams, and adds the answer to the
// conversation. After a failure or a cancel the text that came is kept, the calls
// are not.
func (l *Loop) ask(ctx context.Context) (llm.Done, error) {
	l.turns++
	turn := l.o.Talk.nextTurn()
	m := l.o.Model()
	l.o.Log.Append(event.TurnStarted{Turn: turn})
	stop := l.o.Budget.Start()
	defer stop()
	l.makeRoom(ctx, m)
	show := &shower{log: l.o.Log}
	done, err := llm.Collect(m.Provider.Stream(ctx, l.request(m)), show.delta)
	show.end()
	if err != nil {
		l.failed(ctx, m, show, turn, err)
		return llm.Done{}, err
	}
	l.texted = l.written(&done)
	if len(done.Message.Blocks) > 0 {
		done.Message.Role = llm.Assistant
		done.Message = l.o.Talk.distinct(done.Message)
		l.o.Talk.AddFrom(done.Message, m)
	}
	l.o.Talk.used(done.Usage)
	l.spend(m, done.Usage, "")
	l.o.Log.Append(event.TurnFinished{Turn: turn, StopReason: done.Stop})
	return done, nil
}

// request is the next call.
func (l *Loop) request(m Model) llm.Request {
	return llm.Request{
		Model: m.Name, System: l.o.System(), Messages: l.o.Talk.Messages(), Tools: l.o.Set.Specs(),
		MaxTokens: l.o.MaxTokens, Temperature: l.o.Temperature, Effort: m.Effort,
	}
}

// failed keeps what was shown before the call broke.
func (l *Loop) failed(ctx context.Context, m Model, show *shower, turn int, err error) {
	var e *llm.Error
	if errors.As(err, &e) && e.Usage.Known {
		l.spend(m, e.Usage, "")
	}
	if text := strings.TrimSpace(show.said.String()); text != "" {
		l.o.Talk.AddFrom(llm.Message{Role: llm.Assistant, Blocks: llm.Blocks{llm.Text{Text: text}}}, m)
		if ctx.Err() == nil {
			l.o.Talk.Add(llm.Message{Role: llm.User, Blocks: llm.Blocks{llm.Text{Text: "(The connection broke here. Go on from where the answer stopped.)"}}})
		}
	}
	l.o.Log.Append(event.TurnFinished{Turn: turn, StopReason: llm.StopError})
}

func (l *Loop) spend(m Model, u llm.Usage, purpose string) {
	l.o.Log.Append(l.o.Budget.Add(u, m.Info, purpose))
}

// shower turns deltas into events: every block that opened ends in a done event.
type shower struct {
	log      *event.Log
	text     strings.Builder
	thinking strings.Builder
	said     strings.Builder // all text of the attempt
}

func (s *shower) delta(d llm.Delta) error {
	switch d := d.(type) {
	case llm.TextDelta:
		s.endThinking()
		s.text.WriteString(d.Text)
		s.said.WriteString(d.Text)
		s.log.Append(event.TextDelta{Text: d.Text})
	case llm.ThinkingDelta:
		s.endText()
		s.thinking.WriteString(d.Text)
		s.log.Append(event.ThinkingDelta{Text: d.Text})
	case llm.ToolUseStart:
		s.end()
	case llm.Retry:
		// What the broken attempt streamed is void: readers drop the open block.
		s.text.Reset()
		s.thinking.Reset()
		s.said.Reset()
		s.log.Append(event.RetryScheduled{InMS: d.Wait, Attempt: d.Attempt, Reason: d.Reason})
	}
	return nil
}

func (s *shower) end() {
	s.endThinking()
	s.endText()
}

func (s *shower) endText() {
	if s.text.Len() > 0 {
		s.log.Append(event.TextDone{Text: s.text.String()})
		s.text.Reset()
	}
}

func (s *shower) endThinking() {
	if s.thinking.Len() > 0 {
		s.log.Append(event.ThinkingDone{Text: s.thinking.String()})
		s.thinking.Reset()
	}
}
