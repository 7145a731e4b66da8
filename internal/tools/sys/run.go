package sys

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/policy"
	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/tools"
)

// maxOutput bounds what a command's output tells the model, in bytes.
const maxOutput = 32 << 10

type runIn struct {
	Command string `json:"command" jsonschema_description:"A shell command line, run at the root of the copy."`
	Timeout int    `json:"timeout,omitempty" jsonschema:"default=0" jsonschema_description:"Seconds it may take; 0 is the configured limit."`
	Refresh *bool  `json:"refresh,omitempty" jsonschema:"default=true" jsonschema_description:"true starts from the project as it is now; false keeps what earlier commands left in the copy, such as installed packages."`
}

func (d Deps) runInSandbox() tools.Tool {
	return tools.Define("run_in_sandbox", "Run a shell command on a copy of the project and read its exit code and output: tests, a build, a program. What it writes stays in the copy.", policy.System,
		func(ctx context.Context, in runIn) (tools.Result, error) {
			line := strings.TrimSpace(in.Command)
			switch {
			case line == "":
				return tools.Result{}, tools.Explain("run_in_sandbox: the command is empty. Give a shell command line, such as: go test ./...")
			case strings.Contains(line, "\x00"):
				return tools.Result{}, tools.Explain("run_in_sandbox: the command holds a NUL character. Give plain text.")
			case in.Timeout < 0:
				return tools.Result{}, tools.Explain("run_in_sandbox: timeout is negative. Give seconds, or 0 for the configured limit.")
			}
			limit, note := d.limit(in.Timeout)
			call := tools.CallOf(ctx)
			res, online, err := d.run(ctx, call, sandbox.Command{Line: line, Timeout: limit, Refresh: in.Refresh == nil || *in.Refresh, Output: call.Output})
			if err != nil {
				return notStarted(ctx, line, err), nil
			}
			tier := string(d.Sandbox.Info().Tier)
			d.Ran(ctx, event.Evidence{
				Command: line, ExitCode: res.ExitCode, LogSHA256: res.LogSHA256,
				Tier: tier, DurationMS: res.Duration.Milliseconds(), Call: call.ID,
			})
			return tools.Result{Content: note + online + report(res, tier), Display: display(line, res), IsError: res.ExitCode != 0}, nil
		})
}

// limit is the time a command gets, and a note where that is less than was asked.
func (d Deps) limit(seconds int) (time.Duration, string) {
	const most = 24 * 60 * 60 // longer overflows nothing and helps nobody
	limit := time.Duration(min(seconds, most)) * time.Second
	if d.MaxRun > 0 && limit > d.MaxRun {
		return d.MaxRun, fmt.Sprintf("[The timeout was lowered to %s, the limit of the configuration (sandbox.timeout).]\n", d.MaxRun)
	}
	return limit, ""
}

// notStarted says why there is no result: that is no failure of the command.
func notStarted(ctx context.Context, line string, err error) tools.Result {
	if ctx.Err() != nil {
		return tools.Result{Content: "The command was stopped with the session.", Display: "Stopped: " + oneLine(line), IsError: true}
	}
	text := "The command was not run: " + err.Error() + "."
	if errors.Is(err, sandbox.ErrUnavailable) {
		text += " The person can see what is missing with `coderrr doctor`. Go on without running anything, and say plainly what could not be checked."
	} else {
		text += " Try once more; if it fails again, go on and say plainly what could not be checked."
	}
	return tools.Result{Content: text, Display: "Not run: " + oneLine(line), IsError: true}
}

// colours are the sequences that only change how text looks; they are left out so
// that the model reads the words.
var colours = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\x1b\\[[0-9;:]*[mK]") })

func report(res sandbox.Result, tier string) string {
	var b strings.Builder
	switch {
	case res.TimedOut:
		fmt.Fprintf(&b, "timed out after %s", took(res.Duration))
	case res.ExitCode < 0:
		fmt.Fprintf(&b, "killed after %s", took(res.Duration))
	default:
		fmt.Fprintf(&b, "exit code %d after %s", res.ExitCode, took(res.Duration))
	}
	fmt.Fprintf(&b, ", sandbox %s\n", tier)
	if res.Reason != "" {
		b.WriteString(clean(res.Reason, 2<<10) + "\n")
	}
	output := strings.ReplaceAll(colours().ReplaceAllString(res.Output, ""), "\r\n", "\n")
	output = strings.TrimRight(strings.ReplaceAll(output, "\r", "\n"), "\n")
	total := int64(len(res.Output)) + res.Dropped
	switch {
	case total == 0:
		b.WriteString("no output\n")
	case res.Dropped > 0:
		fmt.Fprintf(&b, "output (%d bytes, %d of them left out in the middle):\n%s\n", total, res.Dropped, clean(output, maxOutput))
	default:
		fmt.Fprintf(&b, "output (%d bytes):\n%s\n", total, clean(output, maxOutput))
	}
	if len(res.Changed) > 0 {
		const most = 20
		fmt.Fprintf(&b, "changed in the copy only: %s", clean(strings.Join(res.Changed[:min(most, len(res.Changed))], ", "), 2<<10))
		if more := len(res.Changed) - most; more > 0 {
			fmt.Fprintf(&b, " and %d more", more)
		}
		b.WriteString("\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

func display(line string, res sandbox.Result) string {
	how := fmt.Sprintf("exit %d", res.ExitCode)
	if res.TimedOut {
		how = "timed out"
	} else if res.ExitCode < 0 {
		how = "killed"
	}
	return fmt.Sprintf("%s · %s · %s", oneLine(line), how, took(res.Duration))
}

func took(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

func oneLine(s string) string {
	const most = 120
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
