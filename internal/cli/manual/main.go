// Command manual writes the manual pages and completion scripts that packages of
// coderrr install. It is a part of releasing and not of the program.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/coderrr/coderrr/internal/cli"
)

func main() {
	const usage = "usage: manual DIR VERSION DATE"
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(cli.ExitUsage)
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(cli.ExitFailure)
	}
}

func write(dir, version, date string) error {
	for path, data := range cli.Files(version, date) {
		path = filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
