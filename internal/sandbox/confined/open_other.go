//go:build !linux

package confined

import (
	"context"
	"fmt"

	"github.com/coderrr/coderrr/internal/sandbox"
)

func defaultDiskMB() int { return 2048 }

// Open fails: namespaces are Linux's.
func Open(context.Context, Options) (sandbox.Sandbox, error) {
	return nil, fmt.Errorf("%w: the confined tier with namespaces needs Linux", sandbox.ErrUnavailable)
}
