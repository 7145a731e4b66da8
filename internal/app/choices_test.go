package app

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/server"
)

// TestChoice: what nobody says is unknown, and a name that looks like another
// provider's still goes to the one that lists it.
func TestChoice(t *testing.T) {
	require.Equal(t, server.ModelChoice{Name: "anthropic/claude", Ref: "openrouter/anthropic/claude", Context: "unknown", Price: "unknown"},
		choice("openrouter", llm.ModelInfo{ID: "anthropic/claude"}))
	require.Equal(t, server.ModelChoice{Name: "m", Ref: "work/m", Context: "8192 tokens", Price: "$1 in, $2 out per million tokens"},
		choice("work", llm.ModelInfo{ID: "m", ContextTokens: 8192, Prices: &llm.Prices{Input: 1, Output: 2}}))
}

// TestHiddenInModelNames: bidirectional and other characters that cannot be seen.
func TestHiddenInModelNames(t *testing.T) {
	for _, name := range []string{"a\u202eb", "a\u200bb", "a b", "a\x1b[31m", "a\nb"} {
		require.True(t, strings.ContainsFunc(name, hidden), "%q", name)
	}
	require.False(t, strings.ContainsFunc("org/gemma4:31b-cloud@q4", hidden))
}
