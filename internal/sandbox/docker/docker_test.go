//go:build linux

package docker_test

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/sandbox/docker"
	"github.com/coderrr/coderrr/internal/sandbox/sandboxtest"
)

// agentEnv makes this binary a Coderrr that runs one command in a container.
const agentEnv = "CODERRR_TEST_AGENT"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == sandboxtest.Name {
		sandboxtest.Main(os.Stdout)
		os.Exit(0)
	}
	if dir := os.Getenv(agentEnv); dir != "" {
		s, err := docker.Open(context.Background(), docker.Options{Workspace: dir + "/ws", Dir: dir + "/s", Image: image})
		if err == nil {
			_, err = s.Run(context.Background(), sandbox.Command{
				Line: "trap '' TERM; echo go; sleep 971", Output: func(_, text string) { fmt.Print(text) },
			})
		}
		fmt.Println("FAILED", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// image is built from files of this machine; nothing is downloaded.
const image = "coderrr-test:latest"

// engine returns a client. In CI there must be an engine, unless scripts/with-docker
// found that none can run there.
var engine = sync.OnceValues(func() (*client.Client, error) {
	api, err := client.New(client.FromEnv)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if _, err := api.Ping(ctx, client.PingOptions{}); err != nil {
		return nil, err
	}
	return api, build(api)
})

func need(t *testing.T) *client.Client {
	t.Helper()
	api, err := engine()
	if err != nil && (os.Getenv("CI") != "true" || os.Getenv("CODERRR_NO_DOCKER") != "") {
		t.Skipf("no Docker engine answers: %v %s", err, os.Getenv("CODERRR_NO_DOCKER"))
	}
	require.NoError(t, err)
	return api
}

// build imports an image with a shell and the usual programs.
func build(api *client.Client) error {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	files := map[string]bool{}
	for _, p := range strings.Fields("sh cat ls rm mkdir sleep id env touch yes head tail dd chmod ln mv cp find sort cut grep mount sed setsid true") {
		path, err := exec.LookPath(p)
		if err != nil {
			return err
		}
		files[path] = true
		out, _ := exec.Command("ldd", path).CombinedOutput()
		for _, f := range strings.Fields(string(out)) {
			if strings.HasPrefix(f, "/") {
				files[f] = true
			}
		}
	}
	if err := w.WriteHeader(&tar.Header{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777}); err != nil {
		return err
	}
	for path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, name := range []string{path, "/bin/" + filepath.Base(path)} {
			if strings.Contains(path, ".so") && name != path {
				continue
			}
			if err := w.WriteHeader(&tar.Header{Name: strings.TrimPrefix(name, "/"), Mode: 0o755, Size: int64(len(b))}); err != nil {
				return err
			}
			if _, err := w.Write(b); err != nil {
				return err
			}
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	res, err := api.ImageImport(context.Background(), client.ImageImportSource{Source: &buf, SourceName: "-"}, image, client.ImageImportOptions{
		Changes: []string{"ENV PATH=/bin:/usr/bin"},
	})
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, res)
	return err
}

func open(t *testing.T, ws string, change ...func(*docker.Options)) *docker.Sandbox {
	t.Helper()
	api := need(t)
	o := docker.Options{Workspace: ws, Dir: filepath.Join(t.TempDir(), "s"), Image: image, Timeout: 30 * time.Second}
	for _, f := range change {
		f(&o)
	}
	s, err := docker.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		requireNone(t, api, o.Dir)
	})
	return s
}

func ours(t *testing.T, api *client.Client, dir string) (containers, volumes int) {
	t.Helper()
	list, err := api.ContainerList(context.Background(), client.ContainerListOptions{All: true})
	require.NoError(t, err)
	for _, c := range list.Items {
		if strings.HasPrefix(c.Labels["dev.coderrr.sandbox"], dir) {
			containers++
		}
	}
	vols, err := api.VolumeList(context.Background(), client.VolumeListOptions{})
	require.NoError(t, err)
	for _, v := range vols.Items {
		if strings.HasPrefix(v.Labels["dev.coderrr.sandbox"], dir) {
			volumes++
		}
	}
	return containers, volumes
}

func requireNone(t *testing.T, api *client.Client, dir string) {
	t.Helper()
	c, v := ours(t, api, dir)
	require.Zero(t, c, "containers are left")
	require.Zero(t, v, "volumes are left")
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	p := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
	require.NoError(t, os.WriteFile(p, []byte(text), 0o644))
}

