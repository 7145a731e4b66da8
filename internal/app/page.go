package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coderrr/coderrr/internal/cli"
	"github.com/coderrr/coderrr/internal/config"
	"github.com/coderrr/coderrr/internal/lock"
	"github.com/coderrr/coderrr/internal/server"
	"github.com/coderrr/coderrr/internal/workspace"
)

// spoken puts the remedy of a failure into its text: the page has one line for it.
func spoken(err error) error {
	var f *cli.Failure
	if !errors.As(err, &f) || f.Remedy == "" {
		return err
	}
	return fmt.Errorf("%w. %s", err, f.Remedy)
}

// keyless says what is missing when the configured provider refuses calls without
// a key and there is none: better than a session that ends at its first call.
func (b *backend) keyless() error {
	if b.o.Demo || b.o.Replay != "" {
		return nil
	}
	m, err := b.app.env.Config.Resolve("", b.app.env.Getenv)
	if err != nil || !config.NeedsKey(m.Kind) {
		return nil // what is wrong is said where the model is made
	}
	if key, err := b.app.key(m); err != nil || key != "" {
		return err
	}
	return &cli.Failure{
		Code: cli.ExitProvider, Err: fmt.Errorf("there is no key for %s", m.Kind),
		Remedy: "Store one with coderrr config, or set " + strings.Join(config.EnvNames(m.Kind), " or ") + " before you start Coderrr",
	}
}

// Remove implements server.Backend.
func (b *backend) Remove(ctx context.Context, id string) error {
	b.mu.Lock()
	l, ok := b.live[id]
	b.mu.Unlock()
	if ok && l.Running() {
		return errors.New("the session is running; stop it first")
	}
	ws, err := b.app.openStore()
	if err != nil {
		return err
	}
	defer func() { _ = ws.Close() }()
	if err := ws.Sessions().Remove(ctx, id); err != nil {
		return spoken(err)
	}
	b.mu.Lock()
	delete(b.live, id)
	b.mu.Unlock()
	if ok {
		return l.run.Close()
	}
	return nil
}

// undo takes back under the workspace's lock, so that no other session changes
// files meanwhile.
func (l *live) undo(back func() error) error {
	if l.Running() {
		return back()
	}
	held, err := lock.Workspace(l.app.env.Home, l.run.dir, l.ID())
	if err != nil {
		return spoken(busy(err))
	}
	return errors.Join(back(), held.Close())
}

// Limits of the completion of file names.
const (
	maxPaths  = 100_000
	pathsFor  = 3 * time.Second // how long a list of the files is good for
	maxShown  = 12
	walkLimit = 2 * time.Second
)

// paths is the workspace's files, listed when they are asked for.
type paths struct {
	mu   sync.Mutex
	at   time.Time
	list []indexed
	busy bool // a new list is on its way
}

// Files implements server.Backend.
func (b *backend) Files(ctx context.Context, query string) ([]string, error) {
	p := &b.paths
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.list == nil:
		list, err := b.walk(ctx)
		if err != nil {
			return nil, err
		}
		p.list, p.at = index(list), time.Now()
	case time.Since(p.at) > pathsFor && !p.busy:
		p.busy = true // nobody who types waits for a new list
		go p.renew(context.WithoutCancel(ctx), b.walk)
	}
	offered := b.app.shared.offers.like(query)
	return append(offered, match(p.list, query, maxShown-len(offered))...), nil
}

// renew lists again; what fails leaves the old list.
func (p *paths) renew(ctx context.Context, walk func(context.Context) ([]string, error)) {
	list, err := walk(ctx)
	made := index(list)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy, p.at = false, time.Now()
	if err == nil {
		p.list = made
	}
}

func (b *backend) walk(ctx context.Context) ([]string, error) {
	root, err := b.app.openRoot()
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	ctx, cancel := context.WithTimeout(ctx, walkLimit)
	defer cancel()
	list := []string{}
	err = root.Scan(ctx, ".", func(f workspace.Scanned) error {
		f.Done()
		if len(list) >= maxPaths {
			return fs.SkipAll
		}
		list = append(list, f.Path)
		return nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil // what was found in time is better than nothing
	}
	return list, err
}

// indexed is a path, ready to be judged often.
type indexed struct {
	path, lower string
	letters     uint64 // a bit for each that is in lower
}

func index(list []string) []indexed {
	out := make([]indexed, len(list))
	for i, p := range list {
		low := strings.ToLower(p)
		out[i] = indexed{path: p, lower: low, letters: letters(low)}
	}
	return out
}

// letters has one bit for each letter, digit or sign; some share one.
func letters(s string) uint64 {
	var set uint64
	for i := range len(s) {
		set |= 1 << (s[i] & 63)
	}
	return set
}

// match are the paths that hold the letters of the query in order, the best first:
// in the file's name before in the folders, together before apart, short before
// long.
func match(list []indexed, query string, most int) []string {
	query = strings.ToLower(query)
	need := letters(query)
	type hit struct {
		path  string
		score int
	}
	better := func(a, b hit) int {
		if a.score != b.score {
			return a.score - b.score
		}
		return strings.Compare(a.path, b.path)
	}
	var hits []hit // the best so far, in order
	for _, p := range list {
		if need&^p.letters != 0 {
			continue
		}
		score, ok := score(p.lower, query)
		if !ok {
			continue
		}
		h := hit{p.path, score}
		if len(hits) >= most && (most <= 0 || better(h, hits[most-1]) >= 0) {
			continue
		}
		at, _ := slices.BinarySearchFunc(hits, h, better)
		hits = slices.Insert(hits[:min(len(hits), most-1)], min(at, most-1), h)
	}
	out := []string{}
	for _, h := range hits {
		out = append(out, h.path)
	}
	return out
}

// score judges one path, both in lower case; less is better.
func score(path, query string) (int, bool) {
	if query == "" {
		return strings.Count(path, "/")*1000 + len(path), true
	}
	name := path[strings.LastIndexByte(path, '/')+1:]
	switch at := strings.Index(name, query); {
	case at == 0:
		return len(path), true
	case at > 0:
		return 1000 + len(path), true
	case strings.Contains(path, query):
		return 2000 + len(path), true
	}
	gaps, at := 0, 0
	for i := 0; i < len(query); i++ {
		n := strings.IndexByte(path[at:], query[i])
		if n < 0 {
			return 0, false
		}
		gaps, at = gaps+n, at+n+1
	}
	return 3000 + 10*gaps + len(path), true
}

// busy is the id of a session that runs in this process, "" for none.
func (b *backend) busy() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, l := range b.live {
		if l.Running() {
			return id
		}
	}
	return ""
}

// Resume implements server.Backend.
func (b *backend) Resume(ctx context.Context, id string, o server.StartOptions) (server.Live, error) {
	b.settle(ctx)
	if b.o.Demo {
		return nil, errors.New("the demo replays a recording, which cannot go on from the middle; start a new request")
	}
	b.mu.Lock()
	before, ok := b.live[id]
	b.mu.Unlock()
	if ok && before.Running() {
		return nil, fmt.Errorf("session %s is still running", id)
	}
	next, err := b.run(cli.SessionOptions{Resume: id}, o)
	if err == nil && ok {
		err = before.run.Close() // its log and workspace; the next has its own
	}
	return next, err
}
