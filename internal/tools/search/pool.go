package search

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/coderrr/coderrr/internal/workspace"
)

// pool scans files in parallel and adds the results up in the order in which the
// files came. Waiting files keep their folders open, so few may wait.
type pool struct {
	jobs  chan *job
	order chan *job
	next  *job // being filled
	group sync.WaitGroup
	added chan struct{}
	full  atomic.Bool // enough was found: the rest is not looked at
}

// job is a few files in a row.
type job struct {
	files []workspace.Scanned
	res   []outcome
	done  chan struct{}
}

type outcome struct {
	scanned
	path string
	err  error
}

const (
	perJob     = 32
	maxWaiting = 8 // jobs
)

// newPool starts the workers. put may be called until wait, which ends them. When
// enough lines were found (0 = no bound) the rest is left out.
func newPool(ctx context.Context, m *matcher, limit, enough int, into *found) *pool {
	p := &pool{jobs: make(chan *job, maxWaiting), order: make(chan *job, maxWaiting), added: make(chan struct{})}
	for range min(runtime.GOMAXPROCS(0), 8) {
		p.group.Go(func() {
			k := m.seeker()
			for j := range p.jobs {
				p.work(ctx, k, j, limit)
			}
		})
	}
	go func() {
		defer close(p.added)
		for j := range p.order {
			<-j.done
			for _, o := range j.res {
				if enough > 0 && into.total >= enough {
					into.stopped = true
					p.full.Store(true)
					break
				}
				into.looked++
				switch {
				case o.err == nil:
					into.add(o.path, o.scanned, limit)
				case ctx.Err() == nil:
					into.failed = append(into.failed, o.path)
				}
			}
			j.res = nil
		}
	}()
	return p
}

func (p *pool) work(ctx context.Context, k *seeker, j *job, limit int) {
	defer close(j.done)
	j.res = make([]outcome, 0, len(j.files))
	for _, f := range j.files {
		if ctx.Err() == nil && !p.full.Load() {
			o := outcome{path: f.Path}
			o.scanned, o.err = scanOne(ctx, k, f, limit)
			j.res = append(j.res, o)
		}
		f.Done()
	}
}

func scanOne(ctx context.Context, k *seeker, f workspace.Scanned, limit int) (scanned, error) {
	var r workspace.Reader
	if err := f.Open(&r); err != nil {
		return scanned{}, err
	}
	defer r.Close()
	return k.scan(ctx, &r, r.Size, limit)
}

// put takes over a file.
func (p *pool) put(f workspace.Scanned) {
	if p.next == nil {
		p.next = &job{done: make(chan struct{}), files: make([]workspace.Scanned, 0, perJob)}
	}
	if p.next.files = append(p.next.files, f); len(p.next.files) == perJob {
		p.send()
	}
}

func (p *pool) send() {
	if j := p.next; j != nil {
		p.order <- j
		p.jobs <- j
	}
	p.next = nil
}

// wait returns when every file is scanned and added.
func (p *pool) wait() {
	p.send()
	close(p.jobs)
	close(p.order)
	p.group.Wait()
	<-p.added
}
