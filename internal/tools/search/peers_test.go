//go:build unix

package search

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/workspace"
)

// query is one search, as we and ripgrep are asked for it.
type query struct {
	name, pattern string
	fold          bool
	glob          string
}

func queries() []query {
	return []query{
		{name: "literal", pattern: "gethanlist"},
		{name: "no-match", pattern: "not in any of the files"},
		{name: "literal-ignoring-case", pattern: "handler", fold: true},
		{name: "regex-with-literal", pattern: `func [a-z]+Handler\(`},
		{name: "regex-without-literal", pattern: `[A-Z]{4,}[0-9]{3}`},
		{name: "alternation", pattern: "TODO|FIXME|XXX"},
		{name: "anchored-many", pattern: `^func `},
		{name: "glob", pattern: "return", glob: "*.py"},
	}
}

// everything searches without a bound, as grep does with one.
func everything(ctx context.Context, root *workspace.Root, q query) (*found, error) {
	m, err := newMatcher(q.pattern, q.fold)
	if err != nil {
		return nil, err
	}
	g, err := newGlobs(q.glob)
	if err != nil {
		return nil, err
	}
	res := &found{room: 1 << 30}
	pool := newPool(ctx, m, 1<<30, 0, res)
	err = root.Scan(ctx, ".", func(f workspace.Scanned) error {
		if g.match(f.Path, ".") {
			pool.put(f)
		} else {
			f.Done()
		}
		return nil
	})
	pool.wait()
	return res, err
}

func ripgrep(q query, more ...string) *exec.Cmd {
	args := []string{"--no-config", "--no-heading", "--no-messages", "--crlf", "--hidden", "--no-require-git", "--no-ignore-global", "--no-ignore-parent", "-n", "-g", "!.git/"}
	if q.fold {
		args = append(args, "-i")
	}
	if q.glob != "" {
		args = append(args, "-g", q.glob)
	}
	return exec.Command("rg", append(append(args, more...), "-e", q.pattern, ".")...)
}

// output runs a program with a pipe, as a caller would read it.
func output(c *exec.Cmd, dir string) ([]byte, error) {
	c.Dir = dir
	out, err := c.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		err = nil // no match
	}
	return out, err
}

// lines are the path and the line number of each hit, in our order.
func lines(out, sep string) []string {
	var list []string
	for line := range strings.SplitSeq(strings.TrimSuffix(out, "\n"), "\n") {
		if path, rest, ok := strings.Cut(line, sep); ok {
			n, _, _ := strings.Cut(rest, ":")
			list = append(list, strings.TrimPrefix(path, "./")+":"+n)
		}
	}
	slices.SortFunc(list, workspace.ComparePaths)
	return list
}

// Every line that ripgrep finds is found, and no other, under the same rules.
func TestSameHitsAsRipgrep(t *testing.T) {
	if _, err := exec.LookPath("rg"); err != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "scripts/test-deps installs ripgrep")
		t.Skip("ripgrep is not installed")
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	src := filepath.Join(strings.TrimSpace(string(goroot)), "src")
	repo, err := filepath.Abs("../../..")
	require.NoError(t, err)
	for name, dir := range map[string]string{
		"go": src, "go-net": filepath.Join(src, "net"), "repository": filepath.Join(repo, "docs"),
		"nested": nested(t), "mixed": mixed(t),
	} {
		t.Run(name, func(t *testing.T) {
			root, err := workspace.Open(dir, workspace.Options{AllowWide: true})
			require.NoError(t, err)
			defer func() { require.NoError(t, root.Close()) }()
			for _, q := range append(queries(), query{pattern: "needle"}, query{pattern: `\berr(or)?s?$`}, query{pattern: "is", fold: true}, query{pattern: "é|ß"}, query{pattern: `^$`}) {
				got, err := everything(t.Context(), root, q)
				require.NoError(t, err)
				out, err := output(ripgrep(q, "--null", "-j1"), dir)
				require.NoError(t, err)
				require.Equal(t, lines(string(out), "\x00"), lines(got.out.String(), ":"), q.pattern)
			}
		})
	}
}

