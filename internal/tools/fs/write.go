package fs

import (
	"bytes"
	"context"
	"strings"

	"github.com/coderrr/coderrr/internal/tools"
)

const writeHelp = "Create a file, or replace the whole content of one. Missing folders are made. A file that exists must have been read first. For a small change use edit_file."

type writeArgs struct {
	Path    string `json:"path" jsonschema_description:"File to write, relative to the workspace."`
	Content string `json:"content" jsonschema_description:"The whole new content of the file."`
	Intent  string `json:"intent,omitempty" jsonschema_description:"One sentence for the reviewer: why this change is made."`
}

func (p proposer) write(ctx context.Context, in writeArgs) (tools.Change, error) {
	content := []byte(in.Content)
	if len(content) > maxText {
		return tools.Change{}, tools.Explain("The content is larger than 16 MiB, the most that is written at once.")
	}
	flags, rel, err := p.root.Flags(ctx, in.Path, content)
	if err != nil {
		return tools.Change{}, err
	}
	if bytes.IndexByte(content, 0) >= 0 {
		return tools.Change{}, tools.Explain("The content for " + rel + " holds a NUL character; these tools write text only.")
	}
	file, exists, err := p.target(ctx, in.Path)
	if err != nil {
		return tools.Change{}, err
	}
	if !exists {
		c := proposal(tools.OpCreate, rel, nil, content, flags)
		c.Intent = in.Intent
		return c, nil
	}
	current, err := p.known(file)
	if err != nil {
		return tools.Change{}, err
	}
	if !current {
		return tools.Change{}, tools.Explain(rel + " changed since you read it. Read it again with read_file, so that nothing of the new version is lost, then write it.")
	}
	if err := plainText(rel, file.Data); err != nil {
		return tools.Change{}, err
	}
	content, note := keepForm(file.Data, content)
	if bytes.Equal(content, file.Data) {
		return tools.Change{}, tools.Explain(rel + " already has exactly this content. Nothing was written; go on.")
	}
	c := proposal(tools.OpEdit, rel, file.Data, content, flags)
	c.Mode, c.Intent, c.Note = uint32(file.Mode.Perm()), in.Intent, note
	return c, nil
}

// keepForm gives new content the line endings and byte order mark of the old.
// Models write LF and no mark, whatever they were shown.
func keepForm(old, content []byte) (kept []byte, note string) {
	text := string(content)
	if eol := uniform(string(old)); eol != "" && eol != "\n" && strings.Contains(text, "\n") && !strings.Contains(text, "\r") {
		text = strings.ReplaceAll(text, "\n", eol)
		note = "The file's " + eolName(eol) + " line endings were kept."
	}
	if bytes.HasPrefix(old, []byte(bom)) && text != "" && !strings.HasPrefix(text, bom) {
		text = bom + text
		note = strings.TrimSpace(note + " The file's byte order mark was kept.")
	}
	return []byte(text), note
}

// uniform is the line ending that all lines of a text have; "" when it has none
// or several kinds.
func uniform(text string) string {
	crlf := strings.Count(text, "\r\n")
	lf, cr := strings.Count(text, "\n")-crlf, strings.Count(text, "\r")-crlf
	switch {
	case crlf > 0 && lf == 0 && cr == 0:
		return "\r\n"
	case lf > 0 && crlf == 0 && cr == 0:
		return "\n"
	case cr > 0 && crlf == 0 && lf == 0:
		return "\r"
	default:
		return ""
	}
}

func eolName(eol string) string {
	switch eol {
	case "\r\n":
		return "CRLF"
	case "\r":
		return "CR"
	default:
		return "LF"
	}
}
