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

func TestMiddle(t *testing.T) {
	require.Equal(t, 2*time.Second, middle([]time.Duration{time.Hour, time.Second, 2 * time.Second}))
	require.Zero(t, middle([]time.Duration{}))
}

func TestTableSaysWhatIsOver(t *testing.T) {
	size, start := row{what: "size", value: 31, unit: "MB", limit: 30}, row{what: "start", value: 2, unit: "x", limit: 4}
	rate := row{what: "rate", value: 12, unit: "M/s", limit: 10, least: true}
	var out bytes.Buffer
	require.False(t, table(&out, []row{size, start}))
	require.Regexp(t, `size +31 MB +<= 30 MB +OVER`, out.String())
	require.Regexp(t, `start +2 x +<= 4 x +ok`, out.String())
	require.True(t, table(&out, []row{start, rate, {what: "printed only", value: 1e9}}))
	rate.value = 9
	require.False(t, table(&out, []row{rate}))
}

func TestBenchstatReadsTheFigures(t *testing.T) {
	var out bytes.Buffer
	benchstat(&out, []row{{what: "a b, c", value: 1.5, unit: "ms"}})
	require.Equal(t, "\nBenchmarkCoderrr/a_b__c 1 1.5 ms\n", out.String())
}

func TestMetric(t *testing.T) {
	v, err := metric([]byte("BenchmarkX \t 1\t 2000 ns/op\t 1.25 x_json\n"), "x_json")
	require.NoError(t, err)
	require.InDelta(t, 1.25, v, 0)
	_, err = metric(nil, "x_json")
	require.ErrorContains(t, err, "x_json")
}
