package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// replace writes a temporary file beside the old one and renames it over it.
func replace(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".config-*.tmp")
	if err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("save %s (the old file is unchanged): %w", path, err), os.Remove(f.Name()))
	}
	return nil
}

// ours: on Windows the profile's access list decides.
func ours(fs.FileInfo) bool { return true }
