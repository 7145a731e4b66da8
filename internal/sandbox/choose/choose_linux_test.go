package choose_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/sandbox/choose"
	"github.com/coderrr/coderrr/internal/sandbox/confined"
)

// actEnv makes this binary a program that opens a tier and runs one command.
const actEnv = "CODERRR_TEST_TIER"

func TestMain(m *testing.M) {
	confined.Init()
	if tier := os.Getenv(actEnv); tier != "" {
		act(tier, os.Getenv("CODERRR_TEST_DIR"))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func act(tier, dir string) {
	exe, err := os.Executable()
	if err != nil {
		fmt.Println("FAILED", err)
		return
	}
	s, err := choose.Open(context.Background(), choose.Options{
		Tier: tier, Workspace: filepath.Join(dir, "ws"), Dir: filepath.Join(dir, "s"), Helper: exe,
	})
	if err != nil {
		fmt.Println("FAILED", err)
		return
	}
	defer func() { _ = s.Close() }()
	res, err := s.Run(context.Background(), sandbox.Command{Line: "cat f", Refresh: true})
	fmt.Println(s.Info().Tier, res.Output, err)
	if x, ok := s.(sandbox.Explainer); ok {
		fmt.Println(strings.Join(x.Explain().Passed, "\n"))
	}
}

func options(t testing.TB, tier string) choose.Options {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	ws := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(ws, "f"), []byte("f"), 0o644))
	return choose.Options{Tier: tier, Workspace: ws, Dir: filepath.Join(t.TempDir(), "s"), Helper: exe}
}

func TestOpen(t *testing.T) {
	for tier, want := range map[string]sandbox.Tier{
		"": sandbox.Confined, "auto": sandbox.Confined, "confined": sandbox.Confined, "scratch": sandbox.Scratch,
	} {
		o := options(t, tier)
		for range 2 { // the second time the check is remembered
			s, err := choose.Open(t.Context(), o)
			require.NoError(t, err)
			require.Equal(t, want, s.Info().Tier)
			res, err := s.Run(t.Context(), sandbox.Command{Line: "cat f; echo $CODERRR_SANDBOX"})
			require.NoError(t, err)
			require.Equal(t, "f"+string(want)+"\n", res.Output)
			x, ok := s.(sandbox.Explainer)
			require.True(t, ok)
			require.NotEmpty(t, x.Explain().Entries)
			require.NoError(t, s.Close())
		}
	}
}

func TestOpenRefusesWhatItDoesNotKnow(t *testing.T) {
	_, err := choose.Open(t.Context(), options(t, "chroot"))
	require.ErrorContains(t, err, `sandbox.tier is "chroot"`)
	_, err = choose.Open(t.Context(), choose.Options{})
	require.Error(t, err)
}

// A test binary that does not call confined.Init is never started as a helper.
func TestNoHelper(t *testing.T) {
	o := options(t, "auto")
	o.Helper = ""
	s, err := choose.Open(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, sandbox.Scratch, s.Info().Tier)
	require.NoError(t, s.Close())
	o.Tier = "confined"
	_, err = choose.Open(t.Context(), o)
	require.ErrorIs(t, err, sandbox.ErrUnavailable)
}

// A program that is no helper does not hang the start.
func TestWrongHelper(t *testing.T) {
	o := options(t, "confined")
	o.Helper = "/bin/true"
	begun := time.Now()
	_, err := choose.Open(t.Context(), o)
	require.ErrorIs(t, err, sandbox.ErrUnavailable)
	require.Less(t, time.Since(begun), 3*time.Second)
}

// S23: where user namespaces are forbidden, the tier in force is the tier that
// is shown, and one asked for by name is refused.
func TestS23FallsOnlyWhenAllowed(t *testing.T) {
	for _, row := range []struct{ tier, want string }{
		{"auto", "landlock f <nil>"},
		{"confined", "FAILED the confined tier: the sandbox is not available"},
		{"scratch", "scratch f <nil>"},
	} {
		dir := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "ws"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "ws/f"), []byte("f"), 0o644))
		exe, err := os.Executable()
		require.NoError(t, err)
		cmd := exec.Command("/bin/sh", "-c", `echo 0 > /proc/sys/user/max_user_namespaces && exec "$0"`, exe)
		cmd.Env = append(os.Environ(), actEnv+"="+row.tier, "CODERRR_TEST_DIR="+dir)
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		require.True(t, strings.HasPrefix(string(out), row.want), "%s: %s", row.tier, out)
		if row.tier != "scratch" {
			require.Contains(t, string(out), "user.max_user_namespaces", "the remedy")
		}
	}
}
