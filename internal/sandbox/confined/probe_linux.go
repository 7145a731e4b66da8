package confined

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/coderrr/coderrr/internal/sandbox"
)

// Check runs the whole set-up once with a command that does nothing. That it
// worked is remembered in dir until the machine starts anew or the program or
// the workspace's file system is another; that it did not is never remembered,
// for somebody may have mended it.
func (s *Sandbox) Check(ctx context.Context, dir string) error {
	name := ""
	if key := s.checkKey(); key != "" {
		name = filepath.Join(dir, "confined-"+key)
		if _, err := os.Stat(name); err == nil {
			return nil
		}
	}
	r, err := s.Run(ctx, sandbox.Command{Line: "exit 0", Refresh: true})
	if err != nil {
		return err
	}
	if r.ExitCode != 0 {
		return fmt.Errorf("%w: a command that does nothing ended with %d: %s", sandbox.ErrUnavailable, r.ExitCode, r.Output)
	}
	if name != "" {
		old, _ := filepath.Glob(filepath.Join(dir, "confined-*"))
		for _, f := range old[:max(0, len(old)-8)] {
			_ = os.Remove(f)
		}
		// Without it the next start takes a little longer.
		if os.MkdirAll(dir, 0o700) == nil {
			_ = os.WriteFile(name, nil, 0o600)
		}
	}
	return nil
}

// checkKey names what the result of Check depends on, "" if it is not known.
func (s *Sandbox) checkKey() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	exe, err := os.Stat(s.o.Helper)
	if err != nil {
		return ""
	}
	ws, err := os.Stat(s.o.Workspace)
	if err != nil {
		return ""
	}
	st, ok := ws.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	ns, err := os.Readlink("/proc/self/ns/mnt") // another container has its own
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d %d %d %s %v", strings.TrimSpace(string(boot)), exe.ModTime(),
		exe.Size(), st.Dev, os.Getuid(), ns, s.copy != nil))
	return hex.EncodeToString(sum[:12])
}

// NeedsCopy reports whether err means that only the overlay of the workspace
// cannot be made, so that Options.Copy helps.
func NeedsCopy(err error) bool {
	text := err.Error()
	return strings.Contains(text, "overlay of ") || strings.Contains(text, "mapping the owners of ")
}

// Remedy says what usually helps when the tier cannot be had, for cause.
func Remedy(cause error) string {
	if b, err := os.ReadFile("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"); err == nil &&
		strings.TrimSpace(string(b)) == "1" {
		exe, err := os.Executable()
		if err != nil {
			exe = "/path/to/coderrr"
		}
		return "AppArmor forbids user namespaces to programs without a profile. As root, put into " +
			"/etc/apparmor.d/coderrr: `abi <abi/4.0>, include <tunables/global> profile coderrr " + exe +
			" flags=(unconfined) { userns, }` and run `apparmor_parser -r /etc/apparmor.d/coderrr`"
	}
	if b, err := os.ReadFile("/proc/sys/user/max_user_namespaces"); err == nil && strings.TrimSpace(string(b)) == "0" {
		return "user namespaces are turned off: as root, `sysctl user.max_user_namespaces=15000`"
	}
	if b, err := os.ReadFile("/proc/sys/kernel/unprivileged_userns_clone"); err == nil && strings.TrimSpace(string(b)) == "0" {
		return "user namespaces are turned off: as root, `sysctl kernel.unprivileged_userns_clone=1`"
	}
	if strings.Contains(cause.Error(), "operation not permitted") {
		return "this looks like a container that forbids namespaces: use `sandbox.tier = \"docker\"`, or start the container " +
			"with seccomp=unconfined and systempaths=unconfined"
	}
	return "a Linux kernel 5.12 or later with user namespaces and overlayfs is needed"
}
