package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/coderrr/coderrr/internal/config"
	"github.com/coderrr/coderrr/internal/llm"
)

// About is what a session would use. What is not known is null in JSON and
// "unknown" in words, never zero.
type About struct {
	Provider string `json:"provider"` // the kind
	Profile  string `json:"profile"`  // the name it was chosen by
	Endpoint string `json:"endpoint"` // without credentials
	// Key is where the key comes from, never the key; "" is nowhere.
	Key           string   `json:"key"`
	Model         string   `json:"model"`
	ContextTokens *int64   `json:"context_tokens"`
	InputUSD      *float64 `json:"input_usd_per_mtok"`
	OutputUSD     *float64 `json:"output_usd_per_mtok"`
	// Reachable: the server answered, and took the key. Problem says why not, or
	// what else is wrong.
	Reachable bool   `json:"reachable"`
	Problem   string `json:"problem,omitempty"`
	Remedy    string `json:"remedy,omitempty"`
	Warning   string `json:"warning,omitempty"`
}

// Known fills in what is known of the model.
func (a *About) Known(info llm.ModelInfo) {
	if info.ContextTokens > 0 {
		a.ContextTokens = &info.ContextTokens
	}
	if info.Prices != nil {
		a.InputUSD, a.OutputUSD = &info.Prices.Input, &info.Prices.Output
	}
}

// Size is the context in words.
func (a About) Size() string {
	if a.ContextTokens == nil {
		return "unknown"
	}
	return fmt.Sprintf("%d tokens", *a.ContextTokens)
}

// Price is the price in words.
func (a About) Price() string {
	if a.InputUSD == nil || a.OutputUSD == nil {
		return "unknown"
	}
	return fmt.Sprintf("$%g in, $%g out per million tokens", *a.InputUSD, *a.OutputUSD)
}

// Reach asks the provider for its models: the cheap call that checks address and
// key. The list is nil when there is none.
func (a *About) Reach(ctx context.Context, p llm.Provider) []llm.ModelInfo {
	lister, ok := p.(llm.Lister)
	if !ok {
		a.Problem = a.Profile + " cannot list its models; the first request will tell"
		return nil
	}
	models, err := lister.Models(ctx)
	if err != nil {
		a.Problem, a.Remedy = err.Error(), a.cure(err)
		return nil
	}
	a.Reachable = true
	for _, have := range models {
		if have.ID == a.Model || have.ID == a.Model+":latest" {
			if a.ContextTokens == nil || a.InputUSD == nil {
				known := *a
				known.Known(have)
				if a.ContextTokens == nil {
					a.ContextTokens = known.ContextTokens
				}
				if a.InputUSD == nil {
					a.InputUSD, a.OutputUSD = known.InputUSD, known.OutputUSD
				}
			}
			return models
		}
	}
	if len(models) > 0 {
		a.Problem = fmt.Sprintf("the provider answers and does not list %q among its %d models", a.Model, len(models))
	} else {
		a.Problem = "the provider answers and lists no models"
	}
	a.Remedy = Missing(a.Provider, a.Model)
	return models
}

// Missing is what to do about a model that a provider does not list.
func Missing(kind, model string) string {
	if kind == "ollama" {
		return "get it with `ollama pull " + model + "`, or choose another: `coderrr models`"
	}
	return "run `coderrr models`, then `coderrr config set provider.model NAME`"
}

func (a About) cure(err error) string {
	var e *llm.Error
	if errors.As(err, &e) {
		switch e.Kind {
		case llm.KindAuth:
			return "check the key: `coderrr config`, or set " + strings.Join(config.EnvNames(a.Provider), " or ")
		case llm.KindQuota:
			return "look at the account's credit and limits"
		case llm.KindNetwork, llm.KindTimeout:
			if a.Provider == "ollama" {
				return "start it with `ollama serve`, or correct the address with `coderrr config`"
			}
		}
	}
	return "check the address and the key with `coderrr config`"
}
