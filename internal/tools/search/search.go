// Package search holds the READ tools: read_file, list_dir, tree and grep. They
// see the workspace only through package workspace, and bound whatever they
// return: what was left out is always said, with its exact size where that is
// known.
package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/coderrr/coderrr/internal/inert"
	"github.com/coderrr/coderrr/internal/policy"
	"github.com/coderrr/coderrr/internal/tools"
	"github.com/coderrr/coderrr/internal/workspace"
)

// maxOutput bounds the text of one result, in bytes. Notes come on top.
const maxOutput = 64 << 10

// Tools returns the reading tools over root. seen is told of each file that
// read_file showed; the write tools ask it.
func Tools(root *workspace.Root, seen *workspace.Seen) []tools.Tool {
	t := &toolbox{root: root, seen: seen}
	read := tools.Define("read_file",
		"Read a text file of the workspace. Lines are numbered; the number and the tab after it are not part of the file. Read a file before you edit it.",
		policy.Read, t.read)
	return []tools.Tool{
		flagged{Tool: read, root: root},
		tools.Define("list_dir", "List the entries of a folder, with sizes. Links are shown with their target.", policy.Read, t.list),
		tools.Define("tree", "Show a folder as a tree, without what the ignore files leave out. Start here to learn a project's layout.", policy.Read, t.tree),
		tools.Define("grep",
			"Search files with a regular expression (RE2: no look-around, no back-references), line by line, without ignored, binary and credential files. Results are path:line: text.",
			policy.Read, t.grep),
	}
}

type toolbox struct {
	root *workspace.Root
	seen *workspace.Seen
}

// flagged is read_file with a word to the gate about files that hold credentials.
type flagged struct {
	tools.Tool
	root *workspace.Root
}

// Flags implements tools.Flagger. A call that cannot be judged has no flags: it
// cannot be read either, and Run says why.
func (f flagged) Flags(ctx context.Context, input json.RawMessage) ([]policy.Flag, string) {
	in, err := tools.Decode[readArgs](f.Spec(), input)
	if err != nil {
		return nil, ""
	}
	flags, rel, err := f.root.ReadFlags(ctx, in.Path)
	if err == nil {
		_, err = f.root.Lstat(ctx, rel) // nobody is asked about what is not there
	}
	if err != nil {
		return nil, workspace.Quote(in.Path)
	}
	return flags, workspace.Quote(rel)
}

// explain turns an error about a path into what the model should do next.
func (t *toolbox) explain(ctx context.Context, path string, err error) error {
	switch {
	case ctx.Err() != nil:
		return tools.Explain("stopped before it was done")
	case errors.Is(err, workspace.ErrIsFolder):
		return tools.Explain(workspace.Quote(path) + " is a folder; use list_dir or tree to look into it.")
	case errors.Is(err, fs.ErrNotExist):
		return tools.Explain(sentence(err) + t.suggest(ctx, path))
	}
	return tools.Explain(sentence(err))
}

func sentence(err error) string {
	text, _ := inert.Visible(err.Error())
	return strings.TrimSuffix(text, ".") + "."
}

// hiddenNote tells of characters that Visible replaced.
func hiddenNote(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("\n[%s hidden or not UTF-8, shown as ⟨…⟩ markers that are not in the file: beware of text made to be overlooked]",
		plural(n, "character is", "characters are"))
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
