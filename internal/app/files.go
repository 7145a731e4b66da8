package app

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/coderrr/coderrr/internal/workspace"
)

// The bounds of a completion.
const (
	maxLooked = 5000 // entries looked at
	maxFound  = 200  // options
)

// Files implements cli.Parts.
func (a *App) Files(ctx context.Context, prefix string) (found []string, err error) {
	root, err := a.openRoot()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if offered := a.shared.offers.reading(prefix); strings.Contains(prefix, ":") && len(offered) > 0 {
		return offered, nil
	} else if len(offered) > 0 {
		defer func() { found = append(found, offered...) }()
	}
	dir, name := path.Split(prefix)
	at := path.Clean("./" + dir)
	found, err = matches(ctx, root, at, 1, func(e workspace.Info) bool { return strings.HasPrefix(e.Path, prefix) })
	if len(found) > 0 || dir != "" || name == "" || err != nil {
		return found, err
	}
	name = strings.ToLower(name)
	return matches(ctx, root, ".", 0, func(e workspace.Info) bool { return strings.HasPrefix(strings.ToLower(e.Name), name) })
}

// matches walks down from a folder; depth 0 is without a bound.
func matches(ctx context.Context, root *workspace.Root, from string, depth int, fits func(workspace.Info) bool) ([]string, error) {
	var out []string
	looked := 0
	err := root.Walk(ctx, from, workspace.WalkOptions{MaxDepth: depth}, func(e workspace.Entry) error {
		if looked++; looked > maxLooked || len(out) == maxFound {
			return fs.SkipAll
		}
		switch {
		case !fits(e.Info):
		case e.Kind == workspace.KindDir:
			out = append(out, e.Path+"/")
		default:
			out = append(out, e.Path)
		}
		return nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil // what was found so far is offered
	}
	return out, err
}
