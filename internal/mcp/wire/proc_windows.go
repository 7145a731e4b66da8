package wire

import (
	"os"
	"os/exec"
)

// guard has nothing to do here: a server's stdin is closed when this process ends.
type guard struct{}

func isolate(*exec.Cmd) {}

func terminateGroup(int) {}

func killGroup(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}

func watch(int) *guard { return nil }

func (g *guard) stop() {}
