package slash_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/coderrr/coderrr/internal/slash"
)

func TestTable(t *testing.T) {
	word := regexp.MustCompile(`^([a-z]+(-[a-z]+)*|\?)$`)
	seen := map[string]string{}
	for _, c := range slash.Table() {
		require.NotZero(t, c.Where, c.Name)
		require.NotEmpty(t, c.Help, c.Name)
		require.NotRegexp(t, `[.\n]$`, c.Help)
		require.NotContains(t, c.Args, "\n")
		for _, n := range append([]string{c.Name}, c.Aliases...) {
			require.Regexp(t, word, n)
			require.Empty(t, seen[n], "%s is %s and %s", n, seen[n], c.Name)
			seen[n] = c.Name
		}
	}
	// What the product promises, and what the peers' users type for it.
	for _, promised := range []string{
		"help", "plan", "ask", "approve", "reject", "diff", "undo", "rewind", "resume", "new", "compact", "context", "cost", "model", "mcp",
		"skills", "memory", "permissions", "sandbox", "status", "export", "doctor", "config", "ui", "auto", "quit",
		"clear", "usage", "exit", "init",
	} {
		require.Contains(t, seen, promised)
	}
}

func TestFind(t *testing.T) {
	for name, want := range map[string]string{"restore": "undo", "rewind": "rewind", "EXIT": "quit", "?": "help", "undo": "undo"} {
		c, ok := slash.Find(name, slash.Prompt)
		require.True(t, ok, name)
		require.Equal(t, want, c.Name)
	}
	_, ok := slash.Find("auto", slash.Browser)
	require.False(t, ok, "approving without asking is for the terminal only")
	_, ok = slash.Find("auto", slash.Running)
	require.False(t, ok)
	_, ok = slash.Find("und", slash.Prompt)
	require.False(t, ok, "a part of a name runs nothing")
}

func TestSplit(t *testing.T) {
	for line, want := range map[string][2]string{
		"/undo a b":      {"undo", "a b"},
		"  /status ":     {"status", ""},
		"/":              {"", ""},
		"/ask why\nthat": {"ask", "why\nthat"},
		"/ask\twhy":      {"ask", "why"},
	} {
		name, args, ok := slash.Split(line)
		require.True(t, ok, line)
		require.Equal(t, want, [2]string{name, args}, line)
	}
	for _, line := range []string{"", "undo", "/etc/hosts is odd", "./x", "a /undo", "/srv:review a.go"} {
		_, _, ok := slash.Split(line)
		require.False(t, ok, line)
	}
}

func TestNearest(t *testing.T) {
	for typed, want := range map[string]string{
		"statsu": "status", "staus": "status", "undp": "undo", "qiut": "quit", "modle": "model", "resum": "resume", "aprove": "approve",
		"zzzzz": "", "": "", "exti": "exit",
	} {
		require.Equal(t, want, slash.Nearest(typed, slash.Prompt), typed)
	}
	require.NotEqual(t, "auto", slash.Nearest("auot", slash.Browser))
}

func TestComplete(t *testing.T) {
	require.Equal(t, []string{"status"}, slash.Complete("stat", slash.Prompt))
	require.Equal(t, []string{"rewind"}, slash.Complete("rew", slash.Prompt))
	require.Empty(t, slash.Complete("zz", slash.Everywhere))
	require.NotContains(t, slash.Complete("", slash.Browser), "auto")
	require.Contains(t, slash.Complete("", slash.Prompt), "auto")
}

func TestNothingPanics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.String().Draw(t, "line")
		name, _, ok := slash.Split(line)
		near := slash.Nearest(name, slash.Everywhere)
		if near != "" {
			_, found := slash.Find(near, slash.Everywhere)
			require.True(t, found)
		}
		if ok {
			slash.Complete(name, slash.Everywhere)
		}
	})
}
