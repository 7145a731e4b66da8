package ignore

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// git itself says what is ignored, for thousands of random rules and paths. Each
// trial is a folder of one repository, so that git is started only once.
func TestGitAgrees(t *testing.T) {
	git, err := exec.LookPath("git")
	require.NoError(t, err, "this test compares with git; install it")
	repo := t.TempDir()
	run := func(stdin string, args ...string) string {
		cmd := exec.Command(git, args...)
		cmd.Dir, cmd.Stdin = repo, strings.NewReader(stdin)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "HOME="+repo)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			require.Equal(t, 1, cmd.ProcessState.ExitCode(), "git %v: %v\n%s", args, err, errs.String())
		}
		return out.String()
	}
	run("", "init", "-q")

	rnd := rand.New(rand.NewPCG(1, 2))
	pick := func(from ...string) string { return from[rnd.IntN(len(from))] }
	segment := func() string {
		return pick("a", "b", "ab", "a*", "*b", "?", "*", "**", "[ab]", "[!a]", "a.b", "*.b", "[[:alpha:]]b", "a?*", `\a`, "*a*b", "**b")
	}
	pattern := func() string {
		p := pick("", "", "", "/") + segment()
		for range rnd.IntN(3) {
			p += "/" + segment()
		}
		return pick("", "", "", "!") + p + pick("", "", "/")
	}
	type trial struct {
		dir, rules, sub, subRules string
		paths                     []string
	}
	var trials []trial
	var ask strings.Builder
	for i := range 300 {
		tr := trial{dir: fmt.Sprintf("t%03d", i), sub: pick("a", "b", "ab")}
		for range 1 + rnd.IntN(4) {
			tr.rules += pattern() + "\n"
		}
		if rnd.IntN(2) == 0 {
			tr.subRules = pattern() + "\n"
		}
		root := filepath.Join(repo, tr.dir)
		require.NoError(t, os.MkdirAll(filepath.Join(root, tr.sub), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, ".gitignore"), []byte(tr.rules), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(root, tr.sub, ".gitignore"), []byte(tr.subRules), 0o644))
		for range 12 {
			p := pick("a", "b", "ab", "a.b", "x", "ba")
			for range rnd.IntN(3) {
				p += "/" + pick("a", "b", "ab", "a.b", "c.b")
			}
			tr.paths = append(tr.paths, p)
			fmt.Fprintf(&ask, "%s/%s\x00", tr.dir, p)
		}
		trials = append(trials, tr)
	}
	ignoredByGit := map[string]bool{}
	for p := range strings.SplitSeq(run(ask.String(), "check-ignore", "-z", "--stdin", "--no-index"), "\x00") {
		ignoredByGit[p] = true
	}
	require.Greater(t, len(ignoredByGit), 500)

	checked := 0
	for _, tr := range trials {
		for _, p := range tr.paths {
			full := tr.dir + "/" + p
			dir := p == tr.sub // the only folder that exists
			got := walkDown(tr.dir, tr.rules, tr.sub, tr.subRules, p, dir)
			require.Equal(t, ignoredByGit[full], got, "rules %q, in %s %q: path %q", tr.rules, tr.sub, tr.subRules, p)
			checked++
		}
	}
	require.Equal(t, 300*12, checked)
}

// walkDown asks as a walk does: each folder on the way first.
func walkDown(top, rules, sub, subRules, p string, last bool) bool {
	s := NewStack()
	s.Push(top, Parse([]byte(rules)))
	parts := strings.Split(p, "/")
	for i := range parts {
		at := path.Join(parts[:i+1]...)
		if s.Ignored(top+"/"+at, i < len(parts)-1 || last) {
			return true
		}
		if at == sub {
			s.Push(top+"/"+sub, Parse([]byte(subRules)))
		}
	}
	return false
}
