//go:build !soak

package llm_test

// everyByte makes TestCut try every offset of every body, and the table leave
// nothing out under the race detector; see the soak build.
const everyByte = false
