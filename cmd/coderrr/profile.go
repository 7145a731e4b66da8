//go:build !profile

package main

// profiled does nothing in a build for people.
func profiled() (stop func()) { return func() {} }
