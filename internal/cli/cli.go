// Package cli is the command line: cobra commands that read flags, drive an App
// and turn every error into text, a remedy and an exit code. It holds no logic
// of a session. Its one rule: nothing heavy is built before a command needs it.
package cli
