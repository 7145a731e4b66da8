package openai

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/wire"
)

var toolIndex = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`tools\[(\d+)\]|tools\.(\d+)`) })

// repair finds what to leave out after a refusal, remembers it, and says what it
// was; "" means that there is nothing to try.
func (p *Provider) repair(req llm.Request, e *llm.Error) string {
	learn := func(what, why string) string {
		if p.quirks.Add(req.Model, what) {
			return why
		}
		return ""
	}
	if e.Kind == llm.KindHistory && p.d.Effort == EffortThinking && strings.Contains(e.Message, "reasoning_content") {
		// DeepSeek wants reasoning on every old message; those of another model
		// have none.
		return learn(offThinking, "the history has no reasoning to give back; thinking is switched off")
	}
	if e.Kind == llm.KindHistory {
		return learn(dropReplay, "the replayed reasoning was refused; it is left out")
	}
	if e.Status != 400 && e.Status != 422 && e.Kind != llm.KindUnsupported {
		return ""
	}
	if e.Kind != llm.KindUnsupported && e.Kind != llm.KindBadRequest {
		return ""
	}
	if m := toolIndex().FindStringSubmatch(e.Param + " " + e.Message); m != nil {
		if why := p.dropTool(req, m[1]+m[2]); why != "" {
			return why
		}
	}
	if strings.Contains(e.Param, "role") || strings.Contains(e.Message, "role") {
		if why := p.dropRole(req.Model, e.Message, learn); why != "" {
			return why
		}
	}
	if strings.Contains(strings.ToLower(e.Message), "schema") {
		if why := learn(dropSchema, "the full tool schemas were refused; plain ones are sent"); why != "" {
			return why
		}
	}
	if wire.Named(e, "max_tokens", "max_completion_tokens") != "" &&
		(e.Kind == llm.KindUnsupported || strings.Contains(e.Message, "max_completion_tokens")) {
		return learn(swapTokens, "the token limit is sent under its other name")
	}
	drops := []string{dropTemperature, dropStreamOptions, dropEffort, dropSummary, dropReasoning, dropThinking, dropStrict, dropReplay}
	if name := wire.Named(e, drops...); name != "" && sent(req, name) {
		return learn(name, fmt.Sprintf("%s was refused; it is left out", name))
	}
	return ""
}

// sent reports whether a parameter can have been in the request at all.
func sent(req llm.Request, name string) bool {
	switch name {
	case dropTemperature:
		return req.Temperature != nil
	case dropEffort, dropReasoning, dropThinking:
		return req.Effort != ""
	default:
		return true
	}
}

func (p *Provider) dropRole(model, text string, learn func(string, string) string) string {
	switch {
	case strings.Contains(text, "developer") && p.systemRole(model) == "developer":
		return learn(dropDeveloper, "the developer role was refused; system is sent")
	case strings.Contains(text, "system") && p.systemRole(model) == "system":
		return learn(dropSystem, "the system role was refused; its text goes into the first message")
	}
	return ""
}

// dropTool leaves out the one tool whose schema a server refused.
func (p *Provider) dropTool(req llm.Request, index string) string {
	n, err := strconv.Atoi(index)
	if err != nil {
		return ""
	}
	var sent []llm.ToolSpec
	for _, t := range req.Tools {
		if !p.quirks.Has(req.Model, dropTool+t.Name) {
			sent = append(sent, t)
		}
	}
	if n >= len(sent) {
		return ""
	}
	if !p.quirks.Add(req.Model, dropTool+sent[n].Name) {
		return ""
	}
	return fmt.Sprintf("the tool %s was refused; it is left out", sent[n].Name)
}
