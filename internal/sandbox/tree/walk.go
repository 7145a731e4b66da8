package tree

import (
	"context"
	"io/fs"
	"os"
	"path"
	"sync"
)

// walker visits everything but directories below one directory.
type walker struct {
	ctx  context.Context // one walk lives for one call
	sem  chan struct{}
	wg   sync.WaitGroup
	each func(rel string, info fs.FileInfo)
}

func (w *walker) dir(root *os.Root, rel string) {
	if w.ctx.Err() != nil {
		return
	}
	names, err := readNames(root)
	if err != nil {
		return
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, name := range names {
		info, err := root.Lstat(name)
		if err != nil {
			continue
		}
		if !info.IsDir() {
			w.each(path.Join(rel, name), info)
			continue
		}
		down := func() {
			sub, err := root.OpenRoot(name)
			if err != nil {
				return
			}
			defer func() { _ = sub.Close() }()
			w.dir(sub, path.Join(rel, name))
		}
		select {
		case w.sem <- struct{}{}:
			wg.Go(func() {
				defer func() { <-w.sem }()
				down()
			})
		default:
			down()
		}
	}
}
