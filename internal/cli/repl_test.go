package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/event"
	"github.com/coderrr/coderrr/internal/slash"
)

// Every command of the table does something in the terminal, and nothing is done
// that is not in the table.
func TestActionsAreTheTables(t *testing.T) {
	actions := (&repl{}).actions()
	for _, c := range slash.Table() {
		if c.Name != "help" {
			require.NotNil(t, actions[c.Name], c.Name)
		}
		delete(actions, c.Name)
	}
	require.Empty(t, actions)
}

func TestSplitWords(t *testing.T) {
	for line, want := range map[string][]string{
		"":                              nil,
		"set  agent.max_iter 3":         {"set", "agent.max_iter", "3"},
		`add x -- sh -c "echo 'a b'"`:   {"add", "x", "--", "sh", "-c", "echo 'a b'"},
		`set a ''`:                      {"set", "a", ""},
		"one'two three'four\tand\nmore": {"onetwo threefour", "and", "more"},
	} {
		got, err := splitWords(line)
		require.NoError(t, err, line)
		require.Equal(t, want, got, line)
	}
	_, err := splitWords(`set "open`)
	require.ErrorContains(t, err, "not closed")
}

// A cost that leaves out what has no price is not shown as one.
func TestMeter(t *testing.T) {
	cost := 0.25
	var m meter
	add := func(d event.Payload) { m.add(event.Event{Data: d}) }
	require.Equal(t, "cost unknown", m.money())
	add(event.UsageAdded{Input: 1000, Output: 10, CostUSD: &cost, Context: 1000, Window: 8000})
	require.Equal(t, "$0.2500", m.money())
	require.Equal(t, "context 12% of 8k", m.filled())
	add(event.UsageAdded{Input: 5, CostUSD: &cost, Context: 7999, Window: 8000, Purpose: "verify"})
	require.Equal(t, "context 12% of 8k", m.filled(), "the verifier has a context of its own")
	add(event.UsageAdded{Input: 5})
	require.Equal(t, "cost unknown", m.money())
	require.Equal(t, []string{"999", "2k", "1.5M"}, []string{short(999), short(1500), short(1_500_000)})
}
