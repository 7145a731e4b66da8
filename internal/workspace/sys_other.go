//go:build !unix

package workspace

import "io/fs"

const openFlags = 0

func linksOf(fs.FileInfo) int { return 0 }

func ownerOf(fs.FileInfo) (uid, gid int, ok bool) { return 0, 0, false }

func deviceOf(fs.FileInfo) uint64 { return 0 }
