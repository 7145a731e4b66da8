package fence

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Limits bound what a process and what it starts may use. Zero means no limit.
type Limits struct {
	Processes int   // of this user in this user namespace
	FileSize  int64 // bytes in one file
}

// Apply sets the limits for the whole process. Core files are always off.
func (l Limits) Apply() error {
	set := func(what int, v uint64) error {
		err := unix.Setrlimit(what, &unix.Rlimit{Cur: v, Max: v})
		if err != nil {
			return fmt.Errorf("setting a resource limit: %w", err)
		}
		return nil
	}
	if err := set(unix.RLIMIT_CORE, 0); err != nil {
		return err
	}
	if l.Processes > 0 {
		if err := set(unix.RLIMIT_NPROC, uint64(l.Processes)); err != nil {
			return err
		}
	}
	if l.FileSize > 0 {
		return set(unix.RLIMIT_FSIZE, uint64(l.FileSize))
	}
	return nil
}

// NoNewPrivs stops the calling thread and what it starts from gaining rights by
// executing a file.
func NoNewPrivs() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("setting no_new_privs: %w", err)
	}
	return nil
}

// DropCapabilities empties the calling thread's bounding, ambient and
// inheritable sets; the next execve by an ordinary user then has none at all.
func DropCapabilities() error {
	for c := uintptr(0); c <= 63; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			break // past the last capability, or none to drop with
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("dropping ambient capabilities: %w", err)
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return fmt.Errorf("reading capabilities: %w", err)
	}
	data[0].Inheritable, data[1].Inheritable = 0, 0
	if err := unix.Capset(&hdr, &data[0]); err != nil {
		return fmt.Errorf("dropping capabilities: %w", err)
	}
	return nil
}
