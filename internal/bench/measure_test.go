package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseInits(t *testing.T) {
	got := parseInits(strings.NewReader(`init internal/bytealg @0.005 ms, 0 ms clock, 0 bytes, 0 allocs
init runtime @0.059 ms, 0.026 ms clock, 0 bytes, 0 allocs
coderrr v1.2.3
init example.com/x/y @1.5 ms, 1.25 ms clock, 123 bytes, 4 allocs
`))
	require.Equal(t, []initialised{
		{"internal/bytealg", 0},
		{"runtime", 26 * time.Microsecond},
		{"example.com/x/y", 1250 * time.Microsecond},
	}, got)
}

func TestMedian(t *testing.T) {
	require.Equal(t, 2*time.Second, median([]time.Duration{time.Hour, time.Second, 2 * time.Second}))
}

func TestTableSaysWhatFailed(t *testing.T) {
	var out bytes.Buffer
	require.False(t, table(&out, []row{{"size", "31 MB", "< 30 MB", false}, {"start", "2", "<= 4", true}}))
	require.Regexp(t, `size +31 MB +< 30 MB +FAIL`, out.String())
	require.Regexp(t, `start +2 +<= 4 +pass`, out.String())
	require.True(t, table(&out, []row{{"start", "2", "<= 4", true}}))
}
