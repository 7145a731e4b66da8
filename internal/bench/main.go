// Command bench measures a built coderrr against what a person feels and against
// other programs on the same machine: its start, its size, the cost of a turn, long
// sessions, the log, diffs, the browser and the model's stream. It prints a table
// with a limit for each figure, then the same figures for benchstat, and fails
// where a limit is passed.
//
//	go run ./internal/bench bin/coderrr [GROUP...]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	profiles := flag.String("profiles", "", "folder for CPU profiles of a `binary` built with -tags profile")
	flag.Parse()
	if flag.NArg() < 1 {
		fmt.Fprintln(os.Stderr, "usage: bench BINARY [GROUP...] (make bench builds one and runs this)")
		os.Exit(2)
	}
	b := &bench{binary: flag.Arg(0), profiles: *profiles}
	ok, err := b.run(context.Background(), flag.Args()[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// bench is one run: the program that is measured and a folder for what it needs.
type bench struct {
	binary   string
	profiles string // where the runs leave profiles, "" for none
	dir      string
	size     int64
}

// group is a part that can be measured alone.
type group struct {
	name    string
	measure func(*bench, context.Context) ([]row, error)
}

func groups() []group {
	return []group{
		{"start", (*bench).start},
		{"turns", (*bench).turns},
		{"session", (*bench).session},
		{"log", (*bench).journal},
		{"diff", (*bench).diffs},
		{"fanout", (*bench).fanout},
		{"stream", (*bench).stream},
	}
}

// run measures the groups that are named, or all, writes the tables and reports
// whether all limits hold.
func (b *bench) run(ctx context.Context, only []string, out io.Writer) (ok bool, err error) {
	var names []string
	for _, g := range groups() {
		names = append(names, g.name)
	}
	for _, o := range only {
		if !slices.Contains(names, o) {
			return false, fmt.Errorf("there is no group %q: use %s", o, strings.Join(names, ", "))
		}
	}
	if b.binary, err = filepath.Abs(b.binary); err != nil {
		return false, fmt.Errorf("find %s: %w", b.binary, err)
	}
	if b.profiles != "" {
		if b.profiles, err = filepath.Abs(b.profiles); err == nil {
			err = os.MkdirAll(b.profiles, 0o755)
		}
		if err != nil {
			return false, fmt.Errorf("make the folder for profiles: %w", err)
		}
	}
	info, err := os.Stat(b.binary)
	if err != nil {
		return false, fmt.Errorf("measure the binary (make build makes it): %w", err)
	}
	b.size = info.Size()
	if b.dir, err = os.MkdirTemp("", "coderrr-bench-"); err != nil {
		return false, fmt.Errorf("make a home for the measurement: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	var all []row
	for _, g := range groups() {
		if len(only) > 0 && !slices.Contains(only, g.name) {
			continue
		}
		rows, err := g.measure(b, ctx)
		if err != nil {
			return false, fmt.Errorf("%s: %w", g.name, err)
		}
		all = append(all, rows...)
	}
	ok = table(out, all)
	benchstat(out, all)
	return ok, nil
}
