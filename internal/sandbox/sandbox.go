// Package sandbox says what running a command means: on a copy or a
// copy-on-write view, never in the user's working tree. Tiers implement it in
// packages below.
package sandbox

import (
	"context"
	"errors"
	"time"
)

// Tier names how a command is contained.
type Tier string

// The tiers, from most to least contained.
const (
	Docker   Tier = "docker"
	Confined Tier = "confined"
	Landlock Tier = "landlock"
	Scratch  Tier = "scratch"
)

// Isolation says as data what a tier keeps apart. Each false is a warning.
type Isolation struct {
	WorkingTree bool `json:"working_tree"` // commands cannot change it (every tier but scratch without a helper)
	Files       bool `json:"files"`        // other files of the user are out of reach
	Network     bool `json:"network"`      // no network unless allowed
	Processes   bool `json:"processes"`    // cannot see or signal others; none survives
	Secrets     bool `json:"secrets"`      // environment holds no keys (every tier)
}

// Info describes the sandbox in force. Summary is one line for people, Limits
// what it does not do, Better how to get a better tier ("" if none).
type Info struct {
	Tier      Tier      `json:"tier"`
	Network   bool      `json:"network"`
	Isolation Isolation `json:"isolation"`
	Summary   string    `json:"summary"`
	Limits    string    `json:"limits,omitempty"`
	Better    string    `json:"better,omitempty"`
}

// Command is one shell line to run at the root of the workspace's copy.
type Command struct {
	Line string
	// Timeout is how long it may take; zero means the sandbox's own limit.
	Timeout time.Duration
	// Refresh starts from the current working tree; false keeps what earlier
	// commands left, under the files edited since.
	Refresh bool
	// Network allows this one command the network, after a person said so.
	Network bool
	// Output, if set, receives output as it comes, in whole runes where the
	// bytes are valid UTF-8. stream is "stdout" or "stderr". Calls never overlap.
	Output func(stream, text string)
}

// Result is how a command ended. A failing command is a Result, not an error.
type Result struct {
	ExitCode int // -1 when it was killed
	// Output is both streams as they came, head and tail kept when long; Dropped
	// is the number of bytes left out between them.
	Output  string
	Dropped int64
	// LogSHA256 is the hash of all output, kept or not, as hex.
	LogSHA256 string
	Duration  time.Duration
	TimedOut  bool
	// Reason explains a failure that the sandbox itself caused ("" if none),
	// with the remedy.
	Reason string
	// Changed lists files the command made or changed in its copy, capped.
	Changed []string
	// Notes say what the command did not get to see and why.
	Notes []string
	// NetworkDenied is set when the command seems to have failed because the
	// sandbox has no network: a person may be asked and Command.Network set.
	NetworkDenied bool
}

// ErrUnavailable is wrapped by errors that mean the tier cannot be used here.
var ErrUnavailable = errors.New("the sandbox is not available")

// Sandbox runs commands. Run's error means the command could not be started or
// the context ended; it is not how a command failed. Close stops what runs and
// removes what the sandbox made. Safe for concurrent use; commands run one at a
// time.
type Sandbox interface {
	Info() Info
	Run(ctx context.Context, cmd Command) (Result, error)
	Close() error
}
