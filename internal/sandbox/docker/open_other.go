//go:build !unix

package docker

const openNonblock = 0
