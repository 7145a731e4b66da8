//go:build linux && !amd64 && !arm64

package fence

import "errors"

// Calls says which system calls a thread loses besides those that no build or
// test needs.
type Calls struct {
	// NoInternet takes away sockets of every family but AF_UNIX.
	NoInternet bool
}

// Seccomp always fails here, so tiers that need it are found not to work and
// are not offered.
func Seccomp(Calls) error {
	return errors.New("there is no system call filter for this kind of processor")
}
