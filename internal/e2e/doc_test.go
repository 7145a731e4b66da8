// Package e2e drives the built coderrr from outside: it starts `coderrr ui`,
// opens the printed address in the system's Chromium and does what a person
// would do, finding everything by role and accessible name. It is a module of its
// own, so that its browser driver is no dependency of coderrr.
//
// One browser serves all tests; each test has its own browser context (storage,
// cookies) and its own server. CODERRR_BIN names a binary to use instead of
// building one, CODERRR_CHROMIUM a Chromium, CODERRR_ARTIFACTS a folder for
// pictures (artifacts/ of the repository).
package e2e