func run(t testing.TB, s sandbox.Sandbox, line string, refresh bool) sandbox.Result {
	t.Helper()
	res, err := s.Run(t.Context(), sandbox.Command{Line: line, Refresh: refresh})
	require.NoError(t, err)
	return res
}

func TestRun(t *testing.T) {
	ws := t.TempDir()
	write(t, ws, "a", "one\n")
	write(t, ws, "d/b", "two\n")
	write(t, ws, ".coderrr/x", "CANARY")
	require.NoError(t, os.Symlink("d/b", filepath.Join(ws, "link")))
	s := open(t, ws, func(o *docker.Options) {
		o.Host = append(os.Environ(), "OPENAI_API_KEY=CANARY-KEY", "FOO=bar")
		o.Env = []string{"FOO", "OPENAI_API_KEY"}
	})
	res := run(t, s, "echo $PWD; cat a d/b link; ls -A; echo x > a; echo y > made; rm -r d; id -u; env; exit 5", true)
	require.Equal(t, 5, res.ExitCode, res.Output)
	require.True(t, strings.HasPrefix(res.Output, ws+"\none\ntwo\ntwo\na\nd\nlink\n"), res.Output)
	require.NotContains(t, res.Output, "CANARY")
	require.NotContains(t, res.Output, "\n0\n")
	require.Contains(t, res.Output, "FOO=bar")
	require.Contains(t, res.Output, "CODERRR_SANDBOX=docker")
	require.FileExists(t, filepath.Join(ws, "d/b"))

	// What commands left is kept, under later edits, until a refresh.
	require.Equal(t, "x\ny\n", run(t, s, "cat a made; ls d 2>/dev/null", false).Output)
	write(t, ws, "a", "agent\n")
	require.NoError(t, os.Remove(filepath.Join(ws, "link")))
	require.Equal(t, "agent\ny\na\nmade\n", run(t, s, "cat a made; ls", false).Output)
	require.Equal(t, "agent\na\nd\n", run(t, s, "cat a; ls", true).Output)
	require.Equal(t, sandbox.Docker, s.Info().Tier)
	require.NotEmpty(t, s.Explain().Entries)
}

func TestProbe(t *testing.T) {
	need(t)
	ws := t.TempDir()
	sandboxtest.Reach(t, ws)
	s := open(t, ws)
	res := run(t, s, "./"+sandboxtest.Name, true)
	wanted := map[string]bool{
		"file: own copy": true, "file: own /tmp": true, "file: own home": true, "net: own server": true, "net: own socket": true,
		// The container's own process 1, of the same user.
		"proc: exe of process 1": true, "proc: memory of process 1": true,
		// The engine's own filter lets these through; there is nothing behind them.
		"net: vsock": true, "kernel: keyring": true, "kernel: key": true, "file: handles": true, "net: alg": true,
	}
	for name, how := range sandboxtest.Parse(t, res.Output) {
		if how == "allowed" {
			require.True(t, wanted[name], "%s: %s", name, how)
		} else if strings.Contains(name, ": own ") {
			t.Errorf("%s: %s", name, how)
		}
	}
}

// S36: what the engine is told.
func TestS36Hardening(t *testing.T) {
	api := need(t)
	s := open(t, t.TempDir())
	var seen int
	_, err := s.Run(t.Context(), sandbox.Command{Line: "echo go; sleep 1; cat /proc/self/status; ls -l /; mount", Output: func(_, text string) {
		if !strings.HasPrefix(text, "go") {
			return
		}
		list, err := api.ContainerList(context.Background(), client.ContainerListOptions{All: true})
		require.NoError(t, err)
		for _, c := range list.Items {
			if c.Labels["dev.coderrr.sandbox"] == "" {
				continue
			}
			seen++
			i, err := api.ContainerInspect(context.Background(), c.ID, client.ContainerInspectOptions{})
			require.NoError(t, err)
			h := i.Container.HostConfig
			require.Equal(t, []string{"ALL"}, []string(h.CapDrop))
			require.Equal(t, []string{"no-new-privileges"}, h.SecurityOpt)
			require.True(t, h.ReadonlyRootfs)
			require.EqualValues(t, "none", h.NetworkMode)
			require.NotNil(t, h.PidsLimit)
			require.Positive(t, *h.PidsLimit)
			require.Positive(t, h.Memory)
			require.Equal(t, h.Memory, h.MemorySwap)
			require.False(t, h.Privileged)
			require.Empty(t, h.Binds)
			require.NotEmpty(t, i.Container.Config.User)
			require.False(t, strings.HasPrefix(i.Container.Config.User, "0"))
			for _, m := range i.Container.Mounts {
				require.NotContains(t, m.Source, "docker.sock")
			}
		}
	}})
	require.NoError(t, err)
	require.Equal(t, 2, seen, "the command's container and the one that keeps the copy")
	out := run(t, s, "cat /proc/self/status; touch /x 2>&1; touch /usr/x 2>&1; cat /etc/shadow 2>&1", true).Output
	require.Contains(t, out, "CapEff:\t0000000000000000")
	require.Contains(t, out, "CapBnd:\t0000000000000000")
	require.Contains(t, out, "NoNewPrivs:\t1")
	require.Equal(t, 3, strings.Count(out, "touch: cannot")+strings.Count(out, "cat: /etc/shadow"))
}

