//go:build unix

package workspace

import (
	"io/fs"
	"syscall"
)

// openFlags keep an open from waiting for a FIFO's writer or taking a terminal.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY

func linksOf(fi fs.FileInfo) int {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return int(st.Nlink)
	}
	return 0
}

// ownerOf is who a file belongs to.
func ownerOf(fi fs.FileInfo) (uid, gid int, ok bool) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(st.Uid), int(st.Gid), true
}

// deviceOf is the file system a file is on.
func deviceOf(fi fs.FileInfo) uint64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Dev)
	}
	return 0
}
