package sandbox

import (
	"fmt"
	"strings"
	"time"
)

// TimeoutReason says that a command was stopped for its time limit.
func TimeoutReason(limit time.Duration) string {
	return fmt.Sprintf("stopped after %s, the limit for this command: give it a larger timeout, "+
		"or raise sandbox.timeout; a server or a watcher never ends by itself", limit)
}

// MemoryReason says that a command was stopped for its memory, limit being in
// mebibytes.
func MemoryReason(limit string) string {
	return "out of memory: the command used more than the sandbox's " + limit + " MB " +
		"(raise sandbox.memory_mb, or make the command use less)"
}

// ProcessReason says that a command was stopped for starting more than limit
// processes.
func ProcessReason(limit string) string {
	return "stopped for having more than " + limit + " processes at once, the sandbox's limit"
}

// noNetwork are words of programs that failed for lack of a network, in lower
// case.
func noNetwork() []string {
	return []string{
		"network is unreachable", "could not resolve host", "temporary failure in name resolution",
		"name or service not known", "eai_again", "enotfound", "enetunreach", "no such host",
		"failed to establish a new connection", "dial tcp", "could not resolve proxy",
		"temporary failure resolving", "getaddrinfo", "unable to connect to", "connecterror", "network unreachable",
		"spurious network error", "failed to lookup address",
	}
}

// ExplainFailure looks in a failed command's output for the marks of what the
// sandbox denies and returns the reason with its remedy, "" if there is none,
// and whether it is the missing network.
func ExplainFailure(output string, network bool) (reason string, denied bool) {
	low := strings.ToLower(output)
	if !network {
		for _, w := range noNetwork() {
			if strings.Contains(low, w) {
				return "this sandbox has no network: allow it for this command when asked, or set sandbox.network = true; " +
					"dependencies that are already installed are visible and need none", true
			}
		}
	}
	switch {
	case strings.Contains(low, "no space left on device"):
		return "the sandbox's disk space is used up: what commands write is kept apart and bounded; " +
			"run with refresh=true to start again from the working tree", false
	case strings.Contains(low, "read-only file system"):
		return "only the workspace's copy, HOME and /tmp can be written in this sandbox; " +
			"the system and the toolchains are read-only", false
	case strings.Contains(low, "invalid cross-device link"):
		return "a directory of the working tree cannot be renamed in place in this sandbox: " +
			"copy it and remove the old one (mv does so by itself)", false
	}
	return "", false
}
