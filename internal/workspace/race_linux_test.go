package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// P06: a folder and a link are exchanged as fast as the kernel can while every
// operation runs on a path through them. One link leads outside, one to .git.
func TestP06SwapRace(t *testing.T) {
	for name, target := range map[string]string{"outside": "../out", "protected": ".git"} {
		t.Run(name, func(t *testing.T) { swapRace(t, target) })
	}
}

// inMemory is a folder where fsync is quick, so that more is tried.
func inMemory(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "ws-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func swapRace(t *testing.T, target string) {
	r, dir := treeIn(t, inMemory(t), map[string]string{"d/f": "mine", "l": "-> " + target, ".git/f": "CANARY-OUT", "spare": "spare"})
	out := filepath.Join(filepath.Dir(dir), "out")
	plant(t, out, map[string]string{"f": "CANARY-OUT"})
	ctx, stop := context.WithTimeout(context.Background(), swapTime/2)
	defer stop()

	var wg sync.WaitGroup
	var swaps, tries, landed atomic.Int64
	wg.Go(func() {
		a, b := filepath.Join(dir, "d"), filepath.Join(dir, "l")
		for ctx.Err() == nil {
			if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err == nil {
				swaps.Add(1)
			}
		}
	})
	background := context.Background()
	for i := range 2 {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				tries.Add(1)
				h, _ := r.Hash(background, "d/f")
				if f, err := r.Read(background, "d/f", 100); err == nil && string(f.Data) == "CANARY-OUT" && target != ".git" {
					t.Error("read a file outside")
				}
				if r.Write(background, Write{Path: "d/f", Data: []byte("evil"), Expect: h}) == nil {
					landed.Add(1)
				}
				_ = r.Write(background, Write{Path: fmt.Sprintf("d/n%d", i), Data: []byte("evil")})
				_ = r.Write(background, Write{Path: fmt.Sprintf("d/deep%d/er/n", i), Data: []byte("evil")})
				_ = r.Move(background, "spare", fmt.Sprintf("d/spare%d", n), "")
				_ = r.Remove(background, "d/f", "")
				_ = r.RemoveAll(background, "d", nil)
				_ = r.Walk(background, "d", WalkOptions{}, func(e Entry) error {
					if f, _, err := e.Open(); err == nil {
						buf := make([]byte, 16)
						n, _ := f.Read(buf)
						if string(buf[:n]) == "CANARY-OUT" && target != ".git" {
							t.Error("walked into a file outside")
						}
						_ = f.Close()
					}
					return nil
				})
				_ = os.Mkdir(filepath.Join(dir, "d"), 0o755) // RemoveAll took it, or the link
				_ = os.Symlink(target, filepath.Join(dir, "l"))
				_ = os.WriteFile(filepath.Join(dir, "spare"), []byte("spare"), 0o644)
			}
		})
	}
	wg.Wait()
	t.Logf("%d tries, %d writes landed, %d swaps", tries.Load(), landed.Load(), swaps.Load())
	require.NotZero(t, swaps.Load())
	for _, guarded := range []string{out, filepath.Join(dir, ".git")} {
		entries, err := os.ReadDir(guarded)
		require.NoError(t, err)
		require.Len(t, entries, 1, "something landed in %s", guarded)
		require.Equal(t, "CANARY-OUT", content(t, guarded, "f"))
	}
}

// P06: a file that is replaced by a FIFO or a link while it is read is neither
// waited for nor followed.
func TestP06FileSwapRace(t *testing.T) {
	r, dir := treeIn(t, inMemory(t), map[string]string{"f": "mine", "l": "-> ../out"})
	plant(t, filepath.Dir(dir), map[string]string{"out": "CANARY-OUT"})
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	ctx, stop := context.WithTimeout(context.Background(), swapTime/5)
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			for _, other := range []string{"l", "fifo"} {
				for range 2 {
					_ = unix.Renameat2(unix.AT_FDCWD, filepath.Join(dir, "f"), unix.AT_FDCWD, filepath.Join(dir, other), unix.RENAME_EXCHANGE)
				}
			}
		}
	})
	for ctx.Err() == nil {
		begin := time.Now()
		f, err := r.Read(context.Background(), "f", 100)
		if err == nil {
			require.Equal(t, "mine", string(f.Data))
		}
		require.Less(t, time.Since(begin), 5*time.Second)
		_ = r.Write(context.Background(), Write{Path: "f", Data: []byte("mine"), Expect: HashOf([]byte("mine"))})
	}
	wg.Wait()
	require.Equal(t, "CANARY-OUT", content(t, filepath.Dir(dir), "out"))
}
