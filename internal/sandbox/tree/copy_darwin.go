package tree

import (
	"context"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// racy is how old a change must be before it is copied: clocks of file systems
// move in steps, and a second change must get another time than the first.
const racy = 12 * time.Millisecond

const openNonblock = unix.O_NONBLOCK

func changeTime(info fs.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctimespec.Unix())
	}
	return info.ModTime()
}

func setTime(f *os.File, t time.Time) error {
	tv := []unix.Timeval{unix.NsecToTimeval(t.UnixNano()), unix.NsecToTimeval(t.UnixNano())}
	return unix.Futimes(int(f.Fd()), tv)
}

// copyData copies by hand: a clone on APFS makes the file itself, which the
// caller has already opened so that it cannot be led elsewhere.
func copyData(_ context.Context, out, in *os.File, _ int64) (cloned bool, err error) {
	_, err = io.Copy(out, in)
	return false, err
}
