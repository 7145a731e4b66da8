package confined

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/coderrr/coderrr/internal/sandbox"
)

// Options configure Open. Workspace, Dir and HomeCache are required.
type Options struct {
	Workspace string // absolute, with links resolved
	Dir       string // where sandboxes of this user live
	HomeCache string // what commands have as HOME; kept between sessions
	Network   bool
	Timeout   time.Duration // zero means 300 s
	MemoryMB  int           // zero means 2048
	DiskMB    int           // zero means 2048, less on a small machine
	Processes int           // zero means 1024, more on a machine with many processors
	Env       []string      // names to pass on besides the allow-list
	Host      []string      // the environment to take from; nil means os.Environ
	Hide      []string      // paths in the workspace that commands do not see; nil means .coderrr
	// Copy gives commands a copy of the workspace instead of an overlay, where
	// the workspace's file system or its groups allow no overlay.
	Copy bool
	// Helper is a program whose main calls Init first. Empty means this one.
	Helper string
}

func (o *Options) fill() error {
	for _, dir := range []string{o.Workspace, o.Dir, o.HomeCache} {
		if !filepath.IsAbs(dir) {
			return errors.New("confined sandbox: Workspace, Dir and HomeCache must be absolute paths")
		}
	}
	if o.Timeout <= 0 {
		o.Timeout = 300 * time.Second
	}
	if o.MemoryMB <= 0 {
		o.MemoryMB = 2048
	}
	if o.Processes <= 0 {
		o.Processes = max(1024, 128*runtime.NumCPU())
	}
	if o.DiskMB <= 0 {
		o.DiskMB = defaultDiskMB()
	}
	if o.Host == nil {
		o.Host = os.Environ()
	}
	if o.Hide == nil {
		o.Hide = []string{".coderrr"}
	}
	if o.Helper == "" {
		exe, err := os.Executable()
		if err != nil {
			return fmt.Errorf("%w: cannot find this program's file: %w", sandbox.ErrUnavailable, err)
		}
		if strings.HasSuffix(exe, ".test") || strings.HasSuffix(exe, ".test.exe") {
			// A test binary that does not call Init would run its tests again.
			return fmt.Errorf("%w: a test binary is not the sandbox's helper", sandbox.ErrUnavailable)
		}
		o.Helper = exe
	}
	return nil
}
