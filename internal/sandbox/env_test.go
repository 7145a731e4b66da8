package sandbox

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// S02, S34: nothing but the allow-list, whatever the user's environment holds.
func TestS02EnvIsAnAllowList(t *testing.T) {
	t.Parallel()
	env := Env(EnvOptions{
		Host: []string{
			"PATH=/usr/bin:.:node_modules/.bin::/bin:/usr/bin", "LANG=de_DE.UTF-8", "HOME=/home/u",
			"ANTHROPIC_API_KEY=CANARY-KEY", "AWS_SECRET_ACCESS_KEY=CANARY-KEY", "LD_PRELOAD=/x.so", "BASH_ENV=/x",
			"NODE_OPTIONS=--require=/x", "PYTHONSTARTUP=/x", "GIT_DIR=/x", "GOFLAGS=-x", "SSH_AUTH_SOCK=/x",
			"WANTED=yes", "OPENAI_API_KEY=CANARY-KEY",
		},
		Tier: Confined, Home: "/h", Temp: "/tmp",
		Extra: []string{"WANTED", "OPENAI_API_KEY", "MISSING", "PATH", "A=B", ""},
	})
	require.Equal(t, []string{
		"PATH=/usr/bin:/bin", "HOME=/h", "LANG=de_DE.UTF-8", "TERM=dumb", "TMPDIR=/tmp", "CI=true",
		"CODERRR_SANDBOX=confined", "AGENT=coderrr", "WANTED=yes",
	}, env)
}

func TestEnvWithoutAPathHasOne(t *testing.T) {
	t.Parallel()
	require.Contains(t, Env(EnvOptions{}), "PATH=/usr/local/bin:/usr/bin:/bin")
}

func TestExplainFailure(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		output  string
		network bool
		want    string
		denied  bool
	}{
		{"npm error code EAI_AGAIN registry", false, "sandbox.network = true", true},
		{"curl: (6) Could not resolve host: example.org", false, "no network", true},
		{"curl: (6) Could not resolve host: example.org", true, "", false},
		{"write x: No space left on device", false, "disk space", false},
		{"touch: cannot touch '/usr/x': Read-only file system", true, "read-only", false},
		{"OSError: [Errno 18] Invalid cross-device link", false, "cannot be renamed", false},
		{"FAIL: TestX", false, "", false},
	} {
		got, denied := ExplainFailure(row.output, row.network)
		require.Equal(t, row.denied, denied, row.output)
		if row.want == "" {
			require.Empty(t, got, row.output)
		} else {
			require.Contains(t, got, row.want, row.output)
		}
	}
}