// S21: a timeout, a cancel and a daemon leave no container and no process.
func TestS21NothingSurvives(t *testing.T) {
	api := need(t)
	s := open(t, t.TempDir())
	begun := time.Now()
	res, err := s.Run(t.Context(), sandbox.Command{Line: "trap '' TERM; (trap '' TERM; setsid sleep 972) & sleep 972", Timeout: 2 * time.Second})
	require.NoError(t, err)
	require.True(t, res.TimedOut)
	require.Less(t, time.Since(begun), 10*time.Second)
	requireNoProcess(t, "972")
	ctx, cancel := context.WithCancel(t.Context())
	_, err = s.Run(ctx, sandbox.Command{Line: "echo go; sleep 973", Output: func(string, string) { cancel() }})
	require.ErrorIs(t, err, context.Canceled)
	requireNoProcess(t, "973")
	res = run(t, s, "setsid sleep 974 & echo done", true)
	require.Equal(t, "done\n", res.Output)
	requireNoProcess(t, "974")
	list, err := api.ContainerList(t.Context(), client.ContainerListOptions{})
	require.NoError(t, err)
	n := 0
	for _, c := range list.Items {
		if c.Labels["dev.coderrr.sandbox"] != "" {
			n++
		}
	}
	require.Equal(t, 1, n, "only the one that keeps the copy")
}

func requireNoProcess(t *testing.T, arg string) {
	t.Helper()
	require.Eventually(t, func() bool {
		files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, f := range files {
			if b, err := os.ReadFile(f); err == nil && strings.Contains(string(b), "sleep\x00"+arg) {
				return false
			}
		}
		return true
	}, 3*time.Second, 50*time.Millisecond)
}

// S21: kill -9 of Coderrr ends the command, and the next start sweeps.
func TestS21KillNine(t *testing.T) {
	api := need(t)
	dir := t.TempDir()
	write(t, dir, "ws/f", "f")
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), agentEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "go\n", line)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	requireNoProcess(t, "971")
	c, v := ours(t, api, dir)
	require.Positive(t, c+v)
	s, err := docker.Open(t.Context(), docker.Options{Workspace: dir + "/ws", Dir: dir + "/s", Image: image})
	require.NoError(t, err)
	requireNone(t, api, dir)
	require.NoError(t, s.Close())
}

func TestLimits(t *testing.T) {
	s := open(t, t.TempDir(), func(o *docker.Options) { o.MemoryMB, o.DiskMB = 64, 32 })
	res := run(t, s, "head -c 2000M /dev/zero | tail", true)
	require.NotZero(t, res.ExitCode)
	for _, path := range []string{"x", "/tmp/x", "$HOME/x", "/dev/shm/x"} {
		res = run(t, s, "yes > "+path, true)
		require.NotZero(t, res.ExitCode, path)
	}
	res = run(t, s, "yes | head -c 20M", true)
	require.Less(t, len(res.Output), 200<<10)
	require.Greater(t, res.Dropped, int64(19<<20))
	require.Equal(t, "ok\n", run(t, s, "echo ok", true).Output)
}

