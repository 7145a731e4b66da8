package term

import "golang.org/x/sys/unix"

const (
	getMode = unix.TCGETS
	setMode = unix.TCSETS

	vdisable = 0 // a control character that does nothing
)
