package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/event"
)

// TestResume: every page that shows the session goes on with it.
func TestResume(t *testing.T) {
	st := start(t)
	l := st.b.add("s1", "r")
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	l.log.Append(event.SessionFinished{Status: "cancelled"})
	one, _ := st.open(map[string]any{"session": "s1"})
	two, _ := st.open(map[string]any{"session": "s1"})
	one.session, two.session = "s1", "s1"
	a, _ := one.do("resume", map[string]any{"target": "s1"})
	require.True(t, a.OK, a.Why)
	two.until("RESUMED")
	a, _ = two.do("say", map[string]any{"text": "on"})
	require.True(t, a.OK, a.Why)
	require.Equal(t, []string{"say on"}, st.b.list[0].did())
}
