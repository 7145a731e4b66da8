//go:build !windows

package term

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// stopDelay is how long a stop may take to happen: until then this job runs on, and
// must not touch the terminal.
const stopDelay = 30 * time.Millisecond

// ttyName is the controlling terminal, also when standard input is a pipe.
const ttyName = "/dev/tty"

// watchSize tells of each change of the terminal's size until stop is called.
func watchSize() (resized <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGWINCH)
	return c, func() { signal.Stop(c) }
}

// suspend stops this job, as Ctrl-Z does where the terminal sees to it, until it
// is brought back.
func suspend() {
	_ = syscall.Kill(0, syscall.SIGTSTP) // one that cannot be sent changes nothing
	time.Sleep(stopDelay)
}