// S07: the working tree is the same after hostile commands.
func TestS07TreeStaysTheSame(t *testing.T) {
	ws := t.TempDir()
	for _, f := range []string{"a", "src/a.go", ".git/config", ".git/hooks/x"} {
		write(t, ws, f, "content\n")
	}
	before := treeHash(t, ws)
	s := open(t, ws, func(o *docker.Options) { o.DiskMB, o.MemoryMB = 64, 128 })
	// In one container, as a list: starting one for each would take minutes.
	lines := []string{
		"rm -rf WS/.git", "rm -rf WS/*", "mv WS/src /tmp/", "echo x > WS/new", "chmod -R 777 WS", "find WS -type f -exec sed -i s/c/d/ {} +", "ln -sf /etc WS/a",
		"mount --bind / WS", "mount -t tmpfs x WS", "mkdir -p .git/hooks && echo x > .git/hooks/pre-commit", "echo x > /proc/sys/kernel/hostname",
		"cat /dev/mem", "dd if=/dev/zero of=/dev/sda count=1", "echo b > /proc/sysrq-trigger", "touch /x /usr/x /etc/x", "chmod 777 /", "ls /var/run/docker.sock /run/docker.sock",
		"(setsid sh -c 'sleep 1; rm -rf WS') &", "head -c 90M /dev/zero > WS/big", "i=0; while [ $i -lt 500 ]; do i=$((i+1)); : > WS/f$i; done",
	}
	var all []string
	for range 10 {
		all = append(all, lines...)
	}
	res := run(t, s, strings.ReplaceAll("set +e\n("+strings.Join(all, ") 2>&1\n(")+") 2>&1\ntrue", "WS", ws), true)
	require.Equal(t, 0, res.ExitCode, res.Output)
	require.Equal(t, before, treeHash(t, ws))
	require.Equal(t, "content\n", run(t, s, "cat a", true).Output)
}

func treeHash(t testing.TB, dir string) string {
	t.Helper()
	h := sha256.New()
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(h, "%q %v %v\n", path, info.Mode(), info.ModTime())
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			_, _ = h.Write(b)
			return err
		}
		return nil
	}))
	return fmt.Sprintf("%x", h.Sum(nil))
}

func TestMissingImage(t *testing.T) {
	need(t)
	_, err := docker.Open(t.Context(), docker.Options{Workspace: t.TempDir(), Dir: t.TempDir(), Image: "coderrr-no-such-image:1"})
	require.ErrorIs(t, err, sandbox.ErrUnavailable)
	var missing *sandbox.MissingImage
	require.ErrorAs(t, err, &missing)
	require.Equal(t, "coderrr-no-such-image:1", missing.Image)
}

func TestNoEngine(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
	_, err := docker.Open(t.Context(), docker.Options{Workspace: t.TempDir(), Dir: t.TempDir(), Image: image})
	require.ErrorIs(t, err, sandbox.ErrUnavailable)
	require.ErrorContains(t, err, "/nowhere/docker.sock")
}

func TestChoose(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		files      map[string]string
		configured string
		want       string
	}{
		{nil, "mine:1", "mine:1"},
		{nil, "", "debian:stable-slim"},
		{map[string]string{"go.mod": "module x"}, "", "golang:1"},
		{map[string]string{"go.mod": "module x", "package.json": "{}"}, "", "golang:1"},
		{map[string]string{"package.json": "{}"}, "", "node:lts"},
		{map[string]string{"go.mod": "", ".devcontainer/devcontainer.json": "{\n // a \"comment\"\n \"image\": \"ex/am:1\", /* x */ \"a\": [1,],\n}"}, "", "ex/am:1"},
		{map[string]string{".devcontainer.json": `{"image": "-v /:/x"}`}, "", "debian:stable-slim"},
		{map[string]string{".devcontainer.json": `{"image": `}, "", "debian:stable-slim"},
	} {
		ws := t.TempDir()
		for name, text := range row.files {
			write(t, ws, name, text)
		}
		got := docker.Choose(ws, row.configured)
		require.Equal(t, row.want, got.Image)
		require.NotEmpty(t, got.Why)
	}
}

func FuzzPlainJSON(f *testing.F) {
	f.Add([]byte(`{"a": "//", /* */ "b": [1,], }`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if json.Valid(b) {
			var x, y any
			require.NoError(t, json.Unmarshal(b, &x))
			require.NoError(t, json.Unmarshal(docker.PlainJSON(b), &y))
			require.Equal(t, x, y)
		}
	})
}
