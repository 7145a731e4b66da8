//go:build !linux

package tree

import "github.com/gofrs/flock"

// fileLock is a lock on a file that the system lets go with its owner.
type fileLock = flock.Flock

func newFileLock(path string) *fileLock { return flock.New(path) }
