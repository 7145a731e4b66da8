package tree

import (
	"context"
	"errors"
	"fmt"
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
		return time.Unix(st.Ctim.Unix())
	}
	return info.ModTime()
}

func setTime(f *os.File, t time.Time) error {
	ts := unix.NsecToTimespec(t.UnixNano())
	tv := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, ts}
	return withFD(f, func(fd int) error {
		return unix.UtimesNanoAt(fd, "", tv, unix.AT_EMPTY_PATH)
	})
}

func withFD(f *os.File, do func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := conn.Control(func(fd uintptr) { inner = do(int(fd)) }); err != nil {
		return err
	}
	return inner
}

// copyData copies in to out: as a clone that shares blocks where the file
// system can, else range by range, leaving holes as holes.
func copyData(ctx context.Context, out, in *os.File, size int64) (cloned bool, err error) {
	if size == 0 {
		return false, nil
	}
	err = withFD(in, func(from int) error {
		return withFD(out, func(to int) error {
			if size >= 4096 && unix.IoctlFileClone(to, from) == nil {
				cloned = true
				return nil
			}
			if size < 64<<10 {
				return copySmall(to, from, size)
			}
			return copyRanges(ctx, to, from, size)
		})
	})
	if err != nil {
		return cloned, fmt.Errorf("copying %s: %w", in.Name(), err)
	}
	return cloned, nil
}

func copySmall(to, from int, size int64) error {
	buf := make([]byte, size+1)
	for {
		n, err := unix.Read(from, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return err
		}
		for done := 0; done < n; {
			w, err := unix.Write(to, buf[done:n])
			if err != nil && !errors.Is(err, unix.EINTR) {
				return err
			}
			done += max(w, 0)
		}
	}
}

func copyRanges(ctx context.Context, to, from int, size int64) error {
	for at := int64(0); at < size; {
		if err := ctx.Err(); err != nil {
			return err
		}
		data, err := unix.Seek(from, at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			break // a hole up to the end
		}
		end := size
		if err != nil {
			data = at // no holes are known here
		} else if end, err = unix.Seek(from, data, unix.SEEK_HOLE); err != nil {
			end = size
		}
		if end > data {
			if err := copyRange(ctx, to, from, data, end-data); err != nil {
				return err
			}
		}
		at = end
	}
	return unix.Ftruncate(to, size)
}

// copyRange lets the kernel copy, and copies itself where the kernel does not
// (between some file systems).
func copyRange(ctx context.Context, to, from int, at, n int64) error {
	rp, wp := at, at
	for n > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		k, err := unix.CopyFileRange(from, &rp, to, &wp, int(min(n, 64<<20)), 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return copyPlain(ctx, to, from, rp, n)
		}
		if k == 0 {
			return nil // the file became shorter
		}
		n -= int64(k)
	}
	return nil
}

func copyPlain(ctx context.Context, to, from int, at, n int64) error {
	buf := make([]byte, 1<<20)
	for n > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		k, err := unix.Pread(from, buf[:min(n, int64(len(buf)))], at)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		if k == 0 {
			return nil
		}
		for done := 0; done < k; {
			w, err := unix.Pwrite(to, buf[done:k], at+int64(done))
			if err != nil && !errors.Is(err, unix.EINTR) {
				return err
			}
			if w == 0 {
				return io.ErrShortWrite
			}
			done += max(w, 0)
		}
		at, n = at+int64(k), n-int64(k)
	}
	return nil
}
