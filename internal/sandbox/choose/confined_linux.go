package choose

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/sandbox/confined"
	"github.com/coderrr/coderrr/internal/sandbox/scratch"
)

// openConfined tries namespaces of our own, with an overlay of the workspace
// and, where its file system allows none, with a copy.
func openConfined(ctx context.Context, o Options) (sandbox.Sandbox, error) {
	c := o.confined()
	s, err := tryConfined(ctx, c, filepath.Join(o.CacheDir, "checks"))
	if err != nil && ctx.Err() == nil && confined.NeedsCopy(err) {
		c.Copy = true
		s, err = tryConfined(ctx, c, filepath.Join(o.CacheDir, "checks"))
	}
	if err == nil {
		return s, nil
	}
	if os.Geteuid() != 0 && ctx.Err() == nil { // as root it could do no more
		if s, berr := openRunner(ctx, o, confined.ByBwrap); berr == nil {
			return s, nil
		}
	}
	return nil, fmt.Errorf("the confined tier: %w; %s", err, confined.Remedy(err))
}

func (o *Options) confined() confined.Options {
	return confined.Options{
		Workspace: o.Workspace, Dir: o.Dir, HomeCache: o.home(), Network: o.Network, Timeout: o.Timeout,
		MemoryMB: o.MemoryMB, Env: o.Env, Host: o.Host, Helper: o.Helper,
	}
}

// openRunner opens a sandbox on a copy that a runner of the kernel contains,
// after seeing that the runner works.
func openRunner(ctx context.Context, o Options, kind confined.Kind) (sandbox.Sandbox, error) {
	r, err := confined.NewRunner(kind, o.confined())
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.home(), 0o700); err != nil {
		return nil, fmt.Errorf("making the sandbox's home: %w", err)
	}
	if err := r.Check(ctx, o.home()); err != nil {
		return nil, err
	}
	return openCopy(o, scratch.Options{
		Runner: r, Network: o.Network || kind == confined.WritesOnly, Info: r.Info(o.Network), Entries: r.Entries(),
	})
}

func openLandlock(ctx context.Context, o Options) (sandbox.Sandbox, error) {
	s, err := openRunner(ctx, o, confined.ByLandlock)
	if err != nil {
		return nil, fmt.Errorf("the landlock tier: %w", err)
	}
	return s, nil
}

// openScratch keeps writes to the copy where the kernel can do that.
func openScratch(ctx context.Context, o Options) (sandbox.Sandbox, error) {
	if s, err := openRunner(ctx, o, confined.WritesOnly); err == nil || ctx.Err() != nil {
		return s, err
	}
	return openCopy(o, scratch.Options{Network: true})
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
