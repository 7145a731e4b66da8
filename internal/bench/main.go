// Command bench measures what a person feels of a built coderrr before it does
// anything: how long it takes to start, which package costs most of that, and how
// large it is. It prints a table and fails where a limit is passed.
//
//	go run ./internal/bench bin/coderrr
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// The limits (ARCHITECTURE.md, decision "nothing heavy on the start-up path").
const (
	maxRatio = 4.0              // cold start, in empty Go programs
	maxInit  = time.Millisecond // one package's initialisation
	maxSize  = 30 * 1000 * 1000 // bytes, stripped
	rounds   = 41               // of each program, taken in turns
	empty    = "package main\n\nfunc main() {}\n"
	emptyMod = "module empty\n\ngo 1.26\n"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: bench BINARY (make bench builds one and runs this)")
		os.Exit(2)
	}
	ok, err := run(context.Background(), os.Args[1], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// run measures binary, writes the table and reports whether all limits hold.
func run(ctx context.Context, binary string, out io.Writer) (bool, error) {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return false, fmt.Errorf("find %s: %w", binary, err)
	}
	info, err := os.Stat(binary)
	if err != nil {
		return false, fmt.Errorf("measure the binary (make build makes it): %w", err)
	}
	dir, err := os.MkdirTemp("", "coderrr-bench-")
	if err != nil {
		return false, fmt.Errorf("make a home for the measurement: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()

	base, err := buildEmpty(ctx, dir)
	if err != nil {
		return false, err
	}
	started, err := compare(ctx, dir, binary, base)
	if err != nil {
		return false, err
	}
	slowest, err := inits(ctx, dir, binary)
	if err != nil {
		return false, err
	}
	return table(out, []row{
		{
			"coderrr version, in empty Go programs",
			fmt.Sprintf("%.2f (%s / %s)", started.ratio(), ms(started.binary), ms(started.empty)),
			fmt.Sprintf("<= %.0f", maxRatio), started.ratio() <= maxRatio,
		},
		{
			"slowest package init",
			fmt.Sprintf("%s (%s)", ms(slowest.took), slowest.pkg),
			"<= " + ms(maxInit), slowest.took <= maxInit,
		},
		{
			"size of the stripped binary",
			fmt.Sprintf("%.1f MB", float64(info.Size())/1e6),
			fmt.Sprintf("< %d MB", maxSize/1000/1000), info.Size() < maxSize,
		},
	}), nil
}

// buildEmpty compiles a program that does nothing, as coderrr itself is compiled.
func buildEmpty(ctx context.Context, dir string) (string, error) {
	src := filepath.Join(dir, "empty")
	if err := os.Mkdir(src, 0o700); err != nil {
		return "", fmt.Errorf("write the empty program: %w", err)
	}
	for name, text := range map[string]string{"main.go": empty, "go.mod": emptyMod} {
		if err := os.WriteFile(filepath.Join(src, name), []byte(text), 0o600); err != nil {
			return "", fmt.Errorf("write the empty program: %w", err)
		}
	}
	bin := filepath.Join(dir, "empty.bin")
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w", "-o", bin, ".")
	cmd.Dir = src
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false", "GOWORK=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the empty program: %w\n%s", err, text)
	}
	return bin, nil
}
