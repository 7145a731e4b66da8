package agent

import (
	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/prompt"
	"github.com/coderrr/coderrr/internal/tools"
)

// guard notices a model that makes the same call again and again. The third call
// in a row is not run and says so; from the sixth the loop ends.
type guard struct {
	last  string
	count int
}

const (
	repeatRefused = 3
	repeatStuck   = 6
)

func (g *guard) check(u llm.ToolUse) (tools.Result, bool) {
	k := key(u)
	if k != g.last {
		g.last, g.count = k, 0
	}
	g.count++
	if g.count < repeatRefused {
		return tools.Result{}, false
	}
	return tools.Fail(prompt.Repeated(u.Name, g.count)), true
}

func (g *guard) stuck() bool { return g.count >= repeatStuck }
