package cli

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// offering is an App that knows a server's prompt and resource.
type offering struct{ App }

func (offering) Prompts(prefix string) []string {
	if prefix == "srv:" {
		return []string{"srv:review"}
	}
	return nil
}

func (offering) Files(_ context.Context, prefix string) ([]string, error) {
	return []string{prefix + "x"}, nil
}

// A slash goes on with commands and with prompts of servers, an @ with what the
// App knows.
func TestCompletionKnowsServers(t *testing.T) {
	p := &repl{app: offering{}}
	complete := func(text string) (int, []string) { return p.complete([]rune(text), len([]rune(text))) }
	_, options := complete("/srv:")
	require.Equal(t, []string{"/srv:review"}, options)
	_, options = complete("/stat")
	require.Equal(t, []string{"/status"}, options)
	from, options := complete("read @srv:note://")
	require.Equal(t, 5, from)
	require.Equal(t, []string{"@srv:note://x"}, options)
}
