package confined_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/coderrr/coderrr/internal/sandbox/confined"
	"github.com/coderrr/coderrr/internal/sandbox/sandboxtest"
)

// ordinaryUser is who runs the tests a second time when root runs them: what
// confines an ordinary user is not what confines root.
const ordinaryUser = 48123

func TestMain(m *testing.M) {
	confined.Init() // this binary is the sandbox's helper too
	if filepath.Base(os.Args[0]) == sandboxtest.Name {
		sandboxtest.Main(os.Stdout)
		os.Exit(0)
	}
	if dir := os.Getenv(agentEnv); dir != "" {
		agent(dir)
		os.Exit(1)
	}
	code := m.Run()
	if code == 0 && os.Geteuid() == 0 && os.Getenv("CODERRR_TEST_CHILD") == "" {
		if err := asOrdinaryUser(); err != nil {
			fmt.Fprintf(os.Stderr, "as uid %d: %v\n", ordinaryUser, err)
			code = 1
		}
	}
	os.Exit(code)
}

// asOrdinaryUser runs this test binary again with another uid, from where that
// uid can read it.
func asOrdinaryUser() (err error) {
	dir, err := os.MkdirTemp("", "coderrr-user-")
	if err != nil {
		return err
	}
	defer func() { err = firstOf(err, os.RemoveAll(dir)) }()
	id, group := strconv.Itoa(ordinaryUser), strconv.Itoa(ordinaryUser+1)
	bin, home := filepath.Join(dir, "confined.test"), filepath.Join(dir, "home")
	if err := firstOf(os.Chmod(dir, 0o755), copyFile("/proc/self/exe", bin), os.Mkdir(home, 0o700),
		os.Chown(home, ordinaryUser, ordinaryUser)); err != nil {
		return err
	}
	// What root alone may read is of no use to anybody's programs.
	cmd := exec.Command("unshare", withEtc(dir, "755", "setpriv", "--reuid="+id, "--regid="+id, "--groups="+group, bin)...)
	for _, a := range os.Args[1:] {
		if strings.Contains(a, "coverprofile") || strings.Contains(a, "testlogfile") || strings.Contains(a, "gocoverdir") {
			continue // files of the first run
		}
		cmd.Args = append(cmd.Args, a)
	}
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CODERRR_TEST_CHILD=1", "HOME="+home, "USER=tester", "TMPDIR="+home)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// withEtc are arguments for unshare that run a program where /etc has that
// mode. The machine's own /etc stays as it is.
func withEtc(dir, mode string, program ...string) []string {
	const script = `set -e; cp -a /etc "$1/etc"; chmod "$2" "$1/etc"; mount --bind "$1/etc" /etc; shift 2; exec "$@"`
	return append([]string{"--mount", "sh", "-c", script, "sh", dir, mode}, program...)
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return firstOf(err, out.Close())
}
