package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/coderrr/coderrr/internal/diff"
)

// diffs compares our diff of a long file with git's and diff's, and lets patch prove
// it.
func (b *bench) diffs(ctx context.Context) ([]row, error) {
	dir := filepath.Join(b.dir, "diff")
	before, after := edited(10_000)
	err := errors.Join(os.Mkdir(dir, 0o700),
		os.WriteFile(filepath.Join(dir, "a"), before, 0o600), os.WriteFile(filepath.Join(dir, "b"), after, 0o600))
	if err != nil {
		return nil, fmt.Errorf("write the files to compare: %w", err)
	}
	var ours, git []time.Duration
	var text string
	var plain []byte
	for range 11 {
		began := time.Now()
		text, _ = diff.Unified("a", "a", diff.Compute(before, after), 0)
		ours = append(ours, time.Since(began))
		began = time.Now()
		if _, err := differ(ctx, dir, "git", "diff", "--no-index", "--no-color", "a", "b"); err != nil {
			return nil, err
		}
		git = append(git, time.Since(began))
		if plain, err = differ(ctx, dir, "diff", "-u", "a", "b"); err != nil {
			return nil, err
		}
	}
	if err := patched(ctx, dir, text, after); err != nil {
		return nil, err
	}
	return []row{
		{what: "diff of 10k lines, 1% edited, over git diff", value: float64(least(ours)) / float64(least(git)), unit: "x", limit: 0.2, note: ms(least(ours)) + " / " + ms(least(git))},
		{what: "its size over that of diff -u", value: float64(len(text)) / float64(len(plain)), unit: "x", limit: 1.05, note: "applied by patch: same bytes"},
	}, nil
}

// differ runs a program that says with 1 that there are differences.
func differ(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	var ended *exec.ExitError
	if err != nil && (!errors.As(err, &ended) || ended.ExitCode() != 1) {
		return nil, fmt.Errorf("run %s: %w", cmd, err)
	}
	return out, nil
}

// patched fails unless patch makes want of file a.
func patched(ctx context.Context, dir, text string, want []byte) error {
	cmd := exec.CommandContext(ctx, "patch", "-s", "-o", "c", "a")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("run %s: %w\n%s", cmd, err, out)
	}
	got, err := os.ReadFile(filepath.Join(dir, "c"))
	if err != nil {
		return fmt.Errorf("read what patch made: %w", err)
	}
	if !bytes.Equal(got, want) {
		return errors.New("patch makes other bytes of our diff than the file has")
	}
	return nil
}

// edited is a text of n lines that looks like code, and the same with one line in a
// hundred changed, taken out or added.
func edited(n int) (before, after []byte) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		line := fmt.Sprintf("\tvalue%d := compute(%d)\n", i, r.IntN(1000))
		if kind := r.IntN(6); kind < 3 {
			line = []string{"\n", "\t}\n", "\t\treturn nil, err\n"}[kind]
		}
		before = append(before, line...)
		switch {
		case r.IntN(100) > 0:
			after = append(after, line...)
		case i%3 == 0:
			after = fmt.Appendf(after, "\tchanged%d()\n", i)
		case i%3 == 1:
			after = fmt.Appendf(append(after, line...), "\tinserted%d()\n", i)
		}
	}
	return before, after
}
