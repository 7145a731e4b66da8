package cli

import (
	"context"
	"errors"

	"github.com/coderrr/coderrr/internal/llm"
	"github.com/coderrr/coderrr/internal/sandbox"
)

// The exit codes of CONTRACT.md §Exit codes.
const (
	ExitOK          = 0   // done
	ExitFailure     = 1   // anything without a code of its own
	ExitUsage       = 2   // the command line is wrong
	ExitMCP         = 3   // a required MCP server is down
	ExitApproval    = 4   // approval needed and nobody to ask
	ExitDeclined    = 5   // plan or change declined
	ExitUnmet       = 6   // tasks unmet, or unverified where evidence is required
	ExitBudget      = 7   // budget or turn limit
	ExitSandbox     = 8   // sandbox unavailable
	ExitProvider    = 9   // provider unusable
	ExitTimeout     = 124 // --timeout
	ExitInterrupted = 130 // Ctrl-C or a signal
)

// Failure is an error with an exit code and, where there is one, a remedy that a
// person can follow. Message may be empty when Err says it all.
type Failure struct {
	Code   int
	Err    error
	Remedy string
}

// Error is the cause in words, without the remedy.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Errors of the stores that App hands out.
var (
	// ErrNoSpec: no spec has this number, slug or folder name.
	ErrNoSpec = errors.New("no such spec")
	// ErrNoSession: no session log has this id.
	ErrNoSession = errors.New("no such session")
	// ErrNoSkill: neither the registry nor a local folder has this skill.
	ErrNoSkill = errors.New("no such skill")
)

// quiet is an outcome that was already told: only its code is left.
type quiet struct{ code int }

func (q quiet) Error() string { return "ended" }

// codeOf maps an error to the exit code.
func codeOf(err error) int {
	var (
		q       quiet
		failure *Failure
		model   *llm.Error
	)
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &q):
		return q.code
	case errors.As(err, &failure):
		return failure.Code
	case errors.As(err, &model):
		return ExitProvider
	case errors.Is(err, sandbox.ErrUnavailable):
		return ExitSandbox
	case errors.Is(err, context.DeadlineExceeded):
		return ExitTimeout
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	default:
		return ExitFailure
	}
}

// remedyOf says what a person can do about an error ("" when nothing is known).
func remedyOf(err error) string {
	var (
		failure *Failure
		model   *llm.Error
	)
	switch {
	case errors.As(err, &failure):
		return failure.Remedy
	case errors.As(err, &model):
		return modelRemedy(model.Kind)
	case errors.Is(err, sandbox.ErrUnavailable):
		return "run `coderrr sandbox explain` to see which tiers this machine has, or set sandbox.tier = \"auto\""
	case errors.Is(err, ErrNoSpec):
		return "run `coderrr spec list` to see what there is"
	case errors.Is(err, ErrNoSession):
		return "run `coderrr session list` to see what there is"
	case errors.Is(err, ErrNoSkill):
		return "run `coderrr skills search WORD` to find its name"
	default:
		return ""
	}
}

func modelRemedy(k llm.Kind) string {
	switch k {
	case llm.KindAuth:
		return "check the key: run `coderrr config`, or set the provider's variable (such as OPENAI_API_KEY)"
	case llm.KindQuota:
		return "the account has no credit left: top it up, or choose another provider with `coderrr config`"
	case llm.KindModelNotFound:
		return "run `coderrr models` to see what the provider serves, then `coderrr config set provider.model NAME`"
	case llm.KindNetwork, llm.KindTimeout:
		return "check that the endpoint is running and reachable: `coderrr doctor` shows its address"
	case llm.KindBadResponse:
		return "the address does not speak the provider's protocol: check provider.endpoint with `coderrr config get provider.endpoint`"
	default:
		return ""
	}
}
