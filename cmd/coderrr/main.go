// Command coderrr is a coding agent that plans, asks, and only then writes.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/coderrr/coderrr/internal/app"
	"github.com/coderrr/coderrr/internal/cli"
	"github.com/coderrr/coderrr/internal/sandbox/confined"
	"github.com/coderrr/coderrr/internal/secret"
)

// version is set by the linker: -X main.version=v1.2.3.
var version string

func main() {
	confined.Init() // a run as the sandbox's helper ends here
	if err := confined.Harden(); err != nil {
		fmt.Fprintln(os.Stderr, "warning:", err)
	}
	s, err := cli.System(keys)
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(cli.ExitFailure)
	}
	stop := profiled()
	code := cli.Main(context.Background(), os.Args[1:], s, cli.Version(version), app.Build)
	stop()
	os.Exit(code)
}

// keys is where API keys are stored below a home directory.
func keys(home string) cli.KeyStore {
	return secret.Vault{Keyring: secret.System(os.Getenv), File: filepath.Join(home, "credentials.json")}
}
