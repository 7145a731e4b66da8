package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// tooWide says why a resolved directory is no workspace, or "". A model that works
// in a home or system directory can destroy what no undo brings back.
func tooWide(dir, home string) string {
	if home == "" {
		home, _ = os.UserHomeDir()
	}
	if home != "" {
		if resolved, err := filepath.EvalSymlinks(home); err == nil {
			home = resolved
		}
		switch {
		case dir == filepath.Clean(home):
			return "this is your home directory"
		case under(filepath.Clean(home), dir):
			return "your home directory is inside this folder"
		}
	}
	if dir == filepath.Dir(dir) {
		return "this is the root of the file system"
	}
	if slices.Contains(sharedDirs(), dir) {
		return "this folder belongs to the whole system"
	}
	if under(dir, "/dev/shm") {
		return "" // files in memory, not devices
	}
	for _, sys := range systemDirs() {
		if dir == sys || under(dir, sys) {
			return "this is a folder of the operating system"
		}
	}
	return ""
}

// under reports whether path is below dir; both are clean and absolute.
func under(path, dir string) bool {
	return strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

// sharedDirs are refused themselves; projects may live below them.
func sharedDirs() []string {
	return []string{
		"/tmp", "/var", "/var/tmp", "/home", "/Users", "/root", "/opt", "/srv", "/mnt", "/media", "/run", "/usr", "/usr/local", "/usr/src",
		"/private", "/private/tmp", "/private/var", "/Applications", "/Library", "/Volumes", "/nix", "/snap", "/dev/shm",
	}
}

// systemDirs are refused with all that is below them.
func systemDirs() []string {
	return []string{
		"/etc", "/proc", "/sys", "/dev", "/boot", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/System", "/private/etc",
		"/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib64", "/usr/libexec", "/usr/include", "/usr/share", "/var/lib/dpkg", "/run/systemd",
	}
}
