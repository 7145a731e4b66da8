package e2e

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// server is one running `coderrr ui`.
type server struct {
	t      *testing.T
	url    string // as printed, with the token in the fragment
	origin string // http://127.0.0.1:PORT
	token  string
	home   string // CODERRR_HOME
	temp   string // TMPDIR: the demo's copy of the sample project is below it
	work   string // where it is started: the workspace, without --demo
	cmd    *exec.Cmd
	stderr *buffer
	done   chan struct{} // closed when the process has ended
}

// startDemo starts `coderrr ui --demo` with nothing of the person who runs the
// tests: no home, no keys, no display.
func startDemo(t *testing.T, args ...string) *server {
	t.Helper()
	s := newServer(t)
	s.start(append([]string{"--demo"}, args...)...)
	return s
}

// startConfigured starts `coderrr ui` in an empty workspace with a config.toml, or
// with none for "".
func startConfigured(t *testing.T, config string) *server {
	t.Helper()
	s := newServer(t)
	if config != "" {
		dir := filepath.Join(s.home, ".coderrr")
		require.NoError(t, os.Mkdir(dir, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "config.toml"), []byte(config), 0o600))
	}
	s.start()
	return s
}

// newServer prepares the folders of a server that is not started yet.
func newServer(t *testing.T) *server {
	t.Helper()
	dir := t.TempDir()
	s := &server{t: t, home: filepath.Join(dir, "home"), temp: filepath.Join(dir, "tmp")}
	s.work = filepath.Join(dir, "work")
	for _, d := range []string{s.home, s.temp, s.work} {
		require.NoError(t, os.Mkdir(d, 0o700))
	}
	return s
}

// again is another process over the same folders, as after a restart.
func (s *server) again(args ...string) *server {
	s.t.Helper()
	next := &server{t: s.t, home: s.home, temp: s.temp, work: s.work}
	next.start(args...)
	return next
}

func (s *server) start(args ...string) {
	s.t.Helper()
	binary, err := shared.binary()
	require.NoError(s.t, err)
	s.stderr, s.done = &buffer{}, make(chan struct{})
	s.cmd = exec.Command(binary, append([]string{"ui", "--no-open"}, args...)...)
	s.cmd.Dir = s.work
	s.cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "TMPDIR=" + s.temp,
		"CODERRR_HOME=" + filepath.Join(s.home, ".coderrr"), "CI=" + os.Getenv("CI"),
	}
	s.cmd.Stderr = s.stderr
	stdout, err := s.cmd.StdoutPipe()
	require.NoError(s.t, err)
	require.NoError(s.t, s.cmd.Start())
	s.t.Cleanup(s.stop)
	s.readURL(stdout)
}

var printed = regexp.MustCompile(`^Coderrr UI: ((http://127\.0\.0\.1:\d+)/#token=(\S+))$`)

// readURL waits for the one line on stdout that CONTRACT.md promises, then keeps
// the pipe empty.
func (s *server) readURL(stdout io.Reader) {
	s.t.Helper()
	first := make(chan string, 1)
	go func() {
		defer close(s.done)
		in := bufio.NewReader(stdout)
		line, _ := in.ReadString('\n')
		first <- strings.TrimSuffix(line, "\n")
		_, _ = io.Copy(io.Discard, in)
		_ = s.cmd.Wait()
	}()
	select {
	case line := <-first:
		m := printed.FindStringSubmatch(line)
		require.NotNil(s.t, m, "the first line on stdout is %q\nstderr: %s", line, s.stderr)
		s.url, s.origin, s.token = m[1], m[2], m[3]
	case <-time.After(30 * time.Second):
		require.FailNow(s.t, "coderrr ui printed no address in 30 s", s.stderr.String())
	}
}

// stop interrupts the server as Ctrl-C does and fails the test if it hangs.
func (s *server) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGINT)
	select {
	case <-s.done:
	case <-time.After(10 * time.Second):
		_ = s.cmd.Process.Kill()
		s.t.Error("coderrr ui did not end within 10 s of an interrupt")
	}
	if s.t.Failed() && s.stderr.String() != "" {
		s.t.Logf("stderr of coderrr ui:\n%s", s.stderr)
	}
}

// project is the demo's temporary copy of the sample project.
func (s *server) project() string {
	s.t.Helper()
	found := ""
	err := filepath.WalkDir(s.temp, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == "notes" && d.IsDir() && found == "" {
			if _, missing := os.Stat(filepath.Join(path, "AGENTS.md")); missing == nil {
				found = path
			}
		}
		return err
	})
	require.NoError(s.t, err)
	require.NotEmpty(s.t, found, "the sample project is not below TMPDIR")
	return found
}

// request does one HTTP request that no browser would make.
func (s *server) request(method, path string, header map[string]string, body string) (int, string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, s.origin+path, strings.NewReader(body))
	require.NoError(s.t, err)
	for name, value := range header {
		if name == "Host" {
			req.Host = value
		}
		req.Header.Set(name, value)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	require.NoError(s.t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	require.NoError(s.t, err)
	return resp.StatusCode, string(text)
}

func (s *server) port() string {
	u, err := url.Parse(s.origin)
	require.NoError(s.t, err)
	return u.Port()
}

// buffer is a bytes.Buffer for two goroutines.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
