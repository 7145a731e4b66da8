//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly

package term

// escEnds does nothing here: the terminal hands over whole lines only, so Esc is
// seen with the line it is in.
func escEnds(int) (back func(fd int), ok bool) { return func(int) {}, false }

// unbuffer does nothing here.
func unbuffer(int) (back func(fd int), ok bool) { return func(int) {}, false }
