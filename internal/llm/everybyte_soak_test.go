//go:build soak

package llm_test

// everyByte makes TestCut try every offset of every body.
const everyByte = true
