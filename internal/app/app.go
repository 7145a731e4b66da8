// Package app builds the graph of a run: it is the one place that knows adapters,
// tools, sandbox, stores and front ends at once, so that none of them has to know
// another. It holds no logic of a session.
package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/coderrr/coderrr/internal/cli"
	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/sandbox/choose"
	"github.com/coderrr/coderrr/internal/secret"
	"github.com/coderrr/coderrr/internal/workspace"
)

// App implements cli.App.
type App struct {
	known knowledge
	env   cli.Env
	vault secret.Vault
	demo  string // where the sample project is, "" before there is one
	// shared is what the terminal and the browser UI have in common.
	shared *sharing
}

var _ cli.App = (*App)(nil)

// Build implements cli.Build. It opens nothing: each command opens what it needs.
func Build(_ context.Context, env cli.Env) (cli.App, error) {
	return &App{env: env, shared: newSharing(), vault: secret.Vault{
		Keyring: secret.System(env.Getenv),
		File:    filepath.Join(env.Home, "credentials.json"),
	}}, nil
}

func (a *App) openRoot() (*workspace.Root, error) {
	root, err := workspace.Open(a.env.Dir, workspace.Options{Home: a.env.Getenv("HOME")})
	if errors.Is(err, workspace.ErrTooWide) || errors.Is(err, workspace.ErrNotDirectory) {
		return nil, &cli.Failure{Code: cli.ExitUsage, Err: err, Remedy: "Name a project's folder with --dir."}
	}
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	return root, nil
}

// Sandbox implements cli.Parts.
func (a *App) Sandbox(ctx context.Context) (sandbox.Sandbox, error) {
	c := a.env.Config.Sandbox
	return choose.Open(ctx, choose.Options{
		Tier: c.Tier, Workspace: a.env.Dir,
		Dir: filepath.Join(a.env.Home, "sandbox"), CacheDir: filepath.Join(a.env.Home, "cache"),
		Network: c.Network, Timeout: time.Duration(c.Timeout) * time.Second, MemoryMB: c.MemoryMB,
		Env: c.Env, Image: c.Image,
	})
}
