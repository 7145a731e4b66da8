package fence

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_AARCH64
	x32Bit    = 0 // there is no second numbering here
)

// deniedHere lists calls that only this instruction set has.
func deniedHere() []int { return nil }
