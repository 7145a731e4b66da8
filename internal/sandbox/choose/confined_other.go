//go:build !linux

package choose

import (
	"context"
	"fmt"

	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/sandbox/confined"
	"github.com/coderrr/coderrr/internal/sandbox/scratch"
)

func openConfined(ctx context.Context, o Options) (sandbox.Sandbox, error) {
	return confined.Open(ctx, confined.Options{
		Workspace: o.Workspace, Dir: o.Dir, HomeCache: o.home(), Network: o.Network, Timeout: o.Timeout,
		MemoryMB: o.MemoryMB, Env: o.Env, Host: o.Host, Helper: o.Helper,
	})
}

func openLandlock(context.Context, Options) (sandbox.Sandbox, error) {
	return nil, fmt.Errorf("%w: the landlock tier needs Linux", sandbox.ErrUnavailable)
}

func openScratch(_ context.Context, o Options) (sandbox.Sandbox, error) {
	return openCopy(o, scratch.Options{Network: true})
}
