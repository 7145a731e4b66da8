package procs

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Proc is a living process as /proc shows it.
type Proc struct {
	PID, Parent, Group, Session int
	Start                       string // in clock ticks since boot; with PID it is unique
}

// List returns the living processes that are visible here; zombies are left out.
func List() []Proc {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var out []Proc
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := Get(pid); ok {
				out = append(out, p)
			}
		}
	}
	return out
}

// Get returns the process pid, false if it is not alive.
func Get(pid int) (Proc, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Proc{}, false
	}
	// The name in parentheses may hold anything, so count from its end.
	end := bytes.LastIndexByte(stat, ')')
	f := strings.Fields(string(stat[end+1:]))
	if end < 0 || len(f) < 20 || f[0] == "Z" || f[0] == "X" {
		return Proc{}, false
	}
	p := Proc{PID: pid, Start: f[19]}
	p.Parent, _ = strconv.Atoi(f[1])
	p.Group, _ = strconv.Atoi(f[2])
	p.Session, _ = strconv.Atoi(f[3])
	return p, true
}

// Below returns the processes of all that descend from root or that also
// accepts, with their descendants; root itself is among them if it is in all.
func Below(all []Proc, root int, also func(Proc) bool) []Proc {
	mine := map[int]bool{root: true}
	for grew := true; grew; { // children may be listed before their parents
		grew = false
		for _, p := range all {
			if !mine[p.PID] && (mine[p.Parent] || also != nil && also(p)) {
				mine[p.PID] = true
				grew = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(p Proc) bool { return !mine[p.PID] })
}

// End kills what list returns until it returns nothing. Whole process groups go
// first, for the kernel kills a group at once while one by one a fork bomb is
// faster; groups of the caller's own session are left alone.
func End(list func() []Proc) {
	own, _ := Get(os.Getpid())
	for range 2000 {
		left := list()
		if len(left) == 0 {
			return
		}
		groups := map[int]bool{}
		for _, p := range left {
			if p.Session != own.Session && p.Group > 1 && !groups[p.Group] {
				groups[p.Group] = true
				_ = unix.Kill(-p.Group, unix.SIGKILL)
			}
		}
		for _, p := range left {
			_ = unix.Kill(p.PID, unix.SIGKILL)
		}
		time.Sleep(time.Millisecond)
	}
}

// Memory returns the bytes of memory that belong to the processes alone, and
// stops counting exactly when a cheap look finds less than limit.
func Memory(list []Proc, limit int64) int64 {
	page := int64(os.Getpagesize())
	var sum int64
	for _, p := range list {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/statm")
		if err != nil {
			continue
		}
		if f := strings.Fields(string(b)); len(f) > 2 {
			resident, _ := strconv.ParseInt(f[1], 10, 64)
			shared, _ := strconv.ParseInt(f[2], 10, 64)
			sum += (resident - shared) * page
		}
	}
	if sum <= limit {
		return sum
	}
	// Memory that a fork shares was counted once for each; count it by shares.
	sum = 0
	for _, p := range list {
		sum += share(p.PID, page)
	}
	return sum
}

// share is a process's proportional share of private memory, or all of it
// where the kernel does not tell.
func share(pid int, page int64) int64 {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	if err == nil {
		for line := range strings.Lines(string(b)) {
			if v, ok := strings.CutPrefix(line, "Pss_Anon:"); ok {
				kb, _ := strconv.ParseInt(strings.Fields(v)[0], 10, 64)
				return kb << 10
			}
		}
	}
	b, _ = os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	f := strings.Fields(string(b))
	if len(f) < 3 {
		return 0
	}
	resident, _ := strconv.ParseInt(f[1], 10, 64)
	shared, _ := strconv.ParseInt(f[2], 10, 64)
	return (resident - shared) * page
}

// Threads counts the threads of the processes that belong to the user uid.
func Threads(uid int) int {
	n := 0
	for _, p := range List() {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/status")
		if err != nil {
			continue
		}
		mine, threads := false, 0
		for line := range strings.Lines(string(b)) {
			if v, ok := strings.CutPrefix(line, "Uid:"); ok {
				f := strings.Fields(v)
				mine = len(f) > 0 && f[0] == strconv.Itoa(uid)
			}
			if v, ok := strings.CutPrefix(line, "Threads:"); ok {
				threads, _ = strconv.Atoi(strings.TrimSpace(v))
			}
		}
		if mine {
			n += threads
		}
	}
	return n
}
