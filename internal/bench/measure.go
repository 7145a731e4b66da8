package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"
)

// starts are median times from start to end of two programs.
type starts struct{ binary, empty time.Duration }

func (s starts) ratio() float64 { return float64(s.binary) / float64(s.empty) }

// compare runs both programs in turns, so that whatever else the machine does
// falls on both alike.
func compare(ctx context.Context, home, binary, base string) (starts, error) {
	var ours, theirs []time.Duration
	for range rounds {
		took, err := once(command(ctx, home, binary, "version"))
		if err != nil {
			return starts{}, err
		}
		ours = append(ours, took)
		if took, err = once(command(ctx, home, base)); err != nil {
			return starts{}, err
		}
		theirs = append(theirs, took)
	}
	return starts{median(ours), median(theirs)}, nil
}

// command runs without the caller's configuration, keys and settings.
func command(ctx context.Context, home, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "CODERRR_HOME=" + home, "PATH=/usr/bin:/bin"}
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

func median(d []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(d))
	return sorted[len(sorted)/2]
}

// initialised is how long one package's variables and init functions took.
type initialised struct {
	pkg  string
	took time.Duration
}

var initLine = regexp.MustCompile(`^init (\S+) @[\d.]+ ms, ([\d.]+) ms clock`)

// inits asks the runtime what each package cost before main. Of several runs the
// least counts for each package: a pause of the machine is not the package's.
func inits(ctx context.Context, home, binary string) (initialised, error) {
	least := map[string]time.Duration{}
	for range 5 {
		cmd := command(ctx, home, binary, "version")
		cmd.Env = append(cmd.Env, "GODEBUG=inittrace=1")
		var trace bytes.Buffer
		cmd.Stderr = &trace
		if err := cmd.Run(); err != nil {
			return initialised{}, fmt.Errorf("trace the start of %s: %w", binary, err)
		}
		for _, i := range parseInits(&trace) {
			if old, ok := least[i.pkg]; !ok || i.took < old {
				least[i.pkg] = i.took
			}
		}
	}
	if len(least) == 0 {
		return initialised{}, fmt.Errorf("trace the start of %s: the runtime printed no package", binary)
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
		m := initLine.FindStringSubmatch(lines.Text())
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

// row is one measurement against its limit.
type row struct {
	what, measured, limit string
	ok                    bool
}

// table writes the rows and reports whether all of them hold.
func table(out io.Writer, rows []row) bool {
	all := true
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "what\tmeasured\tlimit\tverdict")
	for _, r := range rows {
		verdict := "pass"
		if !r.ok {
			verdict, all = "FAIL", false
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.what, r.measured, r.limit, verdict)
	}
	return w.Flush() == nil && all
}

func ms(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Microseconds())/1000, 'g', 3, 64) + " ms"
}
