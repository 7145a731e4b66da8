package catalog_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/llm/catalog"
)

func TestLookup(t *testing.T) {
	c, err := catalog.Load()
	require.NoError(t, err)
	m, ok := c.Lookup("anthropic", "claude-sonnet-4-6")
	require.True(t, ok)
	require.EqualValues(t, 200_000, m.ContextTokens)
	require.True(t, m.Images)
	require.Equal(t, 3.0, m.Prices.Input)
	require.Equal(t, 15.0, m.Prices.Output)
	require.InDelta(t, 0.3, m.Prices.CacheRead, 1e-9)
	require.InDelta(t, 3.75, m.Prices.CacheWrite, 1e-9)

	dated, ok := c.Lookup("anthropic", "claude-haiku-4-5")
	require.True(t, ok)
	require.Equal(t, "claude-haiku-4-5-20251001", dated.ID)

	_, ok = c.Lookup("openai", "gpt-unheard-of")
	require.False(t, ok, "an unknown model has no price")
	_, ok = c.For("compatible")("gpt-5")
	require.False(t, ok)
}

// Every default exists, every price is plausible, and cached input is never dearer
// than fresh input: the source swaps the two cache prices for some providers.
func TestTableIsSound(t *testing.T) {
	c, err := catalog.Load()
	require.NoError(t, err)
	for _, p := range []string{"anthropic", "openai", "google", "openrouter", "deepseek", "groq", "xai", "zai", "moonshot", "azure"} {
		large, small := c.Defaults(p)
		for _, id := range []string{large, small} {
			_, ok := c.Lookup(p, id)
			require.True(t, ok, "%s/%s", p, id)
		}
		list := c.Models(p)
		require.NotEmpty(t, list, p)
		for _, m := range list {
			require.Positive(t, m.ContextTokens, m.ID)
			if m.Prices != nil {
				require.Positive(t, m.Prices.Input, m.ID)
				require.LessOrEqual(t, m.Prices.CacheRead, m.Prices.Input, "%s/%s", p, m.ID)
				require.GreaterOrEqual(t, m.Prices.CacheWrite, m.Prices.Input, "%s/%s", p, m.ID)
			}
		}
	}
	require.Contains(t, c.Efforts("anthropic", "claude-opus-5"), "xhigh")
	require.Nil(t, c.Efforts("anthropic", "nobody"))
}

func TestCost(t *testing.T) {
	p := llm.Prices{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}
	require.InDelta(t, 3+15+0.3+3.75, p.Cost(llm.Usage{Input: 1e6, Output: 1e6, CacheRead: 1e6, CacheWrite: 1e6}), 1e-9)
}
