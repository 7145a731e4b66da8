package confined

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coderrr/coderrr/internal/sandbox"
	"github.com/coderrr/coderrr/internal/sandbox/procs"
)

// guardInterval is how often a running command's use is looked at.
const guardInterval = 100 * time.Millisecond

// guard watches what no limit of the kernel bounds for an ordinary user: the
// memory of all processes together, and the disk below HOME.
type guard struct {
	h    *host
	init *os.Process
	free uint64 // bytes free where HOME is, when the command began
	// freeCopy is the same for the copy of the workspace, if there is one.
	freeCopy uint64
	done     chan struct{}
	reason   chan string
}

func (h *host) guard(p *os.Process) *guard {
	g := &guard{h: h, init: p, free: freeBytes(h.HomeCache), freeCopy: freeBytes(h.Copy), done: make(chan struct{}), reason: make(chan string, 1)}
	go g.run()
	return g
}

// stop ends the watch and returns why it killed the command, "" if it did not.
// The command is gone by then, so a HOME that it filled can be emptied.
func (g *guard) stop() string {
	close(g.done)
	why := <-g.reason
	if g.fillsHome() {
		g.empty(g.h.HomeCache)
		for _, b := range g.h.Binds {
			g.empty(filepath.Join(cachesDir(g.h.HomeCache), cacheName(b.Path), "upper"))
		}
		if why == "" {
			why = g.fullHome()
		}
	}
	return why
}

func (g *guard) empty(dir string) {
	names, _ := os.ReadDir(dir)
	for _, n := range names {
		_ = removeTree(filepath.Join(dir, n.Name()))
	}
}

func (g *guard) run() {
	tick := time.NewTicker(guardInterval)
	defer tick.Stop()
	why := ""
	for {
		select {
		case <-g.done:
			g.reason <- why
			return
		case <-tick.C:
		}
		if why == "" {
			if why = g.look(); why != "" {
				_ = g.init.Kill()
			}
		}
	}
}

func (g *guard) look() string {
	if limit := int64(g.h.MemoryMB) << 20; limit > 0 {
		if procs.Memory(procs.Below(procs.List(), g.init.Pid, nil), limit) > limit {
			return sandbox.MemoryReason(strconv.Itoa(g.h.MemoryMB))
		}
	}
	if g.fillsHome() {
		return g.fullHome()
	}
	return ""
}

func (g *guard) fullHome() string {
	return fmt.Sprintf("the command wrote more than %d MB to disk; the sandbox's HOME has been emptied", g.h.DiskMB)
}

// fillsHome looks at the free space first, for that costs nothing.
func (g *guard) fillsHome() bool {
	limit := uint64(g.h.DiskMB) << 20
	if g.h.Copy != "" && freeBytes(g.h.Copy)+limit < g.freeCopy {
		return true
	}
	return freeBytes(g.h.HomeCache)+limit < g.free && used(g.h.HomeCache)+used(cachesDir(g.h.HomeCache)) > limit
}

func freeBytes(dir string) uint64 {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return 0
	}
	return st.Bavail * uint64(st.Bsize)
}

// used is the size on disk of what is below dir.
func used(dir string) uint64 {
	var sum uint64
	_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err == nil && unix.Lstat(path, &st) == nil {
			sum += uint64(st.Blocks) * 512
		}
		return nil
	})
	return sum
}

// defaultDiskMB is 2 GB, but no more than a quarter of the machine's memory,
// for that is where it is kept.
func defaultDiskMB() int {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 1024
	}
	mb := uint64(info.Totalram) * uint64(info.Unit) >> 20
	return int(max(256, min(2048, mb/4)))
}
