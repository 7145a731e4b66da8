package confined

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// systemDirs are what commands see of the system, read-only.
func systemDirs() []string {
	return []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/snap", "/gnu",
	}
}

func (s *spec) system(root string) []point {
	var out []point
	for _, dir := range systemDirs() {
		info, err := os.Lstat(dir)
		if err != nil {
			continue
		}
		if info.Mode()&os.ModeSymlink != 0 {
			if target, err := os.Readlink(dir); err == nil {
				_ = os.Symlink(target, filepath.Join(root, dir))
			}
			continue
		}
		if s.Root && !forAll(info) {
			out = append(out, opened(dir)...)
			continue
		}
		out = append(out, shown(dir))
	}
	return out
}

// shown is a part of the system as it is.
func shown(path string) point {
	return point{path: path, mount: func(dst string) error { return bindMount(path, dst, bindOptions{}) }}
}

// forAll says whether every user may read what info describes.
func forAll(info fs.FileInfo) bool {
	need := fs.FileMode(0o004)
	if info.IsDir() {
		need = 0o005
	}
	return info.Mode().Perm()&need == need
}

// opened is a directory of the system that only root may enter, as some
// containers have their /etc, but without which little works: of what is in it,
// that which all may read.
func opened(dir string) []point {
	entries, _ := os.ReadDir(dir)
	links := map[string]string{}
	out := []point{{path: dir, mount: func(dst string) error {
		for name, target := range links {
			if err := os.Symlink(target, filepath.Join(dst, name)); err != nil {
				return fmt.Errorf("making %s in the sandbox: %w", dir, err)
			}
		}
		return nil
	}}}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := e.Info()
		switch {
		case err != nil:
		case info.Mode()&fs.ModeSymlink != 0:
			if target, err := os.Readlink(path); err == nil {
				links[e.Name()] = target
			}
		case forAll(info) && (info.IsDir() || info.Mode().IsRegular()):
			p := shown(path)
			p.file = !info.IsDir()
			out = append(out, p)
		}
	}
	return out
}
