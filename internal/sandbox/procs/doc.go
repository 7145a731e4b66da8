// Package procs looks at and ends processes by what /proc says. Its one rule: a
// process is named by its id and its start time together, for ids are used
// again.
package procs
