package choose

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/sandbox/confined"
)

// openConfined tries namespaces of our own, with an overlay of the workspace
// and, where its file system allows none, with a copy.
func openConfined(ctx context.Context, o Options) (sandbox.Sandbox, error) {
	c := confined.Options{
		Workspace: o.Workspace, Dir: o.Dir, HomeCache: o.home(), Network: o.Network, Timeout: o.Timeout,
		MemoryMB: o.MemoryMB, Env: o.Env, Host: o.Host, Helper: o.Helper,
	}
	s, err := tryConfined(ctx, c, filepath.Join(o.CacheDir, "checks"))
	if err != nil && ctx.Err() == nil && confined.NeedsCopy(err) {
		c.Copy = true
		s, err = tryConfined(ctx, c, filepath.Join(o.CacheDir, "checks"))
	}
	if err != nil {
		return nil, fmt.Errorf("the confined tier: %w; %s", err, confined.Remedy(err))
	}
	return s, nil
}

func tryConfined(ctx context.Context, c confined.Options, checks string) (sandbox.Sandbox, error) {
	s, err := confined.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := s.Check(ctx, checks); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}
