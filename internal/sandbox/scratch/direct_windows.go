package scratch

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"time"

	"github.com/coderrr/coderrr/internal/sandbox"
)

type direct struct{}

// Direct returns the runner that contains nothing. The command is given to
// cmd.exe, and killed with its children when ctx ends.
func Direct() sandbox.Runner { return direct{} }

func (direct) Close() error { return nil }

func (direct) Run(ctx context.Context, p sandbox.Process) (sandbox.Exit, error) {
	cmd := exec.CommandContext(ctx, "cmd.exe", "/d", "/s", "/c", p.Line)
	cmd.Dir, cmd.Env = p.Dir, p.Env
	cmd.Stdout, cmd.Stderr = p.Stdout, p.Stderr
	cmd.Cancel = func() error {
		return exec.Command("taskkill.exe", "/t", "/f", "/pid", strconv.Itoa(cmd.Process.Pid)).Run()
	}
	cmd.WaitDelay = 2 * time.Second
	err := cmd.Run()
	var ee *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return sandbox.Exit{Code: -1}, nil
	case err == nil:
		return sandbox.Exit{}, nil
	case errors.As(err, &ee):
		return sandbox.Exit{Code: ee.ExitCode()}, nil
	default:
		return sandbox.Exit{Code: -1}, fmt.Errorf("starting the command: %w", err)
	}
}
