package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// shared is what all tests of this package use.
var shared struct {
	binary    func() (string, error) // the coderrr under test
	browser   context.Context        // the first context; a tab derives from it
	artifacts string                 // where pictures go
}

func TestMain(m *testing.M) {
	code, err := runAll(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

func runAll(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "coderrr-e2e-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()

	if shared.artifacts = os.Getenv("CODERRR_ARTIFACTS"); shared.artifacts == "" {
		shared.artifacts = filepath.Join("..", "..", "artifacts")
	}
	shared.binary = sync.OnceValues(func() (string, error) { return binary(dir) })
	path, err := chromium()
	if err != nil {
		return 1, err
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), flags(path, dir)...)
	defer stop()
	browser, closeBrowser := chromedp.NewContext(allocator)
	defer closeBrowser()
	// No time limit here: a limit on the first context ends the browser.
	if err := chromedp.Do(browser); err != nil {
		return 1, fmt.Errorf("start %s: %w", path, err)
	}
	shared.browser = browser
	return m.Run(), nil
}

// binary is the coderrr under test, built when none was given.
func binary(dir string) (string, error) {
	if given := os.Getenv("CODERRR_BIN"); given != "" {
		return filepath.Abs(given)
	}
	out := filepath.Join(dir, "coderrr")
	cmd := exec.Command("go", "build", "-o", out, "./cmd/coderrr")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build coderrr: %w\n%s", err, text)
	}
	return out, nil
}

func chromium() (string, error) {
	if given := os.Getenv("CODERRR_CHROMIUM"); given != "" {
		return given, nil
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no Chromium was found: run scripts/test-deps, or name one with CODERRR_CHROMIUM")
}

// flags start a Chromium that talks to nobody but us. rebound.test resolves to
// the loopback address, as a name does after DNS rebinding.
func flags(path, dir string) []chromedp.ExecAllocatorOption {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("host-resolver-rules", "MAP rebound.test 127.0.0.1"),
		chromedp.WindowSize(1440, 900),
		chromedp.UserDataDir(filepath.Join(dir, "profile")),
	)
	if os.Geteuid() == 0 {
		// Chromium's own sandbox can not be set up by root.
		options = append(options, chromedp.NoSandbox)
	}
	return options
}
