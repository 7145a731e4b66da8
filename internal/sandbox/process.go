package sandbox

import (
	"context"
	"os"
)

// Process is one command on a copy of the workspace, ready to start.
type Process struct {
	Dir  string   // absolute, the working directory
	Line string   // given to /bin/sh -c
	Env  []string // all of it
	// Home and Temp are the private directories that belong to this sandbox;
	// with Dir they are all that a runner lets the command write to.
	Home, Temp string
	Stdout     *os.File
	Stderr     *os.File
	// Network lets this one command use the network where a runner takes it.
	Network bool
	// MemoryMB stops the command when all its processes together use more
	// than that many mebibytes; zero means no limit.
	MemoryMB int
}

// Runner starts a process and waits until it and all it started are gone. When
// ctx ends it kills them all and returns.
type Runner interface {
	Run(ctx context.Context, p Process) (Exit, error)
	Close() error
}
