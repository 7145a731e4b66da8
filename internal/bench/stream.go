package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
)

// stream takes the figures of reading a model's answer from the benchmarks of
// internal/llm, which reach what is not exported.
func (b *bench) stream(ctx context.Context) ([]row, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-vet=off", "-run", "^$", "-bench", "^(BenchmarkAssemble|BenchmarkFirstDelta)$", "-benchtime", "2s", "./internal/llm")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("run %s: %w\n%s", cmd, err, out)
	}
	times, err := metric(out, "x_json")
	if err != nil {
		return nil, err
	}
	p99, err := metric(out, "p99_us")
	if err != nil {
		return nil, err
	}
	return []row{
		{what: "100 MB of small deltas, over json.Unmarshal", value: times, unit: "x", limit: 1.3},
		{what: "a delta's way to the front end, p99", value: p99 / 1000, unit: "ms", limit: 1},
	}, nil
}

// metric finds a figure that a benchmark reported.
func metric(out []byte, unit string) (float64, error) {
	m := regexp.MustCompile(`([\d.e+]+) ` + unit).FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("no benchmark reported %s:\n%s", unit, out)
	}
	return strconv.ParseFloat(string(m[1]), 64)
}
