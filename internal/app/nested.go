package app

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/guidance"
	"github.com/coderrr/coderrr/internal/tools"
)

// guided adds to what reading tools return the guidance of the folders that a file
// lies in, the first time that one is touched. Only reading tools are wrapped: a
// file is read before it is changed.
func guided(all tools.Fixed, near *guidance.Nested, t *trust) tools.Fixed {
	out := slices.Clone(all)
	for i, tool := range out {
		switch tool.Spec().Name {
		case "read_file", "list_dir":
			out[i] = guide{tool, near, t}
		}
	}
	return out
}

type guide struct {
	tools.Tool
	near  *guidance.Nested
	trust *trust
}

// Run implements tools.Tool.
func (g guide) Run(ctx context.Context, input json.RawMessage) tools.Result {
	res := g.Tool.Run(ctx, input)
	var in struct{ Path string }
	if res.IsError || g.trust.refused() || json.Unmarshal(input, &in) != nil {
		return res
	}
	for _, d := range g.near.For(ctx, in.Path) {
		g.trust.log.Append(event.ContextChanged{What: "guidance", Name: d.Path, Detail: d.Note})
		text := strings.ReplaceAll(d.Text, "</guidance>", `<\/guidance>`)
		res.Content += fmt.Sprintf("\n\nThe project tells agents about this folder:\n<guidance path=%q>\n%s\n</guidance>", d.Path, strings.TrimRight(text, "\n"))
	}
	return res
}
