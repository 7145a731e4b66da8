package confined_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/sandbox/sandboxtest"
)

func TestProbeConfined(t *testing.T) {
	ws := t.TempDir()
	x := sandboxtest.Reach(t, ws)
	s := open(t, ws)
	res := run(t, s, "./"+sandboxtest.Name, true)
	got := sandboxtest.Parse(t, res.Output)
	wanted := map[string]bool{
		"file: own copy": true, "file: own /tmp": true, "file: own home": true, "net: own server": true, "net: own socket": true,
	}
	for name, how := range got {
		require.Equal(t, wanted[name], how == "allowed", "%s: %s", name, how)
	}
	b, err := os.ReadFile(x.Outside)
	require.NoError(t, err)
	require.Equal(t, "CANARY-OUT", string(b))
}
