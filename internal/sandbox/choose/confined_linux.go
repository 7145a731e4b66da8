package choose

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/sandbox/confined"
)

// openConfined tries namespaces of our own.
func openConfined(ctx context.Context, o Options) (sandbox.Sandbox, error) {
	s, err := confined.Open(ctx, confined.Options{
		Workspace: o.Workspace, Dir: o.Dir, HomeCache: o.home(), Network: o.Network, Timeout: o.Timeout,
		MemoryMB: o.MemoryMB, Env: o.Env, Host: o.Host, Helper: o.Helper,
	})
	if err != nil {
		return nil, err
	}
	if err := s.Check(ctx, filepath.Join(o.CacheDir, "checks")); err != nil {
		err = errors.Join(err, s.Close())
		return nil, fmt.Errorf("the confined tier: %w; %s", err, confined.Remedy(err))
	}
	return s, nil
}
