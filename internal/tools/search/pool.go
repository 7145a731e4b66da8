package search

import (
	"context"
	"os"
	"runtime"
	"sync"

	"github.com/coderrr/coderrr/internal/workspace"
)

// pool scans files in parallel and adds the results up in the order in which the
// files came. Files wait open, so few may wait.
type pool struct {
	jobs  chan *job
	order chan *job
	group sync.WaitGroup
	added chan struct{}
}

type job struct {
	file *os.File
	info workspace.Info
	res  scanned
	err  error
	done chan struct{}
}

const maxWaiting = 64

// newPool starts the workers. put may be called until wait, which ends them.
func newPool(ctx context.Context, m *matcher, limit int, into *found) *pool {
	p := &pool{jobs: make(chan *job, maxWaiting), order: make(chan *job, maxWaiting), added: make(chan struct{})}
	for range min(runtime.GOMAXPROCS(0), 8) {
		p.group.Go(func() {
			buf := make([]byte, maxSearched)
			for j := range p.jobs {
				j.res, j.err = m.scan(ctx, j.file, j.info.Size, limit, buf)
				_ = j.file.Close() // only read
				close(j.done)
			}
		})
	}
	go func() {
		defer close(p.added)
		for j := range p.order {
			<-j.done
			into.looked++
			switch {
			case j.err == nil:
				into.add(j.info.Path, j.res, limit)
			case ctx.Err() == nil:
				into.failed = append(into.failed, j.info.Path)
			}
		}
	}()
	return p
}

// put takes over an open file.
func (p *pool) put(ctx context.Context, f *os.File, info workspace.Info) error {
	if err := ctx.Err(); err != nil {
		_ = f.Close()
		return err
	}
	j := &job{file: f, info: info, done: make(chan struct{})}
	p.order <- j
	p.jobs <- j
	return nil
}

// wait returns when every file is scanned and added.
func (p *pool) wait() {
	close(p.jobs)
	close(p.order)
	p.group.Wait()
	<-p.added
}
