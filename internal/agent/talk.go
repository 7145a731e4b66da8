package agent

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/llm"
)

// Talk is the conversation of a session: what the model is sent, and the events
// that let it be rebuilt. It outlives the loops of both phases. It is used by one
// goroutine at a time.
type Talk struct {
	log      *event.Log
	messages []llm.Message
	turn     int
	said     string // the person's last words
	attach   func(text string) llm.Blocks
	limit    int64 // window that the provider named for limitOf, 0 for none
	limitOf  string

	// counted is how many tokens the provider counted for the first n messages, 0
	// for unknown.
	counted int64
	n       int
	useless int // compactions in a row that did not help
}

// NewTalk returns a conversation that starts with past messages.
func NewTalk(log *event.Log, past []llm.Message, turn int) *Talk {
	return &Talk{log: log, messages: past, turn: turn}
}

// Messages is what the model is sent. The slice is the conversation's own: read
// only.
func (t *Talk) Messages() []llm.Message { return t.messages }

// Heard notes the person's last words, which no compaction drops.
func (t *Talk) Heard(text string) { t.said = text }

// Say adds text from the person and shows it.
func (t *Talk) Say(text string) {
	t.Heard(text)
	t.log.Append(event.UserMessage{Text: text})
	blocks := llm.Blocks{llm.Text{Text: text}}
	if t.attach != nil {
		blocks = append(blocks, t.attach(text)...)
	}
	t.Add(llm.Message{Role: llm.User, Blocks: blocks})
}

// Attach sets what finds the pictures that a person's text brings.
func (t *Talk) Attach(find func(text string) llm.Blocks) { t.attach = find }

// Tell adds text for the model that is not the person's own words.
func (t *Talk) Tell(text string) {
	t.Add(llm.Message{Role: llm.User, Blocks: llm.Blocks{llm.Text{Text: text}}})
}

// Add appends a message. Two user messages in a row become one when sent: some
// servers refuse them apart.
func (t *Talk) Add(m llm.Message) { t.add(m, "", "") }

// AddFrom appends a message that a model made.
func (t *Talk) AddFrom(m llm.Message, by Model) { t.add(m, by.Provider.Name(), by.Name) }

func (t *Talk) add(m llm.Message, provider, model string) {
	t.log.Append(event.MessageAdded{Role: m.Role, Provider: provider, Model: model, Blocks: m.Blocks})
	t.messages = join(t.messages, m)
}

func join(ms []llm.Message, m llm.Message) []llm.Message {
	if n := len(ms); n > 0 && ms[n-1].Role == llm.User && m.Role == llm.User {
		last := ms[n-1]
		blocks := make(llm.Blocks, 0, len(last.Blocks)+len(m.Blocks))
		blocks = append(append(blocks, last.Blocks...), m.Blocks...)
		return append(ms[:n-1:n-1], llm.Message{Role: llm.User, Blocks: blocks})
	}
	return append(ms, m)
}

// distinct gives every call an id that no call before it has: results, questions
// and the log go by it. Adapters do this for what their provider sends; here it
// holds whoever answers. Calls of one answer keep their order and their results.
func (t *Talk) distinct(m llm.Message) llm.Message {
	taken := map[string]bool{}
	for _, old := range t.messages {
		for _, u := range llm.ToolUses(old) {
			taken[u.ID] = true
		}
	}
	blocks := append(llm.Blocks(nil), m.Blocks...)
	for i, b := range blocks {
		u, ok := b.(llm.ToolUse)
		if !ok {
			continue
		}
		id := u.ID
		for n := 2; id == "" || taken[id]; n++ {
			id = fmt.Sprintf("%s-%d", cmp.Or(u.ID, "call"), n)
		}
		taken[id], u.ID = true, id
		blocks[i] = u
	}
	m.Blocks = blocks
	return m
}

func (t *Talk) nextTurn() int {
	t.turn++
	return t.turn
}

// Rebuild makes the conversation of a stored log valid again: every call has a
// result, and what was not stored is named as interrupted. lost says what became
// of an interrupted call.
func Rebuild(events []event.Event, lost func(llm.ToolUse) string) (messages []llm.Message, turns int) {
	for _, e := range events {
		switch p := e.Data.(type) {
		case event.MessageAdded:
			messages = join(messages, llm.Message{Role: p.Role, Blocks: p.Blocks})
		case event.ContextChanged:
			messages = again(messages, p)
		case event.TurnStarted:
			turns = max(turns, p.Turn)
		}
	}
	return answerOrphans(messages, lost), turns
}

