package fs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/coderrr/coderrr/internal/history"
	"github.com/coderrr/coderrr/internal/policy"
	"github.com/coderrr/coderrr/internal/tools"
	"github.com/coderrr/coderrr/internal/workspace"
)

const moveHelp = "Move or rename a file or a folder. destination is the full new path and must not exist; missing folders are made."

type moveArgs struct {
	Source      string `json:"source" jsonschema_description:"File or folder to move, relative to the workspace."`
	Destination string `json:"destination" jsonschema_description:"Its full new path, relative to the workspace."`
}

func (p proposer) move(ctx context.Context, in moveArgs) (tools.Change, error) {
	flags, from, err := p.root.Flags(ctx, in.Source, nil)
	if err != nil {
		return tools.Change{}, err
	}
	info, err := p.root.Lstat(ctx, in.Source)
	if err != nil {
		return tools.Change{}, err
	}
	if info.Kind == workspace.KindLink {
		return tools.Change{}, tools.Explain(from + " is a symbolic link; links are not moved. Name the file it leads to.")
	}
	if err := p.free(ctx, in.Source, in.Destination); err != nil {
		return tools.Change{}, err
	}
	if info.Kind == workspace.KindDir {
		return p.moveFolder(ctx, in, from, flags)
	}
	file, err := p.root.Read(ctx, in.Source, history.MaxFile)
	if err != nil {
		return tools.Change{}, err
	}
	text := file.Data
	if binary(text) {
		text = nil // hidden characters are a matter of text
	}
	more, to, err := p.root.Flags(ctx, in.Destination, text)
	if err != nil {
		return tools.Change{}, err
	}
	return tools.Change{
		Op: tools.OpMove, Path: to, From: from, Before: file.Data, After: file.Data,
		BeforeHash: file.Hash, AfterHash: file.Hash, Mode: uint32(file.Mode.Perm()),
		Flags: with(flags, more...), Summary: fmt.Sprintf("Move %s to %s", from, to),
	}, nil
}

// free checks that nothing is at the destination.
func (p proposer) free(ctx context.Context, from, to string) error {
	there, err := p.root.Lstat(ctx, to)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case there.Kind == workspace.KindDir:
		return tools.Explain(fmt.Sprintf("%s is a folder that exists. destination is the full new path: %s, perhaps?", there.Path, path.Join(there.Path, path.Base(from))))
	default:
		return tools.Explain(there.Path + " exists already; nothing is overwritten by a move. Choose another destination, or delete that file first if it should go.")
	}
}

func (p proposer) moveFolder(ctx context.Context, in moveArgs, from string, flags []policy.Flag) (tools.Change, error) {
	more, to, err := p.root.Flags(ctx, in.Destination, nil)
	if err != nil {
		return tools.Change{}, err
	}
	if to == from || strings.HasPrefix(to, from+"/") {
		return tools.Change{}, tools.Explain(to + " is inside " + from + ", which cannot be moved into itself.")
	}
	files, err := p.root.Below(ctx, in.Source, maxFiles, maxBytes)
	if err != nil {
		return tools.Change{}, err
	}
	flags = with(flags, more...)
	names := map[string][]string{}
	for _, f := range files {
		dest := to + strings.TrimPrefix(f.Path, from)
		found, err := policy.CheckWrite(dest)
		if err != nil {
			return tools.Change{}, err
		}
		flags = with(flags, found...)
		for dir, name := path.Split(dest); name != "" && dir != ""; dir, name = path.Split(strings.TrimSuffix(dir, "/")) {
			names[dir] = append(names[dir], name)
		}
	}
	for _, inside := range names {
		if policy.GitShaped(inside) {
			flags = with(flags, policy.FlagRunsCode)
		}
	}
	hash := folderHash(files)
	return tools.Change{
		Op: tools.OpMove, Path: to, From: from, Folder: true, Files: listed(files),
		BeforeHash: hash, AfterHash: hash, Flags: flags,
		Summary: fmt.Sprintf("Move the folder %s to %s (%s)", from, to, count(len(files))),
	}, nil
}

func listed(files []workspace.File) []tools.Removed {
	out := make([]tools.Removed, len(files))
	for i, f := range files {
		out[i] = tools.Removed{Path: f.Path, Hash: f.Hash, Data: f.Data, Mode: uint32(f.Mode.Perm()), Link: f.Target != ""}
	}
	return out
}

func count(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}
