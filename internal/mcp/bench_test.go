package mcp

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/approval"
)

// bench makes a manager over stdio servers of this binary.
func bench(b *testing.B, servers map[string]Server) *Manager {
	b.Helper()
	home := b.TempDir()
	m := New(Options{Servers: servers, Answers: approval.OpenToolAnswers(home), Home: home, Getenv: os.Getenv})
	b.Cleanup(func() { require.NoError(b, m.Close()) })
	return m
}

// BenchmarkStart20 starts twenty servers, of which one takes two seconds: all are
// ready in the time of that one and a tenth more (metric x-slowest).
func BenchmarkStart20(b *testing.B) {
	path, err := os.Executable()
	require.NoError(b, err)
	const slowest = 2 * time.Second
	for range b.N {
		servers := map[string]Server{}
		for i := range 20 {
			wait := time.Duration(i) * slowest / 19
			servers[fmt.Sprintf("s%02d", i)] = Server{Command: path, Env: map[string]string{"MCP_FAKE": "env", "MCP_FAKE_WAIT": wait.String()}, Required: true}
		}
		m := bench(b, servers)
		began := time.Now()
		require.NoError(b, m.Start(b.Context()))
		took := time.Since(began)
		require.Len(b, m.Tools(), 20)
		b.ReportMetric(float64(took)/float64(slowest), "x-slowest")
		if took > slowest*11/10 {
			b.Errorf("20 servers were ready in %s, the slowest takes %s", took, slowest)
		}
		require.NoError(b, m.Close())
	}
}

// BenchmarkCall is what a call over stdio costs, median (metric p50-µs): under 1 ms.
func BenchmarkCall(b *testing.B) {
	path, err := os.Executable()
	require.NoError(b, err)
	m := bench(b, map[string]Server{"s": {Command: path, Env: map[string]string{"MCP_FAKE": "short"}, Required: true}})
	require.NoError(b, m.Start(b.Context()))
	x := m.Tools()[0]
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		if res := x.Run(b.Context(), nil); res.IsError {
			b.Fatal(res.Content)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	p50 := took[len(took)/2]
	b.ReportMetric(float64(p50.Microseconds()), "p50-µs")
	if p50 > time.Millisecond {
		b.Errorf("a call takes %s", p50)
	}
}

// BenchmarkResult100MB reads a result of 100 MB; the process grows by less than
// 64 MiB (metric RSS-MiB).
func BenchmarkResult100MB(b *testing.B) {
	path, err := os.Executable()
	require.NoError(b, err)
	m := bench(b, map[string]Server{"s": {Command: path, Env: map[string]string{"MCP_FAKE": "huge"}, Required: true}})
	require.NoError(b, m.Start(b.Context()))
	x := m.Tools()[0]
	before := rss(b)
	for b.Loop() {
		res := x.Run(b.Context(), nil)
		require.False(b, res.IsError)
		require.Contains(b, res.Content, "more bytes were not kept")
	}
	grown := rss(b) - before
	b.ReportMetric(float64(grown)/(1<<20), "RSS-MiB")
	if grown > 64<<20 {
		b.Errorf("a result of 100 MB took %d bytes", grown)
	}
}

// rss is the resident memory of this process at its highest.
func rss(b *testing.B) int64 {
	b.Helper()
	raw, err := os.ReadFile("/proc/self/status")
	require.NoError(b, err, "the memory of a process is read from /proc")
	for line := range strings.Lines(string(raw)) {
		if v, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(v)[0], 10, 64)
			require.NoError(b, err)
			return kb << 10
		}
	}
	return 0
}
