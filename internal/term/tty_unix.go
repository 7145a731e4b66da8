//go:build !windows

package term

// ttyName is the controlling terminal, also when standard input is a pipe.
const ttyName = "/dev/tty"
