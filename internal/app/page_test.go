package app

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMatch: what a person means by a few letters of a path comes first.
func TestMatch(t *testing.T) {
	list := []string{"a/readme/x.go", "README.md", "docs/README.md", "internal/readers/read.go", "cmd/main.go"}
	for query, first := range map[string]string{
		"readme": "README.md", "docs/re": "docs/README.md", "read.": "internal/readers/read.go", "irr": "internal/readers/read.go", "MAIN": "cmd/main.go",
	} {
		require.Equal(t, first, match(index(list), query, 3)[0], query)
	}
	require.Equal(t, "README.md", match(index(list), "", 2)[0])
	require.Len(t, match(index(list), "", 2), 2)
	require.Empty(t, match(index(list), "zzz", 3))
}

// TestMatchIsQuick over as many paths as a big repository has.
func TestMatchIsQuick(t *testing.T) {
	list := make([]string, 60_000)
	for i := range list {
		list[i] = fmt.Sprintf("packages/area%d/module%d/file_%d.go", i%40, i%900, i)
	}
	begin := time.Now()
	require.NotEmpty(t, match(index(list), "mod7fi9", 12))
	require.Less(t, time.Since(begin), time.Second) // 50 ms without a loaded machine and the race detector
}
