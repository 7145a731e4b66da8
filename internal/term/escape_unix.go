//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package term

import "golang.org/x/sys/unix"

// escEnds makes Esc end a line as Enter does, so that it is read at once while the
// terminal goes on to edit lines itself (termios VEOL), and Ctrl-Z too, in place of
// stopping us while the terminal is like this. back undoes it.
func escEnds(fd int) (back func(fd int), ok bool) {
	return change(fd, func(t *unix.Termios) {
		t.Cc[unix.VEOL], t.Cc[unix.VEOL2] = 0x1b, ctrlZ
		t.Cc[unix.VSUSP] = vdisable
	})
}

// unbuffer hands over what is typed without waiting for the line's end.
func unbuffer(fd int) (back func(fd int), ok bool) {
	return change(fd, func(t *unix.Termios) {
		t.Lflag &^= unix.ICANON
		t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
	})
}

func change(fd int, how func(*unix.Termios)) (back func(fd int), ok bool) {
	old, err := unix.IoctlGetTermios(fd, getMode)
	if err != nil {
		return func(int) {}, false
	}
	next := *old
	how(&next)
	if unix.IoctlSetTermios(fd, setMode, &next) != nil {
		return func(int) {}, false
	}
	return func(fd int) {
		_ = unix.IoctlSetTermios(fd, setMode, old) // a terminal that is gone needs no mode
	}, true
}
