package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// FileName is the file inside the home directory.
const FileName = "config.toml"

// Home returns the directory that holds everything Coderrr keeps for a user:
// CODERRR_HOME, else ~/.coderrr. It makes nothing.
func Home(getenv func(string) string) (string, error) {
	if dir := getenv("CODERRR_HOME"); dir != "" {
		if !filepath.IsAbs(dir) {
			return "", fmt.Errorf("CODERRR_HOME is %q: it must be an absolute path, so that the directory you stand in cannot decide which configuration is read", dir)
		}
		return filepath.Clean(dir), nil
	}
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	user := getenv(name)
	if user == "" || !filepath.IsAbs(user) {
		return "", fmt.Errorf("cannot tell where your home directory is: set %s, or CODERRR_HOME to an absolute path", name)
	}
	return filepath.Join(user, ".coderrr"), nil
}

// Path is the configuration file of a home directory.
func Path(home string) string { return filepath.Join(home, FileName) }

// MakeHome creates the home directory with mode 0700, or repairs the mode of one
// that others can read. The note says what was repaired ("" for nothing).
func MakeHome(home string) (note string, err error) {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return "", fmt.Errorf("make the directory %s: %w", home, err)
	}
	dir, err := os.Open(home)
	if err != nil {
		return "", fmt.Errorf("open %s: %w", home, err)
	}
	note, err = repair(dir, 0o700)
	return note, errors.Join(err, dir.Close())
}

// repair takes away what others may do with an open file or directory of ours.
func repair(f *os.File, want os.FileMode) (note string, err error) {
	if runtime.GOOS == "windows" {
		return "", nil // there the profile's access list decides
	}
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("look at %s: %w", f.Name(), err)
	}
	have := info.Mode().Perm()
	if have&0o077 == 0 {
		return "", nil
	}
	if err := f.Chmod(want); err != nil {
		return fmt.Sprintf("%s can be read by other users (mode %04o) and its mode cannot be changed: run chmod %o %s", f.Name(), have, want, f.Name()), nil
	}
	return fmt.Sprintf("%s could be read by other users (mode %04o): it is %04o now", f.Name(), have, want), nil
}
