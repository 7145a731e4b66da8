// Package fence takes rights away from the calling thread and what it starts:
// files and signals by Landlock, system calls by seccomp, capabilities and
// limits. Its one rule: a right that is gone does not come back, and a fence
// that cannot be put up is an error, never a silence.
package fence
