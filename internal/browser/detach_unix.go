//go:build !windows

package browser

import (
	"os/exec"
	"syscall"
)

// detach keeps Ctrl-C in our terminal away from the browser.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
