package openai

import (
	"bytes"
	"encoding/json"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/wire"
)

// call is one tool call that is still arriving.
type call struct {
	ordinal int
	indexed bool
	id      string
	name    string
	args    []byte
	extra   json.RawMessage
	shown   bool
	sent    int // bytes of args that were shown
}

// assembler puts tool calls together from the fragments of any compatible server.
type assembler struct {
	calls   []*call
	byIndex map[int]*call
	last    *call
	names   *wire.Names
}

// add merges one fragment and shows what it brought.
func (a *assembler) add(f toolCall, emit wire.Emit) bool {
	c := a.find(f)
	if c == nil {
		return true // nothing to tell it by, and nothing in it
	}
	a.last = c
	if c.id == "" {
		c.id = f.ID
	}
	if c.name == "" {
		c.name = f.Function.Name
	}
	if len(f.Extra) > 0 && string(f.Extra) != "null" {
		c.extra = append(json.RawMessage(nil), f.Extra...)
	}
	c.args = append(c.args, f.Function.Arguments...)
	return a.show(c, emit)
}

// find is the call that a fragment belongs to: by index, unless name and id say
// that the index was reused; by id; a nameless fragment belongs to the latest
// call; else it begins a new one.
func (a *assembler) find(f toolCall) *call {
	name, id := f.Function.Name, f.ID
	if f.Index != nil {
		if c := a.byIndex[*f.Index]; c != nil {
			if name == "" || id == "" || c.id == "" || c.id == id {
				return c
			}
			return a.begin(f)
		}
	}
	if id != "" {
		for _, c := range a.calls {
			if c.id == id && (f.Index == nil || !c.indexed) && (name == "" || name == c.name && !whole(c.args, f)) {
				return c
			}
		}
	}
	if name == "" && id == "" {
		if f.Index != nil && len(f.Function.Arguments) > 0 {
			return a.begin(f)
		}
		return a.last
	}
	return a.begin(f)
}

// whole reports whether a named fragment repeats an id for a second call.
func whole(args []byte, f toolCall) bool {
	return len(f.Function.Arguments) > 0 && f.Function.Arguments[0] == '{' && json.Valid(args) && len(args) > 0
}

func (a *assembler) begin(f toolCall) *call {
	c := &call{ordinal: len(a.calls)}
	a.calls = append(a.calls, c)
	if f.Index != nil {
		if a.byIndex == nil {
			a.byIndex = map[int]*call{}
		}
		a.byIndex[*f.Index] = c
		c.indexed = true
	}
	return c
}

// show announces a call once its name is known and passes its arguments on.
func (a *assembler) show(c *call, emit wire.Emit) bool {
	if c.name == "" {
		return true
	}
	if !c.shown {
		c.shown = true
		if !emit(llm.ToolUseStart{Index: c.ordinal, ID: c.id, Name: a.names.Back(c.name)}) {
			return false
		}
	}
	if c.sent == len(c.args) {
		return true
	}
	part := string(c.args[c.sent:])
	c.sent = len(c.args)
	return emit(llm.ToolInputDelta{Index: c.ordinal, JSON: part})
}

// finish separates whole calls from cut ones. cut says that the turn ended early:
// then missing arguments are not a call without arguments.
func (a *assembler) finish(cut bool, origin llm.Origin, keys *wire.Keys) (whole, incomplete []llm.ToolUse) {
	for _, c := range a.calls {
		use := llm.ToolUse{ID: c.id, Name: a.names.Back(c.name), Origin: origin, Signature: string(c.extra)}
		input, ok := wire.Object(c.args, cut)
		if !ok || c.name == "" {
			use.Input = raw(c.args)
			incomplete = append(incomplete, use)
			continue
		}
		use.ID, use.Input = keys.Take(c.id), input
		whole = append(whole, use)
	}
	return whole, incomplete
}

// raw keeps cut arguments as a JSON string, so that the value stays valid JSON.
func raw(args []byte) json.RawMessage {
	text, err := json.Marshal(string(bytes.TrimSpace(args)))
	if err != nil {
		return json.RawMessage(`""`)
	}
	return text
}
