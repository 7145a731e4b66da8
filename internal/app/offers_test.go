package app

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/mcp"
)

// Completion goes on with a server's name, then with what that server has; names
// that could not be typed are not offered.
func TestOffers(t *testing.T) {
	o := newOffers()
	o.set("srv", []mcp.Offer{{Server: "srv", Name: "note://b"}, {Server: "srv", Name: "note://a"}, {Server: "srv", Name: "a b"}, {Server: "srv", Name: "x… (cut)"}},
		[]mcp.Offer{{Server: "srv", Name: "review"}})
	o.set("empty", nil, nil)
	require.Equal(t, []string{"srv:"}, o.reading(""))
	require.Equal(t, []string{"srv:"}, o.reading("s"))
	require.Equal(t, []string{"srv:note://a", "srv:note://b"}, o.reading("srv:n"))
	require.Empty(t, o.reading("x"))
	require.Equal(t, []string{"srv:note://a", "srv:note://b"}, o.like("srv:"))
	require.Equal(t, []string{"srv:note://b"}, o.like("note://b"))
	require.Empty(t, o.like(""))
	require.Empty(t, o.like("main.go"))
	require.Equal(t, []string{"srv:review"}, o.asking("srv:"))
	o.set("srv", nil, nil)
	require.Empty(t, o.reading(""))
}
