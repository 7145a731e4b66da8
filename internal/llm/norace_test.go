//go:build !race

package llm_test

// raceOn: the race detector makes large buffers many times dearer.
const raceOn = false
