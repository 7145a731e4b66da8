//go:build unix

package docker

import "syscall"

// openNonblock keeps a pipe that took a file's place from blocking.
const openNonblock = syscall.O_NONBLOCK
