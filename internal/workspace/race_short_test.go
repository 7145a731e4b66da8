//go:build !soak

package workspace

import "time"

// swapTime is how long the swap race runs.
const swapTime = 1500 * time.Millisecond
