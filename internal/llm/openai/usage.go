package openai

import (
	"encoding/json"

	"github.com/coderrr/coderrr/internal/llm"
)

// usage is the token report of chat completions in all its spellings.
type usage struct {
	Prompt     *int64 `json:"prompt_tokens"`
	Completion *int64 `json:"completion_tokens"`
	Total      int64  `json:"total_tokens"`
	CacheHit   int64  `json:"prompt_cache_hit_tokens"` // DeepSeek
	PromptDet  *struct {
		Cached int64 `json:"cached_tokens"`
		Write  int64 `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDet *struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// parseUsage reads what it can of a report with unusual types.
func parseUsage(raw json.RawMessage) *usage {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var u usage
	_ = json.Unmarshal(raw, &u) // fields of another type stay zero
	return &u
}

// counts maps a report to our terms: Input without cache, Output with reasoning.
func (u *usage) counts() llm.Usage {
	if u == nil || (u.Prompt == nil && u.Completion == nil) {
		return llm.Usage{}
	}
	out := llm.Usage{Known: true}
	if u.Completion != nil {
		out.Output = *u.Completion
	}
	prompt := int64(0)
	if u.Prompt != nil {
		prompt = *u.Prompt
	}
	if u.PromptDet != nil {
		out.CacheRead, out.CacheWrite = u.PromptDet.Cached, u.PromptDet.Write
	}
	if out.CacheRead == 0 {
		out.CacheRead = u.CacheHit
	}
	if u.CompletionDet != nil {
		out.Reasoning = u.CompletionDet.Reasoning
	}
	// xAI counts reasoning beside the completion: then, and only then, the three
	// add up to the total.
	if out.Reasoning > 0 && prompt+out.Output+out.Reasoning == u.Total {
		out.Output += out.Reasoning
	}
	out.Input = max(0, prompt-out.CacheRead-out.CacheWrite)
	return out
}
