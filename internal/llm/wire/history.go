package wire

import (
	"strings"

	"github.com/coderrr/coderrr/internal/llm"
)

// lost is the result given to a call that never got one.
const lost = "No result: the call was interrupted before it finished. Its effect is unknown; check before you repeat it."

// opening stands before a history that would begin with the model.
const opening = "(The conversation continues.)"

// Tidy returns a history that every provider accepts: each call has exactly one
// result, right after it; no empty text; no two messages of one role in a row;
// the first message is the user's. Thinking, signatures and opaque items stay only
// if keep says so of their origin. It does not change msgs.
func Tidy(msgs []llm.Message, keep func(llm.Origin) bool) []llm.Message {
	var out []llm.Message
	var open []llm.ToolUse // calls of the last assistant message, without results
	add := func(role llm.Role, blocks llm.Blocks) {
		if len(blocks) == 0 {
			return
		}
		if n := len(out); n > 0 && out[n-1].Role == role {
			out[n-1].Blocks = append(out[n-1].Blocks, blocks...)
			return
		}
		out = append(out, llm.Message{Role: role, Blocks: blocks})
	}
	for i := 0; i < len(msgs); {
		if msgs[i].Role == llm.Assistant {
			var blocks llm.Blocks
			for ; i < len(msgs) && msgs[i].Role == llm.Assistant; i++ {
				blocks = append(blocks, tidyAssistant(msgs[i].Blocks, keep)...)
			}
			blocks = trimEnd(blocks)
			open = llm.ToolUses(llm.Message{Blocks: blocks})
			add(llm.Assistant, blocks)
			continue
		}
		var blocks llm.Blocks
		for ; i < len(msgs) && msgs[i].Role != llm.Assistant; i++ {
			blocks = append(blocks, msgs[i].Blocks...)
		}
		results, rest := split(blocks)
		add(llm.User, append(answered(open, results), rest...))
		open = nil
	}
	add(llm.User, answered(open, nil))
	if len(out) > 0 && out[0].Role != llm.User {
		out = append([]llm.Message{{Role: llm.User, Blocks: llm.Blocks{llm.Text{Text: opening}}}}, out...)
	}
	return out
}

// answered gives each open call its result, or one that says it was lost.
func answered(open []llm.ToolUse, results map[string][]llm.ToolResult) llm.Blocks {
	var out llm.Blocks
	for _, use := range open {
		r := llm.ToolResult{Name: use.Name, Content: lost, IsError: true}
		if list := results[use.ID]; len(list) > 0 {
			r, results[use.ID] = list[0], list[1:]
		}
		r.ToolUseID = use.ID
		if r.Name == "" {
			r.Name = use.Name
		}
		out = append(out, r)
	}
	return out
}

// split separates results from what a person said; empty text goes.
func split(blocks llm.Blocks) (map[string][]llm.ToolResult, llm.Blocks) {
	results := map[string][]llm.ToolResult{}
	var rest llm.Blocks
	for _, b := range blocks {
		switch b := b.(type) {
		case llm.ToolResult:
			results[b.ToolUseID] = append(results[b.ToolUseID], b)
		case llm.Text:
			if strings.TrimSpace(b.Text) != "" {
				rest = append(rest, b)
			}
		case llm.Image:
			rest = append(rest, b)
		}
	}
	return results, rest
}

func tidyAssistant(blocks llm.Blocks, keep func(llm.Origin) bool) llm.Blocks {
	var out llm.Blocks
	for _, b := range blocks {
		switch b := b.(type) {
		case llm.Text:
			if strings.TrimSpace(b.Text) != "" {
				out = append(out, b)
			}
		case llm.Thinking:
			if keep(b.Origin) {
				out = append(out, b)
			}
		case llm.Opaque:
			if keep(b.Origin) {
				out = append(out, b)
			}
		case llm.ToolUse:
			if !keep(b.Origin) {
				b.Signature = ""
			}
			if len(b.Input) == 0 {
				b.Input = []byte("{}")
			}
			out = append(out, b)
		}
	}
	return out
}

// trimEnd removes thinking that nothing follows (providers refuse it) and white
// space at the end of a final text.
func trimEnd(blocks llm.Blocks) llm.Blocks {
	for len(blocks) > 0 {
		switch b := blocks[len(blocks)-1].(type) {
		case llm.Text:
			blocks[len(blocks)-1] = llm.Text{Text: strings.TrimRight(b.Text, " \t\r\n")}
			return blocks
		case llm.Thinking:
			blocks = blocks[:len(blocks)-1]
		default:
			return blocks
		}
	}
	return blocks
}

// Keep returns the usual rule for Tidy: only what this origin made.
func Keep(origin llm.Origin) func(llm.Origin) bool {
	return func(o llm.Origin) bool { return o == origin }
}

// KeepNone is the rule after a provider refused a signature.
func KeepNone(llm.Origin) bool { return false }
