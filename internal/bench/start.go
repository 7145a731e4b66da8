package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/creack/pty"
)

const (
	rounds   = 21 // of each program, taken in turns
	empty    = "package main\n\nfunc main() {}\n"
	emptyMod = "module empty\n\ngo 1.26\n"
)

// start is what a person waits for before anything is asked.
func (b *bench) start(ctx context.Context) ([]row, error) {
	base, err := b.buildEmpty(ctx)
	if err != nil {
		return nil, err
	}
	took, err := b.compare(ctx, base)
	if err != nil {
		return nil, err
	}
	slowest, err := b.inits(ctx)
	if err != nil {
		return nil, err
	}
	ready, err := b.ready(ctx)
	if err != nil {
		return nil, err
	}
	ratio := func(i int) (float64, string) {
		return float64(took[i]) / float64(took[0]), ms(took[i]) + " / " + ms(took[0])
	}
	version, versionOf := ratio(1)
	help, helpOf := ratio(2)
	return []row{
		{what: "coderrr version, in empty Go programs", value: version, unit: "x", note: versionOf, limit: 4},
		{what: "coderrr --help, in empty Go programs", value: help, unit: "x", note: helpOf, limit: 4},
		{what: "slowest package init", value: millis(slowest.took), unit: "ms", note: slowest.pkg, limit: 1},
		{what: "stripped binary", value: float64(b.size) / 1e6, unit: "MB", limit: 30},
		{what: "terminal ready for a request", value: millis(ready), unit: "ms", limit: 60},
	}, nil
}

// buildEmpty compiles a program that does nothing, as coderrr itself is compiled.
func (b *bench) buildEmpty(ctx context.Context) (string, error) {
	src := filepath.Join(b.dir, "empty")
	if err := os.Mkdir(src, 0o700); err != nil {
		return "", fmt.Errorf("write the empty program: %w", err)
	}
	for name, text := range map[string]string{"main.go": empty, "go.mod": emptyMod} {
		if err := os.WriteFile(filepath.Join(src, name), []byte(text), 0o600); err != nil {
			return "", fmt.Errorf("write the empty program: %w", err)
		}
	}
	bin := filepath.Join(b.dir, "empty.bin")
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w", "-o", bin, ".")
	cmd.Dir = src
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false", "GOWORK=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the empty program: %w\n%s", err, text)
	}
	return bin, nil
}

// compare gives the median times of the empty program, version and --help. They
// take turns, so that whatever else the machine does falls on all alike.
func (b *bench) compare(ctx context.Context, base string) ([3]time.Duration, error) {
	var took [3][]time.Duration
	for range rounds {
		for i, cmd := range []*exec.Cmd{b.command(ctx, base), b.command(ctx, b.binary, "version"), b.command(ctx, b.binary, "--help")} {
			d, err := once(cmd)
			if err != nil {
				return [3]time.Duration{}, err
			}
			took[i] = append(took[i], d)
		}
	}
	return [3]time.Duration{middle(took[0]), middle(took[1]), middle(took[2])}, nil
}

// command runs without the caller's configuration, keys and settings.
func (b *bench) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = b.dir
	cmd.Env = []string{"HOME=" + b.dir, "CODERRR_HOME=" + b.dir, "PATH=" + os.Getenv("PATH"), "TERM=xterm", "LANG=C.UTF-8"}
	return cmd
}

func once(cmd *exec.Cmd) (time.Duration, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("run %s: %w\n%s", cmd, err, &stderr)
	}
	return time.Since(start), nil
}

// ready is the median time from the start in a terminal to the prompt.
func (b *bench) ready(ctx context.Context) (time.Duration, error) {
	home, err := b.newHome("repl", "http://127.0.0.1:1/v1")
	if err != nil {
		return 0, err
	}
	var took []time.Duration
	for range rounds {
		d, err := prompted(home.command(ctx))
		if err != nil {
			return 0, err
		}
		took = append(took, d)
	}
	return middle(took), nil
}

// prompted starts cmd in a terminal and ends it when the prompt is there.
func prompted(cmd *exec.Cmd) (took time.Duration, err error) {
	start := time.Now()
	master, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 100})
	if err != nil {
		return 0, fmt.Errorf("start %s in a terminal: %w", cmd, err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		err = errors.Join(err, master.Close())
	}()
	var seen []byte
	for chunk := make([]byte, 4096); ; {
		n, err := master.Read(chunk)
		if seen = append(seen, chunk[:n]...); bytes.Contains(seen, []byte("› ")) {
			return time.Since(start), nil
		}
		if err != nil {
			return 0, fmt.Errorf("wait for the prompt of %s: %w\n%s", cmd, err, seen)
		}
	}
}

// initialised is how long one package's variables and init functions took.
type initialised struct {
	pkg  string
	took time.Duration
}

var initLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^init (\S+) @[\d.]+ ms, ([\d.]+) ms clock`) })

// inits asks the runtime what each package cost before main. Of several runs the
// least counts for each package: a pause of the machine is not the package's.
func (b *bench) inits(ctx context.Context) (initialised, error) {
	least := map[string]time.Duration{}
	for range 5 {
		cmd := b.command(ctx, b.binary, "version")
		cmd.Env = append(cmd.Env, "GODEBUG=inittrace=1")
		var trace bytes.Buffer
		cmd.Stderr = &trace
		if err := cmd.Run(); err != nil {
			return initialised{}, fmt.Errorf("trace the start of %s: %w", b.binary, err)
		}
		for _, i := range parseInits(&trace) {
			if old, ok := least[i.pkg]; !ok || i.took < old {
				least[i.pkg] = i.took
			}
		}
	}
	if len(least) == 0 {
		return initialised{}, fmt.Errorf("trace the start of %s: the runtime printed no package", b.binary)
	}
	var slowest initialised
	for pkg, took := range least {
		if took > slowest.took || slowest.pkg == "" || took == slowest.took && pkg < slowest.pkg {
			slowest = initialised{pkg, took}
		}
	}
	return slowest, nil
}

// parseInits reads what GODEBUG=inittrace=1 prints (package runtime, "Environment
// Variables").
func parseInits(r io.Reader) []initialised {
	var list []initialised
	for lines := bufio.NewScanner(r); lines.Scan(); {
		m := initLine().FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		millis, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			continue
		}
		list = append(list, initialised{m[1], time.Duration(millis * float64(time.Millisecond))})
	}
	return list
}
