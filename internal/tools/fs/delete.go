package fs

import (
	"context"
	"fmt"

	"github.com/coderrr/coderrr/internal/history"
	"github.com/coderrr/coderrr/internal/policy"
	"github.com/coderrr/coderrr/internal/tools"
	"github.com/coderrr/coderrr/internal/workspace"
)

const deleteHelp = "Delete a file, or with recursive=true a folder and all that is in it. It can be undone by the person."

type deleteArgs struct {
	Path      string `json:"path" jsonschema_description:"File or folder to delete, relative to the workspace."`
	Recursive bool   `json:"recursive,omitempty" jsonschema_description:"Needed to delete a folder."`
}

func (p proposer) remove(ctx context.Context, in deleteArgs) (tools.Change, error) {
	flags, rel, err := p.root.Flags(ctx, in.Path, nil)
	if err != nil {
		return tools.Change{}, err
	}
	flags = with(flags, policy.FlagDelete)
	info, err := p.root.Lstat(ctx, in.Path)
	if err != nil {
		return tools.Change{}, err
	}
	switch info.Kind {
	case workspace.KindDir:
		return p.removeFolder(ctx, in, rel, flags)
	case workspace.KindLink:
		c := proposal(tools.OpDelete, rel, []byte(info.Target), nil, flags)
		c.Hunks, c.Mode = nil, linkBits
		c.Summary = fmt.Sprintf("Delete the link %s (to %s)", rel, workspace.Quote(info.Target))
		return c, nil
	}
	file, err := p.root.Read(ctx, in.Path, history.MaxFile)
	if err != nil {
		return tools.Change{}, err
	}
	c := proposal(tools.OpDelete, rel, file.Data, nil, flags)
	c.Mode = uint32(file.Mode.Perm())
	return c, nil
}

// linkBits marks a symbolic link in Change.Mode, as git writes it.
const linkBits = 0o120000

func (p proposer) removeFolder(ctx context.Context, in deleteArgs, rel string, flags []policy.Flag) (tools.Change, error) {
	files, err := p.root.Below(ctx, in.Path, maxFiles, maxBytes)
	if err != nil {
		return tools.Change{}, err
	}
	if !in.Recursive {
		return tools.Change{}, tools.Explain(fmt.Sprintf("%s is a folder with %s in it. To delete all of it, say recursive=true.", rel, count(len(files))))
	}
	for _, f := range files {
		found, err := policy.CheckWrite(f.Path)
		if err != nil {
			return tools.Change{}, err
		}
		flags = with(flags, found...)
	}
	return tools.Change{
		Op: tools.OpDelete, Path: rel, Folder: true, Files: listed(files), BeforeHash: folderHash(files),
		Flags: flags, Summary: fmt.Sprintf("Delete the folder %s (%s)", rel, count(len(files))),
	}, nil
}
