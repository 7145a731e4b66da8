// Package browser opens a page in the person's browser. Its one rule: the address
// holds a token, so it is never an argument of a process: every user of the
// machine can read those. The browser gets a file that only its owner can read
// and that leads on.
package browser

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// ErrNoDisplay: there is nothing here to open a page with. The address is still
// printed, so this is no failure.
var ErrNoDisplay = errors.New("no display to open a browser on")

// Options say with what and from where.
type Options struct {
	Getenv func(string) string
	// Dir is where the redirect file is made, with mode 0700 if it is missing; a
	// browser that may not read it shows an error page and nothing else.
	Dir string
	// Avoid is a directory, the workspace, from which no program is started even
	// if PATH names it.
	Avoid string
}

// Open starts the browser on address and returns at once. remove deletes the
// redirect file; call it when the page was loaded or is given up, at the latest
// before the program ends.
func Open(ctx context.Context, address string, o Options) (remove func() error, err error) {
	if u, err := url.Parse(address); err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("only http and https pages are opened in a browser")
	}
	argv, err := command(runtime.GOOS, o)
	if err != nil {
		return nil, err
	}
	file, err := redirect(o.Dir, address)
	if err != nil {
		return nil, err
	}
	remove = func() error {
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove the redirect page: %w", err)
		}
		return nil
	}
	for i, a := range argv {
		argv[i] = strings.ReplaceAll(a, "%s", file)
	}
	// Not CommandContext: the program started here may be the browser itself, and
	// must outlive this call and Ctrl-C.
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = environment(o.Getenv)
	detach(cmd)
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(err, remove())
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the browser %s: %w", argv[0], err), remove())
	}
	go func() { _ = cmd.Wait() }() // how a browser ends is not our business
	return remove, nil
}

// Available reports whether Open has something to open a page with.
func Available(o Options) bool {
	_, err := command(runtime.GOOS, o)
	return err == nil
}

// redirect makes a page, under a random name and readable by its owner only, that
// leads to address.
func redirect(dir, address string) (path string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the folder of the redirect page: %w", err)
	}
	f, err := os.CreateTemp(dir, "open-*.html")
	if err != nil {
		return "", fmt.Errorf("make the redirect page: %w", err)
	}
	to := html.EscapeString(address)
	_, err = fmt.Fprintf(f, `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">`+
		`<meta http-equiv="refresh" content="0;url=%s"><title>Coderrr</title><a href="%s">Open Coderrr</a>`+"\n", to, to)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("write the redirect page: %w", err), os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// command is what to run, %s standing for the file.
func command(goos string, o Options) ([]string, error) {
	wsl := goos == "linux" && o.Getenv("WSL_DISTRO_NAME") != ""
	if goos != "windows" && goos != "darwin" && !wsl && o.Getenv("DISPLAY") == "" && o.Getenv("WAYLAND_DISPLAY") == "" {
		return nil, ErrNoDisplay
	}
	for _, choice := range filepath.SplitList(o.Getenv("BROWSER")) {
		words := strings.Fields(choice)
		if len(words) == 0 {
			continue
		}
		if words[0] = find(words[0], o); words[0] == "" {
			continue
		}
		if !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "%s") }) {
			words = append(words, "%s")
		}
		return words, nil
	}
	switch {
	case goos == "windows":
		return []string{filepath.Join(o.Getenv("SystemRoot"), "System32", "rundll32.exe"), "url.dll,FileProtocolHandler", "%s"}, nil
	case goos == "darwin":
		return []string{"/usr/bin/open", "%s"}, nil
	}
	for _, name := range []string{"wslview", "xdg-open"} {
		if path := find(name, o); path != "" && (wsl || name != "wslview") {
			return []string{path, "%s"}, nil
		}
	}
	return nil, ErrNoDisplay
}

// find looks a program up in the absolute entries of PATH, outside o.Avoid.
func find(name string, o Options) string {
	candidates := []string{name}
	if !filepath.IsAbs(name) {
		if strings.ContainsRune(name, filepath.Separator) {
			return ""
		}
		candidates = nil
		for _, dir := range filepath.SplitList(o.Getenv("PATH")) {
			if filepath.IsAbs(dir) {
				candidates = append(candidates, filepath.Join(dir, name))
			}
		}
	}
	for _, path := range candidates {
		if o.Avoid != "" && strings.HasPrefix(path, filepath.Clean(o.Avoid)+string(filepath.Separator)) {
			continue
		}
		info, err := os.Stat(path)
		if err == nil && info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode()&0o111 != 0) {
			return path
		}
	}
	return ""
}

// environment is what a browser needs to find its display and profile. Keys of
// providers stay here.
func environment(getenv func(string) string) []string {
	names := []string{
		"HOME", "PATH", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_MESSAGES", "TMPDIR", "TMP", "TEMP",
		"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS",
		"XDG_RUNTIME_DIR", "XDG_CURRENT_DESKTOP", "XDG_SESSION_TYPE", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS",
		"XDG_DATA_HOME", "XDG_DATA_DIRS", "XDG_CACHE_HOME", "DESKTOP_SESSION",
		"WSL_DISTRO_NAME", "WSL_INTEROP", "WSLENV",
		"SystemRoot", "SYSTEMDRIVE", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "ProgramFiles", "ProgramData",
	}
	var env []string
	for _, n := range names {
		if v := getenv(n); v != "" {
			env = append(env, n+"="+v)
		}
	}
	return env
}
