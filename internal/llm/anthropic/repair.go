package anthropic

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/wire"
)

var toolIndex = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`tools\.(\d+)`) })

// repair finds what to leave out after a refusal, remembers it, and says what it
// was; "" means that there is nothing to try.
func (p *Provider) repair(req llm.Request, e *llm.Error) string {
	learn := func(what, why string) string {
		if p.quirks.Add(req.Model, what) {
			return why
		}
		return ""
	}
	low := strings.ToLower(e.Message)
	if e.Kind == llm.KindHistory || e.Kind == llm.KindBadRequest || e.Kind == llm.KindUnsupported {
		if strings.Contains(low, "signature") || strings.Contains(low, "thinking block") || strings.Contains(low, "cannot be modified") {
			return learn(dropReplay, "the replayed thinking was refused; it is left out")
		}
	}
	if e.Kind != llm.KindUnsupported && e.Kind != llm.KindBadRequest {
		return ""
	}
	if m := toolIndex().FindStringSubmatch(e.Message); m != nil {
		return p.dropTool(req, m[1])
	}
	if strings.Contains(low, "schema") {
		return learn(dropSchema, "the full tool schemas were refused; plain ones are sent")
	}
	if req.Effort != "" {
		switch {
		case strings.Contains(low, "effort") || wire.Named(e, dropEffort) != "":
			return learn(dropEffort, "the effort setting was refused; the model's own is used")
		case strings.Contains(low, "thinking"):
			return learn(dropThinking, "thinking was refused; it is left out")
		}
	}
	if req.Temperature != nil && wire.Named(e, dropTemperature) != "" {
		return learn(dropTemperature, "temperature was refused; it is left out")
	}
	if wire.Named(e, dropCache) != "" {
		return learn(dropCache, "prompt caching was refused; it is left out")
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
