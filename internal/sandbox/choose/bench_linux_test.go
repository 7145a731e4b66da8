package choose_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/sandbox/choose"
	"github.com/coderrr/coderrr/internal/sandbox/tree"
)

// files makes a tree of n small files.
func files(t testing.TB, n int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		d := filepath.Join(dir, fmt.Sprintf("d%d/e%d", i%50, i/50%40))
		if i < 50*40 {
			require.NoError(t, os.MkdirAll(d, 0o755))
		}
		require.NoError(t, os.WriteFile(filepath.Join(d, fmt.Sprintf("f%d.go", i)), fmt.Appendf(nil, "package x // %d\n", i), 0o644))
	}
	return dir
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// within reports a ratio under name and fails above limit, so that `make bench`
// is a table of what is promised and whether it holds.
func within(b *testing.B, name string, ratio, limit float64) {
	b.Helper()
	b.ReportMetric(ratio, fmt.Sprintf("x-%s(<=%g)", name, limit))
	if ratio > limit {
		b.Errorf("%s: %.2f, the limit is %g", name, ratio, limit)
	}
}

// started opens a sandbox whose helper is the program itself, if CODERRR_BIN
// names it, for that is larger than a test.
func started(b *testing.B, workspace string) sandbox.Sandbox {
	b.Helper()
	o := options(b, "confined")
	o.Workspace = workspace
	if bin := os.Getenv("CODERRR_BIN"); bin != "" {
		o.Helper = bin
	}
	s, err := choose.Open(context.Background(), o)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close()) })
	return s
}

// thinking is less than any model needs between two commands. In it the next
// command's sandbox is prepared.
const thinking = 20 * time.Millisecond

// BenchmarkStart compares the start of a confined command with /bin/true, for
// three sizes of the workspace, in turns.
func BenchmarkStart(b *testing.B) {
	sizes := []int{1000, 10_000, 50_000}
	boxes := make([]sandbox.Sandbox, len(sizes))
	for i, n := range sizes {
		boxes[i] = started(b, files(b, n))
	}
	var plain []time.Duration
	took := make([][]time.Duration, len(sizes))
	for range max(b.N, 25) {
		begun := time.Now()
		require.NoError(b, exec.Command("/bin/true").Run())
		plain = append(plain, time.Since(begun))
		for i, s := range boxes {
			time.Sleep(thinking)
			took[i] = append(took[i], start(b, s))
		}
	}
	base := median(plain)
	small := median(took[0])
	b.ReportMetric(0, "ns/op")
	within(b, "/bin/true", float64(small)/float64(base), 10)
	within(b, "10k/1k-files", float64(median(took[1]))/float64(small), 1.2)
	within(b, "50k/1k-files", float64(median(took[2]))/float64(small), 1.2)
}

func start(b *testing.B, s sandbox.Sandbox) time.Duration {
	b.Helper()
	begun := time.Now()
	res, err := s.Run(b.Context(), sandbox.Command{Line: "exec true", Refresh: true})
	require.NoError(b, err)
	require.Zero(b, res.ExitCode)
	return time.Since(begun)
}

// BenchmarkStartAtOnce is BenchmarkStart without a pause in which the next
// command could be prepared: the worst that there is.
func BenchmarkStartAtOnce(b *testing.B) {
	s := started(b, files(b, 1000))
	var plain, ours []time.Duration
	for range max(b.N, 25) {
		begun := time.Now()
		require.NoError(b, exec.Command("/bin/true").Run())
		plain = append(plain, time.Since(begun))
		ours = append(ours, start(b, s))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(median(ours))/float64(median(plain)), "x-/bin/true")
}

// BenchmarkFirstCopy compares the first scratch copy of 50 000 files with
// cp -a, onto memory or, where CODERRR_BENCH_DIR names a directory whose file
// system shares blocks, there.
func BenchmarkFirstCopy(b *testing.B) {
	at, limit := "/dev/shm", 1.2
	src := ""
	if dir := os.Getenv("CODERRR_BENCH_DIR"); dir != "" {
		at, limit = dir, 0.2
		src = filepath.Join(dir, "src")
		require.NoError(b, os.MkdirAll(src, 0o755))
		require.NoError(b, os.CopyFS(src, os.DirFS(files(b, 50_000))))
		b.Cleanup(func() { require.NoError(b, os.RemoveAll(src)) })
	} else {
		src = files(b, 50_000)
	}
	var ours, theirs time.Duration
	for i := range max(b.N, 3) {
		to, err := os.MkdirTemp(at, "coderrr-bench-")
		require.NoError(b, err)
		begun := time.Now()
		require.NoError(b, exec.Command("cp", "-a", "--reflink=never", src, filepath.Join(to, fmt.Sprint("cp", i))).Run())
		theirs += time.Since(begun)
		begun = time.Now()
		m, err := tree.Open(src, filepath.Join(to, fmt.Sprint("ours", i)))
		require.NoError(b, err)
		_, err = m.Sync(b.Context(), tree.Reset)
		require.NoError(b, err)
		ours += time.Since(begun)
		require.NoError(b, os.RemoveAll(to))
	}
	b.ReportMetric(0, "ns/op")
	within(b, "cp-a", float64(ours)/float64(theirs), limit)
}

// BenchmarkRefresh compares bringing a copy of 50 000 files up to date after
// one edit with looking at each file once.
func BenchmarkRefresh(b *testing.B) {
	src := files(b, 50_000)
	m, err := tree.Open(src, filepath.Join(b.TempDir(), "copy"))
	require.NoError(b, err)
	_, err = m.Sync(b.Context(), tree.Reset)
	require.NoError(b, err)
	var ours, walk []time.Duration
	for i := range max(b.N, 7) {
		require.NoError(b, os.WriteFile(filepath.Join(src, "edited"), fmt.Appendf(nil, "%d", i), 0o644))
		begun := time.Now()
		require.NoError(b, filepath.WalkDir(src, func(_ string, d fs.DirEntry, err error) error {
			if err == nil {
				_, err = d.Info()
			}
			return err
		}))
		walk = append(walk, time.Since(begun))
		begun = time.Now()
		_, err = m.Sync(b.Context(), tree.Reset)
		require.NoError(b, err)
		ours = append(ours, time.Since(begun))
	}
	b.ReportMetric(0, "ns/op")
	within(b, "stat-walk", float64(median(ours))/float64(median(walk)), 3)
}

// BenchmarkFlood runs a command that prints 5 GB and reports how much more
// memory this process used at its most.
func BenchmarkFlood(b *testing.B) {
	s, err := choose.Open(context.Background(), options(b, "confined"))
	require.NoError(b, err)
	defer func() { require.NoError(b, s.Close()) }()
	_, err = s.Run(b.Context(), sandbox.Command{Line: "true"})
	require.NoError(b, err)
	before := maxRSS(b)
	res, err := s.Run(b.Context(), sandbox.Command{Line: "head -c 5G /dev/zero", Output: func(string, string) {}})
	require.NoError(b, err)
	require.Greater(b, res.Dropped, int64(5e9))
	b.ReportMetric(0, "ns/op")
	more := float64(maxRSS(b)-before) / 1024
	b.ReportMetric(more, "MiB-more(<64)")
	require.Less(b, more, 64.0)
	b.ReportMetric(5*1024/res.Duration.Seconds(), "MiB/s")
}

func maxRSS(b *testing.B) int64 {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return u.Maxrss
}
