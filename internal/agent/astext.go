package agent

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/coderrr/coderrr/internal/llm"
)

// callMark is how models that were trained on other formats begin a call in their
// text (Qwen, Gemma, Kimi, Mistral, Llama, gpt-oss, and now and then Claude).
var callMark = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`<tool_call>|<function_calls>|<function=|<invoke\s+name=|<\|tool_calls?_|<\|python_tag\|>|\[TOOL_CALLS\]|<\|channel\|>commentary to=`)
})

// word is a tool's name in such text.
var word = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[A-Za-z0-9_-]+`) })

// textCall finds a call of one of names that was written as text, and returns what
// stands before it. Such a call is never run: nothing says that the model meant
// to make it, rather than to show it.
func textCall(text string, names []string) (prose string, found bool) {
	if at := callMark().FindStringIndex(text); at != nil {
		for _, w := range word().FindAllString(text[at[1]:], -1) {
			if slices.Contains(names, w) {
				return strings.TrimSpace(text[:at[0]]), true
			}
		}
		return "", false
	}
	if jsonCall(text, names) {
		return "", true
	}
	return "", false
}

// jsonCall reports whether the whole text is a call as a JSON object.
func jsonCall(text string, names []string) bool {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "```"); ok {
		_, inner, _ = strings.Cut(inner, "\n")
		text = strings.TrimSpace(strings.TrimSuffix(inner, "```"))
	}
	var call map[string]json.RawMessage
	if !strings.HasPrefix(text, "{") || json.Unmarshal([]byte(text), &call) != nil {
		return false
	}
	for _, key := range []string{"name", "tool", "function"} {
		var name string
		if json.Unmarshal(call[key], &name) != nil || !slices.Contains(names, name) {
			continue
		}
		for _, args := range []string{"arguments", "parameters", "args", "input"} {
			if _, ok := call[args]; ok {
				return true
			}
		}
	}
	return false
}

// written takes a call that was written as text out of an answer, so that it does
// not stay as an example, and reports whether there was one.
func (l *Loop) written(done *llm.Done) bool {
	if len(llm.ToolUses(done.Message)) > 0 || done.Stop != llm.StopEndTurn && done.Stop != llm.StopStopSequence {
		return false
	}
	var names []string
	for _, spec := range l.o.Set.Specs() {
		names = append(names, spec.Name)
	}
	prose, found := textCall(llm.TextOf(done.Message), names)
	if !found {
		return false
	}
	if prose == "" {
		prose = "(Nothing was called.)"
	}
	done.Message.Blocks = llm.Blocks{llm.Text{Text: prose}}
	return true
}

// asText is told to a model that wrote a call as text.
const asText = "Your last message had a tool call written as text. It was not run and was taken out. If you want to call a tool, call it through the tool interface, not in your text."
