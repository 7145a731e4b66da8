// Package sandboxtest is what the tests of all tiers share: a program that tries
// to get out, and commands that try to do harm. Its one rule: it is imported by
// tests only, and runs nothing by itself.
package sandboxtest
