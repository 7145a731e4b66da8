package coderrr_test

import (
	"bytes"
	"go/version"
	"io/fs"
	"os"
	"path"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// TestGoVersion: os.Root, on which containment rests, had an escape before 1.26.5.
func TestGoVersion(t *testing.T) {
	const oldest = "go1.26.5"
	v, _, _ := strings.Cut(runtime.Version(), " ")
	if version.Compare(v, oldest) < 0 {
		t.Errorf("built with %s: %s or later is needed", v, oldest)
	}
}

// A phrase must not stand anywhere in the tree.
type phrase struct {
	re  *regexp.Regexp
	why string
	ok  *regexp.Regexp // matches that are fine

	recorded bool // may stand in testdata, where recordings of public sources are
}

// The expressions are put together, so that this file does not match itself.
var phrases = []phrase{
	{
		re:  regexp.MustCompile(`(?i)\b(proxy\.golang|sum\.golang|pypi|registry\.npmjs|registry\.yarnpkg|deb\.debian|crates|rubygems|repo\.maven)` + `\.(org|io|com)\b`),
		why: "package-registry host: name the package, not where it comes from",
	},
	{
		re:  regexp.MustCompile(`(/work|/farm)` + `/(main|shared|\.library)\b|/root/` + `(go|\.cache)\b|/tmp/` + `plan\b`),
		why: "path of one machine",
	},
	{
		re:  regexp.MustCompile(`/(home|Users)/` + `[A-Za-z][\w.-]*`),
		ok:  regexp.MustCompile(`/(user|you|me|someone|alice|u|x|dev|runner|ann|sandbox)$`),
		why: "path of one person's machine: write /" + "home/you", recorded: true,
	},
	{
		re: regexp.MustCompile(`\b(sk-(ant-|or-|proj-)?[A-Za-z0-9_-]{20,}|AIza` + `[A-Za-z0-9_-]{30,}|gh[pousr]_` + `[A-Za-z0-9]{30,}|AKIA` + `[A-Z0-9]{16}|xox[baprs]-` + `[A-Za-z0-9-]{10,})`),
		ok: regexp.MustCompile(`(?i)test|fake|example|dummy|canary|secret|0000|1234|xxxx|abcd`), why: "looks like a key: write one that says it is not",
	},
	{
		re:  regexp.MustCompile(`-----BEGIN ` + `[A-Z ]*PRIVATE KEY-----\n[A-Za-z0-9+/=\n]{100,}`),
		why: "a private key",
	},
}

// TestTreeHoldsNothingOfOneMachine reads every file that is or could be committed.
func TestTreeHoldsNothingOfOneMachine(t *testing.T) {
	err := fs.WalkDir(os.DirFS("."), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if p == ".git" || ignored(p) {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || path.Ext(p) == ".sum" {
			return nil
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		if !bytes.ContainsRune(data, 0) {
			checkText(t, p, data)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkText(t *testing.T, file string, data []byte) {
	for _, ph := range phrases {
		if ph.recorded && strings.Contains(file, "/testdata/") {
			continue
		}
		for _, at := range ph.re.FindAllIndex(data, -1) {
			found := data[at[0]:at[1]]
			if ph.ok != nil && ph.ok.Match(found) {
				continue
			}
			line := 1 + bytes.Count(data[:at[0]], []byte("\n"))
			t.Errorf("%s:%d: %.60q: %s", file, line, found, ph.why)
		}
	}
}

// TestNothingIsSkipped: a test that is skipped everywhere looks like a test that
// passes. Where a facility may really be missing, the test must not skip in CI.
func TestNothingIsSkipped(t *testing.T) {
	skip := regexp.MustCompile(`\.` + `Skip(f|Now)?\(`)
	for _, s := range sources(t) {
		if !s.test {
			continue
		}
		data, err := os.ReadFile(s.path)
		if err != nil {
			t.Fatal(err)
		}
		if at := skip.FindIndex(data); at != nil && !bytes.Contains(data, []byte(`Getenv("CI")`)) {
			t.Errorf("%s:%d: skips a test without looking at CI", s.path, 1+bytes.Count(data[:at[0]], []byte("\n")))
		}
	}
}
