package secret

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/coderrr/coderrr/internal/lock"
)

// maxFile bounds the credentials file, in bytes.
const maxFile = 1 << 20

func load(path string) (map[string]string, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the stored keys: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("%s is not a small regular file: move it away and store the keys again with `coderrr config`", path)
	}
	if info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(path, 0o600); err != nil {
			return nil, fmt.Errorf("%s can be read by other users and its mode cannot be changed: %w", path, err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the stored keys: %w", err)
	}
	var all map[string]string
	if json.Unmarshal(data, &all) != nil {
		// The decoder's own words could repeat a part of a key.
		return nil, fmt.Errorf("%s is not valid JSON: correct it, or move it away and store the keys again with `coderrr config`", path)
	}
	return all, nil
}

// update sets one account, or removes it when value is nil.
func update(path, account string, value *string) (err error) {
	if value == nil {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("store a key: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	held, err := lock.File(ctx, path+".lock")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	all, err := load(path)
	if err != nil {
		return err
	}
	if all == nil {
		all = map[string]string{}
	}
	if value == nil {
		delete(all, account)
	} else {
		all[account] = *value
	}
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("store a key: %w", err)
	}
	return replace(path, append(data, '\n'))
}

// replace writes the file whole or not at all. os.CreateTemp makes a random name
// with O_EXCL and mode 0600.
func replace(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".credentials-*")
	if err != nil {
		return fmt.Errorf("store a key: %w", err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("store a key (the old file is unchanged): %w", err), os.Remove(f.Name()))
	}
	return nil
}