func put(t *testing.T, dir string, files map[string]string) string {
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

// nested has twenty ignore files, one below the other, that undo each other.
func nested(t *testing.T) string {
	files, at := map[string]string{}, ""
	for i := range 20 {
		files[at+".gitignore"] = fmt.Sprintf("*.log\n!keep%d.log\n/only%d/\nd*/x%d.go\n**/deep%d/**\n", i, i, i+1, i)
		for _, name := range []string{"a.go", "b.log", fmt.Sprintf("keep%d.log", i), fmt.Sprintf("keep%d.log", i+1), fmt.Sprintf("x%d.go", i), "only3/a.go", fmt.Sprintf("deep%d/q/a.go", i/2)} {
			files[at+name] = "needle TODO\nfunc aHandler(\n"
		}
		at += fmt.Sprintf("d%d/", i)
	}
	return put(t, t.TempDir(), files)
}

// mixed has what is not plain text in short lines.
func mixed(t *testing.T) string {
	dir := put(t, t.TempDir(), map[string]string{
		"long.txt": strings.Repeat("x", 300_000) + "needle\nNeedle\n", "cut.txt": "no line end needle", "empty.txt": "",
		"utf.txt": "größe needle\né\n\nerrors\nthis İS\nſ is\n", "bad.txt": "\xff\xc3 needle\nTODO \xe9\n", ".hidden/a.py": "return needle\n",
		"bin": "\x00needle\n", "big.txt": strings.Repeat("a line of text\n", 200_000) + "needle\n",
	})
	require.NoError(t, os.Symlink("utf.txt", filepath.Join(dir, "link.txt")))
	require.NoError(t, os.Symlink(".hidden", filepath.Join(dir, "linkdir")))
	return dir
}

// median of the times of rounds that took turns.
func median(list []time.Duration) float64 {
	slices.Sort(list)
	return list[len(list)/2].Seconds() * 1000
}

const rounds = 5

// BenchmarkPeers compares grep with ripgrep, in turns, on 64,000 files: the ratio
// is of the medians. The corpus is made once, below CODERRR_BENCH_DIR or the
// temporary folder.
func BenchmarkPeers(b *testing.B) {
	if _, err := exec.LookPath("rg"); err != nil {
		b.Skip("ripgrep is not installed")
	}
	where := os.Getenv("CODERRR_BENCH_DIR")
	if where == "" {
		where = filepath.Join(os.TempDir(), "coderrr-bench")
	}
	dir, err := corpus(where)
	require.NoError(b, err)
	root, err := workspace.Open(dir, workspace.Options{})
	require.NoError(b, err)
	defer func() { require.NoError(b, root.Close()) }()
	for _, q := range queries() {
		b.Run(q.name, func(b *testing.B) {
			turns(b, "rg", func() error {
				_, err := output(ripgrep(q), dir)
				return err
			}, func() error {
				_, err := everything(b.Context(), root, q)
				return err
			})
		})
	}
	b.Run("capped-at-100", func(b *testing.B) {
		t := &toolbox{root: root}
		turns(b, "rg", func() error {
			_, err := output(ripgrep(query{pattern: "return"}), dir)
			return err
		}, func() error {
			_, err := t.grep(b.Context(), grepArgs{Pattern: "return"})
			return err
		})
	})
	b.Run("list-files", func(b *testing.B) {
		fd, err := exec.LookPath("fdfind")
		if err != nil {
			b.Skip("fd is not installed")
		}
		turns(b, "fd", func() error {
			_, err := output(exec.Command(fd, "--hidden", "--exclude", ".git", "--type", "f"), dir)
			return err
		}, func() error {
			n := 0
			return root.Scan(b.Context(), ".", func(f workspace.Scanned) error { n++; f.Done(); return nil })
		})
	})
}

// turns runs the peer and us in turn and reports both medians and their ratio. On
// a busy machine the ratio of the processor time is the one to look at.
func turns(b *testing.B, peer string, them, us func() error) {
	var theirs, ours, theirCPU, ourCPU []time.Duration
	for i := range rounds + 1 { // the first warms the cache
		begin, used := time.Now(), cpu(b, syscall.RUSAGE_CHILDREN)
		require.NoError(b, them())
		took, spent := time.Since(begin), cpu(b, syscall.RUSAGE_CHILDREN)-used
		if i > 0 {
			theirs, theirCPU = append(theirs, took), append(theirCPU, spent)
		}
		begin, used = time.Now(), cpu(b, syscall.RUSAGE_SELF)
		require.NoError(b, us())
		took, spent = time.Since(begin), cpu(b, syscall.RUSAGE_SELF)-used
		if i > 0 {
			ours, ourCPU = append(ours, took), append(ourCPU, spent)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(ours), "ms")
	b.ReportMetric(median(theirs), peer+"-ms")
	b.ReportMetric(median(ours)/median(theirs), "x-"+peer)
	b.ReportMetric(median(ourCPU)/median(theirCPU), "cpu-x-"+peer)
}

func cpu(b *testing.B, who int) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(who, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
