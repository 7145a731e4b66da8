//go:build !linux

package confined

// Init must be the first thing that main does. There is no helper here.
func Init() {}

// Harden does nothing here.
func Harden() error { return nil }
