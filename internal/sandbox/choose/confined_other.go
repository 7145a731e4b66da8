//go:build !linux

package choose

import (
	"context"

	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/sandbox/confined"
)

func openConfined(ctx context.Context, o Options) (sandbox.Sandbox, error) {
	return confined.Open(ctx, confined.Options{
		Workspace: o.Workspace, Dir: o.Dir, HomeCache: o.home(), Network: o.Network, Timeout: o.Timeout,
		MemoryMB: o.MemoryMB, Env: o.Env, Host: o.Host, Helper: o.Helper,
	})
}
