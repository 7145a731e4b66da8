package workspace

import (
	"bytes"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// ordinary is a user id that owns nothing.
const ordinary = 12345

// childEnv marks a process that was started to run one test again.
const childEnv = "WORKSPACE_TEST_CHILD"

// inChild runs the calling test again in a process of its own, made by attr, and
// reports whether this is that process. The parent should return when it is not.
func inChild(t *testing.T, attr *syscall.SysProcAttr) bool {
	t.Helper()
	if os.Getenv(childEnv) == t.Name() {
		return true
	}
	tmp, err := os.MkdirTemp("", "ws-child-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(tmp) })
	if attr != nil && attr.Credential != nil {
		require.NoError(t, os.Chown(tmp, int(attr.Credential.Uid), int(attr.Credential.Gid)))
	}
	// Not by its path: the folder of a test binary is closed to other users.
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), childEnv+"="+t.Name(), "TMPDIR="+tmp)
	cmd.Dir, cmd.SysProcAttr = tmp, attr
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		if attr != nil && attr.Cloneflags != 0 && os.Getenv("CI") != "true" {
			t.Skipf("no namespaces here: %v", err)
		}
		require.NoError(t, err)
	}
	require.NoError(t, cmd.Wait(), out.String())
	require.Contains(t, out.String(), "--- PASS: "+t.Name())
	return false
}

// asUser is inChild as an ordinary user: for root no permission is denied.
func asUser(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return true
	}
	return inChild(t, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}})
}

// withMounts is inChild where mounting is allowed and nobody else sees it.
func withMounts(t *testing.T) bool {
	t.Helper()
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return inChild(t, attr)
}
