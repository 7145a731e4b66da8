package choose_test

import (
	"context"
	"fmt"
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

// BenchmarkStart compares the start of a confined command with /bin/true, for
// three sizes of the workspace, in turns.
func BenchmarkStart(b *testing.B) {
	sizes := []int{1000, 10_000, 50_000}
	boxes := make([]sandbox.Sandbox, len(sizes))
	for i, n := range sizes {
		o := options(b, "confined")
		o.Workspace = files(b, n)
		s, err := choose.Open(context.Background(), o)
		require.NoError(b, err)
		defer func() { require.NoError(b, s.Close()) }()
		boxes[i] = s
	}
	var plain []time.Duration
	took := make([][]time.Duration, len(sizes))
	for range max(b.N, 15) {
		begun := time.Now()
		require.NoError(b, exec.Command("/bin/true").Run())
		plain = append(plain, time.Since(begun))
		for i, s := range boxes {
			begun = time.Now()
			res, err := s.Run(b.Context(), sandbox.Command{Line: "exec true", Refresh: true})
			require.NoError(b, err)
			require.Zero(b, res.ExitCode)
			took[i] = append(took[i], time.Since(begun))
		}
	}
	base := median(plain)
	small, large := median(took[0]), median(took[2])
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(small)/float64(base), "x-/bin/true")
	b.ReportMetric(float64(large)/float64(small), "x-50k/1k-files")
	b.ReportMetric(float64(median(took[1]))/float64(small), "x-10k/1k-files")
}

// BenchmarkFirstCopy compares the first scratch copy of 50 000 files with
// cp -a, onto memory.
func BenchmarkFirstCopy(b *testing.B) {
	src := files(b, 50_000)
	var ours, theirs time.Duration
	for i := range b.N {
		to, err := os.MkdirTemp("/dev/shm", "coderrr-bench-")
		require.NoError(b, err)
		begun := time.Now()
		require.NoError(b, exec.Command("cp", "-a", src, filepath.Join(to, fmt.Sprint("cp", i))).Run())
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
	b.ReportMetric(float64(ours)/float64(theirs), "x-cp-a")
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
	b.ReportMetric(float64(maxRSS(b)-before)/1024, "MiB-more")
	b.ReportMetric(5*1024/res.Duration.Seconds(), "MiB/s")
}

func maxRSS(b *testing.B) int64 {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return u.Maxrss
}
