package search

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/coderrr/coderrr/internal/tools"
	"github.com/coderrr/coderrr/internal/workspace"
)

const (
	maxListed      = 1000
	defaultEntries = 300
	maxEntries     = 5000
	maxCounted     = 100_000 // entries counted beyond those shown
)

type listArgs struct {
	Path string `json:"path,omitempty" jsonschema_description:"Folder to list, relative to the workspace (default: the workspace itself)."`
}

func (t *toolbox) list(ctx context.Context, in listArgs) (tools.Result, error) {
	if in.Path == "" {
		in.Path = "."
	}
	entries, err := t.root.List(ctx, in.Path)
	if err != nil {
		return tools.Result{}, t.explain(ctx, in.Path, err)
	}
	var b strings.Builder
	shown := entries[:min(len(entries), maxListed)]
	for _, e := range shown {
		b.WriteString(line(e) + "\n")
	}
	if n := len(entries) - len(shown); n > 0 {
		fmt.Fprintf(&b, "[%d of %d entries shown; use grep with a glob, or tree on a folder in it]\n", len(shown), len(entries))
	}
	if len(entries) == 0 {
		b.WriteString("[the folder is empty]")
	}
	return tools.Result{
		Content: strings.TrimSuffix(b.String(), "\n"),
		Display: fmt.Sprintf("List %s (%s)", workspace.Quote(in.Path), plural(len(entries), "entry", "entries")),
	}, nil
}

// line shows one entry with its size.
func line(e workspace.Info) string {
	s := label(e)
	if e.Kind == workspace.KindFile {
		s += "  " + plural(int(e.Size), "byte", "bytes")
	}
	return s
}

// label is a name in the way each kind is shown. A name that is quoted here can
// be used as it is shown, after the folder it is in.
func label(e workspace.Info) string {
	name := workspace.Quote(e.Name)
	switch e.Kind {
	case workspace.KindDir:
		return name + "/"
	case workspace.KindLink:
		return name + " -> " + workspace.Quote(e.Target) + "  (link)"
	case workspace.KindOther:
		return name + "  (special: " + special(e.Mode) + ")"
	}
	return name
}

func special(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "FIFO"
	case mode&fs.ModeSocket != 0:
		return "socket"
	}
	return "device"
}

type treeArgs struct {
	Path       string `json:"path,omitempty" jsonschema_description:"Folder to show, relative to the workspace (default: the workspace itself)."`
	MaxDepth   int    `json:"max_depth,omitempty" jsonschema_description:"How many levels to show (default: as many as fit)."`
	MaxEntries int    `json:"max_entries,omitempty" jsonschema_description:"How many entries to show (default 300, at most 5000)."`
}

func (t *toolbox) tree(ctx context.Context, in treeArgs) (tools.Result, error) {
	if in.Path == "" {
		in.Path = "."
	}
	if in.MaxEntries <= 0 {
		in.MaxEntries = defaultEntries
	}
	in.MaxEntries = min(in.MaxEntries, maxEntries)
	got, err := t.fit(ctx, in)
	if err != nil {
		return tools.Result{}, t.explain(ctx, in.Path, err)
	}
	var b strings.Builder
	b.WriteString(workspace.Quote(in.Path) + "\n")
	for _, e := range got.shown {
		b.WriteString(strings.Repeat("  ", e.Depth) + label(e.Info) + "\n")
	}
	b.WriteString(got.note())
	return tools.Result{
		Content: strings.TrimSuffix(b.String(), "\n"),
		Display: fmt.Sprintf("Tree of %s (%s)", workspace.Quote(in.Path), plural(len(got.shown), "entry", "entries")),
	}, nil
}

// level is a walk down to some depth.
type level struct {
	shown   []workspace.Entry
	total   int
	over    bool // there are more than total
	depth   int  // the bound, 0 = none
	deeper  bool // something lies below the bound
	reduced bool // the bound is ours
}

// fit shows as many whole levels as fit, because the first folder of a large
// project would else take all the room. A depth that was asked for is kept.
func (t *toolbox) fit(ctx context.Context, in treeArgs) (level, error) {
	if in.MaxDepth > 0 {
		return t.level(ctx, in.Path, in.MaxDepth, in.MaxEntries, maxCounted)
	}
	var best level
	for depth := 1; ; depth++ {
		l, err := t.level(ctx, in.Path, depth, in.MaxEntries, in.MaxEntries)
		if err != nil {
			return level{}, err
		}
		if l.total > in.MaxEntries {
			if depth == 1 {
				return t.level(ctx, in.Path, 1, in.MaxEntries, maxCounted)
			}
			best.reduced = true
			return best, nil
		}
		if best = l; !l.deeper {
			best.depth = 0
			return best, nil
		}
	}
}

func (t *toolbox) level(ctx context.Context, path string, depth, show, count int) (level, error) {
	l := level{depth: depth}
	err := t.root.Walk(ctx, path, workspace.WalkOptions{MaxDepth: depth}, func(e workspace.Entry) error {
		if l.total > count {
			l.over = true
			return fs.SkipAll
		}
		l.total++
		l.deeper = l.deeper || e.Kind == workspace.KindDir && e.Depth == depth
		if len(l.shown) < show {
			l.shown = append(l.shown, e)
		}
		return nil
	})
	return l, err
}

func (l level) note() string {
	switch more := l.total - len(l.shown); {
	case l.over:
		return fmt.Sprintf("[%d of more than %d entries shown; name a folder in it]", len(l.shown), l.total-1)
	case more > 0:
		return fmt.Sprintf("[%d of %d entries shown; name a folder in it, or give max_entries]", len(l.shown), l.total)
	case l.reduced:
		return fmt.Sprintf("[%s shown, what is deeper did not fit; name a folder in it]", plural(l.depth, "level is", "levels are"))
	case l.depth > 0 && l.deeper:
		return fmt.Sprintf("[%s shown]", plural(l.depth, "level is", "levels are"))
	case l.total == 0:
		return "[nothing in it, or all of it is ignored; list_dir shows what is ignored]"
	}
	return ""
}
