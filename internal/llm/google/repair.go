package google

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/coderrr/coderrr/internal/llm"
)

var toolIndex = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`function_?[dD]eclarations\[(\d+)\]`) })

// repair finds what to leave out after a refusal, remembers it, and says what it
// was; "" means that there is nothing to try.
func (p *Provider) repair(req llm.Request, e *llm.Error) string {
	learn := func(what, why string) string {
		if p.quirks.Add(req.Model, what) {
			return why
		}
		return ""
	}
	if e.Code == emptyAnswer {
		return e.Message
	}
	low := strings.ToLower(strings.ReplaceAll(e.Message, "_", ""))
	if e.Kind == llm.KindHistory && strings.Contains(low, "signature") {
		return learn(dropReplay, "the replayed signatures were refused; they are left out")
	}
	if e.Kind != llm.KindUnsupported && e.Kind != llm.KindBadRequest {
		return ""
	}
	switch {
	case strings.Contains(low, "schema") || strings.Contains(low, "functiondeclarations"):
		if why := learn(dropSchema, "the full tool schemas were refused; plain ones are sent"); why != "" {
			return why
		}
		if m := toolIndex().FindStringSubmatch(e.Message); m != nil {
			return p.dropTool(req, m[1])
		}
	case strings.Contains(low, "thinking"):
		return learn(dropThinking, "the thinking settings were refused; they are left out")
	case strings.Contains(low, "functionresponse") && strings.Contains(low, "parts"):
		return learn(dropResultParts, "images in results were refused; they are sent beside them")
	case strings.Contains(low, "temperature") && req.Temperature != nil:
		return learn(dropTemperature, "temperature was refused; it is left out")
	}
	return ""
}

// dropTool leaves out the one tool that a server refused.
func (p *Provider) dropTool(req llm.Request, index string) string {
	n, err := strconv.Atoi(index)
	if err != nil {
		return ""
	}
	var sent []string
	for _, t := range req.Tools {
		if !p.quirks.Has(req.Model, dropTool+t.Name) {
			sent = append(sent, t.Name)
		}
	}
	if n >= len(sent) || !p.quirks.Add(req.Model, dropTool+sent[n]) {
		return ""
	}
	return fmt.Sprintf("the tool %s was refused; it is left out", sent[n])
}
