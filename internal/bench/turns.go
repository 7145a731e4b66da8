package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Figures of other agents in the same set-up (docs/performance.md).
const (
	bestFirst   = 903 * time.Millisecond  // Codex, start to first request
	bestHundred = 6029 * time.Millisecond // pi, 100 turns
	bestStream  = 23.0                    // Codex, ms of CPU for 1,000 deltas
)

type args = map[string]any

// script is a session of n turns of reading, searching and editing.
func script(n int) []step {
	steps := []step{
		{tool: "create_spec", input: args{"title": "Measure", "size": "quick"}},
		{tool: "write_spec", input: args{"document": "tasks", "content": "# Tasks: Measure\n\n## T001: Count up\n- **status**: pending\n- **files**: `file0.go`\n- **acceptance**: the numbers are higher\n"}},
		{tool: "finish", input: args{"summary": "planned"}},
		{tool: "update_task", input: args{"task_id": "T001", "status": "in_progress"}},
	}
	for i := range n {
		file, round := i/3%source, i/3/source
		name := fmt.Sprintf("file%d.go", file)
		switch i % 3 {
		case 0:
			steps = append(steps, step{tool: "read_file", input: args{"path": name, "limit": 20}})
		case 1:
			steps = append(steps, step{tool: "grep", input: args{"pattern": fmt.Sprintf("Handler%d_%d ", file, round)}})
		default:
			old := fmt.Sprintf("const version%d = ", file)
			steps = append(steps, step{tool: "edit_file", input: args{
				"path": name, "old_string": fmt.Sprintf("%s%d\n", old, round), "new_string": fmt.Sprintf("%s%d\n", old, round+1),
			}})
		}
	}
	return append(steps,
		step{tool: "update_task", input: args{"task_id": "T001", "status": "done"}},
		step{tool: "finish", input: args{"summary": "done"}},
	)
}

// headless runs one scripted session.
func (b *bench) headless(ctx context.Context, name string, steps []step) (ran, *model, error) {
	m := newModel(steps)
	defer m.close()
	h, err := b.newHome(name, m.srv.URL+"/v1")
	if err != nil {
		return ran{}, nil, err
	}
	r, err := watch(h.command(ctx, "run", "--yes", "--quiet", "count up"))
	if err == nil && r.code != 0 {
		err = fmt.Errorf("the scripted session ended with the exit code %d: %s", r.code, r.said)
	}
	return r, m, err
}

// turns is what the program itself adds to what a model takes.
func (b *bench) turns(ctx context.Context) ([]row, error) {
	var first []time.Duration
	for i := range 7 {
		r, m, err := b.headless(ctx, fmt.Sprintf("first%d", i), script(1))
		if err != nil {
			return nil, err
		}
		first = append(first, m.first.Sub(r.started))
	}
	var wall []time.Duration
	var peak []int64
	for i := range 3 {
		r, _, err := b.headless(ctx, fmt.Sprintf("hundred%d", i), script(100))
		if err != nil {
			return nil, err
		}
		wall, peak = append(wall, r.wall), append(peak, r.resident)
	}
	_, long, err := b.headless(ctx, "long", script(500))
	if err != nil {
		return nil, err
	}
	begin, end := between(long.gaps, 0, 0.2), between(long.gaps, 0.8, 1)
	cpu, err := b.deltas(ctx)
	if err != nil {
		return nil, err
	}
	return []row{
		{what: "launch to first request", value: millis(middle(first)), unit: "ms", limit: 0.15 * millis(bestFirst), note: "0.15 x Codex"},
		{what: "gap after a read or search turn", value: millis(median(long.gaps, "read_file", "grep")), unit: "ms", limit: 2, note: "median of 500 turns"},
		{what: "the same, last fifth over first fifth", value: float64(end) / float64(begin), unit: "x", limit: 1.5, note: ms(end) + " / " + ms(begin)},
		{what: "gap after a write turn", value: millis(median(long.gaps, "edit_file")), unit: "ms", note: "stored, synced, logged"},
		{what: "100 turns, whole process", value: millis(middle(wall)), unit: "ms", limit: 0.15 * millis(bestHundred), note: "0.15 x pi"},
		{what: "100 turns, resident memory of all processes", value: float64(middle(peak)) / 1e6, unit: "MB", limit: 50},
		{what: "CPU for 1000 streamed deltas", value: cpu, unit: "ms", limit: bestStream, note: "Codex"},
	}, nil
}

// between is the median gap after reads and searches in a part of the run.
func between(gaps []gap, from, to float64) time.Duration {
	n := float64(len(gaps))
	return median(gaps[int(from*n):int(to*n)], "read_file", "grep")
}

func median(gaps []gap, tools ...string) time.Duration {
	var took []time.Duration
	for _, g := range gaps {
		for _, t := range tools {
			if g.tool == t {
				took = append(took, g.took)
			}
		}
	}
	return middle(took)
}

// deltas is the CPU time in ms for 1,000 deltas: a run with many, less one with few.
func (b *bench) deltas(ctx context.Context) (float64, error) {
	const many = 20_000
	var took [2][]time.Duration
	for i := range 3 {
		for k, words := range []int{40, many} {
			steps := script(1)
			steps[4].text, steps[4].flush = strings.Repeat("word ", words), true
			r, _, err := b.headless(ctx, fmt.Sprintf("deltas%d_%d", k, i), steps)
			if err != nil {
				return 0, err
			}
			took[k] = append(took[k], r.cpu)
		}
	}
	return millis(middle(took[1])-middle(took[0])) / (many / 1000), nil
}
