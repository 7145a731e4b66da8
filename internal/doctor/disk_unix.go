//go:build !windows

package doctor

import "syscall"

// freeSpace is what an ordinary user can still write, in bytes.
func freeSpace(dir string) (uint64, bool) {
	var st syscall.Statfs_t
	if syscall.Statfs(dir, &st) != nil {
		return 0, false
	}
	return st.Bavail * uint64(st.Bsize), true
}
