package wire

import (
	"fmt"

	"github.com/coderrr/coderrr/internal/llm"
)

// CheckImages refuses, in plain words, an image in the last user message for a
// model that is known not to take any; a provider's own answer is a riddle.
func CheckImages(provider string, req llm.Request, lookup func(string) (llm.ModelInfo, bool)) error {
	if lookup == nil || len(req.Messages) == 0 {
		return nil
	}
	info, known := lookup(req.Model)
	if !known || info.Images {
		return nil
	}
	for _, b := range req.Messages[len(req.Messages)-1].Blocks {
		if _, ok := b.(llm.Image); ok {
			return &llm.Error{
				Provider: provider, Model: req.Model, Kind: llm.KindUnsupported,
				Message: fmt.Sprintf("the model %s does not take images; choose one that does, or leave the picture out", req.Model),
			}
		}
	}
	return nil
}
