// Package choose opens the best sandbox that a machine can give, or the one
// that was asked for. Its one rule: a tier asked for by name is never replaced
// by a weaker one.
package choose

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/sandbox/docker"
	"github.com/coderrr/coderrr/internal/sandbox/scratch"
)

// Options configure Open. Workspace and Dir are required.
type Options struct {
	// Tier is auto, confined, docker or scratch; empty means auto.
	Tier string
	// Workspace is the absolute path of the user's working tree.
	Workspace string
	// Dir is where sandboxes keep what lives as long as they do, CacheDir what
	// outlives them (a private HOME per workspace); empty means below Dir.
	Dir, CacheDir string
	// Network lets every command use the network.
	Network bool
	// Timeout is a command's limit unless it says otherwise; zero means 300 s.
	Timeout time.Duration
	// MemoryMB is how much memory a command's processes may use together, in
	// mebibytes; zero means 2048.
	MemoryMB int
	// Env names variables of the user to pass on.
	Env []string
	// Image is the docker tier's image; empty means chosen by language.
	Image string
	// Helper is the executable that is started again as the sandbox's helper.
	// It must call confined.Init first. Empty means this program, unless it is
	// a test binary.
	Helper string
	// Host is the environment to take from; nil means os.Environ.
	Host []string
}

func (o *Options) fill() error {
	if o.Workspace == "" || o.Dir == "" {
		return errors.New("sandbox: Workspace and Dir must be set")
	}
	ws, err := filepath.EvalSymlinks(o.Workspace)
	if err != nil {
		return fmt.Errorf("opening the workspace: %w", err)
	}
	if o.Workspace, err = filepath.Abs(ws); err != nil {
		return fmt.Errorf("opening the workspace: %w", err)
	}
	if o.Tier == "" {
		o.Tier = "auto"
	}
	if o.MemoryMB == 0 {
		o.MemoryMB = 2048
	}
	if o.Host == nil {
		o.Host = os.Environ()
	}
	if o.CacheDir == "" {
		o.CacheDir = filepath.Join(o.Dir, "cache")
	}
	return nil
}

// home is the private HOME that commands of this workspace share.
func (o *Options) home() string {
	sum := sha256.Sum256([]byte(o.Workspace))
	return filepath.Join(o.CacheDir, hex.EncodeToString(sum[:8]), "home")
}

// Open returns the sandbox that o asks for. An error that wraps
// sandbox.ErrUnavailable means that the tier cannot be had here; its text says
// why and what helps.
func Open(ctx context.Context, o Options) (sandbox.Sandbox, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	switch o.Tier {
	case "auto":
		return openAuto(ctx, o)
	case "confined":
		return openConfined(ctx, o)
	case "scratch":
		return openScratch(ctx, o)
	case "docker":
		return openDocker(ctx, o)
	}
	return nil, fmt.Errorf("sandbox.tier is %q; it must be auto, confined, docker or scratch", o.Tier)
}

// openAuto tries the tiers from the best on and remembers why the better ones
// cannot be had.
func openAuto(ctx context.Context, o Options) (sandbox.Sandbox, error) {
	var passed []string
	for _, try := range []func(context.Context, Options) (sandbox.Sandbox, error){openConfined, openDocker, openLandlock} {
		s, err := try(ctx, o)
		switch {
		case err == nil:
			return explained{s, passed}, nil
		case ctx.Err() != nil:
			return nil, err
		}
		passed = append(passed, err.Error())
	}
	s, err := openScratch(ctx, o)
	if err != nil {
		return nil, err
	}
	return explained{s, passed}, nil
}

// explained is a sandbox that also says which better ones were tried.
type explained struct {
	sandbox.Sandbox
	passed []string
}

// Explain implements sandbox.Explainer.
func (e explained) Explain() sandbox.Explanation {
	var x sandbox.Explanation
	if s, ok := e.Sandbox.(sandbox.Explainer); ok {
		x = s.Explain()
	}
	x.Passed = e.passed
	return x
}

// openDocker opens the docker tier. Its image must be there: an error that is a
// *sandbox.MissingImage names it, for a person to agree to Pull.
func openDocker(ctx context.Context, o Options) (sandbox.Sandbox, error) {
	s, err := docker.Open(ctx, docker.Options{
		Workspace: o.Workspace, Dir: o.Dir, Image: o.Image, Network: o.Network, Timeout: o.Timeout, MemoryMB: o.MemoryMB,
		Env: o.Env, Host: o.Host,
	})
	if err != nil {
		return nil, fmt.Errorf("the docker tier: %w", err)
	}
	return s, nil
}

// Pull brings an image to the docker tier's engine. progress gets the bytes
// that are there and that are known of so far; it may be nil.
func Pull(ctx context.Context, image string, progress func(done, total int64)) error {
	return docker.Pull(ctx, image, progress)
}

// openCopy opens the scratch package's sandbox with a runner; a nil runner
// contains nothing.
func openCopy(o Options, c scratch.Options) (sandbox.Sandbox, error) {
	c.Workspace, c.Dir, c.Home, c.Timeout = o.Workspace, o.Dir, o.home(), o.Timeout
	c.MemoryMB, c.Env, c.Host = o.MemoryMB, o.Env, o.Host
	return scratch.Open(c)
}
