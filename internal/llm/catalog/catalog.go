// Package catalog knows the models of the hosted providers: context, limits,
// abilities and prices. Its one rule: what it does not know it does not guess; an
// unknown model has no price.
//
// models.json is generated from charm.land/catwalk (MIT) by make catalog; its own
// "source" field names the version. The provider's own list, where there is one, is newer.
package catalog

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/coderrr/coderrr/internal/llm"
)

//go:embed models.json
var models []byte

// Catalog is a read-only table. It is safe for concurrent use.
type Catalog struct {
	providers map[string]provider
}

type provider struct {
	Large  string  `json:"default_large"`
	Small  string  `json:"default_small"`
	Models []model `json:"models"`
}

type model struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Context   int64    `json:"context"`
	MaxOutput int64    `json:"max_output"`
	Reasoning bool     `json:"reasoning"`
	Images    bool     `json:"images"`
	Efforts   []string `json:"efforts"`
	USD       *prices  `json:"usd_per_1m"`
}

type prices struct {
	Input      *float64 `json:"input"`
	Output     *float64 `json:"output"`
	CacheRead  *float64 `json:"cache_read"`
	CacheWrite *float64 `json:"cache_write"`
}

// Load reads the embedded table.
func Load() (*Catalog, error) {
	var file struct {
		Providers map[string]provider `json:"providers"`
	}
	if err := json.Unmarshal(models, &file); err != nil {
		return nil, fmt.Errorf("read the model catalogue: %w", err)
	}
	return &Catalog{providers: file.Providers}, nil
}

// Lookup finds a model of a provider ("anthropic", "openai", "google",
// "openrouter", or a service behind a compatible endpoint: see
// openai.DialectFor). An id without its date finds the dated one.
func (c *Catalog) Lookup(provider, id string) (llm.ModelInfo, bool) {
	id = strings.TrimPrefix(id, "models/")
	list := c.providers[provider].Models
	i := slices.IndexFunc(list, func(m model) bool { return m.ID == id })
	if i < 0 {
		i = slices.IndexFunc(list, func(m model) bool { return undated(m.ID) == undated(id) })
	}
	if i < 0 {
		return llm.ModelInfo{}, false
	}
	return list[i].info(), true
}

// For returns Lookup for one provider, as the adapters' options take it.
func (c *Catalog) For(provider string) func(string) (llm.ModelInfo, bool) {
	return func(id string) (llm.ModelInfo, bool) { return c.Lookup(provider, id) }
}

// Models lists a provider's models, the newest first as a rule.
func (c *Catalog) Models(provider string) []llm.ModelInfo {
	list := c.providers[provider].Models
	out := make([]llm.ModelInfo, 0, len(list))
	for _, m := range list {
		out = append(out, m.info())
	}
	return out
}

// Defaults are the model to start with and the cheaper one for verdicts and
// summaries; "" where the provider is unknown.
func (c *Catalog) Defaults(provider string) (large, small string) {
	p := c.providers[provider]
	return p.Large, p.Small
}

// Efforts are the settings of reasoning that a model takes, least first; nil if
// none are known.
func (c *Catalog) Efforts(provider, id string) []string {
	for _, m := range c.providers[provider].Models {
		if m.ID == id || undated(m.ID) == undated(id) {
			return slices.Clone(m.Efforts)
		}
	}
	return nil
}

func (m model) info() llm.ModelInfo {
	return llm.ModelInfo{
		ID: m.ID, Name: m.Name, ContextTokens: m.Context, MaxOutputTokens: m.MaxOutput,
		Prices: m.USD.known(), Tools: true, Images: m.Images, Reasoning: m.Reasoning,
	}
}

// known is the price list, nil if it is not complete. Tokens for which a provider
// has no price of their own cost as much as any input.
func (p *prices) known() *llm.Prices {
	if p == nil || p.Input == nil || p.Output == nil || *p.Input == 0 && *p.Output == 0 {
		return nil
	}
	out := llm.Prices{Input: *p.Input, Output: *p.Output, CacheRead: *p.Input, CacheWrite: *p.Input}
	if p.CacheRead != nil {
		out.CacheRead = *p.CacheRead
	}
	if p.CacheWrite != nil {
		out.CacheWrite = *p.CacheWrite
	}
	return &out
}

// undated cuts a date of eight digits (-20251001) off an id.
func undated(id string) string {
	i := strings.LastIndexByte(id, '-')
	if i < 0 || len(id)-i != 9 || strings.Trim(id[i+1:], "0123456789") != "" {
		return id
	}
	return id[:i]
}
