//go:build profile

package main

import (
	"os"
	"runtime/pprof"
	"syscall"
)

// profiled writes a CPU profile of the whole process to the file that came as
// descriptor 3; the result ends it. Only `make pgo` builds with it.
func profiled() (stop func()) {
	syscall.CloseOnExec(3)
	if err := pprof.StartCPUProfile(os.NewFile(3, "profile")); err != nil {
		return func() {}
	}
	return pprof.StopCPUProfile
}
