package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// home is a workspace and a CODERRR_HOME of one measurement.
type home struct {
	b                  *bench
	name, ws, settings string
}

// source is how many files the workspace of a measurement has.
const source = 23

// newHome makes both, with a model at endpoint.
func (b *bench) newHome(name, endpoint string) (*home, error) {
	h := &home{b: b, name: name, ws: filepath.Join(b.dir, name, "ws"), settings: filepath.Join(b.dir, name, "home")}
	err := errors.Join(os.MkdirAll(h.ws, 0o755), os.MkdirAll(h.settings, 0o700))
	config := "[provider]\nname = \"compatible\"\nmodel = \"scripted\"\nendpoint = \"" + endpoint + "\"\n" +
		"[agent]\nmax_tool_turns = 10000\n[verify]\nmode = \"off\"\n"
	err = errors.Join(err, os.WriteFile(filepath.Join(h.settings, "config.toml"), []byte(config), 0o600))
	for i := range source {
		var text strings.Builder
		fmt.Fprintf(&text, "package sample\n\nconst version%d = 0\n\n", i)
		for line := range 40 {
			fmt.Fprintf(&text, "// Handler%d_%d answers requests of kind %d.\n", i, line, line)
		}
		err = errors.Join(err, os.WriteFile(filepath.Join(h.ws, fmt.Sprintf("file%d.go", i)), []byte(text.String()), 0o644))
	}
	if err != nil {
		return nil, fmt.Errorf("make a workspace to measure in: %w", err)
	}
	return h, nil
}

func (h *home) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := h.b.command(ctx, h.b.binary, args...)
	cmd.Dir = h.ws
	cmd.Env = append(cmd.Env, "CODERRR_HOME="+h.settings)
	if h.b.profiles != "" {
		if f, err := os.Create(filepath.Join(h.b.profiles, h.name+".pprof")); err == nil {
			cmd.ExtraFiles = []*os.File{f} // open to the end of this short process
		}
	}
	return cmd
}

// ran is what one process took.
type ran struct {
	started   time.Time
	wall, cpu time.Duration
	resident  int64 // bytes, the peak of the sum over the process and its children
	code      int
	said      string // on standard error
}

// watch runs cmd to its end and looks at its memory every 30 ms.
func watch(cmd *exec.Cmd) (ran, error) {
	var out bytes.Buffer
	cmd.Stderr = &out
	r := ran{started: time.Now()}
	if err := cmd.Start(); err != nil {
		return r, fmt.Errorf("run %s: %w", cmd, err)
	}
	stop, stopped := make(chan struct{}), make(chan int64)
	go func() {
		peak, tick := int64(0), time.NewTicker(30*time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				stopped <- peak
				return
			case <-tick.C:
				peak = max(peak, resident(cmd.Process.Pid))
			}
		}
	}()
	err := cmd.Wait()
	r.wall = time.Since(r.started)
	close(stop)
	r.resident = <-stopped
	r.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	r.code = cmd.ProcessState.ExitCode()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		return r, fmt.Errorf("run %s: %w", cmd, err)
	}
	r.said = out.String()
	return r, nil
}

// resident is the memory in use of a process and its children, 0 where there is no
// /proc. Of a page that several of them share each counts its part.
func resident(pid int) int64 {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	maps, _ := os.ReadFile(filepath.Join(dir, "smaps_rollup")) // it may have ended
	sum := int64(0)
	if m := share().FindSubmatch(maps); m != nil {
		kilo, _ := strconv.ParseInt(string(m[1]), 10, 64) // the kernel writes numbers
		sum = kilo << 10
	}
	tasks, _ := filepath.Glob(filepath.Join(dir, "task", "*", "children"))
	for _, t := range tasks {
		list, _ := os.ReadFile(t) // the same
		for _, child := range strings.Fields(string(list)) {
			if id, err := strconv.Atoi(child); err == nil {
				sum += resident(id)
			}
		}
	}
	return sum
}

var share = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^Pss: +(\d+) kB`) })
