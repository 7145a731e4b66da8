// Package fs holds the tools that change files: write_file, edit_file, move_file
// and delete_file, and the Committer that carries out what was decided. The tools
// only propose; they are byte-exact: line endings, a byte order mark, a missing
// last newline and the mode of a file stay as they are, and what is not UTF-8 text
// is refused and never converted.
package fs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"unicode/utf8"

	"github.com/coderrr/coderrr/internal/diff"
	"github.com/coderrr/coderrr/internal/history"
	"github.com/coderrr/coderrr/internal/policy"
	"github.com/coderrr/coderrr/internal/tools"
	"github.com/coderrr/coderrr/internal/workspace"
)

const (
	// maxText bounds the files that are edited and the contents that are written,
	// in bytes.
	maxText = 16 << 20
	// maxFiles and maxBytes bound a folder that is moved or deleted at once.
	maxFiles = 2000
	maxBytes = 128 << 20
)

const bom = "\ufeff"

// Options of the tools and of the Committer. All are required.
type Options struct {
	Root *workspace.Root
	// Seen is what the model was shown; the reading tools fill it.
	Seen    *workspace.Seen
	History *history.Store
}

// Tools returns the four tools in a stable order.
func Tools(o Options) []tools.Tool {
	p := proposer{root: o.Root, seen: o.Seen}
	return []tools.Tool{
		tools.DefineWrite("write_file", writeHelp, p.write),
		tools.DefineWrite("edit_file", editHelp, p.edit),
		tools.DefineWrite("move_file", moveHelp, p.move),
		tools.DefineWrite("delete_file", deleteHelp, p.remove),
	}
}

// proposer computes changes. It holds no state of its own.
type proposer struct {
	root *workspace.Root
	seen *workspace.Seen
}

// target describes what is at a path that is to be written. There is none when
// Lstat says so; a link or a folder is refused.
func (p proposer) target(ctx context.Context, path string) (file workspace.File, exists bool, err error) {
	info, err := p.root.Lstat(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return workspace.File{}, false, nil
	}
	if err != nil {
		return workspace.File{}, false, err
	}
	switch info.Kind {
	case workspace.KindDir:
		return file, false, tools.Explain(info.Path + " is a folder. Name the file in it that you mean.")
	case workspace.KindLink:
		return file, false, tools.Explain(fmt.Sprintf("%s is a symbolic link to %s. Name the file it leads to, if that is in the workspace.", info.Path, workspace.Quote(info.Target)))
	}
	file, err = p.root.Read(ctx, path, maxText)
	return file, err == nil, err
}

// known checks that the model has seen the file, and whether it was this version.
func (p proposer) known(file workspace.File) (current bool, err error) {
	hash, ok := p.seen.Hash(file.Path)
	if !ok {
		return false, tools.Explain(file.Path + " exists, and you have not read it in this session. Read it with read_file first, then change it.")
	}
	return hash == file.Hash, nil
}

// plainText refuses content that is not UTF-8 text, and says where.
func plainText(path string, data []byte) error {
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return tools.Explain(fmt.Sprintf("%s is a binary file (NUL byte at offset %d). These tools change text only; nothing was converted or written.", path, i))
	}
	if utf8.Valid(data) {
		return nil
	}
	line, rest := 1, data
	for len(rest) > 0 {
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size <= 1 {
			break
		}
		if r == '\n' {
			line++
		}
		rest = rest[size:]
	}
	return tools.Explain(fmt.Sprintf("%s is not UTF-8 text: line %d holds the byte 0x%02X. It is in another encoding, which these tools never convert, so nothing was written. Leave the file as it is, or ask the person to convert it.", path, line, rest[0]))
}

// proposal fills in what every change of one file has.
func proposal(op tools.Op, path string, before, after []byte, flags []policy.Flag) tools.Change {
	c := tools.Change{
		Op: op, Path: path, Before: before, After: after,
		BeforeHash: tools.HashOf(before), AfterHash: tools.HashOf(after), Flags: flags,
	}
	if !binary(before) && !binary(after) {
		c.Hunks = diff.Compute(before, after)
	}
	added, removed := diff.Stats(c.Hunks)
	switch op {
	case tools.OpCreate:
		c.Summary = fmt.Sprintf("Create %s (+%d)", path, added)
	case tools.OpDelete:
		c.Summary = fmt.Sprintf("Delete %s (-%d)", path, removed)
	default:
		c.Summary = fmt.Sprintf("Edit %s (+%d -%d)", path, added, removed)
	}
	return c
}

func binary(data []byte) bool {
	return bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data)
}

// with adds a flag once.
func with(flags []policy.Flag, more ...policy.Flag) []policy.Flag {
	for _, f := range more {
		seen := false
		for _, have := range flags {
			seen = seen || have == f
		}
		if !seen {
			flags = append(flags, f)
		}
	}
	return flags
}

// folderHash stands for a folder's whole content: every path, hash and mode.
func folderHash(files []workspace.File) string {
	h := sha256.New()
	h.Write([]byte("folder\x00"))
	for _, f := range files {
		h.Write(fmt.Appendf(nil, "%s\x00%s\x00%o\x00", f.Path, f.Hash, f.Mode))
	}
	return hex.EncodeToString(h.Sum(nil))
}
