// Package confined runs commands in namespaces of their own, on a
// copy-on-write view of the workspace. Its one rule: when a part of the
// set-up cannot be made the command is refused, never run with less.
//
// The same program is started again as its helper, with Arg0 as its name, in
// three stages: launch (an ordinary child without secrets), broker (once per
// sandbox, in a user and a mount namespace that hold the memory file system
// for what commands write), init (once per command, process 1 of its own
// namespaces, started before there is a command so that none waits for it). The broker ends when its socket to Coderrr closes, and each
// stage dies with the one that started it, so nothing outlives Coderrr.
package confined

// Arg0 is the name under which this program is its own helper.
const Arg0 = "coderrr-sandbox-init"
