package wire

import (
	"fmt"
	"slices"

	"github.com/coderrr/coderrr/internal/llm"
)

// Images returns the messages of req as the model can take them. An image in the
// newest message for a model that is known to take none is refused in plain words:
// a provider's own answer is a riddle. Older ones, from before a change of model or
// out of tools, become a line of text; those out of tools, which nobody asked for,
// for a model of which nothing is known, too.
func Images(provider string, req llm.Request, lookup func(string) (llm.ModelInfo, bool)) ([]llm.Message, error) {
	if lookup == nil {
		return req.Messages, nil
	}
	info, known := lookup(req.Model)
	if known && info.Images {
		return req.Messages, nil
	}
	out := slices.Clone(req.Messages)
	for i, m := range out {
		if !slices.ContainsFunc(m.Blocks, hasImage) {
			continue
		}
		if known && i == len(out)-1 && slices.ContainsFunc(m.Blocks, isImage) {
			return nil, &llm.Error{
				Provider: provider, Model: req.Model, Kind: llm.KindUnsupported,
				Message: fmt.Sprintf("the model %s does not take images; choose one that does, or leave the picture out", req.Model),
			}
		}
		out[i].Blocks = slices.Clone(m.Blocks)
		for j, b := range out[i].Blocks {
			if known || !isImage(b) {
				out[i].Blocks[j] = withoutImage(b)
			}
		}
	}
	return out, nil
}

const imageGone = "(an image that this model cannot see)"

func isImage(b llm.Block) bool {
	_, ok := b.(llm.Image)
	return ok
}

func hasImage(b llm.Block) bool {
	r, ok := b.(llm.ToolResult)
	return isImage(b) || ok && len(r.Images) > 0
}

func withoutImage(b llm.Block) llm.Block {
	switch b := b.(type) {
	case llm.Image:
		return llm.Text{Text: imageGone}
	case llm.ToolResult:
		if len(b.Images) == 0 {
			return b
		}
		b.Images = nil
		if b.Content != "" {
			b.Content += "\n"
		}
		b.Content += imageGone
		return b
	}
	return b
}