// answerOrphans gives every unanswered call a result and drops results without a
// call.
func answerOrphans(messages []llm.Message, lost func(llm.ToolUse) string) []llm.Message {
	var out []llm.Message
	for i, m := range messages {
		if m.Role == llm.User {
			var calls []llm.ToolUse
			if i > 0 && messages[i-1].Role == llm.Assistant {
				calls = llm.ToolUses(messages[i-1])
			}
			m.Blocks = complete(m.Blocks, calls, lost)
			if len(m.Blocks) == 0 {
				continue
			}
		}
		out = join(out, m)
		if m.Role == llm.Assistant && (i+1 == len(messages) || messages[i+1].Role == llm.Assistant) {
			if missing := complete(nil, llm.ToolUses(m), lost); len(missing) > 0 {
				out = join(out, llm.Message{Role: llm.User, Blocks: missing})
			}
		}
	}
	return out
}

// complete returns blocks with one result for each call, results first.
func complete(blocks llm.Blocks, calls []llm.ToolUse, lost func(llm.ToolUse) string) llm.Blocks {
	answers := map[string]llm.ToolResult{}
	var rest llm.Blocks
	for _, b := range blocks {
		if r, ok := b.(llm.ToolResult); ok {
			answers[r.ToolUseID] = r
			continue
		}
		rest = append(rest, b)
	}
	var out llm.Blocks
	for _, c := range calls {
		r, ok := answers[c.ID]
		if !ok {
			r = llm.ToolResult{ToolUseID: c.ID, Name: c.Name, Content: lost(c), IsError: true}
		}
		out = append(out, r)
	}
	return append(out, rest...)
}

// keepResults is how many of the latest tool results are never left out.
const keepResults = 6

// minResult is the size below which leaving a result out is not worth it.
const minResult = 512

// again does a stored compaction once more: it gives the same conversation.
func again(messages []llm.Message, p event.ContextChanged) []llm.Message {
	switch {
	case p.What != "compaction":
	case p.Name == stepSummary && p.Summary != "":
		return compacted(messages, p.Summary, p.Kept)
	case p.Name == stepResults:
		shrink(messages)
	}
	return messages
}

// Shrink leaves out the bodies of older tool results, which can be had again by
// calling the tool, and returns how many bytes that freed. The log keeps them.
func (t *Talk) Shrink() int {
	freed := shrink(t.messages)
	if freed > 0 {
		t.counted = 0
	}
	return freed
}

func shrink(messages []llm.Message) int {
	var at []struct{ m, b int }
	for i, m := range messages {
		for j, b := range m.Blocks {
			if r, ok := b.(llm.ToolResult); ok && len(r.Content) > minResult {
				at = append(at, struct{ m, b int }{i, j})
			}
		}
	}
	if len(at) <= keepResults {
		return 0
	}
	freed := 0
	for _, p := range at[:len(at)-keepResults] {
		m := messages[p.m]
		r := m.Blocks[p.b].(llm.ToolResult)
		short := fmt.Sprintf("[%d bytes of %s's result were left out to save room; call it again if they are needed]", len(r.Content), r.Name)
		freed += len(r.Content) - len(short)
		r.Content, r.Images = short, nil
		blocks := append(llm.Blocks(nil), m.Blocks...)
		blocks[p.b] = r
		messages[p.m] = llm.Message{Role: m.Role, Blocks: blocks}
	}
	return freed
}

// used notes what the provider counted for the conversation as it is now.
func (t *Talk) used(u llm.Usage) {
	if u.Known {
		t.counted, t.n = u.TotalInput()+u.Output, len(t.messages)
	}
}

// size is how many tokens req holds: what the provider counted, and an estimate of
// what is new since.
func (t *Talk) size(req llm.Request) int64 {
	if t.counted == 0 || t.n > len(t.messages) {
		return llm.EstimateTokens(req)
	}
	n := t.counted
	for _, m := range t.messages[t.n:] {
		n += llm.EstimateMessage(m)
	}
	return n
}

// refused notes the limit that a provider named when it refused a prompt.
func (t *Talk) refused(m Model, limit int64) {
	if limit > 0 {
		t.limit, t.limitOf = limit, m.Name
	}
}

// window is how many tokens the model takes, 0 for unknown. What the provider said
// when it refused a prompt is newer than what is known of the model.
func (t *Talk) window(m Model) int64 {
	if t.limit > 0 && t.limitOf == m.Name && (m.Info.ContextTokens == 0 || t.limit < m.Info.ContextTokens) {
		return t.limit
	}
	return m.Info.ContextTokens
}

// key identifies a call by what it does, whatever its id.
func key(u llm.ToolUse) string {
	var v any
	if json.Unmarshal(u.Input, &v) == nil {
		if canonical, err := json.Marshal(v); err == nil {
			return u.Name + string(canonical)
		}
	}
	return u.Name + string(u.Input)
}
