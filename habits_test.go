package coderrr_test

import (
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/coderrr/coderrr/internal/cli"
	"github.com/coderrr/coderrr/internal/slash"
)

// TestDocHabits: docs/habits.md names every command with a slash, and what it says
// of commands, aliases and flags is so.
func TestDocHabits(t *testing.T) {
	doc := read(t, "docs/habits.md")
	for _, c := range slash.Table() {
		if (c.Name != "confirm" && c.Name != "ui") && !strings.Contains(doc, "`/"+c.Name+"`") {
			t.Errorf("docs/habits.md: /%s is missing", c.Name)
		}
	}
	words := regexp.MustCompile("`([^`]+)`")
	slashes, help := false, helpOf(t, "run", "--help")+helpOf(t, "--help")
	for row := range strings.SplitSeq(doc, "\n") {
		if strings.HasPrefix(row, "## ") {
			slashes = row == "## Commands with a slash"
		}
		cells := strings.Split(row, "|")
		if len(cells) != 5 {
			continue
		}
		for _, m := range words.FindAllStringSubmatch(cells[2], -1) {
			word := m[1]
			if name, ok := strings.CutPrefix(word, "coderrr "); ok && !strings.Contains(help, "\n  "+strings.Fields(name)[0]+" ") {
				t.Errorf("docs/habits.md: there is no command %s", word)
			}
			if strings.HasPrefix(word, "-") && !strings.Contains(help, word) {
				t.Errorf("docs/habits.md: there is no flag %s", word)
			}
			if name, ok := strings.CutPrefix(word, "/"); ok {
				checkAliases(t, name, cells[1], slashes)
			}
		}
	}
}

// checkAliases: what others call a command leads to it here.
func checkAliases(t *testing.T, name, habits string, slashes bool) {
	t.Helper()
	c, ok := slash.Find(name, slash.Everywhere)
	if !ok || c.Name != name {
		t.Errorf("docs/habits.md: there is no /%s", name)
		return
	}
	for _, m := range regexp.MustCompile("`/([^` ]+)`").FindAllStringSubmatch(habits, -1) {
		if of, ok := slash.Find(m[1], slash.Everywhere); slashes && (!ok || of.Name != name) {
			t.Errorf("docs/habits.md: /%s is not /%s", m[1], name)
		}
	}
}

// helpOf is what the command line prints of itself.
func helpOf(t *testing.T, args ...string) string {
	t.Helper()
	var out strings.Builder
	code := cli.Main(t.Context(), args, cli.IO{In: strings.NewReader(""), Out: &out, Err: io.Discard, Getenv: func(string) string { return "" }, Dir: t.TempDir()}, "test", nil)
	if code != 0 {
		t.Fatalf("coderrr %s: exit code %d", strings.Join(args, " "), code)
	}
	return out.String()
}
