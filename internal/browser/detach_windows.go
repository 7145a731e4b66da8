package browser

import (
	"os/exec"
	"syscall"
)

// detach keeps Ctrl-C in our console away from the browser.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
