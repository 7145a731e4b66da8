package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"sync"
)

// maxName is the longest name of a tool that every provider takes, in bytes.
const maxName = 64

// digestLen is how many hex digits tell apart names that had to be changed.
const digestLen = 8

var unfit = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9_-]`) })

// toolName is the name a model knows a tool by: mcp__SERVER__TOOL where that is a
// name that every provider takes and that no other server can have; else as much
// of it as fits, and a digest of both names. It never depends on the other tools.
func toolName(server, tool string) string {
	name := "mcp__" + server + "__" + tool
	plain := !unfit().MatchString(name) && len(name) <= maxName && !strings.Contains(server, "__") && !strings.HasSuffix(server, "_")
	if plain {
		return name
	}
	return digested(server, tool)
}

// digested is the name with a digest.
func digested(server, tool string) string {
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	digest := "_" + hex.EncodeToString(sum[:])[:digestLen]
	name := unfit().ReplaceAllString("mcp__"+server+"__"+tool, "_")
	return name[:min(len(name), maxName-len(digest))] + digest
}
