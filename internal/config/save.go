package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"github.com/coderrr/coderrr/internal/lock"
)

// lockWait is how long a change waits for other processes that change the file.
const lockWait = 10 * time.Second

// Set changes one key of the file and nothing else. The text is read as the
// key's type: a list is comma-separated or a TOML array. The file is made when it
// is missing. Notes say what was repaired on the way.
func Set(ctx context.Context, home, key, text string) (notes []string, err error) {
	path, value, err := parseSetting(key, text)
	if err != nil {
		return nil, err
	}
	return change(ctx, home, func(data []byte) ([]byte, error) { return setBytes(data, path, value) })
}

// SetValues is Set for several keys in one write: all or none.
func SetValues(ctx context.Context, home string, settings [][2]string) (notes []string, err error) {
	return change(ctx, home, func(data []byte) ([]byte, error) {
		for _, s := range settings {
			path, value, err := parseSetting(s[0], s[1])
			if err != nil {
				return nil, err
			}
			if data, err = setBytes(data, path, value); err != nil {
				return nil, err
			}
		}
		return data, nil
	})
}

// Unset removes one key, or a whole table, from the file. Removing what is not
// there is an error that says so.
func Unset(ctx context.Context, home, key string) (notes []string, err error) {
	path, err := SplitKey(key)
	if err != nil {
		return nil, err
	}
	return change(ctx, home, func(data []byte) ([]byte, error) { return unsetBytes(data, path) })
}

// Clear moves the file aside and returns where it is now, "" when there was none.
func Clear(ctx context.Context, home string) (backup string, err error) {
	err = locked(ctx, home, func() error {
		path := Path(home)
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		backup = path + ".bak"
		return os.Rename(path, backup)
	})
	if err != nil {
		return "", fmt.Errorf("clear the configuration: %w", err)
	}
	return backup, nil
}

// change reads, edits and replaces the file under a lock. A file that cannot be
// read is never replaced.
func change(ctx context.Context, home string, edit func([]byte) ([]byte, error)) (notes []string, err error) {
	note, err := MakeHome(home)
	if err != nil {
		return nil, err
	}
	if note != "" {
		notes = append(notes, note)
	}
	err = locked(ctx, home, func() error {
		path := Path(home)
		target, ok := tomlTarget(path)
		if !ok {
			return &Error{File: path, Text: "is a link to " + target + ", which is not a .toml file of yours", Remedy: "remove the link, or point it to a .toml file"}
		}
		data, note, err := readFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if note != "" {
			notes = append(notes, note)
		}
		if _, _, err := Parse(path, data); err != nil {
			return err
		}
		out, err := edit(data)
		if err != nil {
			return err
		}
		if _, _, err := Parse(path, out); err != nil {
			return err
		}
		return replace(target, out)
	})
	return notes, err
}

func locked(ctx context.Context, home string, do func() error) (err error) {
	if _, err := MakeHome(home); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	held, err := lock.File(ctx, filepath.Join(home, "config.lock"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	return do()
}

// tomlTarget follows a link to the file that is to be written. It is not ok when
// the link leads to something that is not a TOML file of this user.
func tomlTarget(path string) (target string, ok bool) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return path, true
	}
	target, err = filepath.EvalSymlinks(path)
	if err != nil {
		if named, err := os.Readlink(path); err == nil {
			return named, false
		}
		return path, false
	}
	info, err = os.Stat(target)
	return target, err == nil && info.Mode().IsRegular() && strings.HasSuffix(target, ".toml") && ours(info)
}

// parseSetting checks the key and reads the text as its type.
func parseSetting(key, text string) ([]string, any, error) {
	path, err := SplitKey(key)
	if err != nil {
		return nil, nil, err
	}
	k, ok := lookup(path)
	if !ok {
		hint := "run `coderrr config show` to see the keys"
		if near := nearestKey(key); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		return nil, nil, fmt.Errorf("there is no key %q: %s", key, hint)
	}
	value, err := parseValue(k.kind, text)
	if err != nil {
		return nil, nil, fmt.Errorf("%s takes %s, not %q", key, kindOf(strings.Join(k.path, ".")), text)
	}
	return path, value, nil
}

func parseValue(t reflect.Type, text string) (any, error) {
	switch t.Kind() {
	case reflect.Bool:
		return strconv.ParseBool(text)
	case reflect.Int:
		return strconv.ParseInt(text, 10, 64)
	case reflect.Float64:
		return strconv.ParseFloat(text, 64)
	case reflect.Slice:
		return parseList(text)
	default:
		return text, nil
	}
}

func parseList(text string) ([]string, error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "[") {
		var doc struct {
			V []string `toml:"v"`
		}
		err := toml.Unmarshal([]byte("v = "+text), &doc)
		return doc.V, err
	}
	if text == "" {
		return []string{}, nil
	}
	parts := strings.Split(text, ",")
	for i, p := range parts {
		parts[i] = strings.TrimSpace(p)
	}
	return parts, nil
}
