//go:build !soak

package llm_test

// everyByte makes TestCut try every offset; see the soak build.
const everyByte = false
